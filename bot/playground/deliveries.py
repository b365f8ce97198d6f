"""A webhook on its way, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from bot.playground.accounts import App


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One webhook to be sent. `body` is the exact bytes that are signed; a redelivery keeps `guid`."""

    guid: str
    app: App
    event: str
    action: str | None
    body: bytes
    installation_id: int | None
    repository_id: int | None
    redelivery: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One attempt. `status_code` is 0 when nobody answered; `status` says why in GitHub's words. `duration` is seconds."""

    id: int
    notice: Notice
    delivered_at: datetime
    duration: float
    status: str
    status_code: int
    request_headers: Mapping[str, str]
    response_headers: Mapping[str, str]
    response_body: str
