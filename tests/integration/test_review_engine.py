"""Whole reviews of a small shop, in the real sandbox."""

from __future__ import annotations

import ast
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from memory.model import Action, Finding, Severity
from workers.diffs import changed_lines, commentable_lines
from workers.errors import BadInput, CannotRun
from workers.ports import CompletedRun, Sandbox, Workload
from workers.review.engine import Reviewed, review_change
from workers.review.plan import plan_review
from workers.review.suggestions import applied
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.project import NO_OWN_OPTIONS, Project, discover
from workers.setting_types import ReviewTool

pytestmark = pytest.mark.sandbox

PYTEST = "env PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 python -m pytest"
"""Our own environment's plug-ins would take longer to load than these tests to run."""
PYPROJECT = "[project]\nname = 'shop'\nversion = '1'\nrequires-python = '>=3.9'\n"
CART = '''\
"""A shopping cart."""

from shop.money import rounded


class Cart:
    def __init__(self):
        self.lines = []

    def add(self, name, price, count=1):
        self.lines.append((name, price, count))

    def total(self):
        return rounded(sum(price * count for _, price, count in self.lines))
'''
MONEY = '''\
"""Amounts."""

import decimal


def rounded(amount):
    return decimal.Decimal(str(amount)).quantize(decimal.Decimal("0.01"))
'''
TEST_CART = """\
from decimal import Decimal

from shop.cart import Cart


def test_total():
    cart = Cart()
    cart.add("tea", 1.255, 2)
    assert cart.total() == Decimal("2.51")


def test_empty():
    assert Cart().total() == 0
"""
BASE = {
    "pyproject.toml": PYPROJECT,
    "shop/__init__.py": "",
    "shop/cart.py": CART,
    "shop/money.py": MONEY,
    "tests/test_cart.py": TEST_CART,
}
POOR_CART = '''\
"""A shopping cart."""

import os
import subprocess

from shop.money import rounded


class Cart:
    def __init__(self):
        self.lines = []

    def add(self, name, price, count=1, tags=[]):
        added = 1
        if name == None:
            raise ValueError(f"no name")
        assert (price >= 0, "negative price")
        self.lines.append((name, price, count))

    def total(self):
        try:
            return rounded(sum(price * count for _, price, count in self.lines))
        except:
            return None

    def receipt(self, template):
        return eval(template)

    def send(self, printer):
        subprocess.call("lpr -P " + printer, shell=True)
'''


@dataclass(frozen=True)
class Trees:
    """Two checkouts and the diff between them."""

    base: Path
    head: Path
    diff: str


def write(root: Path, files: dict[str, str | bytes | None]) -> None:
    for path, content in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            target.unlink()
        else:
            target.write_bytes(content if isinstance(content, bytes) else content.encode())


def trees(tmp_path: Path, changes: dict[str, str | bytes | None], base: dict[str, str | bytes] | None = None) -> Trees:
    """The shop before and after `changes` (None deletes), with git's own diff."""
    old, new = tmp_path / "base", tmp_path / "head"
    for root in (old, new):
        write(root, {**BASE, **(base or {})})
    write(new, changes)
    return Trees(base=old, head=new, diff=diff(tmp_path / "git", old, new))


