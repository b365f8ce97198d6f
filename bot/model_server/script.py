"""A request for a chat completion, and the script of a model: which request gets which answer."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated

import msgspec
import yaml
from msgspec import UNSET, Meta, Struct

from memory.plain_yaml import BadYaml, only_bad_yaml
from workers.errors import BadInput

_KINDS = ("say", "json", "calls", "refusal", "error", "raw")
_SENT_UNCHANGED = ("error", "raw")
_FIRST_ERROR, _LAST_ERROR = 400, 599
_QUOTED_CHARACTERS = 120
_TOKEN_CHARACTERS = 4
_UNSUPPORTED = {  # the message, the parameter and the code of the error for each feature
    "tools": ("tools is not supported in this model.", "tools", None),
    "json_schema": (
        "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
        "response_format",
        None,
    ),
    "stream": ("stream is not supported with this model.", "stream", None),
    "images": ("Invalid content type. image_url is not supported with this model.", "messages", None),
    "temperature": (
        "Unsupported parameter: 'temperature' is not supported with this model.",
        "temperature",
        "unsupported_parameter",
    ),
}


# The request: the fields that a script matches, counts or refuses.


@dataclass(eq=False)
class RequestError(Exception):
    """The endpoint answers with an error in OpenAI's form. `retry_after` are seconds."""

    status: int
    message: str
    code: str | None = None
    param: str | None = None
    retry_after: float | None = None


class _Url(Struct, frozen=True):
    url: str = ""


class _Part(Struct, frozen=True):
    type: str
    text: str = ""
    image_url: _Url | None = None


class _Function(Struct, frozen=True):
    name: str = ""
    arguments: str = ""


class _Tool(Struct, frozen=True):
    function: _Function = _Function()


class _ResponseFormat(Struct, frozen=True):
    type: str = ""


class _StreamOptions(Struct, frozen=True):
    include_usage: bool = False


class RequestMessage(Struct, frozen=True):
    """One message. `text` is its words, then `[image <digest>]` for each image, then `name arguments` for each call."""

    role: str
    content: str | tuple[_Part, ...] | None = None
    tool_calls: tuple[_Tool, ...] | None = None

    @property
    def images(self) -> tuple[str, ...]:
        parts = () if isinstance(self.content, str) else self.content or ()
        return tuple(part.image_url.url for part in parts if part.image_url)

    @property
    def text(self) -> str:
        words = [self.content] if isinstance(self.content, str) else [part.text for part in self.content or ()]
        texts = [word for word in words if word]
        texts += [f"[image {hashlib.sha256(url.encode()).hexdigest()[:12]}]" for url in self.images]
        texts += [f"{call.function.name} {call.function.arguments}" for call in self.tool_calls or ()]
        return "\n".join(texts)


class ChatRequest(Struct, frozen=True, kw_only=True, dict=True):
    """`body` is the whole request as JSON; `offered` are its tools."""

    model: str
    messages: Annotated[tuple[RequestMessage, ...], Meta(min_length=1)]
    offered: tuple[_Tool, ...] | None = msgspec.field(name="tools", default=None)
    response_format: _ResponseFormat | None = None
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    temperature: float | None = None
    body: dict[str, object] = msgspec.field(default_factory=dict)

    @property
    def tools(self) -> tuple[str, ...]:
        return tuple(tool.function.name for tool in self.offered or ())

    @property
    def wants_usage(self) -> bool:
        """Whether a stream ends with its usage."""
        return bool(self.stream_options and self.stream_options.include_usage)

    @property
    def features(self) -> dict[str, bool]:
        """Which features of the endpoint the request uses."""
        return {
            "tools": bool(self.tools),
            "json_schema": self.response_format is not None and self.response_format.type == "json_schema",
            "stream": bool(self.stream),
            "images": any(message.images for message in self.messages),
            "temperature": self.temperature is not None,
        }

    @cached_property
    def text(self) -> str:
        """All messages, a line break between them."""
        return "\n".join(message.text for message in self.messages)

    @property
    def last(self) -> str:
        return self.messages[-1].text

    @property
    def system(self) -> str:
        """The messages of the system, or the developer, as newer clients call it."""
        return "\n".join(message.text for message in self.messages if message.role in {"system", "developer"})

    @cached_property
    def prompt(self) -> str:
        """What costs tokens: the tools as compact JSON, then the messages' texts, with nothing between them."""
        tools = self.body.get("tools")
        return (msgspec.json.encode(tools).decode() if tools else "") + "".join(m.text for m in self.messages)


