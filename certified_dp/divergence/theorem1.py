"""The paper's one-step Rényi bound (Theorem 1): max over u in [0, 1/2] of J(u) = log F(u)/(α−1), certified.

Throughout p = sampling_probability, q = 1 − p, α = order, Δ = 2/noise_multiplier.
"""

import heapq
import math
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from certified_dp.divergence.curvature import curvature_bound
from certified_dp.divergence.moments import moment_at_zero_ball, moment_trapezoid_ball
from certified_dp.enclosure import ball, float_estimate, lower_end, refine, upper_end, working_precision
from certified_dp.errors import PrecisionExhaustedError

_HALF = Fraction(1, 2)
_MAX_EVALUATIONS = 20_000


@dataclass(frozen=True)
class Cell:
    """An interval of u on which J is at most ``key``, and why: upper bounds of J at its ends and of |J''| on it."""

    left: Fraction
    right: Fraction
    left_upper: Fraction
    right_upper: Fraction
    curvature: Fraction
    key: Fraction


@dataclass(frozen=True)
class Theorem1Bound:
    """lower ≤ max J ≤ upper, in nats, and how it was found.

    ``maximiser`` is the point where ``lower`` was found; ``reason`` is "large order" (Proposition 2(a)), "end points"
    (Proposition 2(b)) or "branch and bound", and then ``cells`` cover [0, 1/2], none with a key above ``upper``.
    """

    lower: Fraction
    upper: Fraction
    maximiser: Fraction
    evaluations: int
    reason: str
    cells: tuple[Cell, ...] = ()


def key_bound(left_upper: Fraction, right_upper: Fraction, curvature: Fraction, width: Fraction) -> Fraction:
    """Return the largest value of (1−t)·J̄(ℓ) + t·J̄(r) + κ(r−ℓ)²·t(1−t)/2 over t in [0, 1], exactly.

    Guarantee: an upper bound of J on [ℓ, r] when J̄ bounds J at both ends and κ bounds |J''| (or −J'') between them.
    Source: spec, (37). With K = κ(r−ℓ)² the parabola peaks at t = 1/2 + (J̄(r)−J̄(ℓ))/K; outside [0, 1] an end counts.

    >>> one = Fraction(1)
    >>> key_bound(one, one, 8 * one, one), key_bound(0 * one, 9 * one, 8 * one, one)
    (Fraction(2, 1), Fraction(9, 1))
    """
    bend, rise = curvature * width**2, right_upper - left_upper
    if 2 * abs(rise) >= bend:
        return max(left_upper, right_upper)
    return (left_upper + right_upper) / 2 + bend / 8 + rise**2 / (2 * bend)


def renyi_at_ball(
    noise_multiplier: Fraction, sampling_probability: Fraction, order: int, u: Fraction, *, prec: int
) -> arb:
    """Enclose J(u) = log F(u)/(α−1), with absolute accuracy about 2^−prec/(α−1) (relative at u = 0).

    Guarantee: the ball contains J(u), or an exception is raised.
    Source: spec, section 2; `moment_at_zero_ball` at u = 0, `moment_trapezoid_ball` elsewhere.

    >>> J = [renyi_at_ball(Fraction(2), Fraction(1, 100), 5, u, prec=60) for u in (Fraction(0), Fraction(1, 2))]
    >>> bool(J[0] < J[1])
    True
    """
    if u == 0:
        excess = moment_at_zero_ball(noise_multiplier, sampling_probability, order, prec=prec)
        with working_precision(prec + 30):
            return excess.log1p() / (order - 1)
    moment = moment_trapezoid_ball(noise_multiplier, sampling_probability, order, u, prec=prec)
    with working_precision(prec + 30):
        return moment.log() / (order - 1)


def maximum_is_at_zero(noise_multiplier: Fraction, p: Fraction, order: int, excess: arb) -> bool:
    """Decide whether Proposition 2(a), sharpened, puts the maximum of J at u = 0.

    Guarantee: True only when F(u) ≤ F(0) for every u in [0, 1/2]; False means undecided. ``excess`` is F(0) − 1.
    Source: spec, section 6, (20): with x = (α−1)pΔ²u and g = F(0)^(−1/α), F(u) ≤ F(0)·T(x),
        log T(x) = −(α−1)qx + α·log(1 + qg(e^x − 1)).
    Its derivative in x is −(α−1)q + αqge^x/(1 − qg + qge^x), increasing, so log T is convex with log T(0) = 0 and
    log T ≤ 0 at x = (α−1)pΔ²/2 settles every u. The paper's (19), p·e^{(α−1)qΔ²/2} ≥ α/(α−1), implies this.

    >>> excess = moment_at_zero_ball(Fraction(1), Fraction(1, 100), 20, prec=64)
    >>> maximum_is_at_zero(Fraction(1), Fraction(1, 100), 20, excess)
    True
    """
    q = ball(1 - p)
    x = ball((order - 1) * p * 2 / noise_multiplier**2)
    g = (-excess.log1p() / order).exp()
    return bool(order * (q * g * x.expm1()).log1p() <= (order - 1) * q * x)


def maximum_is_at_an_end(noise_multiplier: Fraction, p: Fraction, order: int) -> bool:
    """Decide whether Proposition 2(b) puts the maximum of J at u = 0 or u = 1/2.

    Guarantee: True only when every critical point of F in (0, 1/2) is a strict local minimum; False: undecided.
    Source: spec, section 2, shortcut (b): σ² > α and
        p ≤ 1/(1 + (3 + ((12√2+8)α + 8√2 − 8)/(σ²−α))·e^{2/σ² + 6/(σ²−α)}).

    >>> maximum_is_at_an_end(Fraction(10), Fraction(1, 100), 5), maximum_is_at_an_end(Fraction(2), Fraction(1, 100), 5)
    (True, False)
    """
    square = noise_multiplier**2
    if square <= order:
        return False
    root, gap = arb(2).sqrt(), square - order
    odds = 3 + ((12 * root + 8) * order + 8 * root - 8) / ball(gap)
    return bool(ball(p) * (1 + odds * ball(2 / square + 6 / gap).exp()) <= 1)


