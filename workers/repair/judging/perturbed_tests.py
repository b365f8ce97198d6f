"""Failing tests with other expected values: a repair makes the tests pass, and cannot make these pass too. Pure.

A process that imports a candidate can report whatever it likes. It can report that a test passes and that its perturbed
version fails only after evaluating what both assert: nothing else tells them apart.
"""

from __future__ import annotations

import ast
import random
import string
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef

MOST_FUNCTIONS = 20
"""Functions of one file that are perturbed."""

EQUALITIES = frozenset(f"assert{kind}Equal" for kind in ("", "Dict", "List", "MultiLine", "Sequence", "Set", "Tuple"))
"""Methods of unittest.TestCase that compare their first two arguments by ==."""

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

EXPECTED_CLASS = {
    "raises": "Exception",
    "assertRaises": "Exception",
    "assertRaisesRegex": "Exception",
    "warns": "Warning",
    "assertWarns": "Warning",
}
"""Calls whose first argument is the class that is expected, with the base of the one that replaces it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PerturbedTests:
    """A test file in which `functions`, named as in pytest's ids, must fail.

    A message with `survived` says that an assertion passed with another expected value.
    """

    text: str
    functions: tuple[str, ...]
    survived: str


def perturbed(text: str, tests: Collection[str], rng: random.Random) -> PerturbedTests | None:
    """The file with other expected values in the given tests, none: in all. None where there is nothing to change.

    `tests` are what pytest's ids say after the file, parameters included.
    """
    try:
        tree = ast.parse(text)
        wanted = {test.partition("[")[0] for test in tests}
        found = [(name, node) for name, node in _functions(tree) if _is_wanted(name, wanted)]
        chosen = rng.sample(found, min(len(found), MOST_FUNCTIONS))
        survived = random_word(rng)
        for _, node in chosen:
            _Perturbation(node, rng, survived).apply()
        changed = ast.unparse(ast.fix_missing_locations(tree))
    except (SyntaxError, ValueError, RecursionError):
        return None
    functions = tuple(name for name, _ in chosen)
    return PerturbedTests(text=f"{changed}\n", functions=functions, survived=survived) if functions else None


def _functions(tree: ast.Module) -> Iterator[tuple[str, FunctionNode]]:
    """Every function at the top level and in classes, named as in pytest's ids."""
    waiting: list[tuple[str, Sequence[ast.stmt]]] = [("", tree.body)]
    while waiting:
        above, body = waiting.pop()
        for node in body:
            if isinstance(node, FunctionNode):
                yield f"{above}{node.name}", node
            elif isinstance(node, ast.ClassDef):
                waiting.append((f"{above}{node.name}::", node.body))


def _is_wanted(name: str, wanted: Collection[str]) -> bool:
    *classes, function = name.split("::")
    above = ["::".join(classes[:count]) for count in range(1, len(classes) + 1)]
    return name in wanted or (function.startswith("test") and (not wanted or any(each in wanted for each in above)))


def random_word(rng: random.Random) -> str:
    """Sixteen letters, unguessable where `rng` is a random.SystemRandom."""
    return "".join(rng.choices(string.ascii_lowercase, k=16))


