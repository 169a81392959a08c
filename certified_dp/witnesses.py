"""Witnesses for one step: points of log F(u) and cells that cover [0, 1/2], with what the checker needs to redo them.

Everything here proposes. Values are evaluated in balls and rounded up, with room for the checker's own rounding; a
witness with too little room would be refused by the checker, never believed. Rules: proofs_checks/CERTIFICATE.md.
Symbols: p = sampling_probability, q = 1 − p, α = order, Δ = 2/noise_multiplier.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import Any, TypeAlias

from flint import arb

from certified_dp.divergence.curvature import curvature_bound, curvature_bound_uniform
from certified_dp.divergence.moments import _strip_and_step, moment_at_zero_ball, moment_trapezoid_ball
from certified_dp.divergence.single_pair import moment_real_order_ball
from certified_dp.divergence.theorem1 import key_bound, rdp_theorem1
from certified_dp.enclosure import ball, decimal_upper, lower_end, refine, upper_end
from certified_dp.errors import ResourceLimitError
from certified_dp.parameters import Phase, log_estimate

#: A step of a certificate: a rule and its fields.
Step: TypeAlias = dict[str, Any]

LARGEST_ORDER = 2048  # of the checker
_LARGEST_LIST = 1000  # of the checker
_HALF = Fraction(1, 2)
_LOG2 = math.log(2)


@dataclass(frozen=True)
class Witness:
    """A step, the value K that it concludes, and the bits that the checker needs to confirm it."""

    step: Step
    log_moment: Fraction
    bits: int


def decimal_between(low: Fraction, high: Fraction) -> str:
    """Print the decimal with the fewest digits in [low, high].

    >>> decimal_between(Fraction(1, 3), Fraction(1, 2)), decimal_between(Fraction(1, 3), Fraction(334, 1000))
    ('0.4', '0.334')
    """
    return next(text for digits in count(1) if Fraction(text := decimal_upper(low, digits)) <= high)


def bits_below(value: Fraction) -> int:
    """Return about −log₂ of a positive number, rounded up."""
    return max(0, math.ceil(-log_estimate(value) / _LOG2)) + 1


def closed_point(index: int, phase: Phase, order: Fraction, slack: Fraction) -> Witness:
    """Bound log F(0) at an integer order: rule ``point_closed``, K at most ``slack`` above the value.

    Args: index: the phase's number in the claim.
    """
    alpha = order.numerator
    value = refine(
        lambda prec: moment_at_zero_ball(phase.noise_multiplier, phase.sampling_probability, alpha, prec=prec).log1p(),
        lambda x: upper_end(x) - lower_end(x) <= slack / 8,
        prec=64,
        what="log F(0)",
    )
    text = _room(value, slack)
    # The checker's sum has α+1 terms, whose exponents are off by about α units.
    bits = bits_below(slack) + 2 * (alpha + 2).bit_length() + 8
    step = {"rule": "point_closed", "phase": index, "order": str(order), "log_moment": text}
    return Witness(step, Fraction(text), bits)


def _room(value: arb, slack: Fraction) -> str:
    """Round up, and leave between 3/8 and 1 of ``slack`` to the checker."""
    return decimal_between(upper_end(value) + slack / 2, lower_end(value) + slack)


def trapezoid_point(index: int, phase: Phase, order: Fraction, u: Fraction, slack: Fraction) -> Witness:
    """Bound log F(u) by quadrature: rule ``point_trapezoid``, K at most ``slack`` above the value.

    Any step, strip and range of nodes is valid. These leave to each of the rule's three errors (of the infinite sum,
    of the nodes left out, of rounding) a small part of ``slack``.
    Args: as `closed_point`; an integer order if u > 0.
    """
    sigma, p = phase.noise_multiplier, phase.sampling_probability
    wanted = bits_below(slack) + 5

    def log_moment(prec: int) -> arb:
        if u == 0:
            return moment_real_order_ball(sigma, p, order, prec=prec).log()
        return moment_trapezoid_ball(sigma, p, order.numerator, u, prec=prec).log()

    value = refine(log_moment, lambda x: upper_end(x) - lower_end(x) <= slack / 8, prec=wanted + 8, what=f"log F({u})")
    text = _room(value, slack)
    beta = math.exp(log_estimate(phase.sensitivity)) * (math.sqrt(2 * u) if u else 1)
    strip, width = _strip_and_step(beta, order.numerator - 1 if u else 0, wanted)
    d, h = Fraction(f"{strip:.4g}"), Fraction(f"{0.995 * width:.3g}")
    majorant = _majorant(phase, order, u, beta)
    negligible = float(Fraction(text)) - wanted * _LOG2
    first = -_last_node([(weight, -mode) for weight, mode in majorant], float(h), negligible)
    last = _last_node(majorant, float(h), negligible)
    # Rounding: each of the sums has up to α+1 terms, whose exponents are off by about α·(β|v|+1) units.
    reach = math.ceil((float(h) * max(-first, last) + 2) * (beta + 1))
    error = (math.ceil(order) + 2) * (last - first + 1 + (math.ceil(order) + 2) * reach)
    step = {
        "rule": "point_trapezoid", "phase": index, "order": str(order), "u": str(u), "step": str(h), "strip": str(d),
        "first": first, "last": last, "log_moment": text,
    }  # fmt: skip
    return Witness(step, Fraction(text), wanted + error.bit_length() + 8)


def _majorant(phase: Phase, order: Fraction, u: Fraction, beta: float) -> list[tuple[float, float]]:
    """Estimate (log weight, mode) of the normal densities whose sum the checker takes for what is left out."""
    alpha, p = float(order), phase.sampling_probability
    log_p, log_q, square = log_estimate(p), log_estimate(1 - p), float(phase.sensitivity) ** 2
    if u == 0:
        half = (alpha - 1) * _LOG2
        shifted = half + alpha * log_p + alpha * (alpha - 1) * square / 2
        return [(half + alpha * log_q, 0.0), (shifted, alpha * math.sqrt(square))]
    log_factorial = [math.lgamma(k + 1) for k in range(order.numerator + 1)]
    return [
        (log_factorial[-1] - log_factorial[k] - log_factorial[-1 - k] + (1 - k) * log_q + k * log_p
         + k * (k - 1) * square / 2, k * beta / 2)
        for k in range(order.numerator + 1)
    ]  # fmt: skip


def _last_node(majorant: Sequence[tuple[float, float]], step: float, negligible: float) -> int:
    """Find about the least n such that what the majorant has beyond n·step is negligible (a logarithm)."""
    allowed = negligible - math.log(2 * len(majorant))

    def is_enough(n: int) -> bool:
        distances = ((weight, n * step - mode) for weight, mode in majorant)
        return all(weight - (x * x / 2 if x >= 0 else -1 - step) <= allowed for weight, x in distances)

    high = 1
    while not is_enough(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


class Draft:
    """The steps of a certificate so far, and the bits that they need."""

    def __init__(self) -> None:
        """Begin with no steps."""
        self.steps: list[Step] = []
        self.bits = 64

    def add(self, step: Step, bits: int = 64) -> int:
        """Append a step and return its number."""
        self.steps.append(step)
        self.bits = max(self.bits, bits)
        return len(self.steps) - 1

    def point(self, witness: Witness) -> int:
        """Append a point and return its number."""
        return self.add(witness.step, witness.bits)


def gaussian_moment(draft: Draft, index: int, phase: Phase, order: Fraction) -> tuple[int, Fraction]:
    """Add the exact log-moment of a step with p = 1; returns its number and its value."""
    step = {"rule": "gaussian_moment", "phase": index, "order": str(order)}
    return draft.add(step), order * (order - 1) * phase.sensitivity**2 / 2


def single_pair_moment(
    draft: Draft, index: int, phase: Phase, order: Fraction, slack: Fraction
) -> tuple[int, Fraction]:
    """Add a bound on one step's log-moment by the domination theorem: closed form at integer orders, else quadrature.

    Returns: the number of the concluding step, and its value, which is at most ``slack`` above the truth.
    """
    if order.denominator == 1:
        witness = closed_point(index, phase, order, slack)
    else:
        witness = trapezoid_point(index, phase, order, Fraction(0), slack)
    return draft.add({"rule": "domination", "point": draft.point(witness)}), witness.log_moment


def theorem1_moment(draft: Draft, index: int, phase: Phase, order: Fraction, slack: Fraction) -> tuple[int, Fraction]:
    """Add a bound on one step's log-moment by Theorem 1: Proposition 2 (a) where (19) holds, else cells.

    Returns: as `single_pair_moment`.
    Raises: ResourceLimitError: more cells than a certificate may have.
    """
    alpha = order.numerator
    if _condition_19_holds(phase, alpha):
        witness = closed_point(index, phase, order, slack)
        return draft.add({"rule": "theorem1_at_zero", "point": draft.point(witness)}), witness.log_moment
    points, curvatures, target = _cells(index, phase, order, slack)
    text = decimal_between(target, target + slack / 4)
    step = {
        "rule": "theorem1_cells",
        "points": [draft.point(point) for point in points],
        "curvatures": [str(r) for r in curvatures],
        "log_moment": text,
    }
    # The checker multiplies its errors by up to α⁵Δ⁴ in the curvature.
    size = 6 * alpha.bit_length() + 2 * math.ceil(phase.sensitivity**2).bit_length()
    return draft.add(step, bits_below(slack) + size + 8), Fraction(text)


def _condition_19_holds(phase: Phase, order: int) -> bool:
    """Return whether p·e^{(α−1)qΔ²/2} ≥ α/(α−1) certainly holds."""

    def holds(prec: int) -> bool:
        p = phase.sampling_probability
        left = ball(p).log() + ball((order - 1) * (1 - p) * phase.sensitivity**2 / 2)
        return bool(left > ball(Fraction(order, order - 1)).log())

    return refine(holds, lambda settled: True, prec=96, what="(19)")


def _cells(
    index: int, phase: Phase, order: Fraction, slack: Fraction
) -> tuple[list[Witness], list[Fraction], Fraction]:
    """Divide [0, 1/2] until the key (37) of each cell is below a target that is at most ¾·slack above the maximum.

    Returns: points by rising u; for each cell the right end of the range that its curvature is taken of (0: the bound
        for all u); the target.
    """
    sigma, p, alpha = phase.noise_multiplier, phase.sampling_probability, order.numerator
    top = rdp_theorem1(sigma, p, alpha, accuracy=slack / (4 * (alpha - 1))).upper * (alpha - 1)
    target = top + slack / 2
    points: dict[Fraction, Witness] = {}

    def value(u: Fraction) -> Fraction:
        if u not in points:
            at_zero = closed_point(index, phase, order, slack / 4) if u == 0 else None
            points[u] = at_zero or trapezoid_point(index, phase, order, u, slack / 4)
        return points[u].log_moment

    uniform = curvature_bound_uniform(sigma, alpha)
    curvatures, undecided = [], [(Fraction(0), _HALF)]
    while undecided:
        left, right = undecided.pop()
        curvature = curvature_bound(sigma, p, alpha, right)
        bend = curvature * (alpha - 1) * (1 + Fraction(1, 1 << 20))  # the checker rounds differently
        if key_bound(value(left), value(right), bend, right - left) <= target:
            curvatures.append(Fraction(0) if curvature >= uniform else right)
            continue
        if len(points) == _LARGEST_LIST:
            raise ResourceLimitError(f"theorem1 at order {order}: more than {_LARGEST_LIST} points in a certificate")
        middle = (left + right) / 2
        undecided += [(middle, right), (left, middle)]
    return [points[u] for u in sorted(points)], curvatures, target
