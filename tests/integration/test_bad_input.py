"""Every kind of file that a pull request may hold, through git's own diff, a mirror, and a whole review in the sandbox."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from memory.model import Action, Finding, Suggestion
from tests.unit.workers.history.conftest import Branch, Files
from workers.diffs import split_lines
from workers.git import Mirror
from workers.review.engine import Reviewed, review_change
from workers.review.plan import ReviewPlan, plan_review
from workers.review.suggestions import applied
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.project import discover

pytestmark = pytest.mark.sandbox

PYTEST = "env PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 python -m pytest"
EVAL = "def run(text):\n    return eval(text)\n"
"""A hole, S307 on line 2, that is told even off the changed lines."""


@dataclass(frozen=True)
class Pull:
    """A repository whose last commit is a change to be reviewed."""

    branch: Branch
    base: str

    def review(self, scratch: Path, *, may_run_tests: bool = False) -> Reviewed:
        """What a worker does between the fetch and the first word."""
        head = self.branch.commit({})
        mirror = Mirror(scratch / "mirror", str(self.branch.root))
        mirror.fetch(self.base, head)
        base_tree = mirror.export(mirror.merge_base(self.base, head), scratch / "base")
        head_tree = mirror.export(head, scratch / "head")
        return review_change(
            Bubblewrap(),
            base_tree=base_tree,
            head_tree=head_tree,
            diff=mirror.diff(self.base, head),
            project=lambda tree: discover(tree, python=None, test_command=PYTEST),
            may_run_tests=may_run_tests,
            progress=lambda _: None,
        )


@pytest.fixture
def pull(tmp_path: Path) -> Pull:
    """One that begins from an empty README."""
    (tmp_path / "work").mkdir()
    branch = Branch(tmp_path / "work")
    return Pull(branch=branch, base=branch.commit({"README.md": ""}))


def from_base(pull: Pull, files: Files) -> Pull:
    """The same, where these files are there before the change."""
    return Pull(branch=pull.branch, base=pull.branch.commit(files))


def told(reviewed: Reviewed) -> dict[str, tuple[str, str]]:
    return {file.path: (file.status.value, file.reason) for file in reviewed.coverage}


def rules(findings: tuple[Finding, ...]) -> list[tuple[str, int, str]]:
    return [(finding.path, finding.line, finding.rule) for finding in findings]


def suggestions(reviewed: Reviewed) -> list[tuple[str, Suggestion]]:
    found = ((finding.path, finding.suggestion) for finding in reviewed.findings)
    return [(path, suggestion) for path, suggestion in found if suggestion is not None]


def planned(reviewed: Reviewed) -> ReviewPlan:
    actions = {each.fingerprint: Action.INLINE for each in (*reviewed.findings, *reviewed.elsewhere)}
    return plan_review(reviewed, actions, max_comments=30)


def test_windows_lines(pull: Pull, tmp_path: Path) -> None:
    """A file with CRLF is read, findings stand where git counts, and proven suggestions leave every line its ending."""
    text = b"import os\r\n\r\n\r\ndef f(x):\r\n    if x == None:\r\n        return 1\r\n    return 2\r\n"
    pull.branch.commit({"a.py": text, "test_a.py": b"import a\r\n\r\n\r\ndef test():\r\n    assert a.f(None) == 1\r\n"})
    reviewed = pull.review(tmp_path, may_run_tests=True)
    assert rules(reviewed.findings) == [("a.py", 1, "F401"), ("a.py", 5, "E711")]
    offered = suggestions(reviewed)
    assert len(offered) == 2
    for path, suggestion in offered:
        assert suggestion.proof is not None
        after = applied(suggestion, text.decode())
        assert path == "a.py" and all(line.endswith("\r\n") for line in split_lines(after))


def test_odd_ends_of_lines(pull: Pull, tmp_path: Path) -> None:
    """Form feeds and the separators that Python's splitlines knows end no line; a lone carriage return is refused, in words."""
    odd = "x = 1\n\x0c\nimport os\ny = 'a\x0b\x1c\x1d\x1e\x85\u2028\u2029b'\nimport sys\nif x == None:\n    pass\n"
    files: Files = {
        "bom.py": "\ufeffimport os\nx = f'a'\n",
        "odd.py": odd,
        "endless.py": "x = 1\nimport os",
        "lone.py": "x = 1\rimport os\n",
    }
    pull.branch.commit(files)
    reviewed = pull.review(tmp_path)
    assert rules(reviewed.findings) == [
        ("bom.py", 1, "F401"),
        ("bom.py", 2, "F541"),
        ("endless.py", 2, "F401"),
        ("odd.py", 3, "F401"),
        ("odd.py", 5, "F401"),
        ("odd.py", 6, "E711"),
    ]
    assert told(reviewed)["lone.py"][1] == "has lone carriage returns, so that its lines cannot be separated"
    by_place = {(path, each.start_line): applied(each, str(files[path])) for path, each in suggestions(reviewed)}
    assert by_place["odd.py", 3] == odd.replace("import os\n", "")
    assert by_place["endless.py", 2] == "x = 1\n"
    assert ("bom.py", 1) not in by_place


