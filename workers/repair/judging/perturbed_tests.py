"""Twins of failing tests: one that expects what the test expects, and one that expects something else. Pure.

A process that imports a candidate can report whatever it likes. Both twins end with an error and a random word: which word it is
says whether the assertions held. Names, words and order are random, so nothing but the expected values tells the twins apart, and
reporting what is true of both takes evaluating what they assert.
"""

import ast
import copy
import random
import string
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeGuard

from memory.parsing import PARSE_ERRORS, parse_expression, parse_module
from workers.repair.judging.expected_values import EQUALITIES, compared_once, parameters
from workers.repair.outline import FunctionNode, called

MAX_FUNCTIONS = 30
"""Functions of one file that get twins."""

OPPOSITES = {
    "assertAlmostEqual": "assertNotAlmostEqual",
    "assertGreater": "assertLessEqual",
    "assertGreaterEqual": "assertLess",
    "assertIn": "assertNotIn",
    "assertIs": "assertIsNot",
    "assertIsInstance": "assertNotIsInstance",
    "assertIsNone": "assertIsNotNone",
    "assertNotEqual": "assertEqual",
    "assertRegex": "assertNotRegex",
    "assertTrue": "assertFalse",
}
"""Methods of unittest.TestCase with those that fail where they pass."""

NEGATED = OPPOSITES | {opposite: name for name, opposite in OPPOSITES.items()}

CLASS_FIRST = frozenset({"assertRaises", "assertRaisesRegex", "assertWarns", "assertWarnsRegex", "raises", "warns"})
"""Calls whose first argument is the class of error or warning that is expected."""

UNEXPECTED = {"warns": ("ImportWarning", "UnicodeWarning"), "raises": ("BufferError", "EOFError", "ReferenceError")}
"""Classes that hardly any test expects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Twins:
    """The twins of one test function, all named as in pytest's ids after the file.

    The right twin ends with the word `held` where all its assertions hold. The perturbed one ends with `failed` where one of
    its assertions fails, as it must, and with `survived` where all hold. Each ends with its own of the words `returned` where
    it may have come to no assertion: at a return before its end, and where a block with assertions swallowed an error. At its
    end without any, as after a loop over nothing, the right twin ends with `idle`.
    """

    function: str
    right: str
    perturbed: str
    held: str
    failed: str
    survived: str
    returned: tuple[str, str]
    idle: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TwinTests:
    """A test file in which twins take the place of functions."""

    text: str
    twins: tuple[Twins, ...]


def with_twins(text: str, tests: Collection[str], rng: random.Random) -> TwinTests | None:
    """The file with twins of the given tests, none: of all, as far as they expect something. None where none of them does.

    `tests` are what pytest's ids say after the file, parameters included.
    """
    try:
        tree = parse_module(text)
        wanted = {test.partition("[")[0] for test in tests}
        found = [each for each in _functions(tree) if _is_wanted(each[0], wanted)]
        chosen = rng.sample(found, min(len(found), MAX_FUNCTIONS))
        helpers = {each.name: each for each in tree.body if _is_helper(each)}
        made = (_replaced(name, node, body, tree.body, helpers, rng) for name, node, body in chosen)
        twins = [each for each in made if each is not None]
        _remove({twin.function for twin in twins}, found)
        changed = ast.unparse(ast.fix_missing_locations(tree))
    except PARSE_ERRORS:
        return None
    return TwinTests(text=f"{changed}\n", twins=tuple(twins)) if twins else None


def _remove(names: Collection[str], functions: Sequence[tuple[str, FunctionNode, list[ast.stmt]]]) -> None:
    """Remove the functions that have twins: beside them, they would tell which twin is right."""
    for node, body in {id(node): (node, body) for name, node, body in functions if name in names}.values():
        body.remove(node)


def _is_helper(node: ast.stmt) -> TypeGuard[FunctionNode]:
    """Whether a function of a test file may assert for its tests."""
    return isinstance(node, FunctionNode) and not node.decorator_list and not node.name.startswith("test")


def _replaced(
    name: str,
    node: FunctionNode,
    body: list[ast.stmt],
    module: list[ast.stmt],
    helpers: Mapping[str, FunctionNode],
    rng: random.Random,
) -> Twins | None:
    """Put twins in a function's place, with helpers of their own; None where it expects nothing that can be changed."""
    right, other = copy.deepcopy(node), copy.deepcopy(node)
    right.name, other.name = f"test_{random_word(rng)}", f"test_{random_word(rng)}"
    words = [[random_word(rng) for _ in range(5)] for _ in range(2)]
    used = {each.func.id for each in ast.walk(node) if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)}
    copied: list[ast.stmt] = []
    changes = 0
    for twin, (failed, held, returned, idle, reached) in zip((right, other), words, strict=True):
        make = partial(_Twin, rng=rng, failed=failed, reached=reached, perturb=twin is other)
        for helper in (copy.deepcopy(helpers[each]) for each in sorted(used & helpers.keys())):
            _rename(twin, helper, f"_{random_word(rng)}")
            copied.append(helper)
            changes += make(helper).apply()
        changes += make(twin, held=held, returned=returned, idle=idle).apply()
    if not changes:
        return None
    module += rng.sample(copied, len(copied))
    at = body.index(node)
    body[at:at] = rng.sample([right, other], 2)
    above = name.rpartition("::")[0] + "::" if "::" in name else ""
    (_, held, returned, idle, _), (failed, survived, returned_too, *_) = words
    return Twins(
        function=name,
        right=f"{above}{right.name}",
        perturbed=f"{above}{other.name}",
        held=held,
        failed=failed,
        survived=survived,
        returned=(returned, returned_too),
        idle=idle,
    )


