"""What a zone and a weight cost."""

from parcel.money import Money

BANDS_G = (500, 1_000, 2_000, 5_000, 10_000, 20_000, 31_500)
CENTS = {
    0: (399, 449, 549, 749, 1_099, 1_899, 2_399),
    1: (749, 899, 1_149, 1_599, 2_199, 3_499, 4_299),
    2: (949, 1_149, 1_449, 1_999, 2_799, 4_299, 5_399),
    3: (1_249, 1_549, 1_949, 2_699, 3_799, 5_899, 7_299),
}
EXPRESS_FACTOR = 1.6
FRAGILE_PERCENT = 15
REMOTE_CENTS = 890
CUSTOMS_CENTS = 650
FUEL_PERCENT = 7


def band(weight_g):
    """The index of the first band that the weight does not exceed."""
    for index, limit in enumerate(BANDS_G):
        if weight_g <= limit:
            return index
    raise ValueError(f"{weight_g} g is over the last band")


def base_price(zone, weight_g):
    return Money(CENTS[zone][band(weight_g)])


def volume_discount_percent(parcels_a_month):
    """Contract customers: the more parcels, the less each."""
    steps = ((1_000, 20), (500, 15), (100, 10), (25, 5))
    for least, percent in steps:
        if parcels_a_month >= least:
            return percent
    return 0


def surcharges(price, *, fragile=False, remote=False, customs=False):
    """Name and amount of everything on top of the base price, in the order of the invoice."""
    lines = []
    if fragile:
        lines.append(("fragile", price.percent(FRAGILE_PERCENT)))
    if remote:
        lines.append(("remote area", Money(REMOTE_CENTS)))
    if customs:
        lines.append(("customs", Money(CUSTOMS_CENTS)))
    lines.append(("fuel", price.percent(FUEL_PERCENT)))
    return lines
