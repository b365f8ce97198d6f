import pytest

from parcel.zones import countries, is_remote, needs_customs, served, zone


def test_zone_is_that_of_the_farther_end():
    assert zone("DE", "DE") == 0
    assert zone("DE", "NL") == 1
    assert zone("FR", "NL") == 2
    assert zone("GR", "AT") == 3


def test_an_unserved_country_is_an_error():
    with pytest.raises(KeyError):
        zone("DE", "XX")


def test_served_lists_home_too():
    assert "DE" in served()
    assert served() == sorted(served())


def test_customs_only_across_the_border():
    assert needs_customs("DE", "CH")
    assert not needs_customs("CH", "CH")
    assert not needs_customs("DE", "FR")


def test_remote_by_prefix():
    assert is_remote("FR", "20 000")
    assert not is_remote("FR", "75001")
    assert not is_remote("NL", "1011")


def test_countries_in_small_letters():
    assert countries("de,fr") == {"DE", "FR"}
