"""Wrong calls: arguments swapped, missing, in excess, or under a wrong keyword; objects that are not initialised.

"Same function more/less args", "same function swap args" of ManySStuBs4J (Karampatsis and Sutton 2020); MC-DNP and MC-DAP
of Pan et al. 2009; name-based argument selection (Rice et al. 2017); PySStuBs (Kamienski et al. 2021) on initialisers;
un-awaited coroutines: ruff RUF006.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, combinations, permutations

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.edit_context import Edit, Site
from workers.repair.engines.search.option_weights import by_rank, similarity
from workers.repair.engines.search.scope import Signature
from workers.repair.engines.search.templates import template
from workers.repair.engines.search.templates.names import alike, bound_in_statement

_ANY = (Family.ASSERTION, Family.TYPE, Family.VALUE, Family.LOOKUP, Family.ATTRIBUTE, Family.ARITHMETIC)
_MAX_ROTATED = 5


def signatures(node: cst.Call, site: Site) -> tuple[Signature, ...]:
    """The known ways to make a call; `cls(…)` is one of the class around."""
    name = site.code(node.func).rpartition(".")[2]
    owner = site.function.owner if site.function else ""
    return site.signatures(owner if owner and name in ("cls", "__class__") else name)


@template(cst.Call, strategy="calls", prior=0.65, families=_ANY)
def swapped_arguments(node: cst.Call, site: Site) -> Iterator[Edit]:
    """`f(a, b)` → `f(b, a)`: neighbours first; `f(c, a, b)` → `f(a, b, c)`: one in the wrong place.

    Two that are called like their parameters are where they belong.
    """
    plain = [arg for arg in node.args if not arg.star and arg.keyword is None]
    texts = [site.code(arg.value) for arg in plain]
    settled = _settled(texts, signatures(node, site))
    for i, j in sorted(combinations(range(len(plain)), 2), key=lambda pair: pair[1] - pair[0]):
        if not settled.issuperset((i, j)):
            yield site.exchange(plain[i].value, plain[j].value, around=node, weight=1 / (j - i))
    named = [(arg.keyword.value, arg) for arg in node.args if arg.keyword is not None]
    for (name, one), (another, other) in combinations(named, 2):
        if not (_bears(site.code(one.value), name) and _bears(site.code(other.value), another)):
            yield site.exchange(one.value, other.value, around=node, weight=0.6)
    if 2 < len(plain) <= _MAX_ROTATED and len(settled) < 2:
        for rotated in ((*texts[1:], texts[0]), (texts[-1], *texts[:-1])):
            splices = (site.replace(arg.value, code).splices for arg, code in zip(plain, rotated, strict=True))
            yield Edit(splices=tuple(chain.from_iterable(splices)), around=site.region.span(node), weight=0.4)


def _settled(given: Sequence[str], ways: Sequence[Signature]) -> set[int]:
    """The places of the arguments that are called like their parameters, in every way to make the call."""
    fitting = [{i for i, code in enumerate(given) if _bears(code, "".join(way.parameters[i : i + 1]))} for way in ways]
    return set.intersection(*fitting) if fitting else set()


@template(cst.Call, strategy="calls", prior=0.5, families=_ANY)
def superfluous_argument(node: cst.Call, site: Site) -> Iterator[Edit]:
    """`f(a, b)` → `f(a)`: one argument less, the last first, and any of a call that the error calls wrong."""
    named = site.code(node.func).rpartition(".")[2] == site.clues.called
    for index in reversed(range(len(node.args))):
        kept = [site.code(arg) for i, arg in enumerate(node.args) if i != index]
        yield site.replace(node, f"{site.code(node.func)}({', '.join(kept)})", weight=1.0 if index or named else 0.5)


@template(cst.Call, strategy="calls", prior=0.55, families=_ANY)
def missing_argument(node: cst.Call, site: Site) -> Iterator[Edit]:
    """`f(a)` → `f(a, b)`, `f(a, b=b)`: what the signature or the error asks for, from what is in scope; `f(a, **options)`."""
    given = [site.code(arg) for arg in node.args]
    if site.function and (rest := site.function.node.args.kwarg) and f"**{rest.arg}" not in given:
        unread = all(not isinstance(n, cst.Name) or n.value != rest.arg for n in site.body)
        yield site.replace(node, _call(node, site, [*given, f"**{rest.arg}"]), weight=1.0 if unread else 0.4)
    named = {site.code(arg.keyword) for arg in node.args if arg.keyword}
    count = sum(arg.keyword is None for arg in node.args)
    ways = signatures(node, site)
    wanted = [p for s in ways for p in s.parameters[count:] if p not in named]
    passed_on = [p for p in wanted if p in site.local_variables]
    likely = bool(passed_on) or any(count + len(named) < s.required for s in ways)
    parameters = dict.fromkeys((*site.clues.missing, *passed_on, *wanted))
    for parameter, rank in by_rank(parameters, first=1.0 if likely else 0.7):
        prefix = "" if not named and parameter in wanted[:1] else f"{parameter}="
        for value, weight in by_rank(_values(parameter, site), step=0.2):
            yield site.replace(node, _call(node, site, [*given, prefix + value]), weight=rank * weight)
    if not named and not any(arg.star for arg in node.args):
        for value, weight in by_rank(_at_hand(site)[:12], first=0.5 if not ways else 0.3, step=0.15):
            yield site.replace(node, _call(node, site, [*given, value]), weight=weight)
            yield site.replace(node, _call(node, site, [value, *given]), weight=weight * 0.7)


def _at_hand(site: Site) -> list[str]:
    """Variables, the receiver, and the attributes that this function reads."""
    receiver = [site.receiver] if site.receiver else []
    read = [site.code(n) for n in site.body if isinstance(n, cst.Attribute) and site.code(n.value) == site.receiver]
    return list(dict.fromkeys((*site.local_variables, *receiver, *read)))


def _call(node: cst.Call, site: Site, arguments: list[str]) -> str:
    spread = [a for a in arguments if a.startswith("**")]
    return f"{site.code(node.func)}({', '.join([a for a in arguments if a not in spread] + spread)})"


def _values(parameter: str, site: Site) -> list[str]:
    same = [parameter] if parameter in site.variables else []
    members = site.module.members(site.function.owner) if site.function and site.receiver else ()
    own = [f"{site.receiver}.{member}" for member in members if _bears(member, parameter)]
    return [*same, *own, *alike(parameter, site.local_variables)[:6], "True", "False", "None", "0", "1"]


@template(cst.Call, strategy="calls", prior=0.75, families=_ANY)
def misnamed_keyword(node: cst.Call, site: Site) -> Iterator[Edit]:
    """`f(sise=a)` → `f(size=a)`: a keyword that no parameter has becomes one that is left, the most like it first."""
    given = [arg.keyword for arg in node.args if arg.keyword is not None]
    words = {word.value for word in given}
    for way in signatures(node, site):
        left = [name for name in way.parameters[len(node.args) - len(given) :] if name not in words]
        for word in (word for word in given if word.value not in way.parameters):
            for name in left:
                yield site.token(word, name, weight=similarity(word.value, name), around=node)


@template(cst.Param, strategy="calls", prior=0.45, families=(Family.TYPE,))
def misnamed_parameter(node: cst.Param, site: Site) -> Iterator[Edit]:
    """`def f(sise)` → `def f(size)`, when callers use that keyword; the body follows."""
    wanted = site.clues.keyword
    definition = site.definition
    if not wanted or definition is None or definition is not site.unit.node:
        return
    old = node.name.value
    names = [n for n in site.body if isinstance(n, cst.Name) and n.value == old and _is_variable(n, site)]
    edits = [site.token(name, wanted) for name in (node.name, *names)]
    splices = tuple(splice for edit in edits for splice in edit.splices)
    span = site.region.span(node)
    yield Edit(splices=splices, around=span, weight=similarity(old, wanted))
    text = site.code(node)
    yield site.token(node, f"{text}, {wanted}=None", weight=0.3)


def _is_variable(node: cst.Name, site: Site) -> bool:
    parent = site.parent(node)
    if isinstance(parent, cst.Attribute):
        return parent.attr is not node
    return not (isinstance(parent, cst.Arg) and parent.keyword is node)


@template(cst.Parameters, strategy="calls", prior=0.5, families=(Family.TYPE,))
def missing_parameter(node: cst.Parameters, site: Site) -> Iterator[Edit]:
    """`def f():` in a class → `def f(self):`; a method that takes one too many loses its last parameter's necessity."""
    definition = site.definition
    if definition is None or definition.params is not node:
        return
    first = node.params[0].name.value if node.params else ""
    if site.function and site.function.owner and first not in ("self", "cls"):
        rest = site.code(node) if node.params else ""
        if rest:
            yield site.token(node, f"self, {rest}")
        else:
            at = site.region.data.index(b"(", site.region.span(definition.name)[1]) + 1
            yield site.splice(at, at, "self")
    if node.params and node.params[-1].default is None and node.params[-1].name.value not in ("self", "cls"):
        last = node.params[-1]
        text = site.code(last).rstrip(", ")
        defaults = (f"{text}={default}" for default in ("None", "0", "()", '""', "False"))
        yield from site.tokens(last if last.annotation else last.name, defaults)


