"""uv's command line, under limits, on the operator's indexes. It resolves and installs; it builds nothing."""

from __future__ import annotations

import ast
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from workers.errors import CannotRun
from workers.redaction import own_secrets
from workers.settings import variables

PYPI = "https://pypi.org/simple"
UV_SECONDS = 600
MEMORY_MB, FILE_MB = 4096, 4096
"""Limits of one uv process: its memory, and any file that it writes."""

ALWAYS = ("--no-progress", "--color=never", "--no-python-downloads")

_OF_INSTALLERS = re.compile(
    r"(?:UV|PIP)_\w+|(?:https?|all|no)_proxy|SSL_CERT_(?:FILE|DIR)|HOME|NETRC|XDG_CONFIG_(?:HOME|DIRS)", re.IGNORECASE
)


def _environment() -> dict[str, str]:
    """What uv and pip read of our environment: their own settings, proxies and certificates. Nothing of ours is in it."""
    return variables(_OF_INSTALLERS) | {"PATH": os.defpath, "LC_ALL": "C.UTF-8"}


class UvFailed(CannotRun):
    """uv ended with an error; the text is its own, without the first word."""


class NoIndex(CannotRun):
    """A package index cannot be reached: no other plan would fare better now."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the package index cannot be reached, so nothing new can be installed: {reason}; environments that were made "
            "before still work, and so does APPRENTICE_PYTHON with an interpreter that has the project's packages"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageIndexes:
    """Where packages come from. uv asks the first index that knows a name, and no other: `first` ones come before `main`."""

    main: str = ""
    first: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    certificates: str = ""

    @property
    def all(self) -> tuple[str, ...]:
        """The URLs of the indexes, in the order in which they are asked."""
        return (*self.first, self.main or PYPI)

    @property
    def host(self) -> str:
        """The host of the main index, or its directory, without an account."""
        parts = urlsplit(self.all[-1])
        return parts.hostname or parts.path

    @property
    def directories(self) -> tuple[str, ...]:
        """The indexes that are directories of this machine."""
        return tuple(url for url in self.first if url.startswith("file:"))

    def without_directories(self) -> PackageIndexes:
        """The same without the indexes that are directories of this machine."""
        return replace(self, first=tuple(url for url in self.first if url not in self.directories))

    def variables(self) -> dict[str, str]:
        """The settings for uv; in the environment, because they may hold passwords."""
        given = {
            "UV_DEFAULT_INDEX": self.main,
            "UV_INDEX": " ".join(self.first),
            "UV_FIND_LINKS": ",".join(self.links),
            "SSL_CERT_FILE": self.certificates,
        }
        return {name: value for name, value in given.items() if value}


def program() -> Path:
    """The path of uv; raises CannotRun when it is not installed."""
    found = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.pathsep.join(os.get_exec_path())}")
    if found is None:
        raise CannotRun("uv is not installed, so no environment can be built: `pip install uv`")
    return Path(found)


@cache
def indexes() -> PackageIndexes:
    """The indexes that uv's own variables name, else those of pip's configuration."""
    own = _environment()
    words = [f"{own.get('UV_INDEX', '')} {own.get('UV_EXTRA_INDEX_URL', '')}", own.get("UV_FIND_LINKS", "")]
    found = PackageIndexes(
        main=own.get("UV_DEFAULT_INDEX") or own.get("UV_INDEX_URL", ""),
        first=tuple(word.partition("=")[2] if re.match(r"[\w-]+=", word) else word for word in words[0].split()),
        links=tuple(words[1].replace(",", " ").split()),
    )
    if found == PackageIndexes():
        given = dict(_pip_settings())
        found = PackageIndexes(
            main=given.get("index-url", ""),
            first=tuple(given.get("extra-index-url", "").split()),
            links=tuple(given.get("find-links", "").split()),
            certificates=given.get("cert", ""),
        )
    for url in (found.main, *found.first, *found.links):
        own_secrets.add(unquote(urlsplit(url).password or ""))
    return found


def _pip_settings() -> Iterator[tuple[str, str]]:
    """pip's settings by their names; those of the environment are listed last, and win."""
    listed = subprocess.run(
        [sys.executable, "-P", "-m", "pip", "config", "list"],
        env=_environment(),
        cwd="/",
        capture_output=True,
        text=True,
        timeout=UV_SECONDS,
        check=False,
    )
    found = re.findall(r"^(global|site|user|install|:env:)\.([^\s=]+)=('.*')$", listed.stdout, re.MULTILINE)
    for _, name, value in sorted(found, key=lambda each: each[0] == ":env:"):
        yield name.removeprefix("."), str(ast.literal_eval(value))


def run_uv(*arguments: str, at: Path, cache_directory: Path, given: PackageIndexes | None = None) -> str:
    """Run a uv command; returns its standard output. Without `given` indexes it reaches no network.

    The files that it makes are readable by all: a sandbox reads them as another user. Raises UvFailed.
    """
    network = ("--offline",) if given is None else ()
    process = subprocess.Popen(  # noqa: S603 - the arguments are ours
        [str(program()), *arguments, *ALWAYS, *network, "--cache-dir", str(cache_directory)],
        cwd=at,
        env=_environment() | (given.variables() if given else {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        umask=0o022,
        process_group=0,
    )
    _limit(process)
    try:
        output, errors = process.communicate(timeout=UV_SECONDS)
    except subprocess.TimeoutExpired:
        raise UvFailed(f"uv {arguments[0]} ran longer than {UV_SECONDS} s and was stopped") from None
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    if process.returncode:
        _, _, reason = f"\n{errors.strip()}".rpartition("\nerror: ")  # after warnings
        if "Failed to fetch" in reason:
            raise NoIndex(" ".join(reason.rpartition("cause: ")[2].split()))
        raise UvFailed(" ".join(reason.split()) or f"uv ended with {process.returncode}")
    return output


def _limit(process: subprocess.Popen[str]) -> None:
    for kind, most in ((resource.RLIMIT_DATA, MEMORY_MB << 20), (resource.RLIMIT_FSIZE, FILE_MB << 20)):
        with suppress(ProcessLookupError, ValueError):
            resource.prlimit(process.pid, kind, (most, most))
