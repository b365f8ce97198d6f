from __future__ import annotations

from collections.abc import Mapping
from textwrap import dedent

import pytest

from memory.model import Severity
from workers.patches import changed_lines, parse_diff, unified
from workers.review.detectors.detector import Delta, Detection, HeadTree
from workers.review.detectors.semantic.reader import Semantic

PATH = "shop/cart.py"


def read(before: str, after: str, *, path: str = PATH, ran: Mapping[str, frozenset[int]] | None = None) -> Detection:
    added = changed_lines(parse_diff(unified(path, before, after)))
    head = HeadTree(sources={path: after}, target_version="py311")
    delta = Delta(head=head, base={path: before}, added=added, touched=frozenset({path}))
    return Semantic(ran or {}).compare(delta, [path])


def rules(before: str, after: str) -> list[tuple[str, int]]:
    return [(found.rule, found.line) for found in read(dedent(before), dedent(after)).findings]


DRAW = "def draw(width, height):\n    return width, height\n\n\n"


@pytest.mark.parametrize(
    ("after", "found"),
    [
        (DRAW + "def f(width, height):\n    return draw(height, width)\n", [("SEM001", 6)]),
        (DRAW + "def f(box):\n    return draw(box.height, box.width)\n", [("SEM001", 6)]),
        (
            "class A:\n    def a(self, key, value):\n        pass\n    def b(self, key, value):\n        self.a(value, key)\n",
            [("SEM001", 5)],
        ),
        (DRAW + "def f(width, height):\n    return draw(width, height)\n", []),
        (DRAW + "def f(width, height):\n    return draw(height=height, width=width)\n", []),
        (DRAW + "def transpose(width, height):\n    return draw(height, width)\n", []),
        (DRAW + "def f(width, height):\n    if width > height:\n        return draw(height, width)\n", []),
        (DRAW + "def f(sizes, width):\n    return draw(*sizes, width)\n", []),
        ("def gcd(a, b):\n    return gcd(b, a % b) if b else a\n", []),
        ("def gcd(a, b):\n    return gcd(b, a) if b else a\n", []),
        ("def f(width, height):\n    return unknown(height, width)\n", []),
    ],
)
def test_swapped_arguments(after: str, found: list[tuple[str, int]]) -> None:
    """Names that are those of the parameters in each other's place; not where the order is chosen on purpose."""
    assert rules("", after) == found


def test_the_evidence_is_cited() -> None:
    """A message names the parameters and what they are given."""
    (found,) = read("", DRAW + "def f(width, height):\n    return draw(height, width)\n").findings
    assert found.message == ("swapped-arguments: `draw` takes (`width`, `height`) and is given (`height`, `width`).")


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("width = max(width, a.width)\nheight = max(height, a.width)\n", [("SEM002", 2)]),
        ("min_x = f(o.min_x) if o.min_x else 0\nmax_x = f(o.max_x) if o.min_x else 0\n", [("SEM002", 2)]),
        (
            "if first is None or first.empty:\n    stop(first)\nif last is None or first.empty:\n    stop(last)\n",
            [("SEM002", 3)],
        ),
        ("width = max(width, a.width)\nheight = max(height, a.height)\n", []),
        ("a = g('x', b)\na = g('7', b)\n", []),
        ("left = f(left, base)\nright = f(right, base)\n", []),
        ("a1 = g(a1, b)\na2 = g(a1, b)\n", []),
        ("x_start = f(x_start, size, size)\nx_end = f(x_end, size, size)\n", []),
        ("total = total + total_net\ncount = count + total_net\n", []),
        ("x1 = f(x1, x0)\nx2 = f(x2, x1)\nx3 = f(x3, x2)\n", []),
    ],
)
def test_copied_names(lines: str, found: list[tuple[str, int]]) -> None:
    """Of two parallel lines the second was renamed everywhere but once; what all of them share is meant."""
    assert rules("", lines) == found


@pytest.mark.parametrize(
    ("after", "found"),
    [
        ("if x < 3 and x > 5:\n    pass\n", [("SEM003", 1)]),
        ("if kind != 'a' or kind != 'b':\n    pass\n", [("SEM003", 1)]),
        ("ok = kind == 'a' and kind == 'b'\n", [("SEM003", 1)]),
        ("if kind == 1 or 2:\n    pass\n", [("SEM003", 1)]),
        ("if ready or True:\n    pass\n", [("SEM003", 1)]),
        ("while ready and False:\n    pass\n", [("SEM003", 1)]),
        ("if len(x) >= 0:\n    pass\n", [("SEM003", 1)]),
        ("if x > 3:\n    a()\nelif x > 5:\n    b()\n", [("SEM003", 3)]),
        ("if x == 'a':\n    a()\nelif x == 'a':\n    b()\n", [("SEM003", 3)]),
        ("if isinstance(x, (int, str)):\n    a()\nelif isinstance(x, str):\n    b()\n", [("SEM003", 3)]),
        ("if isinstance(x, int):\n    a()\nelif isinstance(x, bool):\n    b()\n", [("SEM003", 3)]),
        ("if 3 < x and x < 5:\n    pass\n", []),
        ("if x < 3 or x > 5:\n    pass\n", []),
        ("if kind == 'a' or kind == 'b':\n    pass\n", []),
        ("if kind != 'a' and kind != 'b':\n    pass\n", []),
        ("if next(x) == 1 and next(x) == 2:\n    pass\n", []),
        ("while True:\n    pass\n", []),
        ("name = given or 'nobody'\n", []),
        ("if len(x) > 0:\n    pass\n", []),
        ("if x > 5:\n    a()\nelif x > 3:\n    b()\n", []),
        ("if isinstance(x, bool):\n    a()\nelif isinstance(x, int):\n    b()\n", []),
        ("if read():\n    a()\nelif read():\n    b()\n", []),
    ],
)
def test_constant_conditions(after: str, found: list[tuple[str, int]]) -> None:
    """Contradictions, a constant that decides, and branches behind a wider one; not what only looks alike."""
    assert rules("", after) == found


