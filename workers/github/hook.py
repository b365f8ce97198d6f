"""The App's webhook log, which only the App itself may read."""

from __future__ import annotations

from datetime import datetime

from github import GithubIntegration

from workers.github.client import translated
from workers.ports import HookDelivery

PAGE = 100


class GitHubHook:
    """Implements `workers.ports.AppHook`."""

    def __init__(self, app: GithubIntegration) -> None:
        self._app = app

    def deliveries(self, *, since: datetime) -> tuple[HookDelivery, ...]:
        found: list[HookDelivery] = []
        cursor = ""
        while True:
            where = {"per_page": PAGE} | ({"cursor": cursor} if cursor else {})
            with translated("reading the webhook's log"):
                headers, page = self._app.requester.requestJsonAndCheck("GET", "/app/hook/deliveries", parameters=where)
            read = [_delivery(each) for each in page]
            found += [each for each in read if each.delivered_at >= since]
            cursor = _next_cursor(str(headers.get("link", "")))
            if not cursor or not read or read[-1].delivered_at < since:
                return tuple(found)

    def redeliver(self, delivery_id: int) -> None:
        with translated("asking for a redelivery"):
            self._app.requester.requestJsonAndCheck("POST", f"/app/hook/deliveries/{delivery_id}/attempts")


def _delivery(item: dict[str, str]) -> HookDelivery:
    return HookDelivery(
        id=int(item["id"]),
        guid=item["guid"],
        event=item["event"],
        delivered_at=datetime.fromisoformat(item["delivered_at"]),
    )


def _next_cursor(link: str) -> str:
    """The cursor in a Link header's `next`, empty on the last page."""
    following = next((part for part in link.split(",") if 'rel="next"' in part), "")
    return following.partition("cursor=")[2].partition("&")[0].partition(">")[0]
