from parcel.notices import text
from parcel.tracking import Status


def test_delivered():
    assert text(Status.DELIVERED) == "Your parcel was delivered."


def test_under_way():
    assert text(Status.IN_TRANSIT) == "Your parcel is in transit."


def test_nothing_known():
    assert text(None) == ""
