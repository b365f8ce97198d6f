"""No record carries a secret out of the process, in whichever part of it or in whatever form it stands."""

from __future__ import annotations

import asyncio
import base64
import html
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.logs import FrequentLog
from workers.redaction import REDACTED, SHORTEST_SECRET, OwnSecrets, redact
from workers.settings import WebSettings, WorkerSettings

SECRET = 'a/quiet+"pass\\word" of=ours, äöü'
PROGRAM = """
import logging, sys, threading, warnings
from pathlib import Path
import structlog
from workers.logs import configure
from workers.settings import WebSettings

secret = sys.argv[1]
configure(WebSettings(home=Path("."), webhook_secret=secret, log_format=sys.argv[2]))
log, library = structlog.get_logger(), logging.getLogger("celery.worker")

class Holder:
    def __repr__(self):
        return f"<Holder {secret}>"

def fail(token):
    raise RuntimeError(f"refused {token}")

log.info(f"ours {secret}", argument=secret, inside={"a": [secret]}, holder=Holder(), number=7, raw=secret.encode())
library.warning("theirs %s %r", secret, Holder())
library.warning("wrong %d", secret)
library.setLevel(logging.DEBUG)
library.debug("not shown")
for logger in (log, library):
    try:
        fail(secret)
    except RuntimeError:
        logger.exception("it failed")
log.warning("stack", stack_info=True)
log.info("one\\nforged \\x1b[31m", b="\\u202e")
library.warning("two\\nforged \\x1b[31m")
try:
    fail("\\x1b[31m")
except RuntimeError:
    log.exception("three")
warnings.warn(f"warned {secret}")
thread = threading.Thread(target=fail, args=(secret,))
thread.start()
thread.join()
fail(secret)
"""


