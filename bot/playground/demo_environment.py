"""The demo's story and environment: its users' texts, a playground, a real `apprentice up`, and what was measured."""

import json
import random
import re
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from rich.console import Console
from rich.markup import escape

from bot.playground.client import Maintainer
from bot.playground.models import App
from bot.playground.server import Playground
from bot.playground.world import utc_now
from memory.policy.learner import Learner
from memory.store import Store, open_store
from workers.errors import CannotRun
from workers.settings import WorkerSettings, environment_with, load

PATIENCE_SECONDS = 300.0
READY_SECONDS = 90.0
SEED = 7
HELD_BACK = 200
"""How many lines of the log are printed where a step fails."""

_ROUTINE = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]{15}Z \[info ")
"""Lines of the log that are no warning. What a job does is printed without a time."""

T = TypeVar("T")

OWNER = "parcelworks"
REPOSITORY = f"{OWNER}/parcel"
MAINTAINER = "maya"
CONTRIBUTOR = "finn"

FIRST_ISSUE = (
    "A country is not found when there is a space before it",
    """People write "de, fr", and then FR is not among the countries.

```python
from parcel.zones import countries


def test_spaces_around_a_country_do_not_matter():
    assert countries("de, fr ,it") == {"DE", "FR", "IT"}
```
""",
)

FIRST_REMEDY = (
    '+    return {code.strip().upper() for code in text.split(",")}',
    '+    return {code.upper().strip() for code in text.split(",")}',
)
"""What the maintainer would have written, and merges; a patch that merely passes the tests is not enough for the story."""

SECOND_BUG = ("src/parcel/money.py", "text.strip().partition", "text.partition", "Read amounts as they are")
SECOND_ISSUE = (
    "An amount with a space around it is refused",
    """Since the last change. Ours come from a spreadsheet, which pads them.

```python
from parcel.money import Money


def test_spaces_around_an_amount_do_not_matter():
    assert Money.parse(" 12.50 ").cents == 1250
```
""",
)

SECOND_REMEDY = ('+        whole, _, fraction = text.strip().partition(".")',)

REJECTED_RULE = "F541"
REJECTION = "@apprentice reject because we mark every user-visible text with an f, for the translators"
APPLIED_RULE = "E711"
LIKED_RULE = "B006"


def demo_files(name: str) -> Path:
    """A directory of the demo's sample files: in a wheel beside this module, in a checkout below deploy/demo."""
    packed = Path(__file__).with_name("demo_files")
    return (packed if packed.is_dir() else Path(__file__).parents[2] / "deploy" / "demo") / name


class DemoFailed(CannotRun):
    """A step of the demo failed."""


@dataclass(slots=True, kw_only=True)
class DemoEnvironment:
    """The running parts, and what was measured so far."""

    out: Console
    playground: Playground
    maintainer: Maintainer
    contributor: Maintainer
    store: Store
    learner: Learner
    home: Path
    web: str
    measured: list[tuple[str, str]] = field(default_factory=list)

    def say(self, text: str) -> None:
        self.out.print(f"[bold]•[/] {escape(text)}")

    def chapter(self, text: str) -> None:
        self.out.print()
        self.out.rule(f"[bold]{escape(text)}[/]", align="left")

    def note(self, what: str, value: str) -> None:
        """A line of the closing table."""
        self.measured.append((what, value))

    def wait(self, what: str, look: Callable[[], T | None]) -> T:
        """Look until there is a result; raises DemoFailed after PATIENCE_SECONDS."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            if found := look():
                return found
            time.sleep(0.2)
        raise DemoFailed(f"waited {PATIENCE_SECONDS:.0f} s for {what}; see the log above")

    def insist(self, happened: bool, what: str) -> None:
        """Raises DemoFailed unless `happened`."""
        if not happened:
            raise DemoFailed(f"not true: {what}")


@contextmanager
def demo_environment(out: Console, *, log: bool) -> Iterator[DemoEnvironment]:
    """Create the repository, register and install the App, start Apprentice; everything ends with the context.

    Without `log` only what the processes do and warn of is printed, and the rest of their log where a step fails.
    """
    with TemporaryDirectory(prefix="apprentice-demo-") as home, Playground() as playground:
        _create_repository(playground)
        secret = secrets.token_hex(20)
        app = playground.add_app("apprentice", owner=OWNER, webhook_secret=secret)
        settings = load(WorkerSettings, home=Path(home))
        with (
            _apprentice(_environment(Path(home), playground, app, secret), out, log=log) as web,
            open_store(settings.database()) as store,
        ):
            playground.set_webhook(app, f"{web}/webhook")
            playground.install(app, REPOSITORY)
            yield DemoEnvironment(
                out=out,
                playground=playground,
                maintainer=Maintainer(playground, MAINTAINER),
                contributor=Maintainer(playground, CONTRIBUTOR),
                store=store,
                learner=Learner(store, random.Random(SEED), utc_now, control_share=0.0),  # noqa: S311  the demo only explains decisions
                home=Path(home),
                web=web,
            )


def _create_repository(playground: Playground) -> None:
    for login in (OWNER, MAINTAINER, CONTRIBUTOR):
        playground.add_user(login)
    playground.add_repository(REPOSITORY, demo_files("parcel"))
    playground.grant(REPOSITORY, MAINTAINER, "admin")
    playground.grant(REPOSITORY, CONTRIBUTOR, "write")


def _environment(home: Path, playground: Playground, app: App, secret: str) -> dict[str, str]:
    """Embedded defaults, except the address of GitHub, our own Python, a seed, no control arm, and fast polling."""
    key = home / "app.pem"
    key.touch(mode=0o600)
    key.write_text(app.private_key)
    return environment_with(
        home=home,
        port=0,
        webhook_secret=secret,
        github_url=playground.url,
        python=sys.executable,
        app_id=app.id,
        private_key_file=key,
        seed=SEED,
        control_share=0.0,
        workers=1,
        poll_seconds=15.0,
        sweep_seconds=1.0,
    )


@contextmanager
def _apprentice(environment: dict[str, str], out: Console, *, log: bool) -> Iterator[str]:
    """`apprentice up` as a separate process; the address of its web process."""
    ready: Future[str] = Future()
    held_back: deque[str] = deque(maxlen=HELD_BACK)
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
                ready.set_result(line.split()[1])
            if _ROUTINE.match(line) and not log:
                held_back.append(line)
            else:
                show(line)

    def show(line: str) -> None:
        out.print(f"    [dim]{escape(line.rstrip())}[/]")

    threading.Thread(target=relay, name="log", daemon=True).start()
    try:
        yield _awaited(ready)
    except DemoFailed:
        while held_back:  # more lines may come while these are shown
            show(held_back.popleft())
        raise
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def _awaited(ready: Future[str]) -> str:
    done, _ = wait([ready], READY_SECONDS)
    if not done:
        raise DemoFailed(f"`apprentice up` was not ready within {READY_SECONDS:.0f} s")
    return ready.result()


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairWithoutMemory:
    """What `apprentice fix` did with an empty memory."""

    status: str
    candidates: int
    attempts: int


def repaired_without_memory(files: Mapping[str, str]) -> RepairWithoutMemory:
    """Repair these files with the demo's settings and an empty memory; raises DemoFailed where that cannot run."""
    with TemporaryDirectory(prefix="apprentice-demo-") as folder:
        tree, home = Path(folder) / "parcel", Path(folder) / "home"
        for name, text in files.items():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text(text, encoding="utf-8")
        done = subprocess.run(  # noqa: S603  our own command
            [sys.executable, "-m", "bot.cli", "fix", str(tree), "--seed", str(SEED), "--json"],
            env=environment_with(home=home, python=sys.executable, control_share=0.0),
            capture_output=True,
            text=True,
            check=False,
        )
    if not done.stdout:
        raise DemoFailed(f"the repair with an empty memory did not run: {done.stderr.strip()[-300:]}")
    found = json.loads(done.stdout)
    if "error" in found:
        raise DemoFailed(f"the repair with an empty memory did not run: {found['error']}")
    return RepairWithoutMemory(
        status=found["status"], candidates=found["candidates_tried"], attempts=len(found["attempts"])
    )
