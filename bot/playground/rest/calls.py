"""One request to the API, and its answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from bot.playground.accounts import Actor, Role
from bot.playground.auth import Caller, Needs, check
from bot.playground.nouns import Issue, Repository
from bot.playground.refusals import not_found, unprocessable
from bot.playground.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What goes back. A list is paged; so is the list under `paged` in an object."""

    status: int = 200
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict)
    paged: str = ""
    content_type: str = "application/json; charset=utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request whose caller is known and allowed. Accessors raise Refused 422 for a value of the wrong type."""

    world: World
    caller: Caller
    path: Mapping[str, str]
    query: Mapping[str, str]
    accept: str
    body: Mapping[str, object]

    @property
    def repository(self) -> Repository:
        return self.world.repository(self.path["owner"], self.path["repo"])

    @property
    def issue(self) -> Issue:
        """The issue or pull request with this number."""
        return self.world.issue(self.repository, int(self.path["number"]))

    @property
    def pull(self) -> Issue:
        """The pull request with this number."""
        found = self.issue
        if found.pull is None:
            raise not_found()
        return found

    @property
    def who(self) -> Actor:
        return self.caller.actor()

    def role(self) -> Role:
        """What the caller may do here as a person; an App's writes were checked by its permissions."""
        token = self.caller.token
        if token is None:
            return Role.READ
        return Role.ADMIN if token.installation else self.world.role(token.user, self.repository)

    def text(self, name: str, default: str = "") -> str:
        return self.text_or_none(name) if self.body.get(name) is not None else default  # type: ignore[return-value]  # not None here

    def text_or_none(self, name: str) -> str | None:
        value = self.body.get(name)
        if value is not None and not isinstance(value, str):
            raise _wrong(name, value, "a string")
        return value

    def integer(self, name: str) -> int | None:
        value = self.body.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise _wrong(name, value, "an integer")
        return value

    def flag(self, name: str) -> bool | None:
        value = self.body.get(name)
        if value is not None and not isinstance(value, bool):
            raise _wrong(name, value, "a boolean")
        return value

    def items(self, name: str) -> list[object]:
        value = self.body.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise _wrong(name, value, "an array")
        return value

    def words(self, name: str) -> list[str]:
        """A list of strings, or of objects with a `name`, as labels may be given."""
        return [str(each.get("name", "")) if isinstance(each, dict) else str(each) for each in self.items(name)]

    def mapping(self, name: str) -> dict[str, object]:
        value = self.body.get(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise _wrong(name, value, "an object")
        return value

    def inner(self, body: object) -> Call:
        """The same call about an object inside the body."""
        if not isinstance(body, dict):
            raise _wrong("items", body, "an object")
        return Call(
            world=self.world, caller=self.caller, path=self.path, query=self.query, accept=self.accept, body=body
        )

    def moment(self, name: str) -> datetime | None:
        value = self.text_or_none(name)
        try:
            return datetime.fromisoformat(value) if value else None
        except ValueError:
            raise _wrong(name, value, "a date-time") from None


def _wrong(name: str, value: object, wanted: str) -> Exception:
    return unprocessable(f"Invalid request.\n\nFor 'properties/{name}', {value!r} is not {wanted}.")


Handler = Callable[[Call], Answer]


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
    elif "repository_id" in path:
        where = world.repositories.get(int(path["repository_id"]))
        if where is None:
            raise not_found()
    check(world, caller, where, route.needs)
