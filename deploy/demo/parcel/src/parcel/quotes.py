"""From a parcel and two places to a price."""

from dataclasses import dataclass, field
from typing import List, Tuple

from parcel.dimensions import problems
from parcel.money import Money
from parcel.tariff import EXPRESS_FACTOR, base_price, surcharges, volume_discount_percent
from parcel.zones import is_remote, needs_customs, zone

DAYS = {0: 1, 1: 2, 2: 4, 3: 6}


class ApiError(ValueError):
    """The carrier does not take this parcel."""


@dataclass(frozen=True)
class Quote:
    """A price, line by line, and how long it takes."""

    service: str
    days: int
    base: Money
    lines: Tuple[Tuple[str, Money], ...] = field(default=())

    @property
    def total(self):
        total = self.base
        for _, amount in self.lines:
            total = total + amount
        return total


def quote(parcel, *, origin, destination, postcode="", service="standard", parcels_a_month=0):
    """The price of one service; raises ApiError, or KeyError for a country that is not served."""
    refused = problems(parcel)
    if refused:
        raise ApiError("; ".join(refused))
    distance = zone(origin, destination)
    base = base_price(distance, parcel.chargeable_weight_g)
    days = DAYS[distance]
    if service == "express":
        base = base * EXPRESS_FACTOR
        days = max(1, days // 2)
    base = base - base.percent(volume_discount_percent(parcels_a_month))
    lines = surcharges(
        base,
        fragile=parcel.fragile,
        remote=is_remote(destination, postcode),
        customs=needs_customs(origin, destination),
    )
    return Quote(service=service, days=days, base=base, lines=tuple(lines))


def cheapest(quotes, *, within_days=None):
    """The cheapest quote that arrives in time, or None."""
    in_time = [q for q in quotes if within_days is None or q.days <= within_days]
    return min(in_time, key=lambda q: (q.total, q.days), default=None)


def invoice(quotes):
    """The lines of an invoice over several quotes, and its total."""
    lines: List[Tuple[str, Money]] = []
    total = Money(0)
    for number, item in enumerate(quotes, start=1):
        lines.append((f"{number}. {item.service}", item.total))
        total = total + item.total
    return lines, total
