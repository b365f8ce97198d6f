import pytest

from parcel.money import Money
from parcel.tariff import band, base_price, surcharges, volume_discount_percent


def test_band_of_common_weights():
    assert band(1) == 0
    assert band(750) == 1
    assert band(30_000) == 6


def test_over_the_last_band_is_an_error():
    with pytest.raises(ValueError):
        band(31_501)


def test_base_price_by_zone():
    assert base_price(0, 400) == Money(399)
    assert base_price(2, 7_000) == Money(2_799)


def test_discount_grows_with_volume():
    assert volume_discount_percent(0) == 0
    assert volume_discount_percent(60) == 5
    assert volume_discount_percent(5_000) == 20


def test_surcharges_in_invoice_order():
    names = [name for name, _ in surcharges(Money(1000), fragile=True, remote=True, customs=True)]
    assert names == ["fragile", "remote area", "customs", "fuel"]
