"""Syntax trees in a process of several threads, and of syntax that is newer than the Python which runs us."""

from __future__ import annotations

import ast
import gc
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from memory.parsing import no_collections, older, parse_expression, parse_module, parsed, read_module

DEEP = "x = " + "(" * 40 + "1" + " + 1)" * 40 + "\n"
LONG = DEEP * 150


@pytest.fixture
def _switching() -> Iterator[None]:
    """Each garbage collection lets another thread run, as a finaliser does, and there are many."""

    def switch(_phase: str, _info: dict[str, int]) -> None:
        time.sleep(0.0001)

    threshold = gc.get_threshold()
    gc.callbacks.append(switch)
    gc.set_threshold(500)
    yield
    gc.set_threshold(*threshold)
    gc.callbacks.remove(switch)


@pytest.mark.usefixtures("_switching")
def test_two_threads_parse_at_the_same_time() -> None:
    """Neither ends with SystemError, as ast.parse alone does here on Python 3.11."""
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(parse_module, [LONG] * 4))
    assert [len(tree.body) for tree in found] == [150] * 4


def test_collections_go_on_after_the_last_pause() -> None:
    """Pauses nest, and leave a collector alone that was switched off before."""
    with no_collections():
        parse_expression("1")
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.disable()
    try:
        parse_expression("1")
        assert not gc.isenabled()
    finally:
        gc.enable()


LONG_NAME = "a" + ".a" * 101
EXPRESSIONS = "{a}" * 20_000


@pytest.mark.parametrize(
    "text",
    [
        f"import {LONG_NAME}\n",
        f"import os, {LONG_NAME} as a\n",
        f"if True: from {LONG_NAME} import a\n",
        f"x = 1;import {LONG_NAME.replace('.', ' . ')}\n",
        f"import {LONG_NAME.replace('.', f'.{chr(92)}{chr(10)}')}\n",
        f"import {LONG_NAME.replace('.', f'{chr(92)}{chr(13)}{chr(10)}  .')}\n",
        f"import {LONG_NAME.replace('a', 'a·')}\n",
        f"import {LONG_NAME}\n".encode(),
        f"x = rf'{EXPRESSIONS}'\n",
        f"x = F'''{EXPRESSIONS}\\''''\n",
        f'x = f"""{EXPRESSIONS}"""\n',
        f"x = 'if', \"f'\", f'{EXPRESSIONS}'  # f'\n",
        f"# it's\rx = f'{EXPRESSIONS}'\n",
    ],
    ids=range(13),
)
def test_a_text_that_takes_the_square_of_its_length_is_refused(text: str | bytes) -> None:
    """The parser keeps the name of every package on the way to a module, and reads a formatted string for each expression."""
    ast.parse(text)
    with pytest.raises(ValueError, match="too many"):
        parse_module(text)
    assert isinstance(text, bytes) or parsed(text) is None


@pytest.mark.parametrize(
    "text",
    [
        f"import {LONG_NAME.removeprefix('a.')}\n",
        "import " + ", ".join(["a.b"] * 200) + "\n",
        "from " + "." * 200 + " import a\n",
        f"import os; x = {LONG_NAME}\n",
        f"import os\nx = {LONG_NAME}\n",
        f"import os  # {LONG_NAME}\n",
        '"""Read from here ' + "." * 200 + ' to there"""\n',
        f"x = f'{EXPRESSIONS[:999]}', '{EXPRESSIONS}'  # f'{EXPRESSIONS}'\n",
        f"x = \"f'{EXPRESSIONS}'\", {{}}\n",
    ],
    ids=range(9),
)
def test_what_is_long_and_costs_no_more_is_read(text: str) -> None:
    """Many names of usual length, relative imports, attributes, comments, dots in texts, and braces elsewhere."""
    assert ast.dump(parse_module(text)) == ast.dump(ast.parse(text))


NEWER = [
    (
        "def first[T: (int, str)](of: list[T]) -> T:\n    return of[0]\n",
        "def first(of: list[T]) -> T:\n    return of[0]",
    ),
    ("class A[\n    T: int,  # any\n    *Ts\n](B[T]):\n    pass\n", "class A(B[T]):\n    pass"),
    ("type X[T] = list[T]\nif X:\n    type Y = int\n", "X = list[T]\nif X:\n    Y = int"),
    (
        'x = f"{a["b"]} {", ".join(c):>{d}}" + rf"\\d{e["f"]}"\n',
        "x = f\"{a['b']} {', '.join(c):>{d}}\" + f\"\\\\d{e['f']}\"",
    ),
    ("x = f'{'\\n'.join(a)}' + f'{b:%H:%M}'\n", """x = f"{'xx'.join(a)}" + f'{b:%H:%M}'"""),
    ('x = t"{a}" + rt"{b}" + c["t"]\n', "x = f'{a}' + f'{b}' + c['t']"),
]


@pytest.mark.parametrize(("text", "read"), NEWER)
def test_newer_syntax_is_read_as_older(text: str, read: str) -> None:
    """On each Python, with every line as long as it was."""
    made = older(text, SyntaxError("", ("", 1, 1, "")))
    assert made is not None
    assert ast.dump(ast.parse(made.text)) == ast.dump(ast.parse(read))
    assert [len(line) for line in made.text.split("\n")] == [len(line) for line in text.split("\n")]
    assert read_module(text).body


def test_other_mistakes_stay_mistakes() -> None:
    """What is left out is named, and a text that is wrong in any syntax has no tree."""
    made = older("def f[T](a): ...\ndef g[*Ts, U]: pass\n", SyntaxError("", ("", 1, 1, "")))
    assert made is not None
    assert made.left_out == ("[T]", "[*Ts, U]")
    for text in ("def f(:\n    pass\n", "def f[T(a): ...\n", "class A[T] x:\n    pass\n", "x = (\n"):
        with pytest.raises(SyntaxError):
            read_module(text)


HOSTILE = [
    "class A[" * 100_000,
    "class A[class B[" * 50_000 + "]" * 100_000,
    "a" * 1_000_000 + "'",
    'f"' * 300_000,
    '{"' * 200_000,
]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_take_linear_time(text: str) -> None:
    """A pull request's files are read outside of the sandbox."""
    made = older(f"def f[T](): ...\n{text}", SyntaxError("", ("", 1, 1, "")))
    assert made is not None
    assert len(made.text) == len(text) + 16


@pytest.mark.parametrize("text", ["def", "a\0b", "(" * 500])
def test_what_cannot_be_read_has_no_tree(text: str) -> None:
    """Whatever the reason."""
    assert parsed(text) is None


def test_odd_escapes_of_others_are_no_warnings_of_ours() -> None:
    """Python warns of them wherever a text is parsed."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert parsed("'\\d'") is not None