def _functions(tree: ast.Module) -> Iterator[tuple[str, FunctionNode, list[ast.stmt]]]:
    """Every test function, named as in pytest's ids, with the statements around it; inherited methods for each class."""
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    for node in tree.body:
        if isinstance(node, FunctionNode):
            yield node.name, node, tree.body
        elif isinstance(node, ast.ClassDef):
            methods: dict[str, tuple[str, FunctionNode, list[ast.stmt]]] = {}
            for name, method, body in _methods(node.name, node, classes, set()):
                methods.setdefault(name, (name, method, body))  # what a class overrides comes before
            yield from methods.values()


def _methods(
    name: str,
    holder: ast.ClassDef,
    classes: Mapping[str, ast.ClassDef],
    done: set[tuple[str, ast.ClassDef]],
    around: tuple[ast.ClassDef, ...] = (),
) -> Iterator[tuple[str, FunctionNode, list[ast.stmt]]]:
    if holder in around or (name, holder) in done:
        return
    done.add((name, holder))
    for node in holder.body:
        if isinstance(node, FunctionNode):
            yield f"{name}::{node.name}", node, holder.body
        elif isinstance(node, ast.ClassDef):
            yield from _methods(f"{name}::{node.name}", node, classes, done, (*around, holder))
    for base in (classes.get(getattr(each, "id", "")) for each in holder.bases):
        if base is not None:
            yield from _methods(name, base, classes, done, (*around, holder))


def _is_wanted(name: str, wanted: Collection[str]) -> bool:
    *classes, function = name.split("::")
    above = ["::".join(classes[:count]) for count in range(1, len(classes) + 1)]
    return name in wanted or (function.startswith("test") and (not wanted or any(each in wanted for each in above)))


def random_word(rng: random.Random) -> str:
    """Sixteen letters, unguessable where `rng` is a random.SystemRandom."""
    return "".join(rng.choices(string.ascii_lowercase, k=16))


def _rename(twin: FunctionNode, helper: FunctionNode, name: str) -> None:
    """Give a twin's helper a name of its own."""
    for node in ast.walk(twin):
        if isinstance(node, ast.Name) and node.id == helper.name:
            node.id = name
    helper.name = name


