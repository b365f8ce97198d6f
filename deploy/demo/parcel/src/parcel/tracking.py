"""Where a parcel is, and where it was."""

from datetime import datetime, timedelta
from enum import Enum


class Status(Enum):
    ANNOUNCED = "announced"
    PICKED_UP = "picked up"
    IN_TRANSIT = "in transit"
    OUT_FOR_DELIVERY = "out for delivery"
    DELIVERED = "delivered"
    RETURNED = "returned"


NEXT = {
    Status.ANNOUNCED: {Status.PICKED_UP},
    Status.PICKED_UP: {Status.IN_TRANSIT, Status.RETURNED},
    Status.IN_TRANSIT: {Status.IN_TRANSIT, Status.OUT_FOR_DELIVERY, Status.RETURNED},
    Status.OUT_FOR_DELIVERY: {Status.DELIVERED, Status.IN_TRANSIT, Status.RETURNED},
    Status.DELIVERED: set(),
    Status.RETURNED: set(),
}
MAX_ATTEMPTS = 3
STORAGE_DAYS = 7


class Shipment:
    """One parcel on its way."""

    def __init__(self, number, announced_at):
        self.number = number
        self.events = [(announced_at, Status.ANNOUNCED, "")]
        self.attempts = 0

    @property
    def status(self):
        return self.events[-1][1]

    @property
    def updated_at(self):
        return self.events[-1][0]

    def record(self, when, status, place=""):
        """Add an event; raises ValueError when it is out of order or cannot follow."""
        if when < self.updated_at:
            raise ValueError("events must be recorded in order")
        if status not in NEXT[self.status]:
            raise ValueError(f"{self.status.value} cannot become {status.value}")
        if status is Status.OUT_FOR_DELIVERY:
            self.attempts += 1
        self.events.append((when, status, place))

    def may_try_again(self):
        """Whether another delivery may be tried."""
        return self.status is Status.IN_TRANSIT and self.attempts < MAX_ATTEMPTS

    def stored_too_long(self, now):
        """Whether a parcel that waits for pick-up must go back: on the last day it may still be fetched."""
        return self.status is Status.IN_TRANSIT and now - self.updated_at > timedelta(days=STORAGE_DAYS)

    def places(self):
        """The places it went through, each once, in order."""
        seen = []
        for _, _, place in self.events:
            if place and place not in seen:
                seen.append(place)
        return seen

    def transit_time(self):
        """From pick-up to delivery; None while it is under way."""
        times = {status: when for when, status, _ in self.events}
        if Status.DELIVERED not in times or Status.PICKED_UP not in times:
            return None
        return times[Status.DELIVERED] - times[Status.PICKED_UP]


def late(shipments, now, promised_days):
    """The numbers of shipments that are under way for longer than was promised, longest first."""
    promised = timedelta(days=promised_days)
    waiting = [
        (now - shipment.events[0][0], shipment.number)
        for shipment in shipments
        if shipment.status not in (Status.DELIVERED, Status.RETURNED)
    ]
    return [number for age, number in sorted(waiting, reverse=True) if age > promised]


def parse_event(line):
    """Read "2026-03-01T08:30 | in transit | Kassel"."""
    stamp, status, place = (part.strip() for part in line.split("|"))
    return datetime.fromisoformat(stamp), Status(status), place