def diff(store: Path, old: Path, new: Path) -> str:
    """What git says between two directories."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(store), "GIT_CONFIG_NOSYSTEM": "1", "GIT_DIR": str(store)}

    def git(*arguments: str, tree: Path) -> str:
        command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments]
        done = subprocess.run(
            command, env=environment | {"GIT_WORK_TREE": str(tree)}, cwd=tree, capture_output=True, check=True
        )
        return done.stdout.decode("utf-8", "surrogateescape")

    store.mkdir()
    git("init", "-q", tree=old)
    for tree in (old, new):
        git("add", "-A", tree=tree)
        git("commit", "-qm", "x", tree=tree)
    return git("diff", "-M", "HEAD~1", "HEAD", tree=new)


def review(
    made: Trees,
    *,
    may_run_tests: bool = True,
    sandbox: Sandbox | None = None,
    tools: tuple[ReviewTool, ...] = (),
    project: Callable[[Path], Project] = lambda tree: discover(tree, python=None, test_command=PYTEST),
    progress: Callable[[str], object] = lambda _: None,
) -> Reviewed:
    return review_change(
        sandbox or Bubblewrap(),
        base_tree=made.base,
        head_tree=made.head,
        diff=made.diff,
        project=project,
        may_run_tests=may_run_tests,
        progress=progress,
        tools=tools,
    )


@pytest.fixture(scope="module")
def poor(tmp_path_factory: pytest.TempPathFactory) -> Reviewed:
    """The review of the poor change, tests and all."""
    return review(trees(tmp_path_factory.mktemp("poor"), {"shop/cart.py": POOR_CART}))


def rules(findings: tuple[Finding, ...]) -> dict[str, int]:
    return {finding.rule: finding.line for finding in findings}


def proven(reviewed: Reviewed) -> dict[str, Finding]:
    return {
        finding.rule: finding
        for finding in reviewed.findings
        if finding.suggestion is not None and finding.suggestion.proof is not None
    }


def test_the_part_that_breaks_the_options_of_pytest_is_found_with_these_options(tmp_path: Path) -> None:
    """Where the environment left them out every part would seem to mend it, and the first one be blamed."""

    def without_options(tree: Path) -> Project:
        found = discover(tree, python=None, test_command=" ".join((PYTEST, *NO_OWN_OPTIONS)))
        return replace(found, without_own_options=True)

    wrong = PYPROJECT.replace("'1'", "'2'") + "[tool.pytest.ini_options]\naddopts = '--strict-marker-names'\n"
    made = trees(tmp_path, {"pyproject.toml": wrong})
    reviewed = review(made, project=without_options)
    assert reviewed.tests is not None
    assert [test.id for test in reviewed.tests.broken] == [""]
    assert reviewed.culprit is not None
    lines = [line for line in reviewed.culprit.patch.splitlines() if line[:1] in "+-"]
    assert [line for line in lines if "addopts" in line or "version" in line] == ["-addopts = '--strict-marker-names'"]


def test_a_poor_change_is_reviewed_with_proven_suggestions(poor: Reviewed) -> None:
    """Each planted fault is found on its line; those with a fix get a suggestion that holds when it is applied."""
    assert rules(poor.findings) == {
        "F401": 3,
        "B006": 13,
        "F841": 14,
        "E711": 15,
        "F541": 16,
        "F631": 17,
        "E722": 23,
        "S307": 27,
        "S602": 30,
    }
    by_rule = {finding.rule: finding for finding in poor.findings}
    assert by_rule["S602"].severity is Severity.CRITICAL
    assert set(proven(poor)) == {"F401", "B006", "F841", "E711", "F541"}
    assert [file.status for file in poor.coverage] == ["read"]


def test_every_suggestion_holds_by_itself_and_with_the_others(poor: Reviewed) -> None:
    """Applied one by one or all together, from the bottom up, the file parses and the lines are those of the finding."""
    changed = changed_lines(poor.change)["shop/cart.py"]
    suggestions = [finding.suggestion for finding in proven(poor).values() if finding.suggestion]
    text = POOR_CART
    for suggestion in sorted(suggestions, key=lambda each: -each.start_line):
        assert changed.issuperset(range(suggestion.start_line, suggestion.end_line + 1))
        ast.parse(applied(suggestion, POOR_CART))
        text = applied(suggestion, text)
    ast.parse(text)
    assert "import os" not in text
    assert "name is None" in text
    assert "tags=None" in text
    assert 'ValueError("no name")' in text


def test_a_proof_says_what_was_run(poor: Reviewed) -> None:
    """The proof counts the covering tests without and with the suggestion, and gives the command."""
    suggestion = proven(poor)["F401"].suggestion
    assert suggestion is not None
    assert suggestion.proof is not None
    assert (suggestion.proof.before.passed, suggestion.proof.suite.passed) == (2, 2)
    assert suggestion.proof.command == f"{PYTEST.removeprefix('env ')} tests/test_cart.py"


def test_a_fix_that_breaks_a_test_is_not_suggested(tmp_path: Path) -> None:
    """An unused import with an effect looks removable; the test that needs it says otherwise."""
    changes = {
        "shop/registry.py": "NAMES = []\n",
        "shop/plugin.py": "import shop.registry\n\nshop.registry.NAMES.append('plugin')\n",
        "shop/cart.py": CART.replace("from shop.money", "import shop.plugin\nfrom shop.money"),
        "tests/test_plugin.py": "import shop.cart\nfrom shop.registry import NAMES\n\n\n"
        "def test_it():\n    assert NAMES == ['plugin']\n    assert shop.cart\n",
    }
    reviewed = review(trees(tmp_path, changes))
    (unused,) = [finding for finding in reviewed.findings if finding.rule == "F401"]
    assert (unused.path, unused.line) == ("shop/cart.py", 3)
    assert unused.suggestion is not None
    assert unused.suggestion.proof is None


def test_nothing_is_proven_when_tests_may_not_run(tmp_path: Path) -> None:
    """For a fork the findings are the same, safe fixes are kept unproven, and no test is run."""
    made = trees(tmp_path, {"shop/cart.py": POOR_CART})
    reviewed = review(made, may_run_tests=False)
    assert len(reviewed.findings) == 9
    assert proven(reviewed) == {}
    assert {finding.rule for finding in reviewed.findings if finding.suggestion} == {"F401", "F541"}


def test_old_trivia_is_not_said_but_old_holes_and_new_damage_are(tmp_path: Path) -> None:
    """Elsewhere in a changed file: a severe finding in a function that it touches, and an import that it made useless."""
    old = (
        "import json\nimport os\nx = os.name == None\n\n\ndef f(a):\n    eval(a)\n    return json.dumps(a)\n\n\n"
        "def g(a):\n    eval(a)\n\n\ny = eval('1')\n"
    )
    made = trees(tmp_path, {"a.py": old.replace("json.dumps(a)", "a")}, {"a.py": old})
    reviewed = review(made)
    assert reviewed.findings == ()
    assert [(finding.rule, finding.line) for finding in reviewed.elsewhere] == [("F401", 1), ("S307", 7)]
    assert len(reviewed.present) == 5


def test_a_file_that_was_broken_before_is_not_blamed_for_its_past(tmp_path: Path) -> None:
    """Where the base could not be read, what stands off the changed lines is not called new."""
    broken = "import os\n" + "x = 1\n" * 9 + "def f(:\n"
    made = trees(tmp_path, {"a.py": broken.replace("(:", "():\n    return 1")}, {"a.py": broken})
    reviewed = review(made, may_run_tests=False)
    assert (reviewed.findings, reviewed.elsewhere) == ((), ())
    assert len(reviewed.present) == 1


def test_a_hostile_repository_neither_runs_nor_rules(tmp_path: Path) -> None:
    """Its tool configurations, plug-ins and modules that shadow the standard library change nothing and never run."""
    evil = "raise SystemExit('pwned')\n"
    shadows = ("ast", "json", "sitecustomize", "usercustomize", "ruff", "bandit", "re", "configparser", "stevedore")
    hostile: dict[str, str | bytes | None] = {
        "ruff.toml": "lint.select = ['E501']\nexclude = ['*']\nextend = '/etc/passwd'\n",
        ".ruff.toml": "this is no toml",
        "shop/ruff.toml": "exclude = ['*']\n",
        "pyproject.toml": PYPROJECT + "[tool.ruff]\nexclude = ['*']\n[tool.bandit]\nskips = ['B602', 'B307']\n",
        ".bandit": "[bandit]\nskips: B602,B307\nexclude: /\n",
        "bandit.yaml": "skips: [B602]\n",
        "setup.cfg": "[entry_points]\nbandit.plugins =\n    x = json:x\n",
        "shop/cart.py": POOR_CART,
        **{f"{name}.py": evil for name in shadows},
        "ruff/__main__.py": evil,
        "bandit/__main__.py": evil,
    }
    reviewed = review(trees(tmp_path, hostile), may_run_tests=False)
    found = [finding.rule for finding in reviewed.findings if finding.path == "shop/cart.py"]
    assert found == ["F401", "B006", "F841", "E711", "F541", "F631", "E722", "S307", "S602"]
    assert {file.status for file in reviewed.coverage if file.path.endswith(".py")} == {"read"}


def test_what_is_not_read_is_said(tmp_path: Path) -> None:
    """Each file of a change has one line: read, or why not."""
    changes: dict[str, str | bytes | None] = {
        "logo.png": b"\x89PNG\0\0",
        "latin.py": b"x = '\xe9'\n",
        "blob.py": b"x = 1\0\n",
        "README.md": "hello\n",
        "big.py": "# padding\n" * 120_000,
        "shop/money.py": None,
        "vendor/x.py": "import os\n",
        "new.py": "import sys\r\n",
        "broken.py": "def f(:\n",
        "stub.pyi": "import os\n",
    }
    made = trees(tmp_path, changes)
    lines: list[str] = []
    reviewed = review(made, may_run_tests=False, progress=lines.append)
    assert lines[0].startswith(
        "reading 4 of 10 changed files: README.md, broken.py, new.py and 1 more; not read: big.py ("
    )
    assert lines[0].endswith("shop/money.py (deleted), latin.py (not UTF-8) and 3 more")
    assert {file.path: (file.status.value, file.reason) for file in reviewed.coverage} == {
        "README.md": ("read", ""),
        "big.py": ("skipped", "too large: 1.2 MB, over 1 MB"),
        "blob.py": ("skipped", "binary"),
        "broken.py": (
            "partly_read",
            "not read by bandit: syntax error while parsing AST from file",
        ),
        "latin.py": ("skipped", "not UTF-8"),
        "logo.png": ("skipped", "binary"),
        "new.py": ("read", ""),
        "shop/money.py": ("skipped", "deleted"),
        "stub.pyi": ("read", ""),
        "vendor/x.py": ("skipped", "vendored code"),
    }
    assert "shop/money.py" not in reviewed.unread
    found = {(finding.path, finding.rule) for finding in reviewed.findings}
    assert found == {("broken.py", "invalid-syntax"), ("new.py", "F401"), ("stub.pyi", "F401")}


def test_secrets_dependencies_and_workflows_are_read(tmp_path: Path) -> None:
    """Files that are no Python have readers too; a secret is said once, by the rule that knows it best, and unsilenced."""
    token = "ghp_" + "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17"
    changes: dict[str, str | bytes | None] = {
        "shop/keys.py": f'password = "{token}"  # noqa  # nosec\n',
        "web/app.js": f"const key = '{token}';\n",
        "requirements.txt": "reqeusts==2.32.3\n",
        ".github/workflows/ci.yml": "on: push\npermissions: write-all\njobs: {}\n",
    }
    reviewed = review(trees(tmp_path, changes), may_run_tests=False)
    assert [(finding.path, finding.rule) for finding in reviewed.findings] == [
        (".github/workflows/ci.yml", "WFL003"),
        ("requirements.txt", "DEP004"),
        ("shop/keys.py", "SEC001"),
        ("web/app.js", "SEC001"),
    ]
    assert {file.path: file.status.value for file in reviewed.coverage} == {
        ".github/workflows/ci.yml": "read",
        "requirements.txt": "read",
        "shop/keys.py": "read",
        "web/app.js": "searched",
    }
    assert "web/app.js" not in reviewed.unread
    assert all(token not in f"{finding.anchor}{finding.message}" for finding in reviewed.findings)


def test_links_and_submodules_are_not_read(tmp_path: Path) -> None:
    """A symbolic link out of the repository, at the end or on the way, is not followed; a submodule has no text."""
    made = trees(tmp_path, {"keep.py": "x = 1\n"})
    (made.head / "link.py").symlink_to("/etc/passwd")
    (made.head / "elsewhere").symlink_to("/etc")
    said = (
        "diff --git a/link.py b/link.py\nnew file mode 120000\nindex 0000000..1111111\n"
        "--- /dev/null\n+++ b/link.py\n@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n"
        "diff --git a/elsewhere/hosts.py b/elsewhere/hosts.py\nnew file mode 100644\nindex 0000000..1111111\n"
        "--- /dev/null\n+++ b/elsewhere/hosts.py\n@@ -0,0 +1 @@\n+x\n"
        "diff --git a/lib b/lib\nnew file mode 160000\nindex 0000000..1111111\n"
        "--- /dev/null\n+++ b/lib\n@@ -0,0 +1 @@\n+Subproject commit 1\n"
    )
    reviewed = review(Trees(base=made.base, head=made.head, diff=said), may_run_tests=False)
    assert [(file.path, file.reason) for file in reviewed.coverage] == [
        ("link.py", "a symbolic link"),
        ("elsewhere/hosts.py", "not in the tree"),
        ("lib", "a submodule"),
    ]


def test_a_renamed_file_keeps_its_old_findings_quiet(tmp_path: Path) -> None:
    """A file that only moved has nothing new to say."""
    made = trees(
        tmp_path, {"a.py": None, "b.py": "import os\n" + "x = 1\n" * 9}, {"a.py": "import os\n" + "x = 1\n" * 9}
    )
    reviewed = review(made, may_run_tests=False)
    assert (reviewed.findings, reviewed.elsewhere) == ((), ())
    assert [(file.path, file.status) for file in reviewed.coverage] == [("b.py", "unedited")]


TYPED = "def total(prices: list[int]) -> int:\n    return sum(prices)\n\n\nfirst: int = total([1])\n"


def test_new_type_errors_of_a_typed_file_are_found(tmp_path: Path) -> None:
    """Those that were there before, in a file that moved or not, and those of missing modules, are not."""
    old = "import elsewhere\n" + TYPED + "second: str = total([2])\n"
    changed = old.replace("-> int", "-> str").replace("return sum", "return elsewhere.x or sum")
    made = trees(tmp_path, {"typed.py": changed, "fresh.py": TYPED + "total('a')\n"}, {"typed.py": old})
    reviewed = review(made, may_run_tests=False)
    found = [each for each in (*reviewed.findings, *reviewed.elsewhere) if each.tool == "mypy"]
    assert sorted((each.path, each.line, each.rule) for each in found) == [
        ("fresh.py", 6, "arg-type"),
        ("typed.py", 3, "return-value"),
        ("typed.py", 6, "assignment"),
    ]
    assert {file.status.value for file in reviewed.coverage} == {"read"}


def test_a_function_that_ends_with_a_call_of_another_file_may_not_return(tmp_path: Path) -> None:
    """mypy reads the changed files alone, so it does not know that such a call never returns; other missing returns are found."""
    ends = "from typing import NoReturn\n\nfrom elsewhere import fail\n\n\ndef stop(why: str) -> NoReturn:\n    {}fail(why)\n"
    other = "\n\ndef one(n: int) -> int:\n    if n:\n        return n\n    {}fail(str(n))\n"
    files = {"bad.py": (ends + other).format("x = ", "x = "), "good.py": (ends + other).format("", "")}
    reviewed = review(trees(tmp_path, dict(files)), may_run_tests=False)
    found = [(each.path, each.line) for each in reviewed.findings if each.tool == "mypy"]
    assert sorted(found) == [("bad.py", 6), ("bad.py", 10)]


def test_classes_that_other_code_shapes_are_not_judged_without_it(tmp_path: Path) -> None:
    """As attrs gives its classes arguments and operators, and imported type variables make a class generic; others are judged."""
    shaped = (
        "from collections.abc import KeysView\n\nimport attrs\n\nfrom .own import Model, T\n\n\n"
        "@attrs.define\nclass Point:\n    x: int = attrs.field()\n\n    @x.validator\n"
        "    def check(self, _a: object, _v: int) -> None: ...\n\n    def own(self) -> None: ...\n\n\n"
        "class Named(Point):\n    y: int\n\n\nclass Keys(KeysView[T]): ...\n\n\nPair = dict[T, T]\n\n\nclass Table(Model, table=True): ...\n\n\n"
        "def made(keys: Keys[int], pair: Pair[int]) -> bool:\n    return Point(1) < Named(1, 2)\n\n\n"
    )
    plain = "class Plain:\n    def get(self, n: int) -> int:\n        return n\n\n\n"
    files = {"shaped.py": f"{shaped}Point(1).own(1)\n", "plain.py": f"{plain}Plain(1) < Plain()\nn: Plain[int]\n"}
    reviewed = review(trees(tmp_path, dict(files)), may_run_tests=False)
    found = [(each.path, each.rule) for each in reviewed.findings if each.tool == "mypy"]
    assert sorted(found) == [
        *(("plain.py", rule) for rule in ("call-arg", "operator", "type-arg")),
        ("shaped.py", "call-arg"),
    ]


def test_rules_in_words_are_the_projects_choice_too(tmp_path: Path) -> None:
    """In its configuration, and with ruff's preview in comments; a preview of rules is not asked for by that."""
    options = (
        PYPROJECT
        + "[tool.ruff.lint]\npreview = true\nselect = ['ALL']\nignore = ['missing-trailing-comma', 'CPY', 'D', 'I']\n"
        "[tool.ruff.lint.per-file-ignores]\n'tests/*' = ['private-member-access']\n"
    )
    call = "\n\ndef test_it() -> None:\n    try:\n        shop.sell(\n            1\n        )\n        print(shop._till)\n"
    suppressed = "    except BaseException:  # ruff: ignore[blind-except]\n        shop.close()\n"
    made = trees(tmp_path, {"tests/test_shop.py": f"import shop{call}{suppressed}"}, {"pyproject.toml": options})
    assert set(rules(review(made, may_run_tests=False).findings)) == {"T201", "INP001"}


