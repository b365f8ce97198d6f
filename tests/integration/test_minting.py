"""The minting process: one that has the key, and workers that only ask. Over a real socket, against the stand-in."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from bot.playground.models import App as HostedApp
from tests.playground import Playground, fail, minting_for
from workers.errors import BadInput, CannotRun, NoAccess, Retryable
from workers.github.auth import PERMISSIONS, GitHubApp, InstallationTokens, app_of
from workers.github.minting import LONGEST, MAX_A_MINUTE, Minter, MintingClient, minting
from workers.jobs import RepositoryRef
from workers.ports import AppIdentity, MintedToken
from workers.redaction import REDACTED, redact
from workers.settings import MintSettings

OURS = "ada/engine"


class Hosted:
    """An App on the stand-in, installed in one repository of two."""

    def __init__(self, playground: Playground) -> None:
        self.playground = playground
        playground.add_user("ada")
        self.ours = playground.add_repository(OURS, {"README.md": "# engine\n"})
        self.other = playground.add_repository("ada/diary", {"README.md": "# diary\n"}, private=True)
        self.app: HostedApp = playground.add_app("apprentice", owner="ada", webhook_secret="s" * 20)
        self.installation = playground.install(self.app, OURS)

    def settings(self, home: Path, **more: object) -> MintSettings:
        key = home / "key.pem"
        key.write_text(self.app.private_key)
        return MintSettings(home=home, github_url=self.playground.url, app_id=self.app.id, private_key_file=key, **more)


@pytest.fixture
def hosted() -> Iterator[Hosted]:
    with Playground() as playground:
        yield Hosted(playground)


@pytest.fixture
def client(hosted: Hosted, tmp_path: Path) -> Iterator[MintingClient]:
    with minting_for(hosted.app, hosted.playground, tmp_path):
        yield MintingClient(tmp_path / "mint.sock")


def test_a_token_is_for_one_repository_with_the_fewest_permissions(hosted: Hosted, client: MintingClient) -> None:
    """What the worker gets works on the repository of the request alone; redaction knows it from then on."""
    minted = client.mint(hosted.ours.id, hosted.installation.id)
    token = hosted.playground.world.tokens[minted.token]
    assert token.repository_ids == {hosted.ours.id}
    assert token.permissions == PERMISSIONS
    assert minted.full_name == OURS
    assert minted.expires_at > datetime.now(UTC) + timedelta(minutes=50)
    assert minted.token not in repr(minted)
    assert redact(f"it is {minted.token}") == f"it is {REDACTED}"


def test_a_token_where_the_owner_did_not_grant_everything(hosted: Hosted, client: MintingClient) -> None:
    """It has what was granted, and no more than it has elsewhere; a line of the log names the rest."""
    hosted.installation.permissions = {
        "contents": "read",
        "issues": "write",
        "metadata": "read",
        "administration": "write",
    }
    with capture_logs() as log:
        minted = client.mint(hosted.ours.id, hosted.installation.id)
    granted = {"contents": "read", "issues": "write", "metadata": "read"}
    assert hosted.playground.world.tokens[minted.token].permissions == granted
    (line,) = [each for each in log if each["event"] == "permissions not granted"]
    assert line["lacking"] == {"checks": "write", "contents": "write", "pull_requests": "write"}


def test_what_the_app_does_itself(hosted: Hosted, client: MintingClient) -> None:
    """Its name, and the log of its webhook, are asked for in the same way."""
    assert client.identity() == AppIdentity(id=hosted.app.id, slug="apprentice")
    hosted.playground.set_webhook(hosted.app, "http://127.0.0.1:9/webhook")
    hosted.playground.drain()
    tried = client.deliveries("").deliveries
    assert [each.event for each in tried] == ["ping", "installation"]
    client.redeliver(tried[0].id)
    hosted.playground.drain()
    again = client.deliveries("").deliveries
    assert [each.guid for each in again].count(tried[0].guid) == 2


def test_a_token_for_the_defaults_of_an_owner_reads_and_does_nothing_else(
    hosted: Hosted, client: MintingClient
) -> None:
    """It is for the repository `.github` alone, where the App is installed in it; there is none elsewhere."""
    assert client.mint_defaults(hosted.installation.id) is None, "there is no such repository"
    defaults = hosted.playground.add_repository("ada/.github", {"README.md": "# all\n"}, private=True)
    assert client.mint_defaults(hosted.installation.id) is None, "the App is not installed there"
    hosted.playground.install(hosted.app, "ada/.github")
    minted = client.mint_defaults(hosted.installation.id)
    assert minted is not None
    token = hosted.playground.world.tokens[minted.token]
    assert (token.repository_ids, token.permissions) == ({defaults.id}, {"contents": "read", "metadata": "read"})
    assert redact(f"it is {minted.token}") == f"it is {REDACTED}"
    hosted.playground.before("POST", "access_tokens", fail(502), nth=0)
    with pytest.raises(Retryable, match=r"minting a token for \.github"):
        client.mint_defaults(hosted.installation.id)


def test_errors_keep_their_kind(hosted: Hosted, client: MintingClient) -> None:
    """What may work later is Retryable for the worker too, what it has no access to is NoAccess."""
    with pytest.raises(NoAccess, match=f"no access to repository {hosted.other.id}"):
        client.mint(hosted.other.id, hosted.installation.id)
    hosted.playground.before("POST", "access_tokens", fail(403, "API rate limit exceeded"), nth=0)
    with pytest.raises(Retryable, match="GitHub limits us"):
        client.mint(hosted.ours.id, hosted.installation.id)


def test_without_a_minting_process(tmp_path: Path) -> None:
    """The worker's job is put off, with the command that helps."""
    with pytest.raises(Retryable, match="apprentice mint"):
        MintingClient(tmp_path / "mint.sock").mint(1, 1)