def test_what_no_detector_reads(pull: Pull, tmp_path: Path) -> None:
    """Binary, large, minified, generated, vendored files and other encodings: each has its reason, and none its silence."""
    pull.branch.commit(
        {
            "utf16.py": "import os\n".encode("utf-16"),
            "latin.py": b"# -*- coding: latin-1 -*-\nx = '\xe9'\n",
            "empty.py": "",
            "min.js": "a" * 9_000,
            "made.py": "# Generated by a tool. DO NOT EDIT.\nimport os\n",
            "huge.json": "x" * 5_000_000,
            "huge.bin": b"\0" * 5_000_000,
            "node_modules/x.js": "a\n",
            "third_party/a.py": "import os\n",
        }
    )
    reviewed = pull.review(tmp_path)
    assert {path: reason for path, (_, reason) in told(reviewed).items()} == {
        "utf16.py": "binary",
        "latin.py": "not UTF-8",
        "empty.py": "",
        "min.js": "minified: a line is over 5000 characters long",
        "made.py": "marked as generated code",
        "huge.json": "too large: 5.0 MB, over 1 MB",
        "huge.bin": "binary",
        "node_modules/x.js": "vendored code",
        "third_party/a.py": "vendored code",
    }
    assert len(reviewed.not_read) == 8


def test_attributes_hide_nothing(pull: Pull, tmp_path: Path) -> None:
    """What `.gitattributes` says of a file, its own change of it included, keeps nobody from reading it."""
    attributes = (
        "*.py text eol=crlf\nb.py binary\nc.py -diff -text\nd.py diff=evil filter=evil\ne.py linguist-generated\n"
    )
    pull.branch.commit({".gitattributes": attributes, **{f"{name}.py": "import os\n" for name in "abcde"}})
    reviewed = pull.review(tmp_path)
    assert rules(reviewed.findings) == [(f"{name}.py", 1, "F401") for name in "abcde"]


def test_moves_alone(pull: Pull, tmp_path: Path) -> None:
    """A file that was only moved, or whose mode alone changed, has nothing to say, binary or huge as it may be."""
    kinds: Files = {"a.py": EVAL, "b": b"\0" * 99, "c.py": "# padding\n" * 200_000, "d.py": EVAL, 'e "\n.py': EVAL}
    change = from_base(pull, kinds)
    for name in ("a.py", "b", "c.py"):
        change.branch.git("mv", name, f"new {name}")
    for name in ("d.py", 'e "\n.py'):
        (change.branch.root / name).chmod(0o755)
    reviewed = change.review(tmp_path)
    assert {path: reason for path, (_, reason) in told(reviewed).items()} == {
        "new a.py": "moved without edits",
        "new b": "moved without edits",
        "new c.py": "moved without edits",
        "d.py": "only its mode changed",
        'e "\n.py': "only its mode changed",
    }
    assert (reviewed.findings, reviewed.elsewhere, reviewed.not_read) == ((), (), {})
    assert (reviewed.files_read, reviewed.files_unedited) == (0, 5)
    assert reviewed.unread == told(reviewed).keys()


def test_a_move_into_force(pull: Pull, tmp_path: Path) -> None:
    """A file that a move makes a workflow or a list of dependencies acts from now on, and is read as a new one."""
    workflow = "on: push\npermissions: write-all\njobs: {}\n"
    change = from_base(pull, {"a.yml": workflow, "names.txt": "reqeusts==2.32.3\n"})
    (change.branch.root / ".github/workflows").mkdir(parents=True)
    change.branch.git("mv", "a.yml", ".github/workflows/a.yml")
    change.branch.git("mv", "names.txt", "requirements.txt")
    reviewed = change.review(tmp_path)
    assert [finding.rule for finding in reviewed.findings] == ["WFL003", "DEP004"]
    assert [finding.rule for finding in planned(reviewed).summary] == ["WFL003", "DEP004"]