def test_the_projects_choice_of_rules_is_honoured_from_the_base(tmp_path: Path) -> None:
    """What the base ignores is not said, security is, and what the change itself ignores has no effect yet."""
    base = "[tool.ruff.lint]\nignore = ['E711', 'S']\nextend-select = ['ANN001', 'NOSU123']\n"
    head = "[tool.ruff.lint]\nignore = ['ALL']\n"
    made = trees(
        tmp_path, {"shop/cart.py": POOR_CART, "pyproject.toml": PYPROJECT + head}, {"pyproject.toml": PYPROJECT + base}
    )
    reviewed = review(made, may_run_tests=False)
    found = set(rules(reviewed.findings))
    assert {"S307", "ANN001"} <= found
    assert "E711" not in found
    own = {each.rule for each in reviewed.findings if each.own_linter}
    assert {"F401", "ANN001"} <= own
    assert own.isdisjoint({"S307", "B006"})


def test_imports_of_the_projects_own_unchanged_packages_are_sorted_as_its_own(tmp_path: Path) -> None:
    """Only the changed files are there when ruff runs; what lies in the others still belongs to the project."""
    options = PYPROJECT + '[tool.ruff.lint]\nselect = ["I"]\n'
    base: dict[str, str | bytes] = {"pyproject.toml": options, "src/till/__init__.py": "", "src/till/drawer.py": ""}
    text = "import pytest\n\nfrom {}till.drawer import coins\n\nassert pytest\nassert coins\n"
    made = trees(tmp_path, {"tests/test_own.py": text.format(""), "tests/test_other.py": text.format("a")}, base)
    found = [each.path for each in review(made, may_run_tests=False).findings if each.rule == "I001"]
    assert found == ["tests/test_other.py"]