def test_a_negation_that_slipped_names_the_condition_before() -> None:
    """De Morgan's law is easily forgotten, and only the change shows it."""
    before = "def f(a, b):\n    if not (a and b):\n        return 1\n"
    after = before.replace("not (a and b)", "not a and not b")
    (found,) = read(before, after).findings
    assert (found.rule, found.line) == ("SEM003", 2)
    assert "`not (a and b)`" in found.message
    assert read(before, before.replace("not (a and b)", "not a or not b")).findings == ()
    assert read(after, before).findings != ()


OPENED = """\
def f(path, lock):
    file = open(path)
    text = file.read()
    file.close()
    return text
"""


@pytest.mark.parametrize(
    ("after", "found"),
    [
        (OPENED.replace("    text", "    if not path:\n        return None\n    text"), [("SEM004", 4)]),
        (
            OPENED.replace("    file.close", "    if text == '':\n        raise ValueError\n    file.close"),
            [("SEM004", 5)],
        ),
        ("def f(lock, x):\n    lock.acquire()\n    if x:\n        return 1\n    lock.release()\n", [("SEM004", 4)]),
        (OPENED, []),
        (OPENED.replace("    text", "    if not file:\n        return None\n    text"), []),
        (OPENED.replace("    text", "    if not path:\n        file.close()\n        return None\n    text"), []),
        (OPENED.replace("    text", "    if not path:\n        return file\n    text"), []),
        (OPENED.replace("    text", "    keep(file)\n    if not path:\n        return None\n    text"), []),
        ("def f(path):\n    with open(path) as file:\n        return file.read()\n", []),
        ("def f(lock):\n    lock.acquire()\n    try:\n        return 1\n    finally:\n        lock.release()\n", []),
    ],
)
def test_resources_left_open_on_a_new_path(after: str, found: list[tuple[str, int]]) -> None:
    """An early exit between opening and closing is said; one that closes, hands on or is guarded is not."""
    before = OPENED if after.startswith("def f(path, lock)") else ""
    assert rules(before, after) == found


def handler(caught: str, *body: str) -> str:
    lines = "".join(f"        {line}\n" for line in body)
    return f"def load(x):\n    try:\n        return work(x)\n    except{caught}:\n{lines}"


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("", handler(" Exception", "return None"), [("SEM005", 4)]),
        ("", handler(" (ValueError, Exception)", "return []"), [("SEM005", 4)]),
        (handler(" ValueError", "return None"), handler(" Exception", "return None"), [("SEM005", 4)]),
        (handler(" KeyError", "raise Missing"), handler(" KeyError", "return None"), [("SEM005", 5)]),
        (handler(" OSError", "log.warning('x')"), handler(" OSError", "pass"), [("SEM005", 5)]),
        ("", handler(" KeyError", "return None"), []),
        ("", handler(" Exception", "# whatever it is, the page must show", "return None"), []),
        (handler(" KeyError", "if x:", "    raise"), handler(" KeyError", "pass"), []),
        (handler(" KeyError", "raise Missing"), handler(" KeyError", "pass") + "    raise Missing\n", []),
        ("", handler(" Exception", "log.exception('x')", "return None"), []),
        ("", handler(" Exception", "raise"), []),
        ("", handler(" Exception as error", "return Failed(error)"), []),
        ("", handler(" Exception", "pass"), []),
        ("", handler(" Exception", "return False").replace("load", "is_there"), []),
        (handler(" Exception", "return None"), handler(" Exception", "return []"), []),
    ],
)
def test_swallowed_exceptions(before: str, after: str, found: list[tuple[str, int]]) -> None:
    """A broad new silence, a widened one, and one that spoke before; ruff says the mere `pass` already."""
    assert rules(before, after) == found


def test_functions_that_no_test_comes_by() -> None:
    """With a trace, a function whose changed lines did not run is said, once; without one nothing is."""
    before = "def f(x):\n    return x\n\n\ndef g(x):\n    return x\n"
    after = before.replace("return x", "y = x + 1\n    return y")
    (found,) = read(before, after, ran={PATH: frozenset({1, 2, 3, 6})}).findings
    assert (found.rule, found.line, found.severity) == ("SEM006", 7, Severity.MINOR)
    assert read(before, after).findings == ()


def test_only_changed_lines_are_judged() -> None:
    """What stood there before is nobody's slip now."""
    old = "if x < 3 and x > 5:\n    pass\n"
    assert rules(old, old + "y = 1\n") == []


def test_tests_are_left_alone_and_what_does_not_parse_is_unread() -> None:
    """Tests do such things on purpose; silence about a broken file would be no all-clear."""
    assert read("", "if x < 3 and x > 5:\n    pass\n", path="tests/test_a.py") == Detection()
    assert read("", "def f(:\n").unread == {PATH: "it does not parse"}
    deep = "x = " + "-" * 900 + "1 < 3 and x > 5\n"
    assert read("", deep).findings == () or read("", deep).unread
