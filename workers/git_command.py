"""Git's command line under our configuration and limits: no hook, filter or helper of a repository ever runs.

The author of a repository chooses its objects: kilobytes of them can become gigabytes of names, files or diffs.
"""

import os
import re
import resource
import shutil
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile, gettempdir

from workers.errors import CannotRun, Retryable, Unavailable

GIT_SECONDS = 600

_HARMLESS = (
    *("badDate", "badDateOverflow", "badEmail", "badFilemode", "badName", "badTimezone", "gitmodulesMissing"),
    *("gitmodulesName", "gitmodulesPath", "gitmodulesUpdate", "gitmodulesUrl", "missingEmail"),
    *("missingSpaceBeforeDate", "missingNameBeforeEmail", "missingSpaceBeforeEmail", "multipleAuthors"),
    *("zeroPaddedDate", "zeroPaddedFilemode"),
)
"""Faults of objects that old, honest histories have. No submodule is ever fetched."""

SAFE = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "log.showSignature": "false",
    "diff.autoRefreshIndex": "false",
    "core.symlinks": "true",
    "core.quotePath": "false",
    "core.bigFileThreshold": "4m",  # a larger file is streamed, and no diff shows its text
    "safe.directory": "*",
    "protocol.allow": "never",
    "http.followRedirects": "false",
    "fetch.recurseSubmodules": "false",
    "transfer.fsckObjects": "true",
    **{f"fetch.fsck.{name}": "ignore" for name in _HARMLESS},
    "pack.threads": "2",
    "core.deltaBaseCacheLimit": "32m",
    "gc.auto": "0",
}
"""Overrides of a repository's own configuration, which make it safe to read directories of other users."""


class GitCommandFailed(CannotRun):
    """A git command failed. `written` is all that it wrote about that; the text has its last line."""

    def __init__(self, text: str, written: str) -> None:
        super().__init__(text)
        self.written = written


class TooMuchForGit(CannotRun):
    """Foreign objects are too many or too large to be read; the text says which limit they are over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GitLimits:
    """Limits of one git command; each of its processes has them. `output_mb` is of each file that it writes, too."""

    memory_mb: int = 160
    cpu_seconds: int = 20
    output_mb: int = 24


USUAL = GitLimits()


def limit(process: subprocess.Popen[bytes], limits: GitLimits) -> None:
    """Limit a process that was started just now, and all that it starts from now on."""
    wanted = {
        resource.RLIMIT_DATA: limits.memory_mb << 20,
        resource.RLIMIT_CPU: limits.cpu_seconds,
        resource.RLIMIT_FSIZE: limits.output_mb << 20,
        resource.RLIMIT_CORE: 0,
    }
    for kind, most in wanted.items():
        with suppress(ProcessLookupError):  # it ended already
            ceiling = resource.prlimit(process.pid, kind)[1]
            allowed = most if ceiling == resource.RLIM_INFINITY else min(most, ceiling)
            resource.prlimit(process.pid, kind, (allowed, allowed))


def program() -> Path:
    """The path of git; raises CannotRun when git is not installed."""
    found = shutil.which("git")
    if found is None:
        raise CannotRun("git is not installed; install it with your package manager")
    return Path(found)


def environment(config: Mapping[str, str] = {}, extra: Mapping[str, str] = {}) -> dict[str, str]:
    """The environment of git: the configuration of `SAFE` and `config` alone, and the variables in `extra`."""
    git = program()
    settings = {**SAFE, **config}
    variables = {
        "PATH": f"{git.parent}{os.pathsep}{os.defpath}",
        "HOME": os.devnull,
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_CONFIG_COUNT": str(len(settings)),
    }
    for number, (key, value) in enumerate(settings.items()):
        variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return variables | dict(extra)


def run_git(
    *arguments: str,
    at: Path,
    config: Mapping[str, str] = {},
    extra: Mapping[str, str] = {},
    stdin: bytes = b"",
    limits: GitLimits = USUAL,
) -> bytes:
    """Run a git command under `config` and `extra`; returns its standard output.

    Raises TooMuchForGit at a limit, Retryable after `GIT_SECONDS`, Unavailable where the disk is full, else
    GitCommandFailed with the last line of its errors.
    """
    command = [str(program()), *arguments]
    with TemporaryFile() as output, TemporaryFile() as errors:  # files, because their size has a limit
        process = subprocess.Popen(  # noqa: S603  the arguments are ours
            command,
            cwd=at,
            env=environment(config, extra),
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=errors,
            process_group=0,
        )
        limit(process, limits)
        try:
            process.communicate(stdin, timeout=GIT_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise Retryable(f"git {arguments[0]} ran longer than {GIT_SECONDS} s") from error
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        for file in (output, errors):
            file.seek(0)
        if process.returncode:
            written = errors.read().decode(errors="replace").strip()
            if _NO_ROOM in written or any(shutil.disk_usage(each).free < MIN_ROOM for each in (at, gettempdir())):
                raise Unavailable(f"the worker's disk is full: git {arguments[0]} could not write")
            raise _failure(arguments[0], process.returncode, written, limits)
        return output.read()


MIN_ROOM = 1 << 20
"""With fewer bytes free, git often fails without a reason."""
_NO_ROOM = "No space left on device"
_LATEST = int(datetime(9999, 1, 1, tzinfo=UTC).timestamp())


def commit_time(seconds: str) -> datetime:
    """When a commit was made, of digits as git writes them (`%ct`): its author may choose a year that Python does not have."""
    return datetime.fromtimestamp(min(int(seconds[:12]), _LATEST), UTC)


_AT_A_LIMIT = (signal.SIGXCPU, signal.SIGXFSZ, signal.SIGSEGV)
"""Git calls itself for each directory of a path, and has no stack for thousands."""
_LIMIT_REACHED = re.compile(r"out of memory|died of signal (?:24|25)|cannot allocate|file too large", re.IGNORECASE)


def _failure(command: str, code: int, written: str, limits: GitLimits) -> CannotRun:
    if -code in _AT_A_LIMIT or _LIMIT_REACHED.search(written):
        return TooMuchForGit(
            f"git {command} stopped: these objects need more than {limits.memory_mb} MB of memory, "
            f"{limits.cpu_seconds} s of processor time or {limits.output_mb} MB of output"
        )
    last = written.splitlines()[-1] if written else "no reason given"
    return GitCommandFailed(f"git {command} failed: {last}", written)