def test_other_types(pull: Pull, tmp_path: Path) -> None:
    """A link that becomes a file is read as a new one; a file that becomes a link or a submodule is not, and that is said."""
    root, git = pull.branch.root, pull.branch.git
    (root / "was_link.py").symlink_to("a.py")
    (root / "lib").mkdir()
    git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},lib")
    change = from_base(pull, {"a.py": EVAL, "now_link.py": EVAL, "now_module": "x\n", "folder/x.py": EVAL})
    for name in ("was_link.py", "now_link.py", "now_module", "folder/x.py"):
        (root / name).unlink()
    (root / "folder").rmdir()
    (root / "was_link.py").write_text(EVAL)
    (root / "now_link.py").symlink_to("/etc/passwd")
    (root / "folder").symlink_to("/etc")
    (root / "now_module").mkdir()
    for name in ("now_module", "lib"):
        git("update-index", "--add", "--cacheinfo", f"160000,{'2' * 40},{name}")
    reviewed = change.review(tmp_path)
    assert [(file.path, file.reason) for file in reviewed.coverage] == [
        ("folder", "a symbolic link"),
        ("folder/x.py", "deleted"),
        ("lib", "a submodule"),
        ("now_link.py", "a symbolic link"),
        ("now_module", "a submodule"),
        ("was_link.py", ""),
    ]
    assert rules(reviewed.findings) == [("was_link.py", 2, "S307")]
    assert reviewed.not_read.keys() == {"folder", "lib", "now_link.py", "now_module"}


def test_binary_and_text(pull: Pull, tmp_path: Path) -> None:
    """A binary file that becomes text is read as a new one; GitHub shows no lines of it, so it is spoken of in the summary."""
    change = from_base(pull, {"a.py": b"\0\1\2", "b.py": "x = 1\n"})
    change.branch.commit({"a.py": EVAL, "b.py": b"\0\1"})
    reviewed = change.review(tmp_path)
    assert told(reviewed) == {"a.py": ("read", ""), "b.py": ("skipped", "binary")}
    assert rules(reviewed.findings) == [("a.py", 2, "S307")]
    plan = planned(reviewed)
    assert (plan.inline, rules(plan.summary)) == ((), [("a.py", 2, "S307")])


NAMES = (
    "a b.py",
    'q"uo`te.py',
    "new\nline.py",
    "tab\there.py",
    "back\\slash.py",
    "-dash.py",
    "é.py",
    "cr\r.py",
    "[a].py",
)


@pytest.mark.extended
def test_odd_names(pull: Pull, tmp_path: Path) -> None:
    """Spaces, quotes, ends of lines, dashes and brackets in names are no obstacle; bytes that are no UTF-8 are, and are shown."""
    nameless = {"caf\udce9.py": "import os\n", "test_caf\udce9.py": "import caf\n\n\ndef test(): pass\n"}
    pull.branch.commit({**dict.fromkeys(NAMES, "import os\n"), **nameless, "test_x.py": "def test(): pass\n"})
    reviewed = pull.review(tmp_path, may_run_tests=True)
    assert {(path, rule) for path, _, rule in rules(reviewed.findings)} == {(name, "F401") for name in NAMES}
    assert reviewed.not_read == {
        "caf\\udce9.py": "its name is not UTF-8",
        "test_caf\\udce9.py": "its name is not UTF-8",
    }


def test_only_deletions(pull: Pull, tmp_path: Path) -> None:
    """What is gone leaves nothing to read, under whatever name."""
    change = from_base(pull, {"a.py": EVAL, "caf\udce9.py": EVAL})
    change.branch.commit({"a.py": None, "caf\udce9.py": None})
    reviewed = change.review(tmp_path)
    assert {reason for _, reason in told(reviewed).values()} == {"deleted"}
    assert (reviewed.findings, reviewed.not_read, reviewed.unread) == ((), {}, frozenset())


def test_configuration_that_leads_away(pull: Pull, tmp_path: Path) -> None:
    """Configuration files that are links or garbage configure nothing, and stop nothing."""
    for name in ("pyproject.toml", "setup.cfg", "ruff.toml", "mypy.ini", "tox.ini"):
        (pull.branch.root / name).symlink_to("/proc/self/environ")
    change = from_base(pull, {".ruff.toml": b"\xff\xfe", "pytest.ini": b"\xff"})
    change.branch.commit({"a.py": "import os\n", "test_a.py": "def test(): pass\n"})
    reviewed = change.review(tmp_path, may_run_tests=True)
    assert rules(reviewed.findings) == [("a.py", 1, "F401")]


def test_merges_alone(pull: Pull, tmp_path: Path) -> None:
    """A branch that only merged its base in has an empty diff, and an empty review."""
    git = pull.branch.git
    git("checkout", "--quiet", "-b", "topic")
    pull.branch.commit({})
    git("checkout", "--quiet", "main")
    base = pull.branch.commit({"a.py": "import os\n"})
    git("checkout", "--quiet", "topic")
    git("merge", "--quiet", "--no-edit", "main")
    reviewed = Pull(branch=pull.branch, base=base).review(tmp_path)
    assert (reviewed.findings, reviewed.coverage, reviewed.files_read) == ((), (), 0)


def test_no_common_history(pull: Pull, tmp_path: Path) -> None:
    """Where base and head share no commit, the whole difference between them is read."""
    pull.branch.git("checkout", "--quiet", "--orphan", "other")
    pull.branch.commit({"a.py": "import os\n"})
    assert rules(pull.review(tmp_path).findings) == [("a.py", 1, "F401")]
