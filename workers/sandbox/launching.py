"""Starts the launcher, sandboxed or not: its inherited descriptors, its specification, its ready message, and its interpreter.

Like all that bubblewrap.py imports, this needs the standard library alone.
"""

import base64
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from typing import IO

from workers.errors import BadInput, CannotRun
from workers.ports import Workload
from workers.sandbox.supervise import ProcessTree, RunGroup, readable

WORKSPACE = Path("/workspace")
"""Where the sandbox shows the checkout."""

SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin")
SET_UP_SECONDS = 120.0
REPORT_VARIABLE = "APPRENTICE_REPORT_FD"
PACKAGES = ("lib*/python3*/site-packages", "lib/python3*/dist-packages", "local/lib/python3*/dist-packages")
"""Where packages are installed, below a prefix."""

LAUNCHER_SOURCE = Path(__file__).with_name("launcher.py")


class Descriptors:
    """Pipes and files in memory for one start; `stack` closes what is open."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.inherited: list[int] = []
        self.status, self.status_inside = self.pipe()
        self.report, self.report_inside = self.pipe()

    def pipe(self) -> tuple[int, int]:
        """Our reading end, and the writing end that is inherited."""
        reading, writing = os.pipe()
        self._stack.callback(os.close, reading)
        self._inherit(writing)
        return reading, writing

    def gate(self) -> tuple[int, IO[bytes]]:
        """An inherited reading end, which reads nothing until ours is closed."""
        reading, writing = os.pipe()
        self._inherit(reading)
        return reading, self._stack.enter_context(os.fdopen(writing, "wb"))

    def memory(self, content: bytes) -> int:
        """An inherited descriptor to read `content` from: on a command line it would be visible inside."""
        descriptor = os.memfd_create("apprentice")
        self._inherit(descriptor)
        with os.fdopen(os.dup(descriptor), "wb") as stream:
            stream.write(content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return descriptor

    def directory(self, path: Path) -> int:
        """An inherited descriptor of a directory. Raises CannotRun when there is none, or it cannot be read."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as problem:
            raise CannotRun(f"{path} cannot be read: {problem.strerror}") from None
        self._inherit(descriptor)
        return descriptor

    def close_inherited(self) -> None:
        """Close our copies of the inherited descriptors: a pipe ends only when its last writer closes it."""
        for descriptor in self.inherited:
            os.close(descriptor)
        self.inherited.clear()

    def _inherit(self, descriptor: int) -> None:
        self.inherited.append(descriptor)
        self._stack.callback(self._close, descriptor)

    def _close(self, descriptor: int) -> None:
        if descriptor in self.inherited:
            os.close(descriptor)


def spawned(command: Sequence[str], descriptors: Descriptors, stdin: int) -> subprocess.Popen[bytes]:
    """Start the first process, with an empty environment: the inside can read the environment of its first process."""
    process = subprocess.Popen(  # noqa: S603 - our own arguments; the untrusted command starts inside
        command,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={},
        cwd="/",
        pass_fds=descriptors.inherited,
        start_new_session=True,
    )
    descriptors.close_inherited()
    return process


def process_tree(
    process: subprocess.Popen[bytes],
    leader: int,
    descriptors: Descriptors,
    *,
    grouped: bool = False,
    file_systems: tuple[str, ...] = (),
    group: RunGroup | None = None,
) -> ProcessTree:
    """The tree of a started process; its descriptors are its own. Raises ProcessLookupError when the leader is gone."""
    return ProcessTree(
        process=process,
        leader=leader,
        leader_handle=os.pidfd_open(leader),
        process_handle=os.pidfd_open(process.pid),
        report=os.dup(descriptors.report),
        grouped=grouped,
        file_systems=file_systems,
        group=group,
    )


def launcher_command(launcher: Path, spec: Mapping[str, object], descriptors: Descriptors) -> list[str]:
    """The command that starts the launcher on our interpreter, because the project controls its own."""
    numbers = (descriptors.memory(json.dumps(spec).encode()), descriptors.status_inside)
    return [sys.executable, "-I", "-S", str(launcher), *map(str, numbers)]


def failed_set_up(reason: str) -> str:
    """The error of a launcher that ended before it was ready."""
    return f"the sandbox could not be set up: {reason or 'no reason given'}"


def await_ready(tree: ProcessTree, status: int, explain: Callable[[str], str] = failed_set_up) -> None:
    """Wait until the launcher is ready to start the command.

    Raises CannotRun if it fails, with the launcher's reason or, where there is none, `explain` of the error output.
    """
    status_text = b""
    while readable(status, SET_UP_SECONDS):
        piece = os.read(status, 4096)
        status_text += piece
        if not piece:
            break
    if status_text == b"ready":
        return
    tree.kill()
    assert tree.process.stderr is not None
    if status_text:
        raise CannotRun(failed_set_up(status_text.decode(errors="replace").strip()))
    raise CannotRun(explain(tree.process.stderr.read().decode(errors="replace").strip()))


