"""A minimal OpenAI-compatible server over loopback, and a client at it; to be replaced by `bot.model_server` once that stands."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from pydantic import SecretStr

from memory.store import Spent, Store
from workers.llm.client import Client, Tiered
from workers.llm.costs import Price
from workers.llm.endpoint import Endpoint
from workers.llm.messages import Ask, Message, Role, Tier, ToolSpec

NOW = datetime(2026, 11, 22, 23, 0, tzinfo=UTC)
KEY = "local-Key-0123456789"
USAGE = {"prompt_tokens": 10, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 6}}
READ_FILE = ToolSpec(name="read_file", description="Read a file.", parameters={"type": "object", "properties": {}})
ASK = Ask(
    messages=(Message(role=Role.SYSTEM, text="Be brief."), Message(role=Role.USER, text="Say hello.")), purpose="repair"
)


Turn = Callable[[BaseHTTPRequestHandler, dict[str, object]], None]


# ── The server ─────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Script:
    """What a server answers, in turn: bodies, or what it does with the request in hand. The last one repeats."""

    turns: list[Turn]
    seen: list[dict[str, object]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    url: str = ""


def send(handler: BaseHTTPRequestHandler, status: int, body: bytes, **headers: str) -> None:
    handler.send_response(status)
    usual = {"Content_Type": "application/json", "Content_Length": str(len(body))}
    for name, value in (usual | headers).items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


def says(text: str | None = None, *, finish: str = "stop", **message: object) -> Turn:
    """A turn that answers so, whole or in pieces as it is asked."""

    def turn(handler: BaseHTTPRequestHandler, body: dict[str, object]) -> None:
        if body.get("stream"):
            pieces(text, finish=finish, **message)(handler, body)
            return
        choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text, **message}}
        send(handler, 200, json.dumps({"model": "toy-1", "choices": [choice], "usage": USAGE}).encode())

    return turn


def pieces(text: str | None, *, finish: str = "stop", **message: object) -> Turn:
    """A turn that answers as a stream, a character at a time; without `finish` it is cut."""

    def turn(handler: BaseHTTPRequestHandler, body: dict[str, object]) -> None:
        deltas: list[dict[str, object]] = [{"role": "assistant", "content": ""}]
        deltas += [{"content": letter} for letter in text or ""]
        deltas += [message] if message else []
        chunks: list[dict[str, object]] = [{"model": "toy-1", "choices": [{"index": 0, "delta": d}]} for d in deltas]
        if finish:
            chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
            chunks += [{"choices": [], "usage": USAGE}] if "stream_options" in body else []
        lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + (["data: [DONE]\n\n"] if finish else [])
        send(handler, 200, "".join(lines).encode(), Content_Type="text/event-stream")

    return turn


def refuses(status: int, message: str, *, code: str | None = None, **headers: str) -> Turn:
    """A turn that answers with an error in OpenAI's form."""
    body = json.dumps({"error": {"message": message, "code": code, "param": None, "type": "invalid"}}).encode()
    return lambda handler, _: send(handler, status, body, **headers)


def raw(body: bytes, **headers: str) -> Turn:
    """A turn that answers with these bytes."""
    return lambda handler, _: send(handler, 200, body, **headers)


def unless(used: Callable[[dict[str, object]], bool], otherwise: Turn, refusal: Turn) -> Turn:
    """A turn that refuses requests that use something."""
    return lambda handler, body: (refusal if used(body) else otherwise)(handler, body)


def hangs(handler: BaseHTTPRequestHandler, _: dict[str, object]) -> None:
    time.sleep(1.0)


@contextmanager
def serving(*turns: Turn) -> Iterator[Script]:
    script = Script(turns=list(turns))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            script.seen.append(body)
            script.keys.append(self.headers.get("Authorization", ""))
            turn = script.turns.pop(0) if len(script.turns) > 1 else script.turns[0]
            turn(self, body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    script.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield script
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


# ── A client ───────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Speaking:
    """A client at a server, and how long it waited between tries."""

    client: Client
    endpoint: Endpoint
    store: Store
    waited: list[float]

    def spent(self) -> Spent:
        (only,) = self.store.calls.summary()
        return only


def speak(store: Store, script: Script, *, stream: bool = True, timeout: float = 20.0) -> Speaking:
    endpoint = Endpoint(
        base_url=script.url, api_key=SecretStr(KEY), model="toy", timeout_seconds=timeout, stream=stream
    )
    waited: list[float] = []
    tier = Tiered(endpoint=endpoint, name="toy", price=Price(prompt=2.0, cached=0.5, completion=10.0))
    client = Client(
        tiers={Tier.STRONG: tier, Tier.WEAK: tier},
        calls=store.calls,
        limits=(),
        task_id="t1",
        repository="o/r",
        clock=lambda: NOW,
        rng=random.Random(1),
        sleep=waited.append,
    )
    return Speaking(client=client, endpoint=endpoint, store=store, waited=waited)
