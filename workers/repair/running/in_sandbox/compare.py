"""How an edit behaves on calls like those that the tests make: outcomes by input, to be compared with another edit's.

Each edit is observed in a process of its own. Every one records the calls for itself, and as calls, seed and hash seed
are the same, so are the inputs made from them; what only one process came to is left out of a comparison.
Runs inside the sandbox, in the project's own interpreter: Python 3.8+, the standard library and pytest only.
"""

from __future__ import annotations

import doctest
import hashlib
import inspect
import io
import itertools
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from types import FrameType, FunctionType
from typing import NamedTuple, get_type_hints

import pytest

from .children import Message
from .inputs import Input, inputs
from .recording import Call, Caught, Recording, Target, canonical, shown

CALL_SECONDS = 0.06
"""What one call may compute: the tests' own usually take far less."""

SLOW_CALLS = 12
"""The number of calls that compute too long after which no more are made."""

FUNCTIONS = 6
PLAIN = (bool, int, float, str, bytes, list, tuple, dict, set, frozenset)

ACCIDENTS = (
    ArithmeticError, AssertionError, AttributeError, LookupError, NameError, RecursionError, MemoryError, TypeError,
)  # fmt: skip
"""Errors that happen rather than being raised on purpose: which one it is, and what its text is, says little."""


class TooLong(BaseException):
    """A call computed too long. No Exception, so that the code under test does not catch it by the way."""


class CallOutcome(NamedTuple):
    """How a call ended: `outcome` identifies value and changed arguments, `text` is for users."""

    outcome: str
    text: str
    raised: bool
    mistyped: bool


def observe(
    session: pytest.Session, request: Message, run: Callable[[], Message], revert: Callable[[], object] | None = None
) -> Message:
    """Record the calls that `run` makes, `revert` if the unedited code is to be observed, and make calls like them.

    `request["observe"]` is {root, path, function, seed, inputs, seconds, constants, unedited}. The answer is `run`'s and
    `observed`: {calls: [{key, call, inside} and the fields of CallOutcome], broken, mistyped}, where `broken` counts
    docstring examples that do not hold; without it when there is nothing to go back to.
    """
    wanted = request["observe"]
    if wanted["unedited"] and revert is None:
        return run()
    target = Target(str(Path(wanted["root"], wanted["path"]).resolve()), wanted["function"])
    recording = Recording(wanted["root"], _test_files(session), target if wanted["function"] else None)
    recording.start()
    answer = run()
    recording.stop()
    broken = _broken_examples(recording)
    if wanted["unedited"] and revert is not None:
        revert()
    calls = dict(sorted(recording.calls.items(), key=lambda item: item[0] is not recording.target))
    observed = _Observation(wanted).of(list(calls.values())[:FUNCTIONS])
    return dict(answer, observed=dict(observed, broken=broken))


def _test_files(session: pytest.Session) -> set[str]:
    files = {os.path.realpath(str(item.fspath)) for item in session.items}
    conftests = {getattr(m, "__file__", None) for name, m in list(sys.modules.items()) if name.endswith("conftest")}
    return files | {os.path.realpath(file) for file in conftests if file}


def _broken_examples(recording: Recording) -> int:
    """How many docstring examples of the recorded functions do not hold. Running them records calls."""
    broken = 0
    for function in list(recording.calls)[:FUNCTIONS]:
        recording.start()
        with Caught():
            examples = doctest.DocTestParser().get_examples(function.__doc__ or "", function.__name__)
            judged = (each for each in examples if each.want and each.exc_msg is None)
            broken += sum(not _holds(each, function) for each in judged)
        recording.stop()
    return broken


def _holds(example: doctest.Example, function: FunctionType) -> bool:
    printed = io.StringIO()
    known = dict(function.__globals__)
    with Caught() as caught, _limited(), redirect_stdout(printed):
        exec(compile(example.source, "<example>", "single"), known)  # noqa: S102 - the project's own example
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    return caught.error is None and doctest.OutputChecker().check_output(example.want, printed.getvalue(), flags)


