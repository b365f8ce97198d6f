"""One name used for another: variables, attributes, methods, imports.

"Wrong variable identifier", "change identifier used", "wrong function name" of ManySStuBs4J (Karampatsis and Sutton
2020); variable misuse (Allamanis et al. 2018); "mutate variable" of TBar (Liu et al. 2019). Undefined names and missing
imports are among the commonest single-statement Python bugs (PySStuBs: Kamienski et al. 2021).
"""

import builtins
import keyword
import sys
from collections.abc import Iterator, Sequence

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.edit_context import Edit, Site
from workers.repair.engines.search.option_weights import by_rank, similarity
from workers.repair.engines.search.source_slice import below
from workers.repair.engines.search.templates import template

_ANY = (Family.ASSERTION, Family.NAME, Family.TYPE, Family.VALUE, Family.LOOKUP, Family.ATTRIBUTE, Family.RECURSION)


def is_read(node: cst.Name, site: Site) -> bool:
    """Whether a name is an expression of its own here: no attribute's name, keyword, parameter, target or import."""
    parent = site.parent(node)
    match parent:
        case cst.Attribute(attr=attr):
            return attr is not node
        case cst.Arg(keyword=word):
            return word is not node
        case cst.Param(default=default):
            return default is node
        case cst.NamedExpr() | cst.AnnAssign() | cst.For() | cst.CompFor():
            return parent.target is not node
    kinds = (cst.AssignTarget, cst.NameItem, cst.ImportAlias, cst.AsName, cst.FunctionDef, cst.ClassDef, cst.Annotation)
    return not isinstance(parent, kinds)


def is_target(node: cst.CSTNode, site: Site) -> bool:
    """Whether a loop, a comprehension or an assignment (but for a plain one) binds the node."""
    parent = site.parent(node)
    kinds = (cst.AugAssign, cst.AnnAssign, cst.For, cst.CompFor, cst.NamedExpr)
    return isinstance(parent, kinds) and parent.target is node


def alike(name: str, options: Sequence[str]) -> list[str]:
    """Other names, the most alike first; among equals, the nearest in scope."""
    others = [option for option in dict.fromkeys(options) if option != name]
    return sorted(others, key=lambda option: -round(similarity(name, option), 1))


def bound_in_statement(site: Site) -> list[str]:
    """Names that comprehensions and lambdas bind around here."""
    found = [n.target for n in site.unit.nodes() if isinstance(n, cst.CompFor)]
    names = [n for target in found for n in (target, *(e.value for e in getattr(target, "elements", ())))]
    parameters = [n.name for n in site.unit.nodes() if isinstance(n, cst.Param)]
    return [n.value for n in (*names, *parameters) if isinstance(n, cst.Name)]


@template(cst.Name, strategy="names", prior=0.7, families=_ANY)
def variable_misuse(node: cst.Name, site: Site) -> Iterator[Edit]:
    """`a` → another variable in scope, but for `__all__` and its like. Where the error names an undefined one, that is replaced."""
    if not is_read(node, site) or keyword.iskeyword(node.value) or _is_called(node, site):
        return
    focus = 0.2 if site.clues.undefined and site.clues.undefined != node.value else 1.0
    receiver = site.receiver
    if node.value != receiver:
        known = (name for name in site.variables if not (name.startswith("__") and name.endswith("__")))
        options = (*bound_in_statement(site), *known, *((receiver,) if receiver else ()))
        yield from site.replacements(node, alike(node.value, options)[:25], weight=focus, step=0.12)


@template(cst.Name, strategy="names", prior=0.6, families=(*_ANY, Family.ARITHMETIC))
def callable_misuse(node: cst.Name, site: Site) -> Iterator[Edit]:
    """`f(x)` → `g(x)`: what the module calls with such arguments comes first, then the alike names, then the builtins.

    What makes the argument comes last: `g(g(x))` is seldom meant.
    """
    call = site.parent(node)
    if not isinstance(call, cst.Call) or not _is_called(node, site):
        return
    given = tuple(site.code(arg) for arg in call.args)
    same = {other.name for other in site.module.calls if other.arguments == given}
    as_many = {other.name for other in site.module.calls if len(other.arguments) == len(given)}
    near = {n.value for n in site.body if isinstance(n, cst.Name)}
    fitting = _fitting(call, site)
    called = [name for name in site.variables if name in as_many]
    options = alike(node.value, (*fitting, *site.callables, *site.local_variables, *called, *_BUILTINS))
    signs = ((same, 4), (near, 2), (as_many, 2), (fitting, 1))
    evidence = {n: sum(worth for names, worth in signs if n in names) + (n not in _BUILTINS) for n in options}
    inside = {site.code(arg.value.func) for arg in call.args if isinstance(arg.value, cst.Call)}
    ordered = sorted(options, key=lambda name: (name in inside, -evidence[name]))
    yield from site.replacements(node, ordered, step=0.1)


