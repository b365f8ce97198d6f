"""A script while it is played: which turns are used up, what was asked, what was counted. Safe across threads."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence

from bot.model_server import replies, wire
from bot.model_server.asked import Asked, Document, parse
from bot.model_server.counting import Outcome, Prefixes, Tally, Usage, counted, tokens
from bot.model_server.errors import Refused
from bot.model_server.matching import first_fitting, nothing_fits, spelt_out
from bot.model_server.refusals import check_key, check_request
from bot.model_server.replies import Reply
from bot.model_server.script import Answer, Script

UNNAMED = ("scripted",)
"""The models that are listed by a script that names none."""


class Accounts:
    """What came in and how it ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: list[Asked] = []
        self._usage = Usage()

    @property
    def requests(self) -> Sequence[Asked]:
        """Every request that could be read, in the order of their arrival."""
        with self._lock:
            return tuple(self._requests)

    @property
    def usage(self) -> Usage:
        """The count so far."""
        with self._lock:
            return self._usage

    def heard(self, asked: Asked) -> int:
        """Keep a request; gives its number, from 1."""
        with self._lock:
            self._requests.append(asked)
            return len(self._requests)

    def settle(self, reply: Reply, outcome: Outcome) -> None:
        """Count how a request ended."""
        with self._lock:
            self._usage = counted(self._usage, outcome, reply.model, reply.tally)


class Play:
    """One run of a script."""

    def __init__(self, script: Script) -> None:
        self.accounts = Accounts()
        self._script = script
        self._lock = threading.Lock()
        self._used: Counter[int] = Counter()
        self._prefixes = Prefixes()

    async def models(self, authorization: str) -> Document:
        """What is listed. Raises Refused 401 without the key."""
        check_key(self._script, authorization)
        return wire.model_list(self._script.models or UNNAMED)

    async def reply(self, body: bytes, authorization: str) -> Reply:
        """The script's answer to the request in a body. Raises Refused."""
        check_key(self._script, authorization)
        asked = parse(body)
        with self._lock:
            number = self.accounts.heard(asked)
            check_request(self._script, asked, tokens(asked.prompt))
            answer = self._choose(asked)
            if answer.error is not None:
                return replies.refusal(_refused(answer), delay=answer.delay)
            if answer.raw is not None:
                kind = replies.EVENTS if asked.stream else replies.JSON
                return replies.plain(answer.raw.encode(), content_type=kind, delay=answer.delay)
            return self._say(answer, asked, number)

    def _choose(self, asked: Asked) -> Answer:
        place = first_fitting(self._script.turns, self._used, asked)
        if place is not None:
            self._used[place] += 1
            return self._script.turns[place]
        if self._script.otherwise is not None:
            return self._script.otherwise
        raise nothing_fits(asked)

    def _say(self, answer: Answer, asked: Asked, number: int) -> Reply:
        said = spelt_out(answer, asked)
        tally = Tally(
            calls=1,
            prompt=tokens(asked.prompt),
            cached=self._prefixes.cached(asked.model, asked.prompt),
            completion=said.tokens,
        )
        whole = wire.completion(said, number=number, model=asked.model, tally=tally)
        return replies.answer(whole, asked, delay=answer.delay, cut=answer.cut)


def _refused(answer: Answer) -> Refused:
    assert answer.error is not None
    error = answer.error
    return Refused(error.status, error.message, code=error.code, retry_after=error.retry_after)