@pytest.mark.parametrize("form", ["json", "text"])
def test_every_part_of_a_record_is_redacted(form: str, tmp_path: Path) -> None:
    """Message, arguments, objects, exceptions, tracebacks, warnings, threads, libraries, the last error of a process."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, SECRET, form],
        cwd=tmp_path,
        env={"PYTHONPATH": str(Path(__file__).parents[3]), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == ""
    assert done.returncode == 1
    assert "pass" not in done.stderr.replace("passw", "").replace("bypass", ""), done.stderr
    assert base64.b64encode(SECRET.encode()).decode()[4:20] not in done.stderr
    assert done.stderr.count(REDACTED) >= 12
    for words in ("ours", "theirs", "it failed", "RuntimeError: refused", "warned", "thread ended", "process ended"):
        assert words in done.stderr
    assert "not shown" not in done.stderr
    assert "cannot be written" in done.stderr
    assert not re.search(r"[^\n\t\x20-\x7eäöü]", done.stderr)
    assert not re.search("^forged", done.stderr, re.MULTILINE)
    if form == "json":
        records = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
        assert len(records) >= 8
        assert records[0]["number"] == 7
        assert records[0]["level"] == "info"


def shapes(secret: str) -> list[str]:
    """A secret as other programs write it."""
    raw, salted = secret.encode(), [f"{'x' * before}{secret}{'y' * after}" for before in range(4) for after in range(3)]
    return [
        secret,
        json.dumps({"a": secret}),
        json.dumps({"a": secret}, ensure_ascii=False),
        repr(secret),
        quote(secret),
        quote(secret, safe=""),
        quote_plus(secret),
        re.sub("%..", lambda found: found[0].lower(), quote(secret, safe="")),
        html.escape(secret),
        raw.hex(),
        *(base64.b64encode(each.encode()).decode() for each in salted),
        *(base64.urlsafe_b64encode(each.encode()).decode() for each in salted),
    ]


@given(st.text(st.characters(codec="utf-8"), min_size=SHORTEST_SECRET, max_size=40))
def test_a_secret_is_found_in_every_form(secret: str) -> None:
    """Whatever its characters, and wherever it begins in a text that base64 encodes."""
    own = OwnSecrets()
    own.add(secret)
    for shape in shapes(secret):
        assert REDACTED in own.removed_from(f"before {shape} after"), shape


def test_each_line_of_a_key_is_a_secret() -> None:
    """A line of it alone is removed; the words of its frame are no secret."""
    own, lines = OwnSecrets(), [f"{number:064}" for number in range(1, 4)]
    own.add("-----BEGIN RSA PRIVATE KEY-----\n" + "\n".join(lines) + "\n-----END RSA PRIVATE KEY-----\n")
    assert own.removed_from(f"it is {lines[1]}.") == f"it is {REDACTED}."
    assert own.removed_from("-----BEGIN RSA PRIVATE KEY-----") == "-----BEGIN RSA PRIVATE KEY-----"


def test_a_secret_may_look_like_a_frame() -> None:
    """Only the frame of a key is no secret."""
    own = OwnSecrets()
    own.add("-----BEGINNING")
    assert own.removed_from("it is -----BEGINNING.") == f"it is {REDACTED}."


def test_short_words_are_no_secrets() -> None:
    """A password of seven letters would garble what everybody writes."""
    own = OwnSecrets()
    own.add("letmein")
    assert own.removed_from("letmein") == "letmein"


def test_tokens_are_forgotten_one_by_one() -> None:
    """Of a great many tokens the latest are known, so that redaction stays fast."""
    own = OwnSecrets()
    for number in range(600):
        own.add_token(f"token-{number:05}")
    assert own.removed_from("token-00599") == REDACTED
    assert own.removed_from("token-00001") == "token-00001"


def test_a_secret_that_is_part_of_another_hides_nothing_of_it() -> None:
    """Whichever was read first, the longer one goes as a whole."""
    known = OwnSecrets()
    for secret in ("secret-one", "the-long-secret-one"):
        known.add(secret)
    assert known.removed_from("the-long-secret-one, secret-one") == f"{REDACTED}, {REDACTED}"


def test_settings_register_their_secrets(tmp_path: Path) -> None:
    """The secret, the key and the passwords in both addresses are known as soon as settings are read."""
    WebSettings(home=tmp_path, webhook_secret="the-webhook-secret-1")
    WorkerSettings(
        home=tmp_path,
        model_api_key="the-model-key-2",
        database_url="postgresql://us:the%2Fdatabase-3@db/x",
        broker_url="redis://:the-broker@-4@redis:6379/0",
    )
    said = redact("the-webhook-secret-1 the-model-key-2 the/database-3 the%2Fdatabase-3 the-broker@-4")
    assert said == " ".join([REDACTED] * 5)


def test_the_work_grows_with_the_text() -> None:
    """Each form is searched once: a text of what nearly matches takes no longer than another."""
    own = OwnSecrets()
    own.add("a" * 30 + "b")
    assert own.removed_from("a" * 1_000_000) == "a" * 1_000_000


class Narrow(io.StringIO):
    """Refuses the first write, as a full pipe may."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = 0

    def write(self, text: str) -> int:
        self.writes += 1
        if self.writes == 1:
            raise BlockingIOError
        return super().write(text)


@pytest.mark.parametrize("form", ["text", "json"])
def test_frequent_lines_are_redacted_and_written_together(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of one turn of the event loop come in one write without secrets, also after a write that failed."""
    settings = WebSettings(home=tmp_path, webhook_secret=SECRET, log_format=form)
    stream = Narrow()
    monkeypatch.setattr(sys, "stderr", stream)

    async def receive() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)
        log = FrequentLog(settings)
        for number in range(6):
            log.info("delivery", delivery=f"{number} {SECRET}")
            if number % 3 == 2:
                await asyncio.sleep(0)

    asyncio.run(receive())
    lines = stream.getvalue().splitlines()
    assert stream.writes == 2
    assert [REDACTED in line for line in lines] == [True] * 3
    assert SECRET not in stream.getvalue()