def test_the_socket_is_for_its_user_alone(hosted: Hosted, tmp_path: Path) -> None:
    """Others cannot open it; for a worker of another user its group can. It is gone afterwards, however long its path."""
    home = tmp_path / ("x" * 100) / ("y" * 100)
    home.mkdir(parents=True)
    for peer, mode in (("", 0o600), ("65534", 0o660)):
        with minting(hosted.settings(home, mint_peer=peer)):
            assert stat.S_IMODE((home / "mint.sock").stat().st_mode) == mode
            assert MintingClient(home / "mint.sock").identity().slug == "apprentice"
        assert not (home / "mint.sock").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can take another user's id")
def test_the_kernel_says_who_asks(hosted: Hosted, tmp_path: Path) -> None:
    """A process of another user is refused even where it can open the socket; the named user is answered."""
    ask = f"""
import os, socket
os.setgid(0)
os.setuid({{user}})
connection = socket.socket(socket.AF_UNIX)
os.chdir({str(tmp_path)!r})
connection.connect("mint.sock")
connection.sendall(b'{{{{"type": "app.1"}}}}\\n')
print(connection.makefile().readline())
"""
    for path in (tmp_path, *tmp_path.parents[:-1]):
        path.chmod(path.stat().st_mode | 0o011)
    with minting(hosted.settings(tmp_path, mint_peer="65533")):
        answers = {
            user: json.loads(
                subprocess.run(
                    [sys.executable, "-c", ask.format(user=user)], capture_output=True, check=True, text=True
                ).stdout
            )
            for user in (65533, 65534)
        }
    assert answers[65533]["value"]["slug"] == "apprentice"
    assert answers[65534]["problem"].startswith("user 65534 may not ask for tokens")
    assert "slug" not in str(answers[65534])


def test_a_peer_that_does_not_exist(hosted: Hosted, tmp_path: Path) -> None:
    """A misspelt user is an error at the start."""
    with pytest.raises(BadInput, match="there is no user 'nemo'"), minting(hosted.settings(tmp_path, mint_peer="nemo")):
        pass


