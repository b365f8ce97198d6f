"""What a repair has no use for is named; what repairs are made of is not."""

from __future__ import annotations

import sys

import pytest

from workers.repair.judging.unusual_code import examples, is_plain_test, unusual

PLAIN = b"import os\n\ndef size(path):\n    with open(path) as stream:\n        return len(stream.read())\n"


@pytest.mark.parametrize(
    ("added", "words"),
    [
        ("import gc", "import gc"),
        ("import _pytest.python as p", "import _pytest.python"),
        ("from os import _exit", "from os import _exit"),
        ("from sys import modules as m", "from sys import modules"),
        ("from tests.test_size import EXPECTED", "from tests.test_size import EXPECTED"),
        ("os._exit(0)", "os._exit"),
        ("os.write(3, b'')", "os.write"),
        ("import sys as s\ns.modules['x'] = 1", "sys.modules"),
        ("import sys\nsys.path_hooks.append(1)", "sys.path_hooks"),
        ("import json\njson.dumps = print", "a change of json, which is imported"),
        ("import logging\nlogging.sys", "logging.sys"),
        ("exec('1')", "exec"),
        ("eval('1')", "eval"),
        ("open('x')", "open"),
        ("getattr(os, 'ex' + 'it')", "getattr of an unusual name"),
        ("getattr(os, '_exit')", "getattr of an unusual name"),
        ("list(map(getattr, [os], ['x']))", "getattr"),
        ("size.__code__", "__code__"),
        ("size.__globals__", "__globals__"),
        ("x.__class__ = 1", "a meaning of its own for __class__"),
        ("open.__self__", "__self__"),
        ("'{0.__class__}'.format(1)", "the text '{0.__class__}'"),
        ("'PYTEST_CURRENT_TEST'", "the text 'PYTEST_CURRENT_TEST'"),
        ("b'/proc/self/fd'", "the text b'/proc/self/fd'"),
        ("class A:\n    def __eq__(self, other): return True", "a meaning of its own for __eq__"),
        ("class A:\n    def __eq__(self, other): return self.x == self.x", "a meaning of its own for __eq__"),
        (
            "class A(int):\n    def __eq__(self, other): return other > self",
            "a meaning of its own for __eq__",
        ),
        ("class A:\n    @property\n    def __class__(self): return int", "a meaning of its own for __class__"),
        ("class A:\n    __eq__ = size", "a meaning of its own for __eq__"),
        ("from fractions import Fraction\nFraction.__eq__ = size", "a meaning of its own for __eq__"),
        ("from fractions import Fraction\nFraction.plain = size", "a change of Fraction, which is imported"),
        ("class A(metaclass=size): pass", "a metaclass"),
        ("import os.path\nos.popen('x')", "os.popen"),
        ("from shutil import os", "from shutil import os"),
        ("from os import *", "from os import *"),
        ("import pathlib", "import pathlib"),
        ("import urllib.request", "import urllib.request"),
        ("import logging", "import logging"),
        ("os.environb", "os.environb"),
        ("os.execv('x', [])", "os.execv"),
        ("class A:\n    class __eq__: pass", "a meaning of its own for __eq__"),
        ("from operator import truth as __eq__", "a meaning of its own for __eq__"),
        ("A = type('A', (int,), {})", "a class made by a call of type"),
        ("class A:\n    def __contains__(self, one): return True", "a meaning of its own for __contains__"),
        ("class A:\n    def __sub__(self, one): return 0", "a meaning of its own for __sub__"),
        ("def pytest_pyfunc_call(pyfuncitem): return True", "a hook of pytest, pytest_pyfunc_call"),
        ("x = '-'*100_000\nx = " + "-" * 100_000 + "1", "code that cannot be read"),
        ("import sys\nsys.getrefcount(None)", "sys.getrefcount"),
        ("from sys import stdin", "from sys import stdin"),
        ("import time\ntime.process_time()", "time.process_time"),
        ("from string import Formatter", "from string import Formatter"),
        ("import string\nstring.Formatter()", "string.Formatter"),
        ("x.get_field('0.a', (1,), {})", "get_field"),
        ("import dataclasses\ndataclasses.inspect", "dataclasses.inspect"),
        ("from dataclasses import builtins as b", "from dataclasses import builtins"),
        ("import collections\ncollections._sys", "collections._sys"),
        ("import dataclasses\nd = dataclasses\nd.inspect", "the module dataclasses as a value"),
        ("import enum\ndef f(enum=enum): f(enum)", "the module enum as a value"),
        ("import enum\ndef f(x=lambda enum: 0): return x(enum)", "the module enum as a value"),
        ("import json\ngetattr(json, 'codecs')", "the module json as a value"),
        ("import functools\nfunctools.wraps(size, updated=('x',))", "wraps with names of attributes"),
        ("from functools import wraps\nwraps(size, ('x',))", "wraps with names of attributes"),
        ("from functools import update_wrapper", "from functools import update_wrapper"),
        ("import ast\nast.NodeVisitor", "ast.NodeVisitor"),
        ("from ast import parse", "from ast import parse"),
        ("import types\ntypes.new_class('A', (int,), {}, size)", "types.new_class"),
        ("from dataclasses import make_dataclass", "from dataclasses import make_dataclass"),
        ("from typing import ForwardRef", "from typing import ForwardRef"),
        ("'{0.gi_frame.f_back}'.format(1)", "the text '{0.gi_frame.f_back}'"),
        ("def broken(:", "code that cannot be read"),
    ],
)
def test_what_has_no_place_in_a_repair_is_named(added: str, words: str) -> None:
    """Modules, names, attributes, texts and comparisons, however they are reached."""
    assert words in unusual(PLAIN, PLAIN + f"\n{added}\n".encode())


