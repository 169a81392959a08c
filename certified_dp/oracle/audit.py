"""The audit of a claimed ε: false, consistent with the certified bracket, or needlessly large."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from certified_dp.accountant import epsilon
from certified_dp.enclosure import decimal_lower, decimal_upper
from certified_dp.oracle.verdict import Verdict, judge
from certified_dp.parameters import Number, Run, exact_epsilon
from certified_dp.result import Result, decimal_exact

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from certified_dp.methods import OptionValues

#: The run whose true ε is at least the floor (domination theorem, Floor).
BREAKING_RUN = (
    "the run that breaks it: every record's clipped gradient is −C·e for one fixed unit vector e, except the one "
    "record in which the two datasets differ, whose gradient is +C·e in one of them and −C·e in the other; "
    "all iterates released"
)


@dataclass(frozen=True)
class Audit:
    """A claim held against the certified bracket of ``result``."""

    verdict: Verdict
    result: Result

    def __str__(self) -> str:
        """Say the verdict and its reason in a few lines."""
        claim, digits = decimal_exact(self.verdict.claimed), self.result.digits
        floor, best = decimal_lower(self.verdict.floor, digits), decimal_upper(self.verdict.best, digits)
        if self.verdict.word == "unsound":
            return (
                f"unsound: the claim ε = {claim} is below {floor}, certified for the release of all iterates\n"
                f"{BREAKING_RUN}"
            )
        if self.verdict.word == "loose":
            share = self.verdict.relative_excess
            by = "" if share is None else f", by {decimal_lower(100 * share, 3)}%"
            return f"loose: the claim ε = {claim} is above {best}, which is certified by {self.result.method}{by}"
        return f"consistent: the claim ε = {claim} lies within the certified bracket [{floor}, {best}]"


def audit(run: Run, claim: Number, delta: Number, **options: Unpack[OptionValues]) -> Audit:
    """Judge a claimed ε at δ for a run of fixed-batch-size DP-SGD under replace adjacency.

    Guarantee: "unsound" only if an actual DP-SGD run with these parameters, all iterates released, is not
        (claim, δ)-DP; "loose" only if every such run is certified to a smaller ε.
    Source: the bracket of `certified_dp.epsilon` with method "best".
    Args: run, delta, options: as in `certified_dp.epsilon`.  claim: the ε that somebody reports, ≥ 0.
    Raises: InvalidParameterError, PrecisionExhaustedError, ResourceLimitError.

    Example:
        >>> from certified_dp import DPSGD
        >>> print(audit(DPSGD(sampling_probability=1, noise_multiplier=3, steps=50), "31", "1e-5"))
        loose: the claim ε = 31 is above 30.5063, which is certified by gaussian, by 1.61%
    """
    claimed = exact_epsilon(claim)
    result = epsilon(run, delta, method="best", **options)
    floor, best = result.enclosure
    return Audit(judge(claimed, floor, best), result)