@template(cst.Call, strategy="calls", prior=0.35, families=_ANY)
def unwrapped_call(node: cst.Call, site: Site) -> Iterator[Edit]:
    """`f(a)` → `a`, `f`; `a.f()` → `a`: a call too many."""
    if isinstance(site.parent(node), (cst.Expr, cst.Decorator)):
        return
    if len(node.args) == 1 and not node.args[0].star:
        yield site.replace(node, site.code(node.args[0].value))
    if isinstance(node.func, cst.Attribute):
        yield site.replace(node, site.code(node.func.value), weight=0.8)
    if not node.args:
        yield site.replace(node, site.code(node.func), weight=0.8)


_DEFAULTED = {"get": 1, "pop": 1, "next": 1, "getattr": 2, "setdefault": 1}


@template(cst.Call, strategy="calls", prior=0.6, families=(*_ANY, Family.ITERATION))
def missing_default(node: cst.Call, site: Site) -> Iterator[Edit]:
    """`d.get(k)` → `d.get(k, "")`, `getattr(a, k)` → `getattr(a, k, None)`, `next(a)` → `next(a, None)`."""
    given = [site.code(arg) for arg in node.args]
    if _DEFAULTED.get(site.code(node.func).rpartition(".")[2]) == len(given):
        absent = ("None", '""', "0", "[]", "{}", "()", "False", *site.local_variables[:4], given[0])
        calls = (f"{site.code(node.func)}({', '.join(given)}, {value})" for value in absent)
        yield from site.replacements(node, calls, step=0.2)