@pytest.mark.parametrize(
    "changed",
    [
        PLAIN.replace(b"len(stream.read())", b"len(stream.read()) + 1"),
        PLAIN + b"\nimport math\nfrom datetime import datetime\nimport numpy as np\nfrom .units import size_of\n",
        PLAIN + b"\nimport sys\nif sys.version_info > (3, 9) and sys.maxsize > 2**32:\n    pass\n",
        PLAIN + b"\ndef name(self):\n    return self.__class__.__name__ + getattr(self, 'unit', '')\n",
        PLAIN + b"\nimport ast\ndef f(node):\n    return isinstance(node.ctx, (ast.Load, ast.Del))\n",
        PLAIN + b"\nif not path:\n    raise ValueError('a path is needed')\n",
        PLAIN + b"\nimport json, string, sys, time\nif sys.platform == 'linux':\n    json.dumps(string.digits)\n",
        PLAIN + b"\nimport time\nfrom functools import wraps\ndef at(f, time):\n    return wraps(f)(lambda: f(time))\n",
    ],
)
def test_a_plain_edit_has_nothing_unusual(changed: bytes) -> None:
    """Also in a module that does unusual things already, as often as before."""
    assert unusual(PLAIN, changed) == ()


def test_code_is_read_as_the_interpreter_reads_it() -> None:
    """Another encoding could show a reader a comment where the interpreter sees a statement."""
    assert unusual(b"", b"# -*- coding: utf-7 -*-\n# +AAo-import gc\n") == ("code in the encoding utf-7",)


def test_a_changed_call_counts_as_added() -> None:
    """Other arguments may make something else of it."""
    assert unusual(PLAIN, PLAIN.replace(b"open(path)", b"open('/etc/passwd')")) == ("open",)


def test_a_module_that_did_not_parse_is_read_by_its_words() -> None:
    """A repaired syntax error is no question, unless something comes with it."""
    broken = PLAIN.replace(b"def size(path):", b"def size(path)")
    assert unusual(broken, PLAIN) == ()
    assert unusual(broken, PLAIN + b"\nimport gc\n") == ("import gc",)


def test_an_added_test_is_plain() -> None:
    """It may use pytest and unittest, and nothing that reads secrets or sends them."""
    plain = b"import pytest\nfrom unittest import TestCase\ndef test_a():\n    with pytest.raises(ValueError): size('test_a')\n"
    assert is_plain_test("tests/test_a.py", plain)
    assert is_plain_test(
        "tests/test_a.py", b"import time\ndef test_a(monkeypatch): monkeypatch.setattr(time, 'sleep', len)\n"
    )
    assert not is_plain_test("tests/test_a.py", plain + b"import os\nos.environ['CI']\n")
    assert not is_plain_test("tests/test_a.py", plain + b"import urllib.request\n")
    assert not is_plain_test("tests/conftest.toml", plain)


def test_examples_of_docstrings_are_told_from_other_text() -> None:
    """They may be tests."""
    assert examples(b'def f():\n    """Double.\n\n    >>> f()\n    2\n    """\ndef g():\n    """None."""\n') == [
        "Double.\n\n>>> f()\n2"
    ]
    assert examples(b"def broken(:\n") == []


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python reads them")
def test_type_parameters_that_cannot_be_read() -> None:
    """They are unusual where the patch adds or changes them, and what is beside them is read."""
    before = b"def f[T](x: T) -> T:\n    return x\n"
    words = ("syntax that is too new to be read",)
    assert unusual(before, before.replace(b"return x", b"return x or None")) == ()
    assert unusual(before, before.replace(b"[T]", b"[T: exec('1')]")) == words
    assert unusual(before, before.replace(b"return x", b"return exec(x)")) == ("exec",)
    assert unusual(b"", before) == words