def test_what_flake8_ignores_counts_beside_codes_that_ruff_does_not_know(tmp_path: Path) -> None:
    """W503 and the codes of flake8's plug-ins are in most configurations, and do not undo the rest."""
    flake8 = "[flake8]\nmax-line-length = 60\nselect = E,F,B950\nextend-ignore = W503, E711, WPS100\nper-file-ignores =\n  shop/*: E722, X1\n"
    made = trees(tmp_path, {"shop/cart.py": POOR_CART}, {".flake8": flake8})
    found = set(rules(review(made, may_run_tests=False).findings))
    assert {"B307", "E501", "F401"} <= found
    assert not {"E711", "E722", "B006"} & found


def test_the_projects_settings_of_rules_are_honoured(tmp_path: Path) -> None:
    """Its quotes, and the names that it has everywhere; one setting that ruff does not know costs the others, and no review."""
    options = (
        PYPROJECT + "[tool.ruff]\nbuiltins = ['lazy']\n[tool.ruff.lint]\nselect = ['Q', 'F']\n"
        "[tool.ruff.lint.flake8-quotes]\ninline-quotes = 'single'\n"
    )
    text = "print(lazy, _, 'one', \"two\")\n"
    for more, found, wanted in (("", ["Q000"], "single"), ("nonsense = true\n", ["F821", "Q000"], "double")):
        made = trees(tmp_path / str(len(more)), {"shop/cart.py": text}, {"pyproject.toml": options + more})
        reviewed = review(made, may_run_tests=False)
        assert sorted(rules(reviewed.findings)) == found
        (quotes,) = (each.message for each in reviewed.findings if each.rule == "Q000")
        assert quotes.endswith(f"but {wanted} quotes preferred")


