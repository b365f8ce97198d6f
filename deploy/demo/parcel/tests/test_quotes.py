import pytest

from parcel import Money, Parcel, cheapest, quote
from parcel.quotes import ApiError, invoice

SMALL = Parcel(weight_g=900, length_mm=200, width_mm=150, height_mm=100)


def test_domestic_quote_adds_fuel():
    assert quote(SMALL, origin="DE", destination="DE").total == Money(449 + 31)


def test_express_costs_more_and_is_faster():
    standard = quote(SMALL, origin="DE", destination="FR")
    express = quote(SMALL, origin="DE", destination="FR", service="express")
    assert express.total > standard.total
    assert express.days < standard.days


def test_refused_parcels_say_why():
    with pytest.raises(ApiError, match="heavier"):
        quote(Parcel(40_000, 100, 100, 100), origin="DE", destination="DE")


def test_cheapest_in_time():
    quotes = [quote(SMALL, origin="DE", destination="FR", service=s) for s in ("standard", "express")]
    assert cheapest(quotes).service == "standard"
    assert cheapest(quotes, within_days=2).service == "express"
    assert cheapest(quotes, within_days=0) is None


def test_invoice_adds_up():
    items = [quote(SMALL, origin="DE", destination=d) for d in ("DE", "NL")]
    lines, total = invoice(items)
    assert [label for label, _ in lines] == ["1. standard", "2. standard"]
    assert total == lines[0][1] + lines[1][1]
