"""Missing or wrong imports.

Undefined names and missing imports are among the commonest single-statement Python bugs (PySStuBs: Kamienski et al. 2021).
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.candidates import fading
from workers.repair.engines.search.edit_context import Edit, Site
from workers.repair.engines.search.templates import template
from workers.repair.engines.search.templates.names import alike, is_read

WELL_KNOWN: dict[str, tuple[str, ...]] = {
    "collections": ("defaultdict", "Counter", "OrderedDict", "deque", "namedtuple", "ChainMap", "UserDict"),
    "functools": ("partial", "reduce", "wraps", "lru_cache", "cache", "cached_property", "total_ordering", "singledispatch", "cmp_to_key"),
    "itertools": ("chain", "product", "permutations", "combinations", "groupby", "islice", "count", "cycle", "repeat", "accumulate", "zip_longest", "takewhile", "dropwhile", "starmap", "tee"),
    "dataclasses": ("dataclass", "field", "asdict", "astuple", "replace", "fields"),
    "datetime": ("datetime", "date", "time", "timedelta", "timezone"),
    "pathlib": ("Path", "PurePath", "PurePosixPath"),
    "typing": ("Any", "Optional", "Union", "List", "Dict", "Tuple", "Set", "Callable", "Iterable", "Iterator", "Sequence", "Mapping", "NamedTuple", "TypeVar", "Generic", "Protocol", "cast"),
    "collections.abc": ("Iterable", "Iterator", "Sequence", "Mapping", "MutableMapping", "Callable", "Hashable"),
    "enum": ("Enum", "IntEnum", "Flag", "StrEnum", "auto"),
    "abc": ("ABC", "abstractmethod", "ABCMeta"),
    "math": ("sqrt", "ceil", "floor", "log", "exp", "sin", "cos", "pi", "inf", "gcd", "isclose", "hypot", "prod"),
    "decimal": ("Decimal", "ROUND_HALF_UP", "ROUND_DOWN", "InvalidOperation"),
    "fractions": ("Fraction",),
    "copy": ("deepcopy", "copy"),
    "contextlib": ("contextmanager", "suppress", "closing", "ExitStack", "nullcontext", "redirect_stdout"),
    "operator": ("itemgetter", "attrgetter", "methodcaller", "add", "mul"),
    "io": ("StringIO", "BytesIO", "TextIOWrapper"),
    "threading": ("Lock", "RLock", "Thread", "Event"),
    "textwrap": ("dedent", "indent", "wrap", "fill", "shorten"),
    "string": ("ascii_letters", "ascii_lowercase", "digits", "punctuation", "Template"),
    "bisect": ("bisect_left", "bisect_right", "insort"),
    "heapq": ("heappush", "heappop", "heapify", "nlargest", "nsmallest"),
    "uuid": ("uuid4", "UUID"),
    "urllib.parse": ("urlparse", "urljoin", "quote", "unquote", "urlencode", "parse_qs", "urlsplit"),
    "random": ("randint", "choice", "shuffle", "sample", "uniform"),
    "types": ("SimpleNamespace", "MappingProxyType", "ModuleType"),
    "warnings": ("warn",),
    "numbers": ("Number", "Real", "Integral"),
    "time": ("sleep", "monotonic", "perf_counter"),
    "inspect": ("signature", "isclass", "isfunction"),
    "json": ("JSONDecodeError",),
}  # fmt: skip
"""Names of the standard library that people use bare, by module."""

_MODULES = (
    "abc argparse array ast asyncio base64 bisect calendar cmath codecs collections configparser contextlib copy csv "
    "dataclasses datetime decimal difflib enum errno fnmatch fractions functools glob gzip hashlib heapq hmac html io "
    "inspect itertools json locale logging math numbers operator os pathlib pickle platform pprint queue random re "
    "secrets shlex shutil signal socket sqlite3 stat statistics string struct subprocess sys tempfile textwrap threading "
    "time traceback types typing unicodedata urllib uuid warnings weakref zlib"
)
MODULES = frozenset(_MODULES.split())
"""Modules of the standard library that people import whole."""


def import_lines(name: str, site: Site) -> list[str]:
    """The import statements that would define `name`: the standard library's modules, then the project's own."""
    lines = [f"import {name}"] if name in MODULES else []
    lines += [f"from {module} import {name}" for module in site.project.defining(name)[:4]]
    lines += [f"from {module} import {name}" for module, names in WELL_KNOWN.items() if name in names]
    lines += [
        f"from {m.rpartition('.')[0]} import {name}" if "." in m else f"import {m}"
        for m in site.project.modules(name)[:2]
    ]
    return list(dict.fromkeys(lines))


def _is_defined(name: str, site: Site) -> bool:
    module = site.module
    known = (*site.variables, *site.callables, *module.modules, *dir(builtins))
    return name in known or bool(site.function and name == site.function.receiver)


@template(cst.Name, strategy="imports", prior=0.9, families=(Family.NAME,))
def missing_import(node: cst.Name, site: Site) -> Iterator[Edit]:
    """An undefined name gets its import at the module's top."""
    if not is_read(node, site) or _is_defined(node.value, site):
        return
    span = site.region.span(node)
    for line, weight in fading(import_lines(node.value, site)):
        yield Edit(splices=(), around=span, imports=(line,), weight=weight)


@template(cst.Name, strategy="imports", prior=0.6, families=(Family.NAME, Family.ATTRIBUTE, Family.TYPE))
def missing_qualifier(node: cst.Name, site: Site) -> Iterator[Edit]:
    """`sqrt(x)` → `math.sqrt(x)`, where `math` is imported already; `datetime.now()` → `datetime.datetime.now()`."""
    if not is_read(node, site):
        return
    for module in site.module.modules:
        if node.value in WELL_KNOWN.get(module, ()) or node.value in site.project.definitions(module):
            yield site.replace(node, f"{module}.{node.value}")


@template(cst.ImportAlias, strategy="imports", prior=0.8, families=(Family.IMPORT, Family.ATTRIBUTE, Family.NAME))
def imported_name(node: cst.ImportAlias, site: Site) -> Iterator[Edit]:
    """`from m import totl` → `from m import total`: another name that the module defines."""
    parent = site.parent(node)
    if not isinstance(parent, cst.ImportFrom):
        for module, weight in fading(alike(site.code(node.name), sorted(MODULES))[:5]):
            yield site.token(node.name, module, weight=weight)
        return
    module = site.code(parent.module) if parent.module else ""
    known = (*site.project.definitions(module), *WELL_KNOWN.get(module, ()))
    for name, weight in fading(alike(site.code(node.name), known)[:8]):
        yield site.token(node.name, name, weight=weight)


@template(cst.ImportFrom, strategy="imports", prior=0.8, families=(Family.IMPORT,))
def imported_from(node: cst.ImportFrom, site: Site) -> Iterator[Edit]:
    """`from a import x` → `from b import x`: the module that defines it; an absolute import made relative, and back."""
    if node.module is None or isinstance(node.names, cst.ImportStar):
        return
    names = [site.code(alias.name) for alias in node.names]
    homes = [module for module in site.project.defining(names[0]) if module]
    homes += [module for module, known in WELL_KNOWN.items() if names[0] in known]
    text = site.code(node.module)
    for module, weight in fading(home for home in dict.fromkeys(homes) if home != text):
        yield site.token(node.module, module, weight=weight)
    yield site.token(node.module, f".{text}" if not node.relative else text, weight=0.5)
