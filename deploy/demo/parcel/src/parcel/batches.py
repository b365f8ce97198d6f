"""Loading many parcels: into vans, onto pages of labels, through a limit of the carrier's interface."""

from collections import defaultdict

VAN_WEIGHT_G = 800_000
VAN_VOLUME_CM3 = 9_000_000
LABELS_A_PAGE = 4


class Van:
    """What was loaded, and whether more goes in."""

    def __init__(self, weight_limit_g=VAN_WEIGHT_G, volume_limit_cm3=VAN_VOLUME_CM3):
        self.weight_limit_g = weight_limit_g
        self.volume_limit_cm3 = volume_limit_cm3
        self.parcels = []

    @property
    def weight_g(self):
        return sum(parcel.weight_g for parcel in self.parcels)

    @property
    def volume_cm3(self):
        return sum(parcel.volume_cm3 for parcel in self.parcels)

    def takes(self, parcel):
        fits_weight = self.weight_g + parcel.weight_g <= self.weight_limit_g
        fits_volume = self.volume_cm3 + parcel.volume_cm3 <= self.volume_limit_cm3
        return fits_weight and fits_volume

    def load(self, parcel):
        if not self.takes(parcel):
            raise ValueError("the van is full")
        self.parcels.append(parcel)


def fill_vans(parcels, **limits):
    """First-fit decreasing: heavy parcels first, each into the first van that takes it."""
    vans = []
    for parcel in sorted(parcels, key=lambda p: p.weight_g, reverse=True):
        for van in vans:
            if van.takes(parcel):
                van.load(parcel)
                break
        else:
            van = Van(**limits)
            van.load(parcel)
            vans.append(van)
    return vans


def pages(labels, size=LABELS_A_PAGE):
    """Labels in pages; the last may be short."""
    return [labels[start : start + size] for start in range(0, len(labels), size)]


def by_zone(shipments):
    """Group (zone, number) pairs: zone to numbers in the order given."""
    groups = defaultdict(list)
    for zone, number in shipments:
        groups[zone].append(number)
    return dict(groups)


def running_totals(amounts):
    """Each sum so far."""
    totals = []
    for amount in amounts:
        totals.append(totals[-1] + amount if totals else amount)
    return totals