def launch_spec(
    workload: Workload,
    *,
    source: int,
    workspace: Path,
    home: Path,
    environment: Mapping[str, str],
    report: int,
    user: int | None = None,
    processes: int | None = None,
    first: bool = False,
) -> dict[str, object]:
    """Instructions as launcher.py reads them; all paths are those inside the sandbox.

    `source` is the inherited descriptor of the checkout.
    `first`: the launcher is the first process of a namespace. `user` is the user id for the command, None to keep the
    launcher's; `processes` is None where the limit would also count the host's processes.
    Raises BadInput for an overlay path that leads out of the checkout.
    """
    limits = workload.limits
    return {
        "source": source,
        "workspace": str(workspace),
        "start": str(workspace if workload.directory == "." else workspace / _inner(workload.directory)),
        "own": [str(workspace), str(home)],
        "uid": user,
        "first": first,
        "overlay": {_inner(path): _text(content) for path, content in workload.overlay.items()},
        "environment": {**environment, REPORT_VARIABLE: str(report)},
        "command": list(workload.command),
        "limits": {
            "cpu_seconds": limits.cpu_seconds,
            "memory_mb": limits.memory_mb,
            "processes": processes,
            "disk_mb": limits.disk_mb,
        },
    }


def _inner(path: str) -> str:
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts or "\0" in path:
        raise BadInput(f"{path!r} leads out of the checkout: name a file inside it")
    return str(pure)


def _text(content: bytes | None) -> str | None:
    return None if content is None else base64.b64encode(content).decode("ascii")


# ── The interpreters that a sandbox has to show ────────────────────────────────────────────────────────────────────────

LONGEST_CHAIN = 16
SYSTEM = (Path("/usr"), Path("/bin"), Path("/sbin"), Path("/lib"), Path("/lib64"))
"""The sandbox always shows these, so they are never listed."""
HIDDEN = (Path("/usr/src"), Path("/usr/local/src"), Path("/usr/local/etc"))
"""Sources and settings of the host's administrator, which it does not show."""


def prefixes(python: Path) -> tuple[Path, ...]:
    """The prefix directories of `python`: its virtual environment, if any, and the installations it leads to.

    Keeps the names that links use, so that they work inside the sandbox.
    Lists only Python installations and virtual environments: a link in a repository exposes nothing else.
    Raises BadInput when there is no such interpreter, or it lies in no installation.
    """
    if not python.is_file():
        raise BadInput(f"{python} is not an interpreter: name an existing python executable")
    found: list[Path] = []
    seen: set[Path] = set()
    waiting = [python.absolute()]
    while waiting and len(seen) < LONGEST_CHAIN:
        executable = waiting.pop(0)
        if executable in seen:
            continue
        seen.add(executable)
        prefix = executable.parent.parent
        if not _is_system(prefix) and prefix not in found and (is_environment(prefix) or _is_installation(prefix)):
            found.append(prefix)
        waiting += _next(executable) + _base(prefix)
    real = python.resolve().parent.parent
    if not _is_system(real) and not any(path.resolve() == real for path in found):
        raise BadInput(
            f"{python} lies in no Python installation: name the python of a virtual environment or an installation"
        )
    return tuple(found)


def installed_modules(python: Path) -> frozenset[str]:
    """The names that can be imported from where the packages of `python` are installed."""
    roots = {*prefixes(python), *(each.parent.parent for each in (python.absolute(), python.resolve()))}
    places = [place for root in roots for pattern in PACKAGES for place in root.glob(pattern)]
    return frozenset(entry.name.partition(".")[0] for place in places for entry in place.iterdir())


def is_environment(prefix: Path) -> bool:
    """Whether a directory is a virtual environment."""
    return (prefix / "pyvenv.cfg").is_file()


_PARTS = ("bin", "include/python3*", "lib*/python3*", "lib*/*.so*", "lib*/t[ck]l*", "pyvenv.cfg", "ssl/cert.pem")
"""What an interpreter reads of a prefix. The directory may be a home, or the `.local` of one, with any other files."""


def interpreter_files(python: Path) -> tuple[Path, ...]:
    """The directories and files of its prefixes that `python` needs; a link that leads out of its prefix is left out."""
    parts = ((prefix, part) for prefix in prefixes(python) for part in _parts(prefix))
    found = [(prefix, path) for prefix, part in parts for path in sorted(prefix.glob(part))]
    return tuple(path for prefix, path in found if path.exists() and path.resolve().is_relative_to(prefix.resolve()))


def _parts(prefix: Path) -> tuple[str, ...]:
    """A virtual environment also holds the sources of editable packages, unless it is a home directory."""
    return (*_PARTS, "src") if is_environment(prefix) and not Path.home().is_relative_to(prefix) else _PARTS


def _next(executable: Path) -> list[Path]:
    """The target of one link."""
    if not executable.is_symlink():
        return []
    target = executable.parent / executable.readlink()
    return [Path(os.path.normpath(target))]  # by name only: resolving would lose the names that links use


def _base(environment: Path) -> list[Path]:
    """The base interpreter of a virtual environment; nothing for any other directory."""
    if not is_environment(environment):
        return []
    text = (environment / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace")
    for line in text.splitlines():
        key, separator, value = line.partition("=")
        if separator and key.strip() == "home" and value.strip().startswith("/"):
            return [Path(value.strip()) / "python3"]
    return []


def _is_installation(prefix: Path) -> bool:
    """Whether the directory holds a standard library, as an installation does."""
    return prefix != Path("/") and any(prefix.glob("lib*/python3*/os.py"))


def _is_system(prefix: Path) -> bool:
    hidden = any(path in prefix.parents for path in HIDDEN)
    return prefix == Path("/") or (any(prefix == path or path in prefix.parents for path in SYSTEM) and not hidden)