_ARGUMENTS = (*_ANY, Family.NAME)

MAX_LACKING = 2
"""How many parameters may have no namesake in scope: with more the names tell too little."""


@template(cst.Call, strategy="calls", prior=0.65, families=_ARGUMENTS)
def misplaced_arguments(node: cst.Call, site: Site) -> Iterator[Edit]:
    """`area(b, b)` → `area(a, b)` where `def area(a, b)`: each parameter gets what is called like it."""
    if not node.args or any(arg.star for arg in node.args):
        return
    given = [site.code(arg.value) for arg in node.args if arg.keyword is None]
    named = [(site.code(arg.keyword), site.code(arg.value)) for arg in node.args if arg.keyword is not None]
    words = [name for name, _ in named]
    stock = list(dict.fromkeys((*given, *(value for _, value in named), *site.live, *bound_in_statement(site))))
    kept = [f"{name}={value}" for name, value in named]
    put_right = [f"{name}={next((code for code in stock if _bears(code, name)), value)}" for name, value in named]
    for way in signatures(node, site) or (Signature(name="", parameters=(), required=0),):
        free = [name for name in way.parameters if name not in words]
        for count in dict.fromkeys((len(given), way.required)):
            for arguments in matched(free[:count], given, stock):
                for rest in (put_right, kept) if put_right != kept else (kept,):
                    yield site.replace(node, f"{site.code(node.func)}({', '.join((*arguments, *rest))})")


def matched(parameters: Sequence[str], given: Sequence[str], stock: Sequence[str]) -> Iterator[Sequence[str]]:
    """What fits each parameter by its name, with the rest of what is given in every order for the others, its own first."""
    fitting = {name: code for name in parameters for code in reversed(stock) if _bears(code, name)}
    lacking = [name for name in parameters if name not in fitting]
    left = [code for code in given if code not in fitting.values()]
    if len(parameters) < len(given) or len(lacking) > len(left) or len(lacking) > MAX_LACKING:
        yield given
        return
    for rest in permutations(left, len(lacking)):
        filled = fitting | dict(zip(lacking, rest, strict=True))
        yield [filled[name] for name in parameters]


def _bears(code: str, name: str) -> bool:
    """Whether an expression is called like a parameter: `size`, `self.size`, `event._size`."""
    return code.rpartition(".")[2].strip("_") == name.strip("_")


