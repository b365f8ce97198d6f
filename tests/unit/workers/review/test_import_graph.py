from __future__ import annotations

import pytest

from workers.diffs import parse_diff
from workers.review.import_graph import MAX_TEST_FILES, ImportGraph, reaching_tests

TREE = {
    "src/shop/__init__.py": "from .cart import Cart\n",
    "src/shop/cart.py": "from shop.money import add\n",
    "src/shop/money.py": "def add(): ...\n",
    "src/shop/report.py": "import json\n",
    "src/shop/lonely.py": "",
    "tests/test_cart.py": "from shop import Cart\n",
    "tests/test_money.py": "import shop.money as m\n",
    "tests/test_report.py": "import importlib\nimportlib.import_module('shop.report')\n",
    "tests/unit/conftest.py": "from shop import report\n",
    "tests/unit/test_other.py": "",
    "tests/test_broken.py": "def (:\n",
}


@pytest.mark.parametrize(
    ("path", "tests"),
    [
        ("src/shop/cart.py", {"tests/test_cart.py", "tests/test_money.py"}),
        ("src/shop/money.py", {"tests/test_cart.py", "tests/test_money.py"}),
        ("tests/test_money.py", {"tests/test_money.py"}),
        ("src/shop/lonely.py", set()),
        ("not/there.py", set()),
    ],
)
def test_tests_that_reach_a_module_are_found(path: str, tests: set[str]) -> None:
    """Direct imports, re-exports, relative imports and the packages on the way all count."""
    found = set(ImportGraph(TREE).tests_of(path))
    assert tests <= found
    assert bool(found) == bool(tests)


def test_a_module_named_in_a_string_counts() -> None:
    """import_module and patch name modules in strings."""
    assert "tests/test_report.py" in ImportGraph(TREE).tests_of("src/shop/report.py")


def test_a_conftest_reaches_every_test_below_it() -> None:
    """What a conftest imports is imported before the tests in its directory run."""
    found = ImportGraph(TREE).tests_of("src/shop/report.py")
    assert "tests/unit/test_other.py" in found
    assert "tests/test_money.py" not in found


def test_the_nearest_tests_are_first() -> None:
    """Those named after the module, then by the imports on the way, then by name: time may end before the others run."""
    tree = {
        "shop/__init__.py": "from shop import core\n",
        "shop/core.py": "from shop import money\n",
        "shop/money.py": "",
        "tests/test_all.py": "import shop\n",
        "tests/test_core.py": "import shop.core\n",
        "tests/test_money.py": "import shop\n",
        "tests/test_sums.py": "from shop.money import add\n",
    }
    wanted = ("tests/test_money.py", "tests/test_sums.py", "tests/test_core.py", "tests/test_all.py")
    assert ImportGraph(tree).tests_of("shop/money.py") == wanted
    change = parse_diff("--- a/shop/money.py\n+++ b/shop/money.py\n@@ -0,0 +1 @@\n+x = 1\n")
    assert reaching_tests(change, tree, tree) == wanted


def test_very_many_tests_are_the_whole_suite() -> None:
    """A list longer than the limit is as good as none."""
    tests = {f"tests/test_{n}.py": "import m" for n in range(MAX_TEST_FILES + 1)}
    graph = ImportGraph({"m.py": "", **tests})
    assert graph.tests_of("m.py") == ()
    assert graph.reaching("m.py").keys() == tests.keys()
