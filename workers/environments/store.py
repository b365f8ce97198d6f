"""Environments on disk, below the home: named by what they are made of, made aside and renamed, never changed afterwards."""

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path
from typing import Any

from workers.errors import Retryable

IN_USE_SECONDS = 6 * 3600
"""What was used within this time stays: a job may be running on it."""

MAX_MB = 20_000
"""Of all environments, packages and uv's files together; the least recently used are removed."""

LONGEST_WAIT_SECONDS = 900

Fill = Callable[[Path], None]


class EnvironmentStore:
    """The environments of one home. Several workers may use it at the same time."""

    def __init__(self, home: Path) -> None:
        self._root = home / "environments"
        self.packages = self._directory("packages")
        self.uv_cache = self._directory("uv")
        self._made, self._known, self._locks = map(self._directory, ("made", "known", "locks"))

    def made(self, key: Sequence[str], fill: Fill, progress: Callable[[str], None]) -> Path:
        """The directory that `fill` makes, made once for equal keys. `fill` gets an empty directory of another name.

        One whose files were changed since it was made is not used: it is made again, with a line that says so.
        """
        name = hashlib.sha256(json.dumps(list(key)).encode()).hexdigest()[:32]
        with self._locked(name, progress):
            place = self._made / name
            if self.is_intact(place):
                return place
            if place.exists():
                progress("a cached environment was changed: it is not used, and made anew")
                shutil.rmtree(place)
            with tempfile.TemporaryDirectory(prefix=".new-", dir=self._made, ignore_cleanup_errors=True) as aside:
                new = Path(aside) / name
                new.mkdir(mode=0o755)
                fill(new)
                new.replace(place)
            _write(_seal_of(place), json.dumps(_state(place)))
        self.collect()
        return place

    def is_intact(self, place: Path) -> bool:
        """Whether a made directory is there, and no file in it was changed, added or removed since. It counts as used now."""
        seal = _seal_of(place)
        if not place.is_dir() or not seal.is_file() or json.loads(seal.read_text(encoding="utf-8")) != _state(place):
            return False
        os.utime(seal)
        return True

    def remember(self, key: str, value: str) -> None:
        """Keep a text by its key, in the place of an earlier one."""
        _write(self._known / key, value)

    def recalled(self, key: str) -> str | None:
        """The text that was kept by a key, if any."""
        path = self._known / key
        return path.read_text(encoding="utf-8") if path.is_file() else None

    def collect(self, most_mb: int = MAX_MB, seconds: float = inf) -> int:
        """Remove the least recently used environments and packages until the rest is within `most_mb`, and each that was not
        used for so many seconds; returns how many."""
        removed = 0
        with self._locked("collect", lambda _line: None):
            now, left = time.time(), most_mb << 20
            for last_use, size, parts in sorted(self._removable(), key=lambda each: each[0], reverse=True):
                left -= size
                if (left < 0 or last_use < now - seconds) and last_use < now - IN_USE_SECONDS:
                    for part in parts:
                        shutil.rmtree(part, ignore_errors=True) if part.is_dir() else part.unlink(missing_ok=True)
                    removed += 1 if parts else 0
        return removed

    def _removable(self) -> Iterator[tuple[float, int, tuple[Path, ...]]]:
        """Last use in seconds since the epoch, bytes, and the paths that belong together."""
        for seal in self._made.glob("*.json"):
            yield (
                seal.stat().st_mtime,
                json.loads(seal.read_text(encoding="utf-8"))["bytes"],
                (seal, seal.with_suffix("")),
            )
        for left in self._made.glob(".new-*"):
            with suppress(FileNotFoundError):  # its maker gives it its name at any time
                if left.stat().st_mtime < time.time() - IN_USE_SECONDS:  # of a worker that died
                    yield 0.0, MAX_MB << 21, (left,)
        for package in self.packages.iterdir():
            with suppress(FileNotFoundError):  # as above
                files = [each.stat() for each in ([package, *package.iterdir()] if package.is_dir() else [package])]
                yield max(file.st_mtime for file in files), sum(file.st_size for file in files), (package,)
        yield self.uv_cache.stat().st_mtime, _state(self.uv_cache)["bytes"], tuple(self.uv_cache.iterdir())

    def _directory(self, name: str) -> Path:
        place = self._root / name
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        return place

    @contextmanager
    def _locked(self, name: str, progress: Callable[[str], None]) -> Iterator[None]:
        """Hold a lock of this machine; waits for another worker that has it."""
        descriptor = os.open(self._locks / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            deadline, waiting = time.monotonic() + LONGEST_WAIT_SECONDS, False
            while not _taken(descriptor):
                if not waiting:
                    progress("another worker makes the same environment: waiting for it")
                waiting = True
                if time.monotonic() > deadline:
                    raise Retryable(f"another worker holds an environment for {LONGEST_WAIT_SECONDS} s")
                time.sleep(0.1)
            yield
        finally:
            os.close(descriptor)


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _write(target: Path, text: str) -> None:
    """Write a file that is there whole or not at all: other workers may read it at any time."""
    with tempfile.NamedTemporaryFile("w", prefix=".new-", dir=target.parent, delete=False, encoding="utf-8") as stream:
        stream.write(text)
    Path(stream.name).replace(target)


def _seal_of(place: Path) -> Path:
    return place.with_name(f"{place.name}.json")


def _state(place: Path) -> dict[str, Any]:
    """The size of a tree in bytes, and a digest of what every change of a file changes, its change time included.

    Reading every byte would take seconds; the kernel sets the change time (ctime), and no process can choose it.
    """
    total, size = hashlib.sha256(), 0
    for path, found in _entries(str(place), ""):
        size += found.st_size
        kept = (path, found.st_mode, found.st_size, found.st_ino, found.st_ctime_ns)
        total.update(repr(kept).encode("utf-8", "surrogateescape"))
    return {"bytes": size, "digest": total.hexdigest()}


def _entries(directory: str, below: str) -> Iterator[tuple[str, os.stat_result]]:
    with suppress(FileNotFoundError):  # uv tidies up its own files at any time
        for entry in sorted(os.scandir(directory), key=lambda each: each.name):
            name = f"{below}/{entry.name}"
            yield name, entry.stat(follow_symlinks=False)
            if entry.is_dir(follow_symlinks=False):
                yield from _entries(entry.path, name)
