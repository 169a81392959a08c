"""The verdict on a claimed bound, from the certified bracket [floor, best] of the true value."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from certified_dp.errors import InvalidParameterError

Word = Literal["unsound", "consistent", "loose"]


@dataclass(frozen=True)
class Verdict:
    """A claimed upper bound, and the bracket it was held against; all exact.

    Attributes:
        claimed: what the accountant reported.
        floor: certified: the true value is at least this, so a smaller claim is false.
        best: certified: the true value is at most this, so a larger claim wastes privacy budget.
    """

    claimed: Fraction
    floor: Fraction
    best: Fraction

    @property
    def word(self) -> Word:
        """The verdict: "unsound" (below the floor: false), "loose" (above the best bound) or "consistent"."""
        if self.claimed < self.floor:
            return "unsound"
        return "loose" if self.claimed > self.best else "consistent"

    @property
    def excess(self) -> Fraction:
        """How far the claim lies outside the bracket: below 0 when unsound, above 0 when loose, else 0."""
        if self.claimed < self.floor:
            return self.claimed - self.floor
        return max(self.claimed - self.best, Fraction(0))

    @property
    def relative_excess(self) -> Fraction | None:
        """The excess as a share of the end of the bracket it was measured from; None where that end is 0."""
        end = self.floor if self.claimed < self.floor else self.best
        if self.excess == 0:
            return Fraction(0)
        return self.excess / end if end else None


def judge(claimed: Fraction, floor: Fraction, best: Fraction) -> Verdict:
    """Judge a claimed upper bound by the certified bracket of the true value.

    Guarantee: "unsound" only when the claim is below ``floor``, that is, certainly false; exact comparisons.
    Args: claimed: the claim.  floor, best: certified lower and upper bounds of the true value.
    Returns: `Verdict`; see its ``word`` and ``excess``.
    Raises: InvalidParameterError when the bracket is empty.

    Example:
        >>> verdict = judge(Fraction(5), Fraction("6.09"), Fraction("6.21"))
        >>> verdict.word, verdict.excess
        ('unsound', Fraction(-109, 100))
        >>> judge(Fraction(7), Fraction("6.09"), Fraction("6.21")).word
        'loose'
    """
    if floor > best:
        raise InvalidParameterError("floor", floor, f"at most the best bound {best}")
    return Verdict(claimed, floor, best)