LENS = """\
import json, sys
for path in sys.argv[1:]:
    for number, line in enumerate(open(path), 1):
        if "TODO" in line:
            at = {"start": {"line": number}, "end": {"line": number}}
            print(json.dumps({"message": "left over", "location": {"path": path, "range": at}, "severity": "WARNING",
                              "code": {"value": "TODO"}, "suggestions": [{"range": at, "text": "# done"}]}))
"""


def test_a_tool_of_the_operators_reads_in_the_sandbox(tmp_path: Path) -> None:
    """It sees the changed files alone, its findings and fixes are ours, and its failure leaves files unread."""
    lens = tmp_path / "tools" / "lens.py"
    lens.parent.mkdir()
    lens.write_text(LENS)
    tool = ReviewTool(
        name="lens",
        command=("python", "-I", str(lens)),
        format="rdjsonl",
        files=("*.js", "shop/*.py"),
        show=(lens.parent,),
    )
    broken = tool.model_copy(update={"name": "broken", "command": ("false",), "files": ("*.js",)})
    made = trees(tmp_path, {"app.js": "// TODO\n", "shop/new.py": "X = 1  # TODO\n", "b.txt": "TODO\n"})
    reviewed = review(made, tools=(tool, broken))
    assert {(each.path, each.tool, each.line) for each in reviewed.findings} == {
        ("app.js", "lens", 1),
        ("shop/new.py", "lens", 1),
    }
    status = {file.path: (file.status.value, file.reason) for file in reviewed.coverage}
    assert status["app.js"] == ("partly_read", "not read by broken: broken failed with exit code 1: it wrote nothing")
    assert status["shop/new.py"] == ("read", "")


