"""One request to the API, and its answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeVar

from bot.playground.auth import Caller, Needs, check
from bot.playground.errors import not_found, unprocessable
from bot.playground.models import ActingAccount, HostedIssue, HostedRepository, RepositoryRole
from bot.playground.world import World

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiAnswer:
    """What goes back. A list is paged; so is the list under `paged` in an object."""

    status: int = 200
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict)
    paged: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiCall:
    """One request whose caller is known and allowed. Accessors raise ApiError 422 for a value of the wrong type."""

    world: World
    caller: Caller
    path: Mapping[str, str]
    query: Mapping[str, str]
    accept: str
    body: Mapping[str, object]

    @property
    def repository(self) -> HostedRepository:
        return self.world.repository(self.path["owner"], self.path["repo"])

    @property
    def issue(self) -> HostedIssue:
        """The issue or pull request with this number."""
        return self.world.issue(self.repository, int(self.path["number"]))

    @property
    def pull(self) -> HostedIssue:
        """The pull request with this number."""
        found = self.issue
        if found.pull is None:
            raise not_found()
        return found

    @property
    def who(self) -> ActingAccount:
        return self.caller.actor()

    def role(self) -> RepositoryRole:
        """What the caller may do here as a user; the permissions of an App were checked before."""
        token = self.caller.token
        if token is None:
            return RepositoryRole.READ
        return RepositoryRole.ADMIN if token.installation else self.world.role(token.user, self.repository)

    def text(self, name: str, default: str = "") -> str:
        value = self.text_or_none(name)
        return default if value is None else value

    def text_or_none(self, name: str) -> str | None:
        return self._given(name, str, "a string")

    def integer(self, name: str) -> int | None:
        value = self._given(name, int, "an integer")
        if isinstance(value, bool):
            raise _wrong(name, value, "an integer")
        return value

    def flag(self, name: str) -> bool:
        return self._given(name, bool, "a boolean") or False

    def items(self, name: str) -> list[object]:
        return self._given(name, list, "an array") or []

    def words(self, name: str) -> list[str]:
        """A list of strings, or of objects with a `name`, as labels may be given."""
        return [str(each.get("name", "")) if isinstance(each, dict) else str(each) for each in self.items(name)]

    def mapping(self, name: str) -> dict[str, object]:
        return self._given(name, dict, "an object") or {}

    def _given(self, name: str, kind: type[T], words: str) -> T | None:
        value = self.body.get(name)
        if value is not None and not isinstance(value, kind):
            raise _wrong(name, value, words)
        return value

    def inner(self, body: object) -> ApiCall:
        """The same call about an object inside the body."""
        if not isinstance(body, dict):
            raise _wrong("items", body, "an object")
        return replace(self, body=body)

    def moment(self, name: str) -> datetime | None:
        value = self.text_or_none(name)
        try:
            return datetime.fromisoformat(value) if value else None
        except ValueError:
            raise _wrong(name, value, "a date-time") from None


def _wrong(name: str, value: object, wanted: str) -> Exception:
    return unprocessable(f"Invalid request.\n\nFor 'properties/{name}', {value!r} is not {wanted}.")


Handler = Callable[[ApiCall], ApiAnswer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    method: str
    template: str
    pattern: re.Pattern[str]
    needs: Needs
    handler: Handler


class Routes:
    """A table of routes, filled by decorators. `{name}` is one segment, `{name:path}` the rest, `{name:int}` digits."""

    def __init__(self) -> None:
        self.table: list[Route] = []

    def on(self, method: str, template: str, needs: Needs | None = None) -> Callable[[Handler], Handler]:
        def keep(handler: Handler) -> Handler:
            pattern = re.compile(_to_regex(template))
            self.table.append(
                Route(method=method, template=template, pattern=pattern, needs=needs or Needs(), handler=handler)
            )
            return handler

        return keep


def _to_regex(template: str) -> str:
    shapes = {"": "[^/]+", "int": r"\d+", "path": ".+"}

    def group(match: re.Match[str]) -> str:
        return f"(?P<{match[1]}>{shapes[match[2] or '']})"

    return "^" + re.sub(r"\{(\w+)(?::(\w+))?\}", group, template) + "$"


def allowed(world: World, caller: Caller, route: Route, path: Mapping[str, str]) -> None:
    """Check the caller against the route, before its handler runs."""
    where = None
    if "owner" in path and "repo" in path and not route.needs.app:
        where = world.repository(path["owner"], path["repo"])
    check(world, caller, where, route.needs)