class Silent(GitHubApp):
    """An App that mints without GitHub."""

    def __init__(self) -> None:
        self.minted = 0

    def redeliver(self, delivery_id: int) -> None:
        """Nothing."""

    def mint(self, repository_id: int, installation_id: int) -> MintedToken:
        self.minted += 1
        return MintedToken(token="ghs_" + "a" * 36, expires_at=datetime(2100, 1, 1, tzinfo=UTC), full_name="a/b")


def minter(app: GitHubApp, clock: Callable[[], float] = lambda: 0.0) -> Minter:
    return Minter(app, frozenset({1}), clock)


MINT = b'{"type": "token.1", "repository_id": 7, "installation_id": 8}'


def test_the_rate_is_limited() -> None:
    """A worker that was taken over cannot ask without end; a minute later there is room again."""
    now, app = [0.0], Silent()
    asked = minter(app, lambda: now[0])
    replies = [asked.answer(1, MINT) for _ in range(MAX_A_MINUTE + 5)]
    assert app.minted == MAX_A_MINUTE
    assert [reply.temporary for reply in replies[-5:]] == [True] * 5
    now[0] = 61.0
    assert asked.answer(1, MINT).problem == ""


def test_a_search_for_lost_webhooks_takes_no_tokens() -> None:
    """Requests about the webhook's log have a limit of their own: with it reached, jobs still get their tokens."""
    asked = minter(Silent())
    lost = [asked.answer(1, b'{"type": "redeliver.1", "delivery_id": 7}') for _ in range(MAX_A_MINUTE + 1)]
    assert (lost[-2].problem, lost[-1].temporary) == ("", True)
    assert asked.answer(1, MINT).problem == ""


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"[]",
        b'{"type": "token.2", "repository_id": 7, "installation_id": 8}',
        b'{"type": "token.1", "repository_id": 7}',
        b'{"type": "token.1", "repository_id": -7, "installation_id": 8}',
        b'{"type": "token.1", "repository_id": "7", "installation_id": 8}',
        b'{"type": "token.1", "repository_id": 7, "installation_id": "8/../../9"}',
        b'{"type": "token.1", "repository_id": 7, "installation_id": 8, "permissions": {"administration": "write"}}',
        b'{"type": "redeliver.1", "delivery_id": "1/attempts"}',
        b'{"type": "deliveries.2", "cursor": "v1_1&per_page=1"}',
        b"[" * LONGEST,
        b'{"\x81": 1}',
    ],
)
def test_only_requests_are_answered(line: bytes) -> None:
    """Whatever else a worker sends, and permissions that it names, are refused without a token."""
    app = Silent()
    reply = minter(app).answer(1, line)
    assert reply.problem.startswith("no request")
    assert app.minted == 0


@given(st.binary(max_size=LONGEST))
def test_no_line_breaks_it(line: bytes) -> None:
    """It answers anything, in bounded words."""
    assert len(minter(Silent()).answer(1, line).problem) <= LONGEST


@pytest.mark.extended
def test_slow_and_rude_clients_cost_nothing(hosted: Hosted, client: MintingClient, tmp_path: Path) -> None:
    """Connections that send nothing, or leave, keep nobody from an answer."""
    idle = [socket.socket(socket.AF_UNIX) for _ in range(20)]
    for connection in idle:
        connection.connect(str(tmp_path / "mint.sock"))
    idle[0].close()
    assert client.identity().slug == "apprentice"
    for connection in idle[1:]:
        connection.close()


def test_tokens_are_kept_until_shortly_before_their_end() -> None:
    """A worker asks once an hour for each repository."""
    now, app = [datetime(2099, 12, 31, 22, tzinfo=UTC)], Silent()
    tokens = InstallationTokens(app.mint, lambda: now[0])
    where = RepositoryRef(id=7, full_name="a/b", installation_id=8)
    assert tokens.token(where) == tokens.token(where)
    assert app.minted == 1
    now[0] = datetime(2099, 12, 31, 23, 51, tzinfo=UTC)
    tokens.token(where)
    assert app.minted == 2