def parse_request(body: bytes) -> ChatRequest:
    """The request in a body. Raises RequestError 400 for anything else."""
    try:
        document = msgspec.json.decode(body, type=dict[str, object])
        return msgspec.convert({**document, "body": document}, ChatRequest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RequestError(400, f"We could not parse the JSON body of your request: {error}") from error


def count_tokens(text: str) -> int:
    """A quarter of the characters, rounded up."""
    return -(-len(text) // _TOKEN_CHARACTERS)


# The script, read strictly from YAML or JSON.


class ServerFeatures(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the endpoint supports; it refuses a request for anything else as real servers do."""

    tools: bool = True
    json_schema: bool = True
    stream: bool = True
    images: bool = True
    temperature: bool = True


class When(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The conditions of a turn; all of them must hold. The texts are literal."""

    contains: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    system: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    model: str = ""

    def fits(self, request: ChatRequest) -> bool:
        return (
            (not self.model or self.model == request.model)
            and set(self.tools) <= set(request.tools)
            and all(text in request.text for text in self.contains)
            and not any(text in request.text for text in self.lacks)
            and all(text in request.last for text in self.last)
            and all(text in request.system for text in self.system)
        )


class ScriptedCall(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tool that the model calls; `arguments` as text go out unchanged, so that they can be malformed."""

    name: str
    arguments: dict[str, object] | str = msgspec.field(default_factory=dict)

    @property
    def text(self) -> str:
        """The arguments as they go out."""
        return self.arguments if isinstance(self.arguments, str) else _json(self.arguments)


class ScriptedError(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An error in OpenAI's form; `retry_after` are seconds, sent as the header."""

    status: int
    message: str = "scripted error"
    code: str | None = None
    retry_after: float | None = None

    def __post_init__(self) -> None:
        if not _FIRST_ERROR <= self.status <= _LAST_ERROR:
            raise ValueError(f"`status` is {self.status}, which is no error")


class ScriptedAnswer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Exactly one of `say`, `json`, `calls` (with or without `say`), `refusal`, `error` and `raw`, and its delivery.

    `delay` are seconds; `cut` is the number of chunks after which a stream breaks off.
    """

    say: str | None = None
    json: object = UNSET
    calls: tuple[ScriptedCall, ...] = ()
    refusal: str | None = None
    error: ScriptedError | None = None
    raw: str | None = None
    delay: float = 0.0
    cut: int | None = None
    finish: str | None = None

    def __post_init__(self) -> None:
        given = [kind for kind in _KINDS if getattr(self, kind) not in (None, (), UNSET)]
        if len(given) != 1 and given != ["say", "calls"]:
            raise ValueError(f"needs exactly one of {', '.join(_KINDS)}; it has {' and '.join(given) or 'none'}")
        if given[0] in _SENT_UNCHANGED and (self.cut, self.finish) != (None, None):
            raise ValueError(f"`{given[0]}` is sent unchanged: `cut` and `finish` have no place there")
        if self.delay < 0 or (self.cut is not None and self.cut < 0):
            raise ValueError("`delay` and `cut` cannot be negative")

    @property
    def text(self) -> str | None:
        """The words of the message."""
        return self.say if self.json is UNSET else _json(self.json)

    @property
    def finish_reason(self) -> str:
        return self.finish or ("tool_calls" if self.calls else "stop")


class Turn(ScriptedAnswer, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An answer and its conditions; it answers at most `times` times, 0 for always."""

    when: When = When()
    times: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.times < 0:
            raise ValueError("`times` cannot be negative")


class Script(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the endpoint is, and what it answers: the first turn that fits and is not used up, else `otherwise`.

    Without `key` every client may ask; without `models` the endpoint knows any model.
    """

    key: str = ""
    models: tuple[str, ...] = ()
    has: ServerFeatures = ServerFeatures()
    turns: tuple[Turn, ...] = ()
    otherwise: ScriptedAnswer | None = None

    def check(self, request: ChatRequest) -> None:
        """Raise RequestError for an unknown model and an unsupported feature."""
        if self.models and request.model not in self.models:
            message = f"The model `{request.model}` does not exist or you do not have access to it."
            raise RequestError(404, message, code="model_not_found", param="model")
        for feature, requested in request.features.items():
            if requested and not getattr(self.has, feature):
                message, param, code = _UNSUPPORTED[feature]
                raise RequestError(400, message, code=code, param=param)

    def turn_for(self, request: ChatRequest, used: Mapping[int, int]) -> int | None:
        """The place of the first turn that fits and has not answered `times` times."""
        for place, turn in enumerate(self.turns):
            if turn.when.fits(request) and not 0 < turn.times <= used.get(place, 0):
                return place
        return None


def no_turn_fits(request: ChatRequest) -> RequestError:
    """The error for a request that the script does not know; it quotes the last message."""
    line = " ".join(request.last.split())
    quoted = line if len(line) <= _QUOTED_CHARACTERS else line[: _QUOTED_CHARACTERS - 1] + "…"
    return RequestError(400, f"no turn of the script fits; last message: {quoted}", code="no_turn_fits")


def read_script(path: Path) -> Script:
    """The script in a YAML or JSON file. Raises BadInput with one line that names the error and its place."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not UTF-8") from error
    return parse_script(text, str(path))


def parse_script(text: str, name: str) -> Script:
    """The script in YAML, of which JSON is a part; errors begin with `name`. Raises BadInput."""
    try:
        with only_bad_yaml():
            document = yaml.safe_load(text)
        return msgspec.convert(document, Script)
    except BadYaml as error:
        raise BadInput(f"{name}, line {error.line}, column {error.column}: {error.reason}") from error
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at ")
        where = place.strip("`").removeprefix("$").removeprefix(".")
        raise BadInput(f"{name}: {f'{where}: ' if where else ''}{problem[0].lower()}{problem[1:]}") from error


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