class _Perturbation(ast.NodeTransformer):
    """Changes what one test expects. Behind each assertion, and at the end, an error takes the place of success."""

    def __init__(self, function: FunctionNode, rng: random.Random, survived: str) -> None:
        self._function = function
        self._rng = rng
        self._survived = survived
        self._expected = _compared_once(function)
        self._changed: set[str] = set()

    def apply(self) -> None:
        """Change the function in place."""
        for name, places in _parameters(self._function):
            others = [self._literal(values[at]) for values, at in places]
            if name in self._expected and others and None not in others:
                for (values, at), other in zip(places, others, strict=True):
                    values[at] = other or values[at]
                self._changed.add(name)
        visited = [self.visit(statement) for statement in self._function.body]
        body = [each for made in visited for each in (made if isinstance(made, list) else [made])]
        self._function.body = [*body, _error(END)]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Leave functions within the test as they are: their returns are no ends of it."""
        return node

    def visit_Return(self, _node: ast.Return) -> ast.stmt:
        """End the test with an error."""
        return _error(END)

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        """Change a literal that is only there to be compared."""
        target = node.targets[0]
        if len(node.targets) == 1 and isinstance(target, ast.Name) and target.id in self._expected:
            other = self._literal(node.value)
            if other is not None:
                node.value = other
                self._changed.add(target.id)
        return node

    def visit_Assert(self, node: ast.Assert) -> list[ast.stmt]:
        """Expect something else."""
        return [ast.Assert(test=self._false(node.test)), _error(self._survived)]

    def visit_With(self, node: ast.With) -> ast.AST:
        """Expect another class of error or warning."""
        for item in node.items:
            _expect_another_class(item.context_expr)
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.stmt | list[ast.stmt]:
        """Expect something else of a method of unittest.TestCase."""
        call = node.value.value if isinstance(node.value, ast.Await) else node.value
        name = _called(call)
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            return node
        if name in EQUALITIES and len(call.args) >= 2:
            return [ast.Assert(test=self._unequal(call.args[0], call.args[1])), _error(self._survived)]
        if name in NEGATED:
            call.func.attr = NEGATED[name]
            return [node, _error(self._survived)]
        _expect_another_class(call)
        return node

    def _false(self, test: ast.expr) -> ast.expr:
        """A condition that is false where `test` is true."""
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
            return self._unequal(test.left, test.comparators[0])
        return ast.UnaryOp(op=ast.Not(), operand=test)

    def _unequal(self, left: ast.expr, right: ast.expr) -> ast.expr:
        """A comparison by == that is false where `left == right` is true, unless one of them is equal to everything."""
        if any(isinstance(side, ast.Name) and side.id in self._changed for side in (left, right)):
            return _equal(left, right)
        if (other := self._literal(right)) is not None:
            return _equal(left, other)
        if (other := self._literal(left)) is not None:
            return _equal(other, right)
        nothing = _expression("object()")
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
        return ast.Constant(value=number) if _called(node) == "approx" else None


END = "the end of a perturbed test"


def _error(message: str) -> ast.stmt:
    return ast.parse(f"raise AssertionError({message!r})").body[0]


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _equal(left: ast.expr, right: ast.expr) -> ast.Compare:
    return ast.Compare(left=left, ops=[ast.Eq()], comparators=[right])


def _called(node: ast.AST) -> str:
    """The last part of a called function's name; empty for what is no call."""
    function = node.func if isinstance(node, ast.Call) else None
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _expect_another_class(node: ast.expr) -> None:
    base = EXPECTED_CLASS.get(_called(node))
    if base is not None and isinstance(node, ast.Call) and node.args:
        node.args[0] = _expression(f"type('Unexpected', ({base},), {{}})")


def _compared_once(function: FunctionNode) -> set[str]:
    """The names that a function reads once, as one side of a comparison."""
    nodes = [node for statement in function.body for node in ast.walk(statement)]
    read = Counter(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
    sides = [side for node in nodes if isinstance(node, ast.Compare) for side in (node.left, *node.comparators)]
    sides += [
        side for node in nodes if _called(node) in EQUALITIES and isinstance(node, ast.Call) for side in node.args
    ]
    return {side.id for side in sides if isinstance(side, ast.Name) and read[side.id] == 1}


def _parameters(function: FunctionNode) -> Iterator[tuple[str, list[tuple[list[ast.expr], int]]]]:
    """The parameters of pytest.mark.parametrize with the places of their values, where these are written out."""
    for decorator in function.decorator_list:
        match decorator:
            case ast.Call(args=[ast.Constant(value=str() as text), ast.List() | ast.Tuple() as rows, *_]):
                names = [name.strip() for name in text.split(",")]
            case ast.Call(args=[ast.List() | ast.Tuple() as listed, ast.List() | ast.Tuple() as rows, *_]):
                names = [str(each.value) for each in listed.elts if isinstance(each, ast.Constant)]
            case _:
                continue
        if _called(decorator) == "parametrize":
            for at, name in enumerate(names):
                places = [_place(rows.elts, row, at, len(names)) for row in range(len(rows.elts))]
                yield name, [place for place in places if place is not None] if None not in places else []


def _place(rows: list[ast.expr], row: int, column: int, columns: int) -> tuple[list[ast.expr], int] | None:
    """The place of a parameter's value."""
    match rows[row]:
        case ast.Call(args=values) if len(values) == columns:
            return values, column
        case ast.List(elts=values) | ast.Tuple(elts=values) if columns > 1 and len(values) == columns:
            return values, column
    return (rows, row) if columns == 1 else None
