"""Webhook deliveries as the App's log shows them."""

from __future__ import annotations

import json

from bot.playground.deliveries import Delivery
from bot.playground.payloads.people import JsonObject


def delivery_item(made: Delivery) -> JsonObject:
    """hook-delivery-item."""
    return {
        "id": made.id,
        "guid": made.notice.guid,
        "delivered_at": made.delivered_at.isoformat().replace("+00:00", "Z"),
        "redelivery": made.notice.redelivery,
        "duration": made.duration,
        "status": made.status,
        "status_code": made.status_code,
        "event": made.notice.event,
        "action": made.notice.action,
        "installation_id": made.notice.installation_id,
        "repository_id": made.notice.repository_id,
        "throttled_at": None,
    }


def delivery(made: Delivery) -> JsonObject:
    """hook-delivery."""
    return {
        **delivery_item(made),
        "url": made.notice.app.webhook_url,
        "request": {"headers": dict(made.request_headers), "payload": json.loads(made.notice.body)},
        "response": {"headers": dict(made.response_headers), "payload": made.response_body},
    }
