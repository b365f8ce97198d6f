import pytest

from parcel.money import Money


def test_parse_reads_cents():
    assert Money.parse("12.50").cents == 1250
    assert Money.parse("12").cents == 1200
    assert Money.parse("-0.99").cents == -99
    assert Money.parse("3.5").cents == 350


@pytest.mark.parametrize("text", ["", "1,50", "x", "1.x"])
def test_parse_refuses_what_is_no_amount(text):
    with pytest.raises(ValueError):
        Money.parse(text)


def test_percent_rounds_half_up():
    assert Money(1050).percent(5) == Money(53)
    assert Money(1000).percent(7) == Money(70)


def test_split_adds_up():
    parts = Money(1000).split(3)
    assert [p.cents for p in parts] == [334, 333, 333]


def test_currencies_do_not_mix():
    with pytest.raises(ValueError):
        Money(1) + Money(1, "CHF")


def test_repr_shows_two_digits():
    assert repr(Money(-5)) == "-0.05 EUR"
    assert repr(Money(1205)) == "12.05 EUR"
