"""Whether suggestions apply where they say: made for real past changes, applied by git, and parsed.

python -m benchmarks.suggestions REPOSITORY..."""

from __future__ import annotations

import argparse
import ast
import subprocess
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.history import name_of
from benchmarks.report import show
from memory.model import Suggestion
from workers.diffs import split_lines
from workers.git import git_directory
from workers.history.changes import Blobs, changes, positions, read
from workers.review.detectors.linters import Ruff
from workers.review.suggestions import drafts
from workers.sandbox.bubblewrap import Bubblewrap


def directory_of(path: Path) -> Path:
    """Where git keeps it."""
    directory = git_directory(path)
    if directory is None:
        raise SystemExit(f"{path} is not a git repository")
    return directory


def made(path: Path) -> Iterator[tuple[str, Suggestion, str]]:
    """For each suggestion on changed lines of a past change: the file's text, the suggestion, and its rule."""
    directory = directory_of(path)
    past = changes(directory, "HEAD", positions(directory, "HEAD"), paths=("*.py",))
    with Blobs(directory) as blobs:
        for group in read(past, blobs, (Ruff(Bubblewrap()),)):
            for change in group:
                for file in change.past.change.files if change.past.change else ():
                    version = change.versions.get(file.path)
                    if version is None:
                        continue
                    texts = {each.finding.path: version.text for each in version.seen}
                    lines = dict.fromkeys(texts, file.added_lines)
                    for draft in drafts(version.seen, texts, lines):
                        yield version.text, draft.suggestion, draft.seen.finding.rule


def applied_by_git(text: str, suggestion: Suggestion, folder: Path) -> str | None:
    """The text after git has replaced exactly the lines that the suggestion names; None where it does not apply."""
    lines = split_lines(text)
    old = lines[suggestion.start_line - 1 : suggestion.end_line]
    ends = "\r\n" if old and old[0].endswith("\r\n") else "\n"
    new = [line.rstrip("\n") + ends for line in split_lines(suggestion.replacement)]
    at = suggestion.start_line
    head = f"--- a/file.py\n+++ b/file.py\n@@ -{at},{len(old)} +{at if new else at - 1},{len(new)} @@\n"
    body = "".join(_marked("-", line) for line in old) + "".join(_marked("+", line) for line in new)
    (folder / "file.py").write_bytes(text.encode())
    patch = (head + body).encode()
    command = ("git", "apply", "--unidiff-zero", "--whitespace=nowarn", "-")
    done = subprocess.run(command, cwd=folder, input=patch, capture_output=True, check=False)
    return (folder / "file.py").read_bytes().decode() if done.returncode == 0 else None


def _marked(mark: str, line: str) -> str:
    return mark + line if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n"


def parses(text: str) -> bool:
    """Whether this interpreter reads it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(text.removeprefix("\ufeff"))
        except (SyntaxError, ValueError):
            return False
    return True


def main() -> None:
    """Read arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", type=Path, nargs="+")
    parser.add_argument("--most", type=int, default=250, help="suggestions of each repository")
    given = parser.parse_args()
    count, clean, parsed, rules = 0, 0, 0, Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        for path in given.repositories:
            for number, (text, suggestion, rule) in enumerate(made(path)):
                if number >= given.most:
                    break
                after = applied_by_git(text, suggestion, Path(folder))
                count, rules[rule] = count + 1, rules[rule] + 1
                clean += after is not None
                parsed += after is not None and parses(after)
    show(
        f"suggestions on past changes of {', '.join(map(name_of, given.repositories))}",
        [
            ("suggestions", f"{count} of {len(rules)} rules"),
            ("applied by git at the stated lines", f"{clean} of {count}"),
            ("the file parses afterwards", f"{parsed} of {count}"),
        ],
    )


if __name__ == "__main__":
    main()
