"""The parcel itself: its size, its weight, and what a carrier makes of both."""

from dataclasses import dataclass

VOLUMETRIC_DIVISOR = 5000
MAX_WEIGHT_G = 31_500
MAX_GIRTH_MM = 3_600


@dataclass(frozen=True)
class Parcel:
    """A box. Weight in grams, edges in millimetres."""

    weight_g: int
    length_mm: int
    width_mm: int
    height_mm: int
    fragile: bool = False

    def __post_init__(self):
        for name in ("weight_g", "length_mm", "width_mm", "height_mm"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be positive")

    @property
    def volume_cm3(self):
        return self.length_mm * self.width_mm * self.height_mm / 1000

    @property
    def girth_mm(self):
        """Longest edge plus the way around the other two."""
        longest, middle, shortest = sorted((self.length_mm, self.width_mm, self.height_mm), reverse=True)
        return longest + 2 * (middle + shortest)

    @property
    def volumetric_weight_g(self):
        """Grams that a box of this volume counts as."""
        return int(self.volume_cm3 / VOLUMETRIC_DIVISOR * 1000)

    @property
    def chargeable_weight_g(self):
        return max(self.weight_g, self.volumetric_weight_g)

    def fits(self, other):
        """Whether this parcel can be packed inside `other`, turned as needed."""
        mine = sorted((self.length_mm, self.width_mm, self.height_mm))
        theirs = sorted((other.length_mm, other.width_mm, other.height_mm))
        return all(inner <= outer for inner, outer in zip(mine, theirs))


def problems(parcel):
    """Why the carrier would refuse this parcel; empty when it would not."""
    found = []
    if parcel.chargeable_weight_g > MAX_WEIGHT_G:
        found.append(f"heavier than {MAX_WEIGHT_G} g")
    if parcel.girth_mm > MAX_GIRTH_MM:
        found.append(f"girth over {MAX_GIRTH_MM} mm")
    return found
