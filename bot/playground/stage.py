"""The demo's stage: a playground, a real `apprentice up` beside it, and what was measured."""

from __future__ import annotations

import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from rich.console import Console
from rich.markup import escape

from bot.playground import script
from bot.playground.accounts import App
from bot.playground.maintainer import Maintainer
from bot.playground.server import Playground
from workers.context import Context, build
from workers.errors import CannotRun
from workers.settings import WorkerSettings, environment_with, load

PATIENCE_SECONDS = 300.0
READY_SECONDS = 90.0
SEED = 7
T = TypeVar("T")


class StoryBroken(CannotRun):
    """Something that the demo promises did not happen."""


@dataclass(slots=True, kw_only=True)
class Stage:
    """The running parts, and what was measured so far."""

    out: Console
    playground: Playground
    maintainer: Maintainer
    contributor: Maintainer
    context: Context
    web: str
    measured: list[tuple[str, str]] = field(default_factory=list)

    def say(self, text: str) -> None:
        """One line of the story."""
        self.out.print(f"[bold]•[/] {escape(text)}")

    def chapter(self, text: str) -> None:
        """A heading."""
        self.out.print()
        self.out.rule(f"[bold]{escape(text)}[/]", align="left")

    def note(self, what: str, value: str) -> None:
        """A line of the closing table."""
        self.measured.append((what, value))

    def wait(self, what: str, look: Callable[[], T | None]) -> T:
        """Look until there is something; raises StoryBroken when it does not come."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            if found := look():
                return found
            time.sleep(0.2)
        raise StoryBroken(f"waited {PATIENCE_SECONDS:.0f} s for {what}; the log above says why it did not come")

    def insist(self, happened: bool, what: str) -> None:
        """The demo fails where its story does not hold."""
        if not happened:
            raise StoryBroken(f"the story does not hold: {what}")


@contextmanager
def set_stage(out: Console) -> Iterator[Stage]:
    """Found the repository, register and install the App, start Apprentice; everything ends with the context."""
    with TemporaryDirectory(prefix="apprentice-demo-") as home, Playground() as playground:
        _found(playground)
        secret, port = secrets.token_hex(20), _free_port()
        app = playground.add_app("apprentice", owner=script.OWNER, webhook_secret=secret)
        with _apprentice(_environment(Path(home), playground, app, secret, port), out):
            playground.set_webhook(app, f"http://127.0.0.1:{port}/webhook")
            playground.install(app, script.REPOSITORY)
            yield Stage(
                out=out,
                playground=playground,
                maintainer=Maintainer(playground, script.MAINTAINER),
                contributor=Maintainer(playground, script.CONTRIBUTOR),
                context=build(load(WorkerSettings, home=Path(home), control_share=0.0)),
                web=f"http://127.0.0.1:{port}",
            )


def _found(playground: Playground) -> None:
    for login in (script.OWNER, script.MAINTAINER, script.CONTRIBUTOR):
        playground.add_user(login)
    playground.add_repository(script.REPOSITORY, script.PROJECT)
    playground.grant(script.REPOSITORY, script.MAINTAINER, "admin")
    playground.grant(script.REPOSITORY, script.CONTRIBUTOR, "write")


def _environment(home: Path, playground: Playground, app: App, secret: str, port: int) -> dict[str, str]:
    """Embedded defaults, but for where GitHub is, a seed, and a story too short for a control arm or slow polling."""
    key = home / "app.pem"
    key.touch(mode=0o600)
    key.write_text(app.private_key)
    return environment_with(
        home=home,
        port=port,
        webhook_secret=secret,
        github_url=playground.url,
        app_id=app.id,
        private_key_file=key,
        seed=SEED,
        control_share=0.0,
        workers=1,
        poll_seconds=15.0,
        sweep_seconds=1.0,
    )


@contextmanager
def _apprentice(environment: dict[str, str], out: Console) -> Iterator[None]:
    """`apprentice up` as a process of its own, its log shown as it comes."""
    ready = threading.Event()
    process = subprocess.Popen(
        [sys.executable, "-m", "bot.cli", "up"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )

    def relay() -> None:
        assert process.stdout is not None, "it was asked for"
        for line in process.stdout:
            if line.startswith("ready:"):
                ready.set()
            out.print(f"    [dim]{escape(line.rstrip())}[/]")

    threading.Thread(target=relay, name="log", daemon=True).start()
    try:
        if not ready.wait(READY_SECONDS):
            raise StoryBroken(f"`apprentice up` was not ready within {READY_SECONDS:.0f} s")
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
