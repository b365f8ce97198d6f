"""The minting process: it alone holds the App's private key, and gives tokens for one repository over a Unix socket.

A request is one line of JSON on a connection of its own, and so is the answer. The kernel tells who asks.
"""

import ctypes
import os
import pwd
import signal
import socket
import socketserver
import struct
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
import structlog
from msgspec import Meta, Struct

from workers.errors import ApprenticeError, BadInput, CannotRun, Limited, NoAccess, Retryable, Unavailable
from workers.github.auth import GitHubApp, app_of
from workers.ports import AppExamination, AppIdentity, HookLogPage, MintedToken
from workers.redaction import own_secrets, redact
from workers.settings import MintSettings

LONGEST = 1_000
"""Bytes of a request, and characters of a problem."""
ANSWER_SECONDS = 150.0
"""How long a worker waits; the minting process repeats a read of GitHub's a few times."""
REQUEST_SECONDS = 10.0
MAX_A_MINUTE = 120
"""How many requests for tokens, and as many about the webhook's log: a search for lost webhooks must not take a job's token."""
_PR_SET_DUMPABLE = 4
_log = structlog.get_logger()
T = TypeVar("T")

_Id = Annotated[int, Meta(gt=0, lt=2**53)]


class _Message(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request, whose tag names its kind and version, or the reply."""


class MintToken(_Message, frozen=True, kw_only=True, tag="token.1"):
    """A request for a token for this repository alone; it cannot name permissions."""

    repository_id: _Id
    installation_id: _Id


class MintDefaultsToken(_Message, frozen=True, kw_only=True, tag="defaults.1"):
    """A request for a token that reads the repository `.github` of the installation's account, and nothing else."""

    installation_id: _Id


class IdentifyApp(_Message, frozen=True, kw_only=True, tag="app.1"):
    """A request for the App's id and slug."""


class ListDeliveries(_Message, frozen=True, kw_only=True, tag="deliveries.2"):
    """A request for a page of the attempts to deliver webhooks: the newest, or those behind a cursor of GitHub's."""

    cursor: Annotated[str, Meta(max_length=200, pattern=r"^[\w=-]*$")]


class Redeliver(_Message, frozen=True, kw_only=True, tag="redeliver.1"):
    """A request that GitHub deliver a webhook again."""

    delivery_id: _Id


class ExamineApp(_Message, frozen=True, kw_only=True, tag="examine.1"):
    """A request to find out what the App may do: its key signs, and a token is minted and used, which stays here."""


Request = MintToken | MintDefaultsToken | IdentifyApp | ExamineApp | ListDeliveries | Redeliver


class MintingReply(_Message, frozen=True, kw_only=True):
    """What was asked for, as JSON, or the problem.

    A temporary problem is worth another try, after so many seconds where they are known. `limited` is GitHub's limit;
    `no_access` says that the App does not have the repository any more.
    """

    value: msgspec.Raw = msgspec.Raw(b"null")
    problem: str = ""
    temporary: bool = False
    limited: bool = False
    no_access: bool = False
    seconds: float = 0.0


_requests: msgspec.json.Decoder[Request] = msgspec.json.Decoder(Request)


class Minter:
    """Answers requests as the App, `MAX_A_MINUTE` at most, those of these users alone."""

    def __init__(self, app: GitHubApp, users: frozenset[int], clock: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._users = users
        self._clock = clock
        self._recent: dict[bool, deque[float]] = {each: deque(maxlen=MAX_A_MINUTE) for each in (False, True)}
        self._lock = threading.Lock()

    def answer(self, user: int, line: bytes) -> MintingReply:
        """The reply to one line from a process of this user; what is refused or malformed gets one with the problem."""
        try:
            if user not in self._users:
                raise CannotRun(f"user {user} may not ask for tokens; set APPRENTICE_MINT_PEER to the worker's user")
            request = _requests.decode(line)
            self._count(self._recent[isinstance(request, ListDeliveries | Redeliver)])
            return MintingReply(value=msgspec.Raw(msgspec.json.encode(self._done(request))))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            problem: Exception = BadInput(f"no request: {error}; upgrade worker and minting process together")
        except ApprenticeError as error:
            problem = error
        _log.warning("request refused", user=user, error=str(problem))
        return MintingReply(
            problem=redact(str(problem))[:LONGEST],
            temporary=isinstance(problem, Retryable),
            limited=isinstance(problem, Limited),
            no_access=isinstance(problem, NoAccess),
            seconds=problem.seconds if isinstance(problem, Unavailable) else 0.0,
        )

    def _count(self, recent: deque[float]) -> None:
        now = self._clock()
        with self._lock:
            if len(recent) == MAX_A_MINUTE and now - recent[0] < 60.0:
                raise Unavailable(f"more than {MAX_A_MINUTE} requests to the minting process in a minute")
            recent.append(now)

    def _done(self, request: Request) -> object:
        match request:
            case MintToken():
                minted = self._app.mint(request.repository_id, request.installation_id)
                _log.info("token minted", repository=minted.full_name, until=minted.expires_at.isoformat())
                return minted
            case MintDefaultsToken():
                defaults = self._app.mint_defaults(request.installation_id)
                if defaults is not None:
                    _log.info("token to read minted", repository=defaults.full_name)
                return defaults
            case IdentifyApp():
                return self._app.identity()
            case ExamineApp():
                return self._app.examine()
            case ListDeliveries():
                return self._app.deliveries(request.cursor)
            case Redeliver():
                self._app.redeliver(request.delivery_id)
                return None


class _Connection(socketserver.StreamRequestHandler):
    timeout = REQUEST_SECONDS

    def handle(self) -> None:
        _, user, _ = struct.unpack("3i", self.connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        answer = self.server.minter.answer(user, self.rfile.readline(LONGEST))  # type: ignore[attr-defined]
        self.wfile.write(msgspec.json.encode(answer) + b"\n")


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, path: Path, minter: Minter, mode: int) -> None:
        self.minter = minter
        path.unlink(missing_ok=True)
        with _short(path) as address:
            before = os.umask(0o777 & ~mode)
            try:
                super().__init__(address, _Connection)
            finally:
                os.umask(before)

    def handle_error(self, _request: object, _client: object) -> None:
        """A client that went away or sent nothing in time costs nothing but a line of the log."""
        _log.warning("connection ended by an error", exc_info=True)


@contextmanager
def minting(settings: MintSettings) -> Iterator[None]:
    """Answer requests in threads until the context ends. Raises CannotRun without an App, BadInput for an unknown peer."""
    own, peer = os.geteuid(), _user(settings.mint_peer)
    minter = Minter(app_of(settings), frozenset({own, peer}))
    path = settings.socket()
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        server = _Server(path, minter, 0o600 if peer == own else 0o660)
    except OSError as error:
        raise CannotRun(f"cannot listen on {path}: {error.strerror}; set APPRENTICE_MINT_SOCKET") from error
    with server:
        threading.Thread(target=server.serve_forever, name="minting", daemon=True).start()
        try:
            yield
        finally:
            server.shutdown()
            path.unlink(missing_ok=True)


def run_minting(settings: MintSettings) -> None:
    """Answer requests until SIGTERM or SIGINT. No process of the same user can read this one's memory."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    with minting(settings):
        ended.wait()


def _user(peer: str) -> int:
    try:
        return int(peer) if peer.isdecimal() else pwd.getpwnam(peer).pw_uid if peer else os.geteuid()
    except KeyError as error:
        raise BadInput(f"APPRENTICE_MINT_PEER: there is no user {peer!r}") from error


@contextmanager
def _short(path: Path) -> Iterator[str]:
    """An address of a socket's path; the kernel takes 107 bytes, and a home may be longer."""
    directory = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{directory}/{path.name}"
    finally:
        os.close(directory)


class MintingClient:
    """What a worker asks of the minting process. Each method raises Unavailable or CannotRun."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def is_there(self) -> bool:
        """Whether a process listens."""
        try:
            with socket.socket(socket.AF_UNIX) as connection, _short(self._path) as address:
                connection.connect(address)
        except OSError:
            return False
        return True

    def mint(self, repository_id: int, installation_id: int) -> MintedToken:
        minted = self._ask(MintToken(repository_id=repository_id, installation_id=installation_id), MintedToken)
        own_secrets.add_token(minted.token)
        return minted

    def mint_defaults(self, installation_id: int) -> MintedToken | None:
        """A token that reads the repository `.github` of the installation's account; None where the App has none there."""
        request = MintDefaultsToken(installation_id=installation_id)
        minted: MintedToken | None = self._ask(request, MintedToken | None)  # type: ignore[arg-type]  # a union is a type to msgspec
        if minted is not None:
            own_secrets.add_token(minted.token)
        return minted

    def identity(self) -> AppIdentity:
        return self._ask(IdentifyApp(), AppIdentity)

    def examine(self) -> AppExamination:
        return self._ask(ExamineApp(), AppExamination)

    def deliveries(self, cursor: str) -> HookLogPage:
        """A page of the attempts to deliver webhooks, newest first; GitHub keeps three days. The first one has no cursor."""
        return self._ask(ListDeliveries(cursor=cursor), HookLogPage)

    def redeliver(self, delivery_id: int) -> None:
        """Ask GitHub to deliver a webhook again."""
        self._ask(Redeliver(delivery_id=delivery_id), type(None))

    def _ask(self, request: Request, kind: type[T]) -> T:
        try:
            with socket.socket(socket.AF_UNIX) as connection, _short(self._path) as address:
                connection.settimeout(ANSWER_SECONDS)
                connection.connect(address)
                connection.sendall(msgspec.json.encode(request) + b"\n")
                reply = msgspec.json.decode(connection.makefile("rb").readline(), type=MintingReply)
            if not reply.problem:
                return msgspec.json.decode(reply.value, type=kind)
        except (OSError, msgspec.DecodeError) as error:
            advice = "run `apprentice up`, or `apprentice mint` with APPRENTICE_APP_ID and APPRENTICE_PRIVATE_KEY_FILE"
            raise Unavailable(f"no minting process answers at {self._path} ({error}); {advice}") from error
        if not reply.temporary:
            raise (NoAccess if reply.no_access else CannotRun)(reply.problem)
        raise (Limited if reply.limited else Unavailable)(reply.problem, seconds=reply.seconds)
