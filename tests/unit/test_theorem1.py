"""The certified maximum over u: never below J anywhere, as tight as asked, and its shortcuts implied by the paper's."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certified_dp.divergence.curvature import curvature_bound
from certified_dp.divergence.moments import moment_at_zero_ball, moment_reference_ball
from certified_dp.divergence.theorem1 import (
    key_bound,
    maximum_is_at_an_end,
    maximum_is_at_zero,
    rdp_theorem1,
    rdp_theorem1_estimate,
    renyi_at_ball,
)
from certified_dp.enclosure import ball, lower_end, upper_end, working_precision
from certified_dp.errors import PrecisionExhaustedError

probabilities = st.fractions(Fraction(1, 10**6), Fraction(99, 100), max_denominator=10**6)
noise_multipliers = st.fractions(Fraction(1), 20, max_denominator=1000)
points = st.fractions(0, Fraction(1, 2), max_denominator=10**4)
HALF = Fraction(1, 2)
REASONS = {"large order", "end points", "branch and bound"}


@settings(max_examples=60, deadline=None)
@given(noise_multipliers, probabilities, st.integers(2, 64), st.lists(points, min_size=3, max_size=3))
def test_bound_holds_at_random_points(sigma: Fraction, p: Fraction, order: int, us: list[Fraction]) -> None:
    """J(u), by the other quadrature too, is never above the bound, and lower ≤ upper ≤ lower + accuracy."""
    size = Fraction(rdp_theorem1_estimate(sigma, p, order))
    accuracy = size / 1000
    bound = rdp_theorem1(sigma, p, order, accuracy=accuracy)
    assert bound.lower <= bound.upper <= bound.lower + accuracy
    assert bound.reason in REASONS
    for u in us:
        assert lower_end(renyi_at_ball(sigma, p, order, u, prec=120)) <= bound.upper
        reference = moment_reference_ball(sigma, p, order, u, prec=60)
        with working_precision(120):
            assert lower_end(reference.log() / (order - 1)) <= bound.upper
    assert bound.lower <= upper_end(renyi_at_ball(sigma, p, order, bound.maximiser, prec=120))


@settings(max_examples=40, deadline=None)
@given(noise_multipliers, probabilities, st.integers(2, 64))
def test_two_accuracies_overlap(sigma: Fraction, p: Fraction, order: int) -> None:
    """A finer run encloses the same maximum."""
    size = Fraction(rdp_theorem1_estimate(sigma, p, order))
    coarse, fine = (rdp_theorem1(sigma, p, order, accuracy=size / digits) for digits in (10**2, 10**4))
    assert max(coarse.lower, fine.lower) <= min(coarse.upper, fine.upper)


@settings(max_examples=60, deadline=None)
@given(noise_multipliers, probabilities, st.integers(2, 64), points, points, st.fractions(0, 1, max_denominator=100))
def test_key_bounds_inner_points(
    sigma: Fraction, p: Fraction, order: int, u: Fraction, v: Fraction, share: Fraction
) -> None:
    """Q(ℓ, r) of (37) is at least J everywhere on [ℓ, r]."""
    left, right = sorted((u, v))
    if left == right:
        return
    at_left, at_right = (upper_end(renyi_at_ball(sigma, p, order, x, prec=60)) for x in (left, right))
    key = key_bound(at_left, at_right, curvature_bound(sigma, p, order, right), right - left)
    inner = left + share * (right - left)
    assert lower_end(renyi_at_ball(sigma, p, order, inner, prec=120)) <= key


@given(*[st.fractions(0, 5, max_denominator=50)] * 4, st.fractions(0, 1, max_denominator=50))
def test_key_is_the_largest_value_of_the_parabola(
    a: Fraction, b: Fraction, curvature: Fraction, width: Fraction, t: Fraction
) -> None:
    """No t in [0, 1] gives more than the key, exactly, and some t attains it."""
    key, bend = key_bound(a, b, curvature, width), curvature * width**2

    def parabola(t: Fraction) -> Fraction:
        return (1 - t) * a + t * b + bend * t * (1 - t) / 2

    assert parabola(t) <= key
    peak = Fraction(1, 2) + (b - a) / bend if bend else Fraction(0)
    assert key == max(parabola(Fraction(0)), parabola(Fraction(1)), parabola(min(max(peak, Fraction(0)), Fraction(1))))


def test_cells_cover_the_interval() -> None:
    """The leaves of a branch and bound run are adjacent, cover [0, 1/2], and none has a key above the result."""
    bound = rdp_theorem1(Fraction(2), Fraction(1, 100), 5, accuracy=Fraction(1, 10**12))
    assert bound.cells[0].left == 0
    assert bound.cells[-1].right == HALF
    assert all(a.right == b.left for a, b in zip(bound.cells, bound.cells[1:], strict=False))
    assert max(cell.key for cell in bound.cells) == bound.upper
    assert bound.evaluations == len(bound.cells) + 1
    for cell in bound.cells:
        assert cell.key == key_bound(cell.left_upper, cell.right_upper, cell.curvature, cell.right - cell.left)


@settings(max_examples=100, deadline=None)
@given(noise_multipliers, probabilities, st.integers(2, 256), st.fractions(0, HALF, max_denominator=1000))
def test_shortcut_a_is_right_and_follows_from_19(sigma: Fraction, p: Fraction, order: int, u: Fraction) -> None:
    """When it fires J(u) ≤ J(0), and it fires whenever (19) holds with a margin."""
    excess = moment_at_zero_ball(sigma, p, order, prec=100)
    with working_precision(100):
        fires = maximum_is_at_zero(sigma, p, order, excess)
        printed = ball(p) * ball((order - 1) * (1 - p) * 2 / sigma**2).exp() > ball(Fraction(order, order - 1))
    if printed:
        assert fires
    if fires:
        at_zero = upper_end(renyi_at_ball(sigma, p, order, Fraction(0), prec=100))
        assert lower_end(renyi_at_ball(sigma, p, order, u, prec=100)) <= at_zero


@settings(max_examples=100, deadline=None)
@given(
    st.fractions(3, 30, max_denominator=100),
    st.fractions(Fraction(1, 10**6), Fraction(1, 4), max_denominator=10**6),
    st.integers(2, 20),
    st.fractions(0, HALF, max_denominator=1000),
)
def test_shortcut_b_is_right(sigma: Fraction, p: Fraction, order: int, u: Fraction) -> None:
    """When it fires J(u) ≤ max(J(0), J(1/2))."""
    with working_precision(100):
        fires = maximum_is_at_an_end(sigma, p, order)
    if fires:
        ends = [upper_end(renyi_at_ball(sigma, p, order, x, prec=100)) for x in (Fraction(0), HALF)]
        assert lower_end(renyi_at_ball(sigma, p, order, u, prec=100)) <= max(ends)


@pytest.mark.parametrize(
    ("sigma", "p", "order", "reason"),
    [("1", "1/25", 30, "large order"), ("10", "1/100", 5, "end points"), ("2", "1/100", 5, "branch and bound")],
)
def test_each_reason_meets_a_scan(sigma: str, p: str, order: int, reason: str) -> None:
    """Each way of closing encloses the largest of 65 exact points from below, and names itself."""
    exact = Fraction(sigma), Fraction(p), order
    bound = rdp_theorem1(*exact, accuracy=Fraction(1, 10**12))
    assert bound.reason == reason
    scan = [renyi_at_ball(*exact, Fraction(k, 128), prec=80) for k in range(65)]
    assert max(lower_end(value) for value in scan) <= bound.upper
    assert bound.lower <= max(upper_end(value) for value in scan)  # the maximum is at an end in these three


def test_tiny_accuracy_and_refusal() -> None:
    """The accuracy of 1e9 steps at p = 1e−6 is reached; one that needs too many cells is refused."""
    bound = rdp_theorem1(Fraction(2), Fraction(1, 10**6), 4, accuracy=Fraction(1, 10**22))
    assert 0 < bound.lower <= bound.upper <= bound.lower + Fraction(1, 10**22)
    precise = rdp_theorem1(Fraction(2), Fraction(1, 100), 4, accuracy=Fraction(1, 10**40), prec=40)
    assert precise.upper - precise.lower <= Fraction(1, 10**40)
    with pytest.raises(PrecisionExhaustedError):
        rdp_theorem1(Fraction(1, 10**400), Fraction(1, 100), 4, accuracy=Fraction(1, 10**6))


@settings(max_examples=40, deadline=None)
@given(noise_multipliers, probabilities, st.integers(2, 256))
def test_estimate_is_near(sigma: Fraction, p: Fraction, order: int) -> None:
    """The float estimate is within one part in a thousand of max(J(0), J(1/2))."""
    estimate = Fraction(rdp_theorem1_estimate(sigma, p, order))
    ends = [renyi_at_ball(sigma, p, order, u, prec=120) for u in (Fraction(0), HALF)]
    truth = max(upper_end(value) for value in ends)
    assert abs(estimate - truth) * 1000 <= truth


@pytest.mark.parametrize("sigma", ["1/10", "1", "20", "300"])
@pytest.mark.parametrize("p", ["1/1000000000000", "1/100", "999999/1000000"])
@pytest.mark.parametrize("order", [2, 50, 4000])
def test_estimate_never_overflows(sigma: str, p: str, order: int) -> None:
    """Extreme settings give a positive finite float; what fits no ball gives inf."""
    assert 0 < rdp_theorem1_estimate(Fraction(sigma), Fraction(p), order) < math.inf
    assert rdp_theorem1_estimate(Fraction(1, 10**400), Fraction(p), order) == math.inf
