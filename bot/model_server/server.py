"""The scripted model over HTTP: `with ModelServer(script) as server: OpenAI(base_url=server.url, …)`."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from bot.background_server import LOOPBACK, BackgroundServer
from bot.model_server.script import (
    ChatRequest,
    RequestError,
    Script,
    ScriptedAnswer,
    count_tokens,
    no_turn_fits,
    parse_request,
)

JsonDocument = dict[str, object]
_CREATED = 1_700_000_000  # the same in each answer, so that two runs are equal byte for byte
_CHUNK_CHARACTERS = 24
_POLL_SECONDS = 0.1  # between two looks, during a delay, at whether the client or the server ends
_EVENT_STREAM, _JSON = "text/event-stream", "application/json"


@dataclass(slots=True)
class ServerUsage:
    """Completed calls and their tokens."""

    calls: int = 0
    prompt: int = 0
    completion: int = 0


class ModelServer(BackgroundServer):
    """A scripted model. `requests` are those that it could read, in the order of their arrival."""

    def __init__(self, script: Script, *, host: str = LOOPBACK, port: int = 0) -> None:
        self._script = script
        self._used: Counter[int] = Counter()
        self.requests: list[ChatRequest] = []
        self.usage = ServerUsage()
        routes = [
            Route("/v1/chat/completions", self._complete, methods=["POST"]),
            Route("/v1/models", self._list_models, methods=["GET"]),
            Route("/usage", self._show_usage, methods=["GET"]),
        ]
        application = Starlette(routes=routes, exception_handlers={RequestError: self._refuse})
        super().__init__(application, name="model server", host=host, port=port)
        logging.getLogger("uvicorn.error").addFilter(_is_not_a_cut)

    @property
    def url(self) -> str:
        """The base URL for clients."""
        return f"{self.root}/v1"

    async def _list_models(self, http: HttpRequest) -> Response:
        self._check_key(http)
        ids = self._script.models or ("scripted",)
        listed = [{"id": each, "object": "model", "created": _CREATED, "owned_by": "apprentice"} for each in ids]
        return JSONResponse({"object": "list", "data": listed})

    async def _show_usage(self, _http: HttpRequest) -> Response:
        return JSONResponse(asdict(self.usage))

    async def _refuse(self, _http: HttpRequest, error: Exception) -> Response:
        assert isinstance(error, RequestError)
        kind = "requests" if error.status == 429 else "server_error" if error.status >= 500 else "invalid_request_error"
        shown = {"message": error.message, "type": kind, "param": error.param, "code": error.code}
        headers = {} if error.retry_after is None else {"Retry-After": f"{error.retry_after:g}"}
        return JSONResponse({"error": shown}, error.status, headers)

    async def _complete(self, http: HttpRequest) -> Response:
        """Runs in the server's one thread, as everything that counts: an answer is counted before it is sent."""
        self._check_key(http)
        request = parse_request(await http.body())
        self.requests.append(request)
        number = len(self.requests)
        self._script.check(request)
        answer = self._choose(request)
        if not await self._wait(http, answer.delay):
            return _CutResponse(b" ", b"", _JSON)  # a client that still waits loses the connection
        if answer.error is not None:
            raise RequestError(**msgspec.structs.asdict(answer.error))
        if answer.raw is not None:
            return Response(answer.raw, media_type=_EVENT_STREAM if request.stream else _JSON)
        completion = Completion(
            answer=answer, number=number, model=request.model, prompt_tokens=count_tokens(request.prompt)
        )
        return self._send(request, completion, answer.cut)

    def _check_key(self, http: HttpRequest) -> None:
        if self._script.key and http.headers.get("authorization", "") != f"Bearer {self._script.key}":
            raise RequestError(401, "Incorrect API key provided.", code="invalid_api_key")

    def _choose(self, request: ChatRequest) -> ScriptedAnswer:
        place = self._script.turn_for(request, self._used)
        if place is not None:
            self._used[place] += 1
            return self._script.turns[place]
        if self._script.otherwise is None:
            raise no_turn_fits(request)
        return self._script.otherwise

    async def _wait(self, http: HttpRequest, seconds: float) -> bool:
        """Let the delay pass; False as soon as the client hangs up or the server stops."""
        while seconds > 0:
            if self.stopping or await http.is_disconnected():
                return False
            await asyncio.sleep(min(seconds, _POLL_SECONDS))
            seconds -= _POLL_SECONDS
        return True

    def _send(self, request: ChatRequest, completion: Completion, cut: int | None) -> Response:
        """The completion as one body or as a stream; `cut` breaks either off."""
        events = completion.events(with_usage=request.wants_usage)
        whole = b"".join(events) if request.stream else completion.body()
        kind = _EVENT_STREAM if request.stream else _JSON
        if cut is not None:
            deltas = len(events) - 2 - request.wants_usage  # all but the reason of the end, and what follows it
            part = b"".join(events[: min(cut, deltas)]) if request.stream else whole[: len(whole) // 2]
            return _CutResponse(whole, part, kind)
        self.usage.calls += 1
        self.usage.prompt += completion.prompt_tokens
        self.usage.completion += completion.tokens
        return Response(whole, media_type=kind)


class _CutResponse(Response):
    """Announces the whole body and sends a part: uvicorn closes the connection when the body does not end."""

    def __init__(self, whole: bytes, part: bytes, media_type: str) -> None:
        super().__init__(whole, media_type=media_type)
        self._part = part

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": self._part, "more_body": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """An answer as the endpoint sends it; its ids carry `number`."""

    answer: ScriptedAnswer
    number: int
    model: str
    prompt_tokens: int

    @property
    def tokens(self) -> int:
        calls = "".join(call.name + call.text for call in self.answer.calls)
        return count_tokens((self.answer.text or "") + (self.answer.refusal or "") + calls)

    def body(self) -> bytes:
        """The answer in one piece."""
        answer = self.answer
        message: JsonDocument = {"role": "assistant", "content": answer.text, "refusal": answer.refusal}
        if answer.calls:
            message["tool_calls"] = [
                {**self._call_head(place), "function": {"name": call.name, "arguments": call.text}}
                for place, call in enumerate(answer.calls)
            ]
        choice = {"index": 0, "message": message, "finish_reason": answer.finish_reason}
        document = {**self._head("chat.completion"), "choices": [choice], "usage": self._usage()}
        return msgspec.json.encode(document)

    def events(self, *, with_usage: bool) -> list[bytes]:
        """The answer as server-sent events: its deltas, the reason of its end, its usage if wanted, `[DONE]`."""
        head = self._head("chat.completion.chunk") | ({"usage": None} if with_usage else {})
        end: tuple[JsonDocument, str] = ({}, self.answer.finish_reason)
        deltas = [*((delta, None) for delta in self._deltas()), end]
        sent = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": why}]} for delta, why in deltas]
        if with_usage:
            sent.append({**head, "choices": [], "usage": self._usage()})
        return [*(b"data: " + msgspec.json.encode(each) + b"\n\n" for each in sent), b"data: [DONE]\n\n"]

    def _deltas(self) -> Iterator[JsonDocument]:
        answer = self.answer
        yield {"role": "assistant", "content": "" if answer.text is not None else None}
        for kind, text in (("content", answer.text), ("refusal", answer.refusal)):
            for piece in _pieces(text or ""):
                yield {kind: piece}
        for place, call in enumerate(answer.calls):
            head = {"index": place, **self._call_head(place)}
            yield {"tool_calls": [{**head, "function": {"name": call.name, "arguments": ""}}]}
            for piece in _pieces(call.text):
                yield {"tool_calls": [{"index": place, "function": {"arguments": piece}}]}

    def _head(self, kind: str) -> JsonDocument:
        return {"id": f"chatcmpl-{self.number}", "object": kind, "created": _CREATED, "model": self.model}

    def _call_head(self, place: int) -> JsonDocument:
        return {"id": f"call_{self.number}_{place}", "type": "function"}

    def _usage(self) -> JsonDocument:
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.tokens,
            "total_tokens": self.prompt_tokens + self.tokens,
        }


def _pieces(text: str) -> Iterator[str]:
    return (text[start : start + _CHUNK_CHARACTERS] for start in range(0, len(text), _CHUNK_CHARACTERS))


def _is_not_a_cut(record: logging.LogRecord) -> bool:
    """False for the error that uvicorn logs at a cut."""
    return record.msg != "ASGI callable returned without completing response."