def test_an_empty_diff_is_an_empty_review(tmp_path: Path) -> None:
    """Nothing changed: nothing found, nothing unread."""
    made = trees(tmp_path, {"x.py": "x = 1\n"})
    reviewed = review(Trees(base=made.base, head=made.head, diff=""))
    assert (reviewed.findings, reviewed.elsewhere, reviewed.coverage) == ((), (), ())


def test_a_broken_diff_is_refused(tmp_path: Path) -> None:
    """A diff cut short is an error, not a short review."""
    made = trees(tmp_path, {"x.py": "x = 1\ny = 2\n"})
    with pytest.raises(BadInput, match="whole diff"):
        review(Trees(base=made.base, head=made.head, diff=made.diff.removesuffix("+y = 2\n")))


class Poor:
    """A sandbox in which one tool is not installed."""

    def __init__(self, tool: str) -> None:
        self._tool = tool
        self._sandbox = Bubblewrap()

    def run(self, workload: Workload) -> CompletedRun:
        words = tuple("no_such_tool" if word == self._tool else word for word in workload.command)
        return self._sandbox.run(Workload(**{**_fields(workload), "command": words}))

    def session(self, workload: Workload) -> object:
        raise CannotRun("no sessions here")


def _fields(workload: Workload) -> dict[str, object]:
    return {name: getattr(workload, name) for name in Workload.__dataclass_fields__}