def test_no_app_and_no_key(tmp_path: Path) -> None:
    """The process says what is missing and ends."""
    with pytest.raises(CannotRun, match="APPRENTICE_APP_ID"):
        app_of(MintSettings(home=tmp_path))
    with pytest.raises(CannotRun, match="cannot be read"):
        app_of(MintSettings(home=tmp_path, app_id=7, private_key_file=tmp_path / "none.pem"))


def test_the_process(hosted: Hosted, tmp_path: Path) -> None:
    """`apprentice mint` answers until SIGTERM, and its log names the repository and not the token."""
    settings = hosted.settings(tmp_path)
    environment = {
        "PATH": os.environ["PATH"],
        "APPRENTICE_HOME": str(tmp_path),
        "APPRENTICE_GITHUB_URL": settings.github_url,
        "APPRENTICE_APP_ID": str(settings.app_id),
        "APPRENTICE_PRIVATE_KEY_FILE": str(settings.private_key_file),
    }
    process = subprocess.Popen([sys.executable, "-m", "bot.cli", "mint"], env=environment, stderr=subprocess.PIPE)
    try:
        await_socket(tmp_path, process)
        minted = MintingClient(tmp_path / "mint.sock").mint(hosted.ours.id, hosted.installation.id)
    finally:
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=600)
    assert process.returncode == 0
    assert b"token minted" in log
    assert OURS.encode() in log
    assert minted.token.encode() not in log


def await_socket(home: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 600
    while not (home / "mint.sock").exists():
        assert process.poll() is None and time.monotonic() < deadline, "it did not start"
        time.sleep(0.05)


SOMEBODY = 4711
AS_SOMEBODY = f"""
import ctypes, os
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid({SOMEBODY})
    os.setuid({SOMEBODY})
    ctypes.CDLL(None).prctl(4, 1)  # who changes its user cannot be looked into, whatever it does afterwards
"""
MINTING = """
import sys
from pathlib import Path
from workers.github.minting import run_minting
from workers.settings import MintSettings
home, url, app_id = sys.argv[1:4]
settings = MintSettings(home=Path(home), github_url=url, app_id=int(app_id), private_key_file=Path(home, "key.pem"))
"""
LOOKING = """
import sys
for name in ("environ", "mem", "maps"):
    try:
        open(f"/proc/{sys.argv[1]}/{name}", "rb").close()
        print("read", name)
    except PermissionError:
        print("refused", name)
"""
UNGUARDED = "run_minting.__globals__['sys'].platform = 'other'\n"
"""Leaves the defence out."""


@pytest.mark.parametrize(("before", "end"), [("", "refused"), (UNGUARDED, "read")], ids=["as it is", "without"])
def test_no_process_of_its_user_looks_into_it(hosted: Hosted, tmp_path: Path, before: str, end: str) -> None:
    """Its environment and its memory, which hold the key, are closed to an ordinary user's other processes; else they are open."""
    settings = hosted.settings(tmp_path)
    if os.geteuid() == 0:
        for path in (tmp_path, *tmp_path.parents[:-1]):
            path.chmod(path.stat().st_mode | 0o011)
        for path in (tmp_path, tmp_path / "key.pem"):
            os.chown(path, SOMEBODY, SOMEBODY)
    program = f"{MINTING}{AS_SOMEBODY}{before}run_minting(settings)"
    arguments = [str(tmp_path), settings.github_url, str(settings.app_id)]
    process = subprocess.Popen([sys.executable, "-c", program, *arguments], stderr=subprocess.DEVNULL)
    try:
        await_socket(tmp_path, process)
        looked = [sys.executable, "-c", f"{AS_SOMEBODY}{LOOKING}", str(process.pid)]
        seen = subprocess.run(looked, capture_output=True, text=True, check=True).stdout.split()
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=600)
    assert seen == [end, "environ", end, "mem", end, "maps"]
