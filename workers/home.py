"""The home directory: no other user reads it, and temporary files below it go with the process that made them."""

import errno
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from workers.errors import CannotRun

OURS = frozenset(
    {
        *("apprentice.db", "apprentice.db-shm", "apprentice.db-wal", "broker"),
        *("environments", "mint.sock", "mirrors", "scratch"),
    }
)


def private(home: Path) -> Path:
    """Make the home, for its owner alone; raises CannotRun where that is not possible.

    Closes an existing one to others where it is ours and holds nothing else: it may be a directory that others need.
    """
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = home.stat()
        open_to_others = found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) & 0o077
        if open_to_others and OURS.issuperset(each.name for each in home.iterdir()):
            home.chmod(0o700)
        if not os.access(home, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, "nothing can be written there")
    except OSError as error:
        raise CannotRun(
            f"{home} cannot be used: {error.strerror}; set APPRENTICE_HOME to a directory of yours"
        ) from error
    return home


@contextmanager
def scratch(home: Path) -> Iterator[Path]:
    """Put all temporary files of this process and its forks into a directory below the home, which ends with the context.

    Removes those of processes that are gone: each holds a lock on its own.
    """
    root = private(home) / "scratch"
    root.mkdir(mode=0o700, exist_ok=True)
    with locked(root, wait=True):
        _remove_left(root)
        own = Path(tempfile.mkdtemp(dir=root))
        held = ExitStack()
        held.enter_context(locked(own))
    before, tempfile.tempdir = tempfile.tempdir, str(own)
    with held:
        try:
            yield own
        finally:
            tempfile.tempdir = before
            _empty(own)


def sweep_scratch(home: Path) -> int:
    """Remove the scratch directories of processes that are gone; returns how many."""
    root = home / "scratch"
    if not root.is_dir():
        return 0
    with locked(root, wait=True):
        return _remove_left(root)


def _remove_left(root: Path) -> int:
    removed = 0
    for left in root.iterdir():
        with suppress(OSError), locked(left):  # another process holds it, or just removed it
            shutil.rmtree(left, ignore_errors=True)
            removed += 1
    return removed


def _empty(own: Path) -> None:
    """Remove a scratch directory, or all of it but what multiprocessing made: that goes at the end of the process, which fails
    where it is gone. The next process removes what is left then."""
    with suppress(OSError):
        for each in own.iterdir():
            if each.name.startswith("pymp-"):
                continue
            if each.is_dir() and not each.is_symlink():
                shutil.rmtree(each, ignore_errors=True)
            else:
                each.unlink(missing_ok=True)
        own.rmdir()


@contextmanager
def locked(directory: Path, *, wait: bool = False) -> Iterator[None]:
    """Hold a directory's lock; raises BlockingIOError where another process holds it and we do not `wait`."""
    descriptor = os.open(directory / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(descriptor)