@template(cst.Call, strategy="calls", prior=0.45, families=_ARGUMENTS)
def arguments_of_like_call(node: cst.Call, site: Site) -> Iterator[Edit]:
    """`put(b, a, a)` → `put(a, b, c)`: the arguments that another call of it in the module has."""
    name, own = site.code(node.func).rpartition(".")[2], tuple(site.code(arg) for arg in node.args)
    others = Counter(call.arguments for call in site.module.calls if call.name == name and call.arguments != own)
    alike = sorted(others, key=lambda arguments: (len(arguments) != len(own), -others[arguments]))
    return site.replacements(node, (f"{site.code(node.func)}({', '.join(arguments)})" for arguments in alike[:8]))


_USES = (
    ("[]", r"\.(?:append|extend|insert|sort|reverse)\(|\s*\+=\s*\["),
    ("set()", r"\.(?:add|discard|intersection|difference|union)\("),
    ("{}", r"\.(?:items|keys|values|get|setdefault|update)\(|\[[^\]]{0,200}\]\s*(?:=(?!=)|[-+*|]=)"),
    ('""', r"\s*\+=\s*[rbf]?[\"']|\.(?:strip|split|upper|lower|startswith|endswith|join)\("),
    ("False", r"\s*=\s*(?:True|False)\b"),
    ("None", r"\s+is\s+(?:not\s+)?None\b"),
    ("0", r"\s*(?:[-+*/]=|[<>]=?|[-+*/%])"),
)

EMPTIES = ("0", "[]", "{}", "None", '""', "False", "set()")


def empties(use: str, source: str) -> Iterator[str]:
    """Every empty value, first those that suit what follows the pattern `use` in `source`."""
    found = [value for value, following in _USES if re.search(f"{use}(?:{following})", source)]
    yield from dict.fromkeys((*found, *EMPTIES))


@template(cst.FunctionDef, strategy="names", prior=0.85, families=(Family.ATTRIBUTE,))
def missing_initialisation(node: cst.FunctionDef, site: Site) -> Iterator[Edit]:
    """`__init__` gets `self.attempts = 0` as its last statement: an attribute used before it is set (cf. pylint W0201).

    Only for the class and attribute that the error names; the value is judged by the attribute's uses.
    """
    attribute, body, function = site.clues.attribute, node.body, site.function
    owners = {scope.name for scope in site.module.lineage(site.clues.owner.rpartition(".")[2])}
    fits = node.name.value == "__init__" and site.unit.node is node and bool(attribute)
    if not isinstance(body, cst.IndentedBlock) or not fits or function is None or function.owner not in owners:
        return
    last = site.lines_of(body.body[-1])
    indent = site.text_before(body.body[-1])
    values = empties(rf"\.{re.escape(attribute)}\b", site.region.module.source)
    given = (attribute,) if attribute in function.parameters else ()
    leaves = site.code(body.body[-1]).startswith(("return", "raise"))
    for value, weight in by_rank((*given, *values), step=0.1):
        line = f"{indent}{function.receiver}.{attribute} = {value}\n"
        if not indent.strip():
            yield site.splice(*(last[0], last[0]) if leaves else (last[1], last[1]), line, weight=weight)


@template(cst.FunctionDef, strategy="calls", prior=0.5, families=(Family.TYPE, Family.ATTRIBUTE, Family.ASSERTION))
def asynchronous_definition(node: cst.FunctionDef, site: Site) -> Iterator[Edit]:
    """`def f` → `async def f` and back, in a module that has asynchronous functions."""
    start, end = site.region.span(node)[0], site.region.span(node.name)[0]
    if site.unit.node is node and any(f.is_async for f in site.module.functions):
        yield site.splice(start, end, "def " if node.asynchronous else "async def ")


@template(cst.Call, strategy="calls", prior=0.8, families=(Family.TYPE, Family.ATTRIBUTE, Family.ASSERTION))
def missing_await(node: cst.Call, site: Site) -> Iterator[Edit]:
    """`f()` → `await f()` in an async function, and back."""
    parent = site.parent(node)
    if isinstance(parent, cst.Await):
        yield site.replace(parent, site.code(node), weight=0.6)
    elif site.function is not None and site.function.is_async:
        name = site.code(node.func).rpartition(".")[2]
        known = any(f.is_async and f.signature.name == name for f in site.module.functions)
        named = "coroutine" in site.failure.message
        yield site.replace(node, f"await {site.code(node)}", weight=1.0 if known else 0.6 if named else 0.2)
