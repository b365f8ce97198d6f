"""Amounts of money in whole cents, so that no sum ever drifts."""

from functools import total_ordering


@total_ordering
class Money:
    """An amount in one currency."""

    __slots__ = ("cents", "currency")

    def __init__(self, cents, currency="EUR"):
        if not isinstance(cents, int):
            raise TypeError(f"cents must be a whole number, not {cents!r}")
        self.cents = cents
        self.currency = currency

    @classmethod
    def parse(cls, text, currency="EUR"):
        """Read "12.50", "12" or "-0.99"."""
        whole, _, fraction = text.strip().partition(".")
        negative = whole.startswith("-")
        digits = whole.lstrip("+-")
        if not digits.isdigit() or (fraction and not fraction.isdigit()):
            raise ValueError(f"not an amount: {text!r}")
        cents = int(digits) * 100 + int(fraction.ljust(2, "0")[:2] or 0)
        return cls(-cents if negative else cents, currency)

    def _same(self, other):
        if self.currency != other.currency:
            raise ValueError(f"cannot mix {self.currency} and {other.currency}")

    def __add__(self, other):
        self._same(other)
        return Money(self.cents + other.cents, self.currency)

    def __sub__(self, other):
        self._same(other)
        return Money(self.cents - other.cents, self.currency)

    def __mul__(self, factor):
        return Money(int(round(self.cents * factor)), self.currency)

    __rmul__ = __mul__

    def percent(self, rate):
        """This share of the amount, rounded half up."""
        exact = self.cents * rate
        return Money((exact + 50) // 100, self.currency)

    def split(self, parts):
        """Divide into `parts` amounts that differ by at most a cent and add up to the whole."""
        if parts < 1:
            raise ValueError("parts must be at least 1")
        share, rest = divmod(self.cents, parts)
        return [Money(share + (1 if number < rest else 0), self.currency) for number in range(parts)]

    def __eq__(self, other):
        if not isinstance(other, Money):
            return NotImplemented
        return (self.cents, self.currency) == (other.cents, other.currency)

    def __lt__(self, other):
        self._same(other)
        return self.cents < other.cents

    def __hash__(self):
        return hash((self.cents, self.currency))

    def __repr__(self):
        sign = "-" if self.cents < 0 else ""
        return f"{sign}{abs(self.cents) // 100}.{abs(self.cents) % 100:02d} {self.currency}"