class _Twin(ast.NodeTransformer):
    """Makes a function one of its twins, in place: an error with a word takes the place of success and of failure.

    A helper of a test has no word for success: it returns.
    """

    def __init__(
        self,
        function: FunctionNode,
        rng: random.Random,
        *,
        failed: str,
        reached: str,
        perturb: bool,
        held: str = "",
        returned: str = "",
        idle: str = "",
    ) -> None:
        """`reached` names the global variable that says whether any assertion held."""
        self._function = function
        self._rng = rng
        self._failed = failed
        self._reached = reached
        self._perturb = perturb
        self._held = held
        self._returned = returned
        self._idle = idle
        self._expected = compared_once(function)
        self._changed: set[str] = set()
        self._assertions = 0
        self._changes = 0

    def apply(self) -> int:
        """Change the function. How many of its expectations were changed."""
        for name, places in parameters(self._function) if self._perturb else ():
            others = [self._literal(values[at]) for values, at in places]
            if name in self._expected and others and None not in others:
                for (values, at), other in zip(places, others, strict=True):
                    values[at] = other or values[at]
                self._changed.add(name)
        visited = [self.visit(statement) for statement in self._function.body]
        self._function.body = [*(each for made in visited for each in (made if isinstance(made, list) else [made]))]
        first: list[ast.stmt] = [ast.Global(names=[self._reached])]
        last: list[ast.stmt] = []
        if self._held:
            first += [_assigned(self._reached, value=False), *_copies(self._function)]
            last = [_unless(self._reached, self._idle), _error(self._held)]
        self._function.body = [*first, *self._function.body, *last]
        return self._changes

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Leave functions within the test as they are: their returns are no ends of it."""
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AsyncFunctionDef:
        """The same for coroutines."""
        return node

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        """End the test with the word for that."""
        return _error(self._returned) if self._returned else node

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        """Change a literal that is only there to be compared."""
        target = node.targets[0]
        if self._perturb and len(node.targets) == 1 and isinstance(target, ast.Name) and target.id in self._expected:
            other = self._literal(node.value)
            if other is not None:
                node.value = other
                self._changed.add(target.id)
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        """Fail with a word where the condition does not hold."""
        return self._demand(node.test)

    def visit_AsyncWith(self, node: ast.AsyncWith) -> ast.stmt | list[ast.stmt]:
        """Like a plain one."""
        return self.visit_With(node)

    def visit_With(self, node: ast.With | ast.AsyncWith) -> ast.stmt | list[ast.stmt]:
        """Expect the class of error or warning, or another one. What else a block with assertions is in may swallow an error."""
        classes = [item.context_expr for item in node.items if called(item.context_expr) in CLASS_FIRST]
        if not classes:
            known = self._assertions
            self.generic_visit(node)
            return self._unless_swallowed(node) if self._returned and self._assertions > known else node
        for call in classes:
            self._expect_another_class(call)
        return self._guarded(node)

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        """The same for methods of unittest.TestCase."""
        call = node.value.value if isinstance(node.value, ast.Await) else node.value
        name = called(call)
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            return node
        if name in EQUALITIES and len(call.args) >= 2:
            return self._demand(_equal(call.args[0], call.args[1]))
        if name in NEGATED:
            call.func.attr = NEGATED[name] if self._perturb else name
            self._changes += 1
            return self._guarded(node)
        if name in CLASS_FIRST:
            self._expect_another_class(call)
            return self._guarded(node)
        return node

    def _demand(self, test: ast.expr) -> ast.stmt:
        self._assertions += 1
        wanted = self._other(test) if self._perturb else test
        reached = _assigned(self._reached, value=True)
        return ast.If(test=ast.UnaryOp(op=ast.Not(), operand=wanted), body=[_error(self._failed)], orelse=[reached])

    def _guarded(self, statement: ast.stmt) -> ast.stmt:
        """The statement, with any error that it raises turned into the word of failure."""
        self._assertions += 1
        handler = ast.ExceptHandler(type=parse_expression("BaseException"), name=None, body=[_error(self._failed)])
        return ast.Try(
            body=[statement], handlers=[handler], orelse=[_assigned(self._reached, value=True)], finalbody=[]
        )

    def _unless_swallowed(self, node: ast.With | ast.AsyncWith) -> list[ast.stmt]:
        """The statement, and an end of the test where the block did not come to its own end."""
        ended = random_word(self._rng)
        node.body.append(_assigned(ended, value=True))
        return [_assigned(ended, value=False), node, _unless(ended, self._returned)]

    def _expect_another_class(self, call: ast.expr) -> None:
        if self._perturb and isinstance(call, ast.Call) and call.args:
            kind = "warns" if "arn" in called(call) else "raises"
            call.args[0] = parse_expression(self._rng.choice(UNEXPECTED[kind]))
            self._changes += 1

    def _other(self, test: ast.expr) -> ast.expr:
        """A condition that is false where `test` is true."""
        self._changes += 1
        match test:
            case ast.BoolOp(op=ast.And(), values=parts):
                return ast.BoolOp(op=ast.Or(), values=[self._other(part) for part in parts])
            case ast.Compare(left=left, ops=[ast.Eq(), *more], comparators=[right, *others]):
                first = self._unequal(left, right)
                rest = ast.Compare(left=right, ops=more, comparators=others) if more else None
                return ast.BoolOp(op=ast.Or(), values=[first, self._other(rest)]) if rest else first
        return ast.UnaryOp(op=ast.Not(), operand=test)

    def _unequal(self, left: ast.expr, right: ast.expr) -> ast.expr:
        """A comparison by == that is false where `left == right` is true, unless one of them is equal to everything."""
        if any(isinstance(side, ast.Name) and side.id in self._changed for side in (left, right)):
            return _equal(left, right)
        if (other := self._literal(right)) is not None:
            return _equal(left, other)
        if (other := self._literal(left)) is not None:
            return _equal(other, right)
        nothing = parse_expression("object()")
        return ast.BoolOp(op=ast.Or(), values=[_equal(left, nothing), _equal(nothing, right)])

    def _literal(self, node: ast.expr) -> ast.expr | None:
        """A literal with another value than this one has; None for what is no literal."""
        number = self._rng.randint(1_000, 1_000_000)
        match node:
            case ast.Constant(value=bool() as flag):
                return ast.Constant(value=not flag)
            case ast.Constant(value=int() | float() | complex() as known):
                return ast.Constant(value=abs(known) * 3 + number)
            case ast.Constant(value=str() as text):
                return ast.Constant(value=text + random_word(self._rng))
            case ast.Constant(value=bytes() as content):
                return ast.Constant(value=content + random_word(self._rng).encode())
            case ast.Constant() | ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
                return ast.Constant(value=number)
            case ast.List(elts=values) | ast.Tuple(elts=values):
                return type(node)(elts=[*values, ast.Constant(value=number)], ctx=ast.Load())
            case ast.Set(elts=values):
                return ast.Set(elts=[*values, ast.Constant(value=number)])
            case ast.Dict(keys=keys, values=values):
                more = ast.Constant(value=random_word(self._rng))
                return ast.Dict(keys=[*keys, more], values=[*values, ast.Constant(value=number)])
        return ast.Constant(value=number) if called(node) == "approx" else None


def _copies(function: FunctionNode) -> list[ast.stmt]:
    """Statements that copy containers among the arguments: the twins share them, and a test may change them."""
    names = [argument.arg for argument in function.args.args if argument.arg not in ("self", "cls")]
    copied = "{0} = __import__('copy').deepcopy({0}) if type({0}) in (list, dict, set) else {0}"
    return [statement for name in names for statement in parse_module(copied.format(name)).body]


def _error(message: str) -> ast.stmt:
    return parse_module(f"raise AssertionError({message!r})").body[0]


def _assigned(name: str, *, value: bool) -> ast.stmt:
    return parse_module(f"{name} = {value}").body[0]


def _unless(name: str, message: str) -> ast.stmt:
    return ast.If(test=parse_expression(f"not {name}"), body=[_error(message)], orelse=[])


def _equal(left: ast.expr, right: ast.expr) -> ast.Compare:
    return ast.Compare(left=left, ops=[ast.Eq()], comparators=[right])
