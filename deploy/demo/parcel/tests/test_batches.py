import pytest

from parcel.batches import Van, by_zone, fill_vans, pages, running_totals
from parcel.dimensions import Parcel


def box(weight_g):
    return Parcel(weight_g, 100, 100, 100)


def test_vans_are_filled_first_fit():
    vans = fill_vans([box(w) for w in (400, 700, 300, 500)], weight_limit_g=1000)
    assert [[p.weight_g for p in van.parcels] for van in vans] == [[700, 300], [500, 400]]


def test_a_full_van_refuses():
    van = Van(weight_limit_g=100)
    with pytest.raises(ValueError):
        van.load(box(200))


def test_pages_keep_the_rest():
    assert pages(list("abcdefghij")) == [list("abcd"), list("efgh"), list("ij")]


def test_by_zone_keeps_order():
    assert by_zone([(1, "a"), (2, "b"), (1, "c")]) == {1: ["a", "c"], 2: ["b"]}


def test_running_totals():
    assert running_totals([1, 2, 3]) == [1, 3, 6]