@pytest.mark.parametrize(("tool", "other"), [("ruff", "S602"), ("bandit", "F401")])
def test_a_missing_tool_is_said_and_the_other_still_reads(tmp_path: Path, tool: str, other: str) -> None:
    """A review without one of its tools never looks complete."""
    made = trees(tmp_path, {"shop/cart.py": POOR_CART})
    reviewed = review(made, may_run_tests=False, sandbox=Poor(tool))
    (file,) = reviewed.coverage
    assert file.status == "partly_read"
    assert f"not read by {tool}" in file.reason
    assert "No module named no_such_tool" in file.reason
    assert reviewed.unread == {"shop/cart.py"}
    assert other.removeprefix("S") in {
        finding.rule.removeprefix("S").removeprefix("B") for finding in reviewed.findings
    }


def test_the_plan_of_a_review_can_be_posted(poor: Reviewed) -> None:
    """Every inline comment stands on lines that GitHub shows, and no two suggestions meet."""
    actions = {finding.fingerprint: Action.INLINE_SUGGESTION for finding in poor.findings}
    plan = plan_review(poor, actions, max_comments=30)
    shown = commentable_lines(poor.change.files[0])
    assert len(plan.inline) == 9
    assert sum(each.with_suggestion for each in plan.inline) == 5
    assert all(shown.issuperset(range(each.start_line, each.line + 1)) for each in plan.inline)
