"""When the code of loaded functions may be exchanged instead of importing the module anew."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from pathlib import Path

import pytest

from workers.repair.running.in_sandbox.codeswap import BOM, Recorder, Source, Swap, Unswappable, fingerprint, plan

pytestmark = pytest.mark.slow  # each looks at every object of its process

SOURCE = '''
import functools

RATE = 2

def rate():
    return RATE

TABLE = [rate() for _ in range(2)]

def twice(function):
    @functools.wraps(function)
    def wrapper(value):
        return function(value) + function(value)
    return wrapper

@twice
def plain(value):
    return value + 1

def outer(limit):
    def inner(value):
        return value > limit
    return inner

checked = outer(3)

class Shop:
    """A shop."""
    open = True

    def price(self, value):
        return value * RATE

    @property
    def name(self):
        return "shop"

    def sum(self, values):
        return functools.reduce(lambda one, other: one + other, values)

class Market(Shop):
    def __open(self, limit):
        return super().price(limit - 1)

    def opened(self, limit=1):
        return self.__open(limit) + RATE - 1

def numbers():
    yield 1
    yield 2

waiting = numbers()
twins = [lambda: 1, lambda: 1]
'''


def loaded_module(tmp_path: Path, source: str = SOURCE) -> tuple[types.ModuleType, Path]:
    path = tmp_path / "shop_under_test.py"
    path.write_text(source, encoding="utf-8")
    module = types.ModuleType("shop_under_test")
    module.__file__ = str(path)
    return module, path


def swap(tmp_path: Path, old: str, new: str) -> types.ModuleType:
    """Load SOURCE under a recorder, then apply the plan for one edit of it, which is the same by either way."""
    assert old in SOURCE
    module, path = loaded_module(tmp_path)
    code = compile(SOURCE, path, "exec", dont_inherit=True)
    before = sys.getprofile()
    recorder = Recorder()
    recorder.start()
    exec(code, module.__dict__)
    assert recorder.stop()
    sys.setprofile(before)
    found = recorder.loaded(str(tmp_path))[str(path)]
    edited = SOURCE.replace(old, new)
    whole = planned(lambda: plan(code, compile(edited, path, "exec", dont_inherit=True), found))
    part = planned(lambda: Source(str(path), SOURCE, found).swaps(edited))
    marked = planned(lambda: Source(str(path), BOM + SOURCE, found).swaps(BOM + edited))
    assert comparable(marked) == comparable(part) == comparable(whole)
    if whole is None:
        raise Unswappable
    for function, changed in whole:
        function.__code__ = changed
    return module


def planned(make: Callable[[], list[Swap]]) -> list[Swap] | None:
    try:
        return make()
    except (Unswappable, SyntaxError):
        return None


def comparable(swaps: list[Swap] | None) -> list[tuple[int, object, int]] | None:
    return swaps and [(id(function), fingerprint(code), code.co_firstlineno) for function, code in swaps]


def test_a_function_that_has_not_run_is_exchanged(tmp_path: Path) -> None:
    """A decorated function gets its new body, and its decorator stays."""
    assert swap(tmp_path, "value + 1", "value + 10").plain(1) == 22


def test_a_method_is_exchanged_in_its_class(tmp_path: Path) -> None:
    """Instances see the new method."""
    assert swap(tmp_path, "value * RATE", "value * RATE + 1").Shop().price(2) == 5


def test_a_method_keeps_the_names_that_its_class_gives_it(tmp_path: Path) -> None:
    """Private names are mangled, and `super()` finds the class, in a method that is compiled without the rest of it."""
    module = swap(tmp_path, "self.__open(limit)", "self.__open(limit) + 1")
    assert module.Market().opened(2) == 4


@pytest.mark.parametrize(
    "body", ["value * RATE\n\nRATE = 3", "value * RATE\n\n    tax = 3", "value", "value * RATE, RATE"]
)
def test_what_follows_a_method_is_no_part_of_it(tmp_path: Path, body: str) -> None:
    """A line that an edit puts behind it runs at import, in the class or in the module; both ways tell that alike."""
    if "\n" in body:
        with pytest.raises(Unswappable):
            swap(tmp_path, "value * RATE", body)
    else:
        swap(tmp_path, "value * RATE", body)


def test_a_default_is_no_part_of_a_method(tmp_path: Path) -> None:
    """It was made when the class was."""
    with pytest.raises(Unswappable):
        swap(tmp_path, "limit=1", "limit=2")


def test_a_call_of_something_imported_is_compiled_alike(tmp_path: Path) -> None:
    """The compiler calls what a module imports in a way of its own, which a part of the module has to know."""
    assert swap(tmp_path, "one + other", "one * other").Shop().sum([2, 3, 4]) == 24


def test_a_property_is_exchanged_where_it_is(tmp_path: Path) -> None:
    """The function inside a property is found."""
    assert swap(tmp_path, '"shop"', '"store"').Shop().name == "store"


def test_a_closure_that_is_alive_is_exchanged(tmp_path: Path) -> None:
    """An inner function made at import keeps its cell, and gets its new code."""
    module = swap(tmp_path, "value > limit", "value >= limit")
    assert module.checked(3)
    assert module.outer(5)(5)


def test_twins_on_one_line_are_told_apart(tmp_path: Path) -> None:
    """Of two functions that read the same only the edited one changes."""
    assert [twin() for twin in swap(tmp_path, "[lambda: 1,", "[lambda: 2,").twins] == [2, 1]


def test_lines_may_move(tmp_path: Path) -> None:
    """Inserted lines leave the functions below them as they are."""
    module = swap(tmp_path, "    return value + 1\n", "    value += 1\n    return value + 1\n")
    assert (module.plain(1), module.Shop().name) == (6, "shop")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("RATE = 2", "RATE = 3"),
        ("open = True", "open = False"),
        ("return RATE", "return RATE + 1"),
        ("@twice\n", ""),
        ("import functools", "import functools as f, functools"),
        ("def plain(value):", "def plain(value=1):"),
        ("return wrapper", "return function"),
        ("function(value) + function(value)", "value"),
        ("yield 2", "yield 3"),
        ("class Shop:", "class Shop(dict):"),
        ("return value * RATE", "return value *"),
        ("    yield 2\n", "    yield 2\n\nextra = 1\n"),
    ],
)
def test_what_took_part_in_the_import_is_not_exchanged(tmp_path: Path, old: str, new: str) -> None:
    """Module and class bodies, functions that ran, waiting generators, other closures: these need a fresh import."""
    with pytest.raises(Unswappable):
        swap(tmp_path, old, new)


def test_a_module_loaded_from_other_source_is_not_exchanged(tmp_path: Path) -> None:
    """What pytest rewrote, or somebody generated, is not what its file says."""
    module, path = loaded_module(tmp_path)
    recorder = Recorder()
    recorder.start()
    exec(compile("def plain(): return 0\n", path, "exec"), module.__dict__)
    recorder.stop()
    code = compile(SOURCE, path, "exec")
    with pytest.raises(Unswappable, match="not compiled from its source"):
        plan(code, code, recorder.loaded(str(tmp_path))[str(path)])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = 1", "x = 1.0"),
        ("x = 1", "x = True"),
        ("x = 0.0", "x = -0.0"),
        ("x = (1,)", "x = (True,)"),
        ("x = y", "x = z"),
    ],
)
def test_a_fingerprint_tells_equal_constants_apart(one: str, other: str) -> None:
    """Values that compare equal and are not the same make different code."""
    assert fingerprint(compile(one, "a", "exec")) != fingerprint(compile(other, "a", "exec"))


def test_a_fingerprint_does_not_depend_on_lines() -> None:
    """The same code further down has the same fingerprint."""
    text = "def f(x):\n    return x\n"
    assert fingerprint(compile(text, "a", "exec")) == fingerprint(compile("\n\n" + text, "a", "exec"))