def _fitting(call: cst.Call, site: Site) -> tuple[str, ...]:
    """The builtins whose results are usual where this call's goes."""
    parent = site.parent(call)
    if isinstance(parent, (cst.For, cst.CompFor)):
        return ("enumerate", "zip", "range", "reversed", "sorted", "iter", "map", "filter", "list", "set")
    if isinstance(parent, (cst.If, cst.IfExp, cst.While, cst.BooleanOperation, cst.UnaryOperation, cst.CompIf)):
        return ("isinstance", "hasattr", "callable", "any", "all", "len", "issubclass", "getattr")
    return ("len", "list", "str", "tuple", "int", "sum", "set", "sorted", "next", "iter", "dict", "max", "min", "type")


@template(cst.CSTNode, strategy="names", prior=0.6, families=(Family.IMPORT, Family.ATTRIBUTE, Family.NAME))
def misnamed_definition(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """`def totl` → `def total`, when that is the name that others ask for."""
    wanted = site.clues.imported or site.clues.attribute or site.clues.undefined
    if wanted and isinstance(node, (cst.FunctionDef, cst.ClassDef)) and node.name.value != wanted:
        yield site.token(node.name, wanted, weight=similarity(node.name.value, wanted))
    if wanted and isinstance(node, cst.AssignTarget) and isinstance(node.target, cst.Name) and site.function is None:
        yield site.token(node.target, wanted, weight=similarity(node.target.value, wanted))


def _is_called(node: cst.CSTNode, site: Site) -> bool:
    parent = site.parent(node)
    return isinstance(parent, cst.Call) and parent.func is node


TYPES = ("str", "int", "list", "dict", "tuple", "float", "set", "bool", "bytes", "frozenset", "type", "object")
_ASKING = ("breakpoint", "compile", "copyright", "credits", "eval", "exec", "exit", "help", "input", "license", "quit")
_BUILTINS = tuple(
    name for name, value in vars(builtins).items() if callable(value) and name[0].islower() and name not in _ASKING
)
"""Builtin functions and types, but for those that read from a person or run a text."""

_ATTRIBUTES = (Family.ATTRIBUTE, Family.ASSERTION, Family.TYPE, Family.NAME, Family.VALUE, Family.LOOKUP)

METHOD_FAMILIES: tuple[tuple[str, ...], ...] = (
    ("strip", "lstrip", "rstrip", "removeprefix", "removesuffix"),
    ("lower", "upper", "title", "capitalize", "casefold", "swapcase"),
    ("startswith", "endswith"),
    ("find", "rfind", "index", "rindex"),
    ("split", "rsplit", "splitlines", "partition", "rpartition"),
    ("ljust", "rjust", "center", "zfill"),
    ("isdigit", "isnumeric", "isdecimal", "isalpha", "isalnum", "isspace", "isupper", "islower"),
    ("append", "extend", "add", "update", "insert", "appendleft", "push", "put"),
    ("remove", "discard", "pop", "popleft", "popitem", "clear"),
    ("keys", "values", "items"),
    ("get", "pop", "setdefault"),
    ("union", "intersection", "difference", "symmetric_difference"),
    ("issubset", "issuperset", "isdisjoint"),
    ("intersection_update", "difference_update", "symmetric_difference_update", "update"),
    ("sort", "reverse"),
    ("encode", "decode"),
    ("read", "readline", "readlines"),
    ("write", "writelines"),
    ("match", "search", "fullmatch", "findall", "finditer"),
    ("group", "groups", "groupdict", "start", "end", "span"),
    ("year", "month", "day"),
    ("hour", "minute", "second"),
    ("floor", "ceil", "trunc"),
    ("dump", "dumps"),
    ("load", "loads"),
    ("stdin", "stdout", "stderr"),
)
"""Methods that are easily taken for one another."""


def relatives(name: str) -> tuple[str, ...]:
    """The other members of a method's families."""
    return tuple(dict.fromkeys(m for family in METHOD_FAMILIES if name in family for m in family if m != name))


def members(node: cst.Attribute, site: Site) -> Sequence[str]:
    """What the owner of an attribute has besides: of the own class, a class of the module, or a module of the project."""
    function = site.function
    if function and function.receiver and site.code(node.value) == function.receiver:
        return site.module.members(function.owner)
    if not isinstance(node.value, cst.Name) or node.value.value in site.local_variables:
        return ()
    name = node.value.value
    if name in site.module.classes:
        return *site.module.parts.get(name, ()), *site.module.members(name)
    own = (part for module in site.project.modules(name) for part in site.project.definitions(module))
    return *site.module.parts.get(name, ()), *own


def _beside(node: cst.Attribute, site: Site) -> list[str]:
    """Members of the project's classes that have this attribute, for an object of which no class is known.

    Classes that also have what else this function takes of the object come first; within one, the alike names.
    """
    name = node.attr.value
    base = site.code(node.value)
    taken = (n for n in site.body if isinstance(n, cst.Attribute) and site.code(n.value) == base)
    seen = {n.attr.value for n in taken} | {name}
    if site.clues.attribute == name:
        seen.discard(name)  # that it is not there is what the error says
    found = {id(scope): scope for other in seen for scope in site.project.classes_having(other)}
    ranked = sorted(found.values(), key=lambda scope: -len(seen & {*scope.attributes, *scope.methods}))
    members = (alike(name, (*scope.attributes, *scope.methods)) for scope in ranked)
    return list(dict.fromkeys(m for group in members for m in group if not m.startswith("_")))


@template(cst.Attribute, strategy="names", prior=0.7, families=_ATTRIBUTES)
def attribute_misuse(node: cst.Attribute, site: Site) -> Iterator[Edit]:
    """`self.a` → `self.b`: another of its class or of a class that has it, of the module's objects, or an alike builtin method."""
    name = node.attr.value
    focus = 0.2 if site.clues.attribute and site.clues.attribute != name else 1.0
    read = [n.attr.value for n in site.body if isinstance(n, cst.Attribute)]
    known_here = alike(name, members(node, site))[:60] or [*alike(name, read)[:12], *_beside(node, site)[:24]]
    known = (*site.module.attributes, *(m for family in METHOD_FAMILIES for m in family))
    others = [option for option in alike(name, known)[:12] if similarity(name, option) >= 0.45]
    if site.clues.attribute == name:
        others = list(dict.fromkeys((*others, *alike(name, _class_members(site))[:12])))
    options = [option for option in dict.fromkeys((*known_here, *others)) if not option.startswith("__")]
    options = [*_same_of_base(node, site), *_own_field(node, site), *options]
    for option, weight in by_rank(options, step=0.12):
        yield site.token(node.attr, option, weight=weight * focus, around=node)


def _same_of_base(node: cst.Attribute, site: Site) -> list[str]:
    """`Base.close(self)` → `Base.__init__(self)` within `__init__`: a base's method is called by its own name."""
    call, function = site.parent(node), site.function
    if not isinstance(call, cst.Call) or not call.args or function is None or not function.receiver:
        return []
    name = function.signature.name
    return [name] if site.code(call.args[0]) == function.receiver and name != node.attr.value else []


def _own_field(node: cst.Attribute, site: Site) -> list[str]:
    """`self._left` → `self._right` within `right`: an accessor reads the attribute that it is called like."""
    function = site.function
    if function is None or not function.receiver or site.code(node.value) != function.receiver:
        return []
    name = f"_{function.signature.name}"
    return [name] if name in site.module.members(function.owner) and name != node.attr.value else []


def _class_members(site: Site) -> tuple[str, ...]:
    owner = site.clues.owner.rpartition(".")[2]
    if owner in site.module.classes:
        return site.module.members(owner)
    if isinstance(builtin := getattr(builtins, owner, None), type):
        return tuple(name for name in dir(builtin) if not name.startswith("_"))
    return tuple(m for scope in site.module.classes.values() for m in (*scope.attributes, *scope.methods))


@template(cst.Attribute, strategy="calls", prior=0.65, families=_ATTRIBUTES)
def method_misuse(node: cst.Attribute, site: Site) -> Iterator[Edit]:
    """`s.lstrip()` → `s.rstrip()`, `a.append(b)` → `a.extend(b)`: methods of one family."""
    return site.tokens(node.attr, relatives(node.attr.value), step=0.15, around=node)


@template(cst.Attribute, strategy="names", prior=0.45, families=_ATTRIBUTES)
def attribute_hop(node: cst.Attribute, site: Site) -> Iterator[Edit]:
    """`a.b` → `a.c.b`, `a.c.b` → `a.b`, `a.b` → `a`: one attribute too few or too many on the way to a value."""
    name, base, parent = node.attr.value, site.code(node.value), site.parent(node)
    owners = [scope.name for scope in site.project.classes_having(name)]
    known = dict.fromkeys((*members(node, site), *site.module.parts.get(base, ())))
    named = [hop for hop in known if any(similarity(hop.strip("_"), owner) >= 0.6 for owner in owners)]
    intermediates = [hop for hop in dict.fromkeys((*site.module.intermediates.get(name, ()), *named)) if hop != name]
    for hop, weight in by_rank(intermediates[:10]):
        yield site.token(node.attr, f"{hop}.{name}", weight=weight, around=node)
    if isinstance(node.value, cst.Attribute):
        yield site.replace(node, f"{site.code(node.value.value)}.{name}", weight=0.8)
    if not (isinstance(parent, (cst.AssignTarget, cst.Decorator)) or _is_called(node, site) or base == site.receiver):
        yield site.replace(node, base, weight=0.5)


@template(cst.CSTNode, strategy="names", prior=0.5, families=(Family.NAME, Family.ASSERTION, Family.TYPE))
def loop_variable(node: cst.CSTNode, site: Site) -> Iterator[Edit]:
    """`for a in rows:` → `for b in rows:`: a name that the body reads and that nothing, or another loop, binds."""
    if not isinstance(node, cst.For) or not isinstance(node.target, cst.Name):
        return
    read = [n.value for n in below(node.body) if isinstance(n, cst.Name) and is_read(n, site)]
    if node.target.value not in read or site.clues.undefined in read:
        bound = [name for name in dict.fromkeys(read) if name not in site.names or name in site.local_variables]
        yield from site.tokens(node.target, sorted(bound, key=lambda name: name != site.clues.undefined)[:6])


@template(cst.Name, strategy="names", prior=0.7, families=(Family.NAME, Family.ASSERTION))
def missing_self(node: cst.Name, site: Site) -> Iterator[Edit]:
    """`total` → `self.total`, where the class has it."""
    function = site.function
    if function is None or not function.receiver or not is_read(node, site):
        return
    undefined = site.clues.undefined == node.value
    if undefined or node.value in site.module.members(function.owner):
        yield site.replace(node, f"{function.receiver}.{node.value}", weight=1.0 if undefined else 0.6)
        yield site.replace(node, f"{function.owner}.{node.value}", weight=0.3)


@template(cst.Name, strategy="names", prior=0.6, families=_ATTRIBUTES)
def own_class(node: cst.Name, site: Site) -> Iterator[Edit]:
    """`Row(a)` → `type(self)(a)`, `cls(a)` within a method of `Row`: an object of a subclass stays one of its class."""
    function, call = site.function, site.parent(site.parent(node))
    if function is None or not function.receiver or node.value != function.owner or not is_read(node, site):
        return
    if not isinstance(call, cst.Call) or site.code(call.func) != "super":
        receiver = function.receiver
        written = f"{receiver}.__class__" if ".__class__" in site.region.module.source else f"type({receiver})"
        yield site.replace(node, "cls" if receiver == "cls" else written)


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

MODULES = tuple(sorted(name for name in sys.stdlib_module_names if not name.startswith("_")))
"""The modules of the standard library."""


def import_lines(name: str, site: Site) -> list[str]:
    """The import statements that would define `name`: the standard library's modules, then the project's own."""
    lines = [f"import {name}"] if name in MODULES else []
    lines += [f"from {module} import {name}" for module in site.project.defining(name)[:4]]
    lines += [f"from {module} import {name}" for module, names in WELL_KNOWN.items() if name in names]
    parents = [module.rpartition(".")[0] for module in site.project.modules(name)[:2]]
    lines += [f"from {parent} import {name}" if parent else f"import {name}" for parent in parents]
    return list(dict.fromkeys(lines))


@template(cst.Name, strategy="imports", prior=0.9, families=(Family.NAME,))
def missing_import(node: cst.Name, site: Site) -> Iterator[Edit]:
    """An undefined name gets its import at the module's top."""
    if not is_read(node, site) or node.value in site.names:
        return
    span = site.region.span(node)
    for line, weight in by_rank(import_lines(node.value, site)):
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
        return site.tokens(node.name, alike(site.code(node.name), MODULES)[:5])
    module = site.code(parent.module) if parent.module else ""
    known = (*site.project.definitions(module), *WELL_KNOWN.get(module, ()))
    return site.tokens(node.name, alike(site.code(node.name), known)[:8])


@template(cst.ImportFrom, strategy="imports", prior=0.8, families=(Family.IMPORT,))
def imported_from(node: cst.ImportFrom, site: Site) -> Iterator[Edit]:
    """`from a import x` → `from b import x`: the module that defines it; an absolute import made relative, and back."""
    if node.module is None or isinstance(node.names, cst.ImportStar):
        return
    names = [site.code(alias.name) for alias in node.names]
    homes = [module for module in site.project.defining(names[0]) if module]
    homes += [module for module, known in WELL_KNOWN.items() if names[0] in known]
    text = site.code(node.module)
    yield from site.tokens(node.module, (home for home in dict.fromkeys(homes) if home != text))
    yield site.token(node.module, f".{text}" if not node.relative else text, weight=0.5)