def rdp_theorem1(
    noise_multiplier: Fraction,
    sampling_probability: Fraction,
    order: int,
    *,
    accuracy: Fraction,
    prec: int | None = None,
) -> Theorem1Bound:
    """Bound the one-step Rényi divergence of fixed-size DP-SGD as the paper does, ρ(α, p, Δ) = max J on [0, 1/2].

    Guarantee: lower ≤ max J ≤ upper and upper − lower ≤ accuracy, or an exception is raised.
    Source: Theorem 1 (5); Proposition 2; branch and bound as in the paper's appendix B.2 (spec, section 2). The
        largest key of the cells that cover [0, 1/2] bounds the maximum, however the cells were chosen.
    Assumes: replace adjacency; per-record L2 norm ≤ C; noise standard deviation σ·C/batch_size on the mean gradient.
    Args: noise_multiplier: Fraction > 0.  sampling_probability: Fraction in (0, 1).  order: int ≥ 2.
        accuracy: Fraction > 0, absolute, in nats of one step.  prec: first precision in bits, or None to derive it.
    Returns: exact bounds, in nats.
    Raises: PrecisionExhaustedError.

    >>> bound = rdp_theorem1(Fraction(2), Fraction(1, 100), 5, accuracy=Fraction(1, 10**9))
    >>> bound.upper - bound.lower <= Fraction(1, 10**9), bound.maximiser, bound.reason
    (True, Fraction(1, 2), 'branch and bound')
    """
    sigma, p = noise_multiplier, sampling_probability
    fine = accuracy / 8
    first_prec = prec or (fine.denominator // fine.numerator).bit_length() + 8
    best = (Fraction(-1), Fraction(0))
    points: dict[Fraction, tuple[Fraction, Fraction]] = {}

    def upper_at(u: Fraction) -> Fraction:
        nonlocal best
        value = refine(
            lambda bits: renyi_at_ball(sigma, p, order, u, prec=bits),
            lambda x: upper_end(x) - lower_end(x) <= fine,
            prec=first_prec,
            what=f"J({u})",
        )
        points[u] = lower_end(value), upper_end(value)
        best = max(best, (points[u][0], u))
        return points[u][1]

    def result(upper: Fraction, reason: str, cells: tuple[Cell, ...] = ()) -> Theorem1Bound:
        return Theorem1Bound(best[0], upper, best[1], len(points), reason, cells)

    at_zero = upper_at(Fraction(0))
    with working_precision(first_prec):
        excess = moment_at_zero_ball(sigma, p, order, prec=first_prec)
        if maximum_is_at_zero(sigma, p, order, excess):
            return result(at_zero, "large order")
        only_ends = maximum_is_at_an_end(sigma, p, order)
    at_half = upper_at(_HALF)
    if only_ends:
        return result(max(at_zero, at_half), "end points")

    def cell(left: Fraction, right: Fraction, curvature: Fraction) -> tuple[Fraction, Fraction, Cell]:
        left_upper, right_upper = points[left][1], points[right][1]
        key = key_bound(left_upper, right_upper, curvature, right - left)
        return -key, left, Cell(left, right, left_upper, right_upper, curvature, key)

    heap = [cell(Fraction(0), _HALF, curvature_bound(sigma, p, order, _HALF))]
    while heap[0][2].key - best[0] > accuracy:
        if len(points) >= _MAX_EVALUATIONS:
            raise PrecisionExhaustedError(f"branch and bound at order {order}: {_MAX_EVALUATIONS} evaluations used")
        whole = heapq.heappop(heap)[2]
        middle = (whole.left + whole.right) / 2
        upper_at(middle)
        # The curvature bound depends on the right end only, so the right half keeps the one of the whole.
        heapq.heappush(heap, cell(whole.left, middle, curvature_bound(sigma, p, order, middle)))
        heapq.heappush(heap, cell(middle, whole.right, whole.curvature))
    cells = tuple(sorted((entry[2] for entry in heap), key=lambda item: item.left))
    return result(heap[0][2].key, "branch and bound", cells)


def rdp_theorem1_estimate(noise_multiplier: Fraction, sampling_probability: Fraction, order: int) -> float:
    """Estimate max(J(0), J(1/2)), for searches over orders: nothing is promised about it (inf when out of range).

    >>> 0.0005 < rdp_theorem1_estimate(Fraction(2), Fraction(1, 100), 5) < 0.0006
    True
    """
    try:
        excess = moment_at_zero_ball(noise_multiplier, sampling_probability, order, prec=30)
        with working_precision(53):
            at_zero = float_estimate(excess.log1p())
            if maximum_is_at_zero(noise_multiplier, sampling_probability, order, excess):
                return at_zero / (order - 1)
            lost = max(0, math.ceil(-float_estimate(excess.log()) / math.log(2)))  # bits of F − 1 below those of F
            moment = moment_trapezoid_ball(noise_multiplier, sampling_probability, order, _HALF, prec=24 + lost)
        with working_precision(53 + lost):
            return max(at_zero, float_estimate(moment.log())) / (order - 1)
    except PrecisionExhaustedError:
        return math.inf
