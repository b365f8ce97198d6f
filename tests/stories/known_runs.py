"""Results of runs in the sandbox, kept for all stories of a test run.

Most stories review the same few changes of one project. A sandboxed run leaves nothing but its result, so the second run
of the same files by the same command would show nothing new: it would take half of the time of the stories.
"""

from __future__ import annotations

import os
import pickle
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from unittest.mock import patch

from workers.ports import CompletedRun, Ending, Workload
from workers.sandbox.supervise import TreeSandbox

RANDOM = re.compile(r"(?<=\.apprentice-)[0-9a-f]{16}(?=\.ini\b)|(?<=/apprentice-probe-)\w+")
"""What our own names have of chance: those of options for the review's tools, and of the directory of the pytest plugin."""


@contextmanager
def runs_kept(home: Path) -> Iterator[None]:
    """Within, a run that is known is not made again; what is known lies beside `home`, for all processes of xdist."""
    root = next((each.parent for each in home.parents if each.name.startswith("popen-")), home.parent)
    shared = root / "known-runs"
    shared.mkdir(exist_ok=True)
    make = TreeSandbox.run

    def run(sandbox: TreeSandbox, workload: Workload) -> CompletedRun:
        kept = shared / fingerprint(sandbox, workload, (root, Path(tempfile.gettempdir())))
        if kept.exists():
            known: CompletedRun = pickle.loads(kept.read_bytes())
            return known
        completed = make(sandbox, workload)
        if completed.ending is Ending.EXITED:
            with tempfile.NamedTemporaryFile(dir=shared, delete=False) as file:
                pickle.dump(completed, file)
            os.replace(file.name, kept)  # noqa: PTH105  the atomic one, by its usual name
        return completed

    with patch.object(TreeSandbox, "run", run):
        yield


def fingerprint(sandbox: TreeSandbox, workload: Workload, temporary: Sequence[Path]) -> str:
    """Of all that the run depends on, but for the limits: no result is kept of a run that one of them ended.

    What is shown inside of the directories `temporary` was made by a story, and counts by its content.
    """
    made = [each for each in workload.read_only if any(each.is_relative_to(root) for root in temporary)]
    parts = (
        type(sandbox).__name__,
        workload.command,
        workload.python,
        workload.directory,
        sorted(workload.env.items()),
        sorted(workload.overlay.items()),
        files_of(workload.tree),
        [files_of(each) for each in made],
        [each for each in workload.read_only if each not in made],
    )
    return sha256(RANDOM.sub("", repr(parts)).encode()).hexdigest()


def files_of(tree: Path) -> list[tuple[str, int, bytes]]:
    """The path, mode, and content or link target of each file."""
    return [
        (
            str(path.relative_to(tree)),
            path.lstat().st_mode,
            os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else b"",
        )
        for path in sorted([tree, *tree.rglob("*")])
    ]
