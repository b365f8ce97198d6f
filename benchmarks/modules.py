"""How much of the product one repair runs through: from the webhook about an issue to the draft pull request.

A repair of the stories' repository is done by the real web process and worker, as threads of this process, with GitHub's
stand-in beside them. Printed are our modules in which a function runs (the stand-in left out); those that the sandbox
opens, where a profile cannot look; and those that are loaded.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import struct
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import FrameType

from benchmarks.report import ROOT, show

PACKAGES = ("bot", "workers", "memory")
STAND_IN = "bot.playground"
MODEL_ENGINE = ("workers.agent", "workers.llm", "workers.repair.engines.llm")
EVENT = struct.Struct("iIII")


class Profile:
    """The files whose functions run, in all threads begun after it, while it is `on`."""

    def __init__(self) -> None:
        self.on = False
        self.files: set[str] = set()

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        """For `sys.setprofile`. Bodies of modules and classes, which run when they are imported, do not count."""
        if self.on and event == "call" and frame.f_code.co_flags & CO_OPTIMIZED:
            self.files.add(frame.f_code.co_filename)


class Opened:
    """The files below our packages that any process opens, in a sandbox or not, by inotify(7): IN_OPEN is 0x20."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self._folders: dict[int, Path] = {}
        for folder in {path.parent for package in PACKAGES for path in (ROOT / package).rglob("*.py*")}:
            self._folders[self._libc.inotify_add_watch(self._descriptor, os.fsencode(folder), 0x20)] = folder

    def files(self) -> Iterator[Path]:
        """What was opened since the last call."""
        with suppress(BlockingIOError):
            while data := os.read(self._descriptor, 1 << 16):
                while data:
                    watch, _, _, length = EVENT.unpack_from(data)
                    name = data[EVENT.size : EVENT.size + length].rstrip(b"\0").decode()
                    data = data[EVENT.size + length :]
                    if name and watch in self._folders:
                        yield self._folders[watch] / name


def modules_of(files: Iterable[str | Path]) -> set[str]:
    """The names of our modules, without the stand-in's, among files of source or bytecode."""
    found = set()
    for path in map(Path, files):
        if path.is_relative_to(ROOT) and path.suffix in (".py", ".pyc"):
            folder = path.parent.parent if path.parent.name == "__pycache__" else path.parent
            parts = (*folder.relative_to(ROOT).parts, path.name.partition(".")[0])
            name = ".".join(parts).removesuffix(".__init__")
            if parts[0] in PACKAGES and not name.startswith(STAND_IN):
                found.add(name)
    return found


def repair(profile: Profile) -> set[str]:
    """Have one issue repaired; the modules that were opened meanwhile."""
    from tests.stories.pantry import BUG  # imported here, so that its threads begin under the profile
    from tests.stories.town import REPOSITORY, town

    with tempfile.TemporaryDirectory(prefix="apprentice-modules-") as home, town(Path(home)) as place:
        place.settle()
        place.playground.after("POST", f"/repos/{REPOSITORY}/pulls", lambda _: setattr(profile, "on", False))
        opened = Opened()
        profile.on = True
        place.issue("The last of it cannot be taken", BUG)
        assert not profile.on and place.fixes(), "the repair ended in a draft pull request"
        return modules_of(opened.files())


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.modules", description=__doc__)
    parser.add_argument("--names", action="store_true", help="print the modules, too")
    given = parser.parse_args()
    profile = Profile()
    threading.setprofile(profile)
    sys.setprofile(profile)
    opened = repair(profile)
    sys.setprofile(None)
    loaded = modules_of(path for each in list(sys.modules.values()) if (path := getattr(each, "__file__", None)))
    ran, boxed = modules_of(profile.files), opened - loaded
    engine = sorted(name for name in loaded if name.startswith(MODEL_ENGINE))
    rows = [
        ("in which a function runs, on the host", str(len(ran))),
        ("opened for the sandbox alone", str(len(boxed))),
        ("both", str(len(ran | boxed))),
        ("loaded on the host", str(len(loaded))),
        ("of these in the model engine", f"{len(engine)}, {len(ran & set(engine))} of them run"),
    ]
    show("modules of one repair, from the webhook to the draft pull request", rows)
    if given.names:
        print("\n".join(f"  {'sandbox' if name in boxed else 'host   '} {name}" for name in sorted(ran | boxed)))


if __name__ == "__main__":
    main()
