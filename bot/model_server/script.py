"""What a script may say, read strictly: the turns of a conversation that is known beforehand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import yaml
from msgspec import UNSET, Struct

from workers.errors import BadInput

PLACE = re.compile(r"\$(\$|[A-Za-z_]\w*)")
"""`$name`, to be filled from a capture, or `$$` for a dollar. A dollar before anything else is itself."""

_KINDS = ("say", "json", "calls", "refusal", "error", "raw")
_AS_THEY_STAND = ("error", "raw")
_FIRST_ERROR, _LAST_ERROR = 400, 599


class Has(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the endpoint can; a request for what it has not is refused as real servers do."""

    tools: bool = True
    json_schema: bool = True
    stream: bool = True
    images: bool = True
    temperature: bool = True


class When(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a request must be for a turn to fit: all of it. The texts are looked for as they stand."""

    contains: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    system: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    model: str = ""


class Call(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tool to be called; `arguments` as text are sent as they stand, so that they can be malformed."""

    name: str
    arguments: dict[str, object] | str = msgspec.field(default_factory=dict)


class Failure(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An error in OpenAI's form; `retry_after` are seconds, sent as the header."""

    status: int
    message: str = "scripted error"
    code: str | None = None
    retry_after: float | None = None

    def __post_init__(self) -> None:
        if not _FIRST_ERROR <= self.status <= _LAST_ERROR:
            raise ValueError(f"`status` is {self.status}, which is no error")


class Answer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Exactly one of `say`, `json`, `calls` (which may stand with `say`), `refusal`, `error` and `raw`; how it is sent.

    `delay` are seconds; `cut` is the number of chunks after which a stream is broken off.
    """

    say: str | None = None
    json: object = UNSET
    calls: tuple[Call, ...] = ()
    refusal: str | None = None
    error: Failure | None = None
    raw: str | None = None
    delay: float = 0.0
    cut: int | None = None
    finish: str | None = None
    capture: dict[str, str] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        given = [kind for kind in _KINDS if getattr(self, kind) not in (None, (), UNSET)]
        if len(given) != 1 and given != ["say", "calls"]:
            raise ValueError(f"needs exactly one of {', '.join(_KINDS)}; it has {' and '.join(given) or 'none'}")
        if given[0] in _AS_THEY_STAND and (self.cut, self.finish) != (None, None):
            raise ValueError(f"`{given[0]}` is sent as it stands: `cut` and `finish` have no place there")
        if self.delay < 0 or (self.cut is not None and self.cut < 0):
            raise ValueError("`delay` and `cut` cannot be negative")
        for name, pattern in self.capture.items():
            _check_pattern(name, pattern)
        for name in sorted({name for text in self.texts() for name in PLACE.findall(text)} - {"$", *self.capture}):
            raise ValueError(f"`${name}` is not in `capture`; write `$${name}` for a dollar")

    def texts(self) -> Iterator[str]:
        """Every text in which `$name` is filled."""
        yield self.say or ""
        yield from _strings(self.json)
        for call in self.calls:
            yield from _strings(call.arguments)


class Turn(Answer, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An answer, and when it is given: at most `times` times, 0 for as often as it fits."""

    when: When = When()
    times: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.times < 0:
            raise ValueError("`times` cannot be negative")


class Script(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the endpoint is, and what it answers: by the first turn that fits and is not used up, else `otherwise`.

    Without `key` everybody may ask; without `models` any model is known; `context_tokens` 0 is no limit.
    """

    key: str = ""
    models: tuple[str, ...] = ()
    has: Has = Has()
    context_tokens: int = 0
    turns: tuple[Turn, ...] = ()
    otherwise: Answer | None = None

    def __post_init__(self) -> None:
        if self.context_tokens < 0:
            raise ValueError("`context_tokens` cannot be negative")


def read_script(path: Path) -> Script:
    """The script in a YAML or JSON file. Raises BadInput with one line that says what is wrong, and where."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not UTF-8") from error
    return parse_script(text, str(path))


def parse_script(text: str, name: str) -> Script:
    """The script in YAML, of which JSON is a part; `name` is said in errors. Raises BadInput."""
    try:
        return msgspec.convert(yaml.safe_load(text), Script)
    except yaml.YAMLError as error:
        raise BadInput(f"{name} is not YAML: {' '.join(str(error).split())}") from error
    except msgspec.ValidationError as error:
        said, _, place = str(error).partition(" - at ")
        where = place.strip("`").removeprefix("$").removeprefix(".")
        raise BadInput(f"{name}: {f'{where}: ' if where else ''}{said[0].lower()}{said[1:]}") from error


def _check_pattern(name: str, pattern: str) -> None:
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise ValueError(f"`capture` {name} is not a regular expression: {error}") from error
    if not groups:
        raise ValueError(f"`capture` {name} has no group; put parentheses around what is to be taken")


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _strings(inner)
