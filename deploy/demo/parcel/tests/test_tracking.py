from datetime import datetime, timedelta

import pytest

from parcel.tracking import Shipment, Status, late, parse_event

START = datetime(2026, 3, 1, 8, 0)


def shipment(*steps):
    made = Shipment("P1", START)
    for hours, status, place in steps:
        made.record(START + timedelta(hours=hours), status, place)
    return made


DELIVERED = (
    (2, Status.PICKED_UP, "Kassel"),
    (9, Status.IN_TRANSIT, "Fulda"),
    (12, Status.IN_TRANSIT, "Fulda"),
    (20, Status.OUT_FOR_DELIVERY, "Mainz"),
    (26, Status.DELIVERED, "Mainz"),
)


def test_places_are_named_once():
    assert shipment(*DELIVERED).places() == ["Kassel", "Fulda", "Mainz"]


def test_transit_time_from_pick_up_to_delivery():
    assert shipment(*DELIVERED).transit_time() == timedelta(hours=24)
    assert shipment(*DELIVERED[:2]).transit_time() is None


def test_events_cannot_skip_or_go_back():
    with pytest.raises(ValueError, match="cannot become"):
        shipment((1, Status.DELIVERED, ""))
    with pytest.raises(ValueError, match="order"):
        shipment((5, Status.PICKED_UP, "")).record(START, Status.IN_TRANSIT)


def test_late_lists_the_longest_wait_first():
    old, new = Shipment("old", START - timedelta(days=9)), Shipment("new", START - timedelta(days=5))
    assert late([new, old], START, promised_days=4) == ["old", "new"]
    assert late([new, old, shipment(*DELIVERED)], START, promised_days=8) == ["old"]


def test_parse_event_reads_three_parts():
    assert parse_event("2026-03-01T08:30 | in transit | Kassel") == (
        datetime(2026, 3, 1, 8, 30),
        Status.IN_TRANSIT,
        "Kassel",
    )
