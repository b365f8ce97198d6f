import pytest

from parcel.dimensions import MAX_WEIGHT_G, Parcel, problems


def box(weight_g=1000, length_mm=300, width_mm=200, height_mm=100, **more):
    return Parcel(weight_g, length_mm, width_mm, height_mm, **more)


def test_volumetric_weight_counts_when_larger():
    assert box(weight_g=1000).chargeable_weight_g == 1200
    assert box(weight_g=1500).chargeable_weight_g == 1500


def test_girth_is_longest_plus_way_around():
    assert box().girth_mm == 300 + 2 * (200 + 100)


def test_a_smaller_box_fits_turned():
    assert box(length_mm=90, width_mm=290, height_mm=190).fits(box())
    assert not box(length_mm=301).fits(box())


def test_edges_must_be_positive():
    with pytest.raises(ValueError, match="height_mm"):
        box(height_mm=0)


def test_problems_name_each_limit():
    assert problems(box()) == []
    assert problems(box(weight_g=MAX_WEIGHT_G)) == []
    assert len(problems(box(weight_g=MAX_WEIGHT_G + 1, length_mm=4000))) == 2
