"""All accountants side by side on one run: bounds, the bracket for the truth, differences to lossless, times."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from certified_dp.accountant import epsilon
from certified_dp.errors import CertifiedDPError
from certified_dp.methods import METHODS, read_options
from certified_dp.parameters import Number, Phase, Run, as_phases, exact_delta
from certified_dp.result import Result

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from certified_dp.methods import OptionValues

_FIRST = ("theorem1", "birrell", "wang", "lossless", "single_pair_renyi", "kl_hinge")


@dataclass(frozen=True)
class Row:
    """One accountant's answer (None, with the reason in ``error``, when it refused) and the seconds it took."""

    method: str
    seconds: float
    result: Result | None
    error: str = ""


@dataclass(frozen=True)
class Comparison:
    """The accountants' rows, and ``best``: the smallest certified bound, with the floor when one was computed."""

    rows: tuple[Row, ...]
    best: Result

    def relative_difference(self, method: str) -> tuple[Fraction, Fraction] | None:
        """Return the exact ends of an interval that contains upper/lossless − 1, upper the method's certified bound.

        None when the method has no bound, or the lossless ε is not enclosed away from 0 (or is the method itself).
        """
        bound, lossless = self.best.bounds.get(method), self.best.bounds.get("lossless")
        if bound is None or lossless is None or bound is lossless or not lossless.lower:
            return None
        return bound.upper / lossless.upper - 1, bound.upper / lossless.lower - 1


def compare(run: Run, delta: Number, **options: Unpack[OptionValues]) -> Comparison:
    """Bound ε at δ by every method there is.

    Guarantee: as `certified_dp.epsilon`, for each row that has a result; the truth is between ``best.floor``, if
        known, and ``best.upper``.

    Args:
        run: a `DPSGD`, or several, composed.
        delta: in (0, 1).
        **options: see `read_options`.
    Raises: InvalidParameterError; CertifiedDPError when no method has an answer.

    Example:
        >>> from certified_dp import DPSGD
        >>> compare(DPSGD(sampling_probability=1, noise_multiplier=3, steps=50), "1e-5").best.method
        'gaussian'
    """
    phases, given = as_phases(run), exact_delta(delta)
    read_options(**options)  # a bad option is refused as a whole, not row by row
    names = list(dict.fromkeys(name for name in (*_FIRST, *METHODS) if name in METHODS and name != "floor"))
    if phases and all(phase.sampling_probability == 1 for phase in phases):
        names.append("best")  # there it is the Gaussian mechanism, exactly
    rows = [_row(name, phases, given, options) for name in names]
    results = [row.result for row in rows if row.result is not None]
    if not results:
        raise CertifiedDPError(f"no method has an answer; {rows[0].method}: {rows[0].error}")
    floors = [result.floor for result in results if result.floor is not None]
    if "floor" in METHODS and phases:
        rows.append(_row("floor", phases, given, options))
        result = rows[-1].result
        floors += [result.bound.lower] if result is not None and result.bound.lower is not None else []
    best = min(results, key=lambda result: result.upper)
    bounds = {result.method: result.bound for result in results}
    return Comparison(tuple(rows), replace(best, bounds=bounds, floor=max(floors, default=None)))


def _row(method: str, phases: tuple[Phase, ...], delta: Fraction, options: OptionValues) -> Row:
    start = time.perf_counter()
    try:
        result = epsilon(phases, delta, method=method, **options)
    except CertifiedDPError as error:
        return Row(method, time.perf_counter() - start, None, str(error))
    return Row(result.method, time.perf_counter() - start, result)