class _Observation:
    def __init__(self, wanted: Message) -> None:
        self._wanted = wanted
        self._deadline = time.process_time() + wanted["seconds"]
        self._hour = time.time() // 3600 * 3600
        self._slow = 0

    def of(self, functions: list[list[Call]]) -> Message:
        """The outcomes for all functions, the first of which gets half of the inputs."""
        found: list[Message] = []
        mistyped = 0
        for number, calls in enumerate(functions):
            count = self._wanted["inputs"] // (1 if len(functions) == 1 else 2 if not number else 2 * len(functions))
            for each in inputs(calls, count, self._wanted["seed"], self._wanted["constants"]):
                if time.process_time() > self._deadline or self._slow > SLOW_CALLS:
                    break
                made = {
                    "key": _digest(f"{each.call.function.__qualname__}{each.key}"),
                    "call": _described(each.call),
                    "inside": each.inside,
                }
                with Caught():
                    ended = self._made(each)
                    mistyped += ended.mistyped
                    found.append({**made, **ended._asdict()})
        return {"calls": found, "mistyped": mistyped}

    def _made(self, each: Input) -> CallOutcome:
        """Make a call on arguments of its own."""
        call = each.call.copied()
        value: object = None
        text = ""
        vars(time)["time"] = _clock(self._hour)
        random.seed(0)
        vars(os)["urandom"] = vars(random)["_urandom"] = _chance(random.Random(0))  # noqa: S311 - no secrets
        with Caught() as caught, _limited():
            value = _finished(call.function(*call.positional, **call.named))
            text = canonical((value, call.positional, call.named))
        error = caught.error
        if error is None:
            hint = _return_type(call.function)
            return CallOutcome(_digest(text), shown(value), raised=False, mistyped=not _fits(value, hint))
        if isinstance(error, TooLong):
            self._slow += 1
            return CallOutcome("raises", "does not end", raised=True, mistyped=False)
        if isinstance(error, ACCIDENTS):
            return CallOutcome("raises", f"raises {type(error).__name__}", raised=True, mistyped=False)
        text = f"raises {shown(error)}"
        return CallOutcome(_digest(text), text, raised=True, mistyped=False)


def _clock(start: float) -> Callable[[], float]:
    """A clock for one call, a millisecond later at each look: by the real one, edits that behave alike would differ."""
    looks = itertools.count(1)
    return lambda: start + next(looks) / 1000


def _chance(rng: random.Random) -> Callable[[int], bytes]:
    """A source of bytes that is the same for each call, as `random` is, so that chance tells no edits apart."""
    return lambda count: bytes(rng.getrandbits(8) for _ in range(count))


def _finished(value: object) -> object:
    """What is awaited has to be run; an iterator becomes the list of what it yields, to be looked at twice."""
    if inspect.iscoroutine(value):
        import asyncio  # every fork would pay for it

        return asyncio.new_event_loop().run_until_complete(value)
    if inspect.isgenerator(value):
        return [part for part, _ in zip(value, range(500))]  # noqa: B905 - the shorter one ends it
    return value


class _limited:  # noqa: N801 - reads as a function
    """A context that raises TooLong in the code within it, again and again, once it has computed too long."""

    def __enter__(self) -> None:
        signal.signal(signal.SIGVTALRM, _ring)
        signal.setitimer(signal.ITIMER_VIRTUAL, CALL_SECONDS, CALL_SECONDS)

    def __exit__(self, *_error: object) -> None:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, signal.SIG_IGN)


def _ring(_signal: int, frame: FrameType | None) -> None:
    """Not in this file: the context may just be ending."""
    if frame is not None and frame.f_code.co_filename != __file__:
        raise TooLong


def _return_type(function: Callable[..., object]) -> object:
    with Caught():
        return get_type_hints(function).get("return")
    return None


def _fits(value: object, hint: object) -> bool:
    """Whether a value may be of an annotated type, as far as its outermost, plain type tells."""
    origin = getattr(hint, "__origin__", hint)
    if hint is type(None):
        return value is None
    if origin not in PLAIN:
        return True
    if origin is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if origin is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, origin)


def _described(call: Call) -> str:
    """A call as people write it; of a property, its use."""
    names = call.function.__qualname__.split(".")
    positional, name = list(call.positional), call.function.__name__
    if len(names) > 1 and names[-2] != "<locals>" and positional:
        owner = positional.pop(0)
        is_property = isinstance(inspect.getattr_static(type(owner), name, None), property)
        name = f"{shown(owner)}.{name}"
        if is_property:
            return f"{name} = {shown(positional[0])}" if positional else name
    arguments = [*map(shown, positional), *(f"{key}={shown(value)}" for key, value in call.named.items())]
    return f"{name}({', '.join(arguments)})"


def _digest(text: str) -> str:
    return hashlib.sha1(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]  # noqa: S324 - names, no secret
