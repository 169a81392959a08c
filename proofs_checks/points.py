"""Seeded random exact points: the same on every machine, all rational."""

import random
from fractions import Fraction


class Points:
    """A seeded source of exact rationals.

    >>> Points("an example").between(Fraction(1), Fraction(2)) == Points("an example").between(Fraction(1), Fraction(2))
    True
    """

    def __init__(self, name: str) -> None:
        """Start the sequence that belongs to ``name``."""
        self._random = random.Random(name)

    def between(self, low: int | Fraction, high: int | Fraction, denominator: int = 1000) -> Fraction:
        """Return a rational strictly between the bounds, uniform on a grid of ``denominator`` parts."""
        return Fraction(low) + (Fraction(high) - low) * Fraction(self._random.randint(1, denominator - 1), denominator)

    def integer(self, low: int, high: int) -> int:
        """Return an integer, both bounds included."""
        return self._random.randint(low, high)

    def choice(self, *options: Fraction) -> Fraction:
        """Return one of the options."""
        return self._random.choice(options)

    def probability(self) -> Fraction:
        """Return p in (0, 1), small values as likely as large ones."""
        return self.between(0, 1) * self.choice(Fraction(1), Fraction(1, 10), Fraction(1, 100))

    def in_disc(self, radius: Fraction) -> tuple[Fraction, Fraction]:
        """Return a rational point of the closed disc."""
        while True:
            x, y = self.between(-radius, radius), self.between(-radius, radius)
            if x * x + y * y <= radius * radius:
                return x, y

    def on_circle(self, radius: Fraction) -> tuple[Fraction, Fraction]:
        """Return a rational point of the circle."""
        t = self.between(-4, 4)
        scale = radius / (1 + t * t)
        return scale * (1 - t * t), scale * 2 * t
