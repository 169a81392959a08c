"""One step on the lattice: the spread lies above the exact curve, the hull below it, on coarse lattices too."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from certified_dp.composition import hull
from certified_dp.composition.grid import cells, plan
from certified_dp.composition.hull import Line, curve_below, lower_hull
from certified_dp.composition.law import hockey_stick, hockey_stick_upper, kl_hinge_upper
from certified_dp.composition.lossless import hockey_stick_ball
from certified_dp.composition.one_step import Cells, Curve, OneStep, lower_law, upper_law
from certified_dp.enclosure import ball, lower_ball, lower_end, upper_ball, upper_end, working_precision
from certified_dp.gaussian import normal_cdf
from certified_dp.parameters import Phase

PREC = 160
TILT = Fraction(3, 2)
PROBABILITIES = st.sampled_from([Fraction(1, 1000), Fraction(1, 20), Fraction(1, 2), Fraction(9, 10), Fraction(1)])
NOISES = st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(3), Fraction(10)])
STEPS = st.sampled_from([Fraction(1, 1000), Fraction(1, 50), Fraction(1, 3), Fraction(2)])


@st.composite
def lattices(draw: st.DrawFn, kink: bool = False) -> Cells:
    """Draw random cells, with 0 among their ends when asked for."""
    step = draw(STEPS)
    widths = draw(st.lists(st.integers(1, 4), min_size=3, max_size=25))
    below = draw(st.integers(1, len(widths) - 1))
    ends = [-sum(widths[:below])]
    for width in widths:
        ends.append(ends[-1] + width)
    shift = Fraction(0) if kink else step * draw(st.fractions(0, Fraction(9, 10), max_denominator=10))
    shares = draw(st.lists(st.sampled_from([Fraction(1, 9), Fraction(1, 2), Fraction(9, 10)]), min_size=len(widths)))
    touching = [
        shift + step * (left + share * (right - left))
        for left, right, share in zip(ends, ends[1:], shares, strict=False)
    ]
    return Cells(tuple(ends), shift, step, tuple(touching))


def exact_curve(phase: Phase, curve: Curve, loss: Fraction) -> arb:
    """Enclose the one-step stop-loss curve at γ = e^loss: the best event's P − γQ."""
    q, p = OneStep(phase).above(curve, loss)
    return p - ball(loss).exp() * q


def losses_of(chosen: Cells) -> list[Fraction]:
    """Take the ends, the touching points, and others inside and outside the cells."""
    ends = [chosen.loss(i) for i in chosen.indices]
    inside = [a + (b - a) * Fraction(k, 8) for a, b in pairwise(ends) for k in (1, 4, 7)]
    return [*ends, *chosen.touching, *inside, ends[0] - 1, ends[-1] + 1]


@given(PROBABILITIES, NOISES, lattices(), st.sampled_from([Curve.FORWARD, Curve.REVERSED]))
def test_hull_is_below_the_curve(p: Fraction, sigma: Fraction, chosen: Cells, curve: Curve) -> None:
    """The lower law's stop-loss curve is below the exact one inside every cell, whatever the lines' touching points."""
    phase = Phase(p, sigma, 1)
    law = lower_law(phase, curve, chosen, TILT, prec=PREC, working=PREC)
    with working_precision(PREC):
        for loss in losses_of(chosen):
            assert lower_end(hockey_stick(law, loss)) <= upper_end(exact_curve(phase, curve, loss))


@given(PROBABILITIES, NOISES, lattices(kink=True))
def test_hull_is_below_proposition_1(p: Fraction, sigma: Fraction, chosen: Cells) -> None:
    """The same for Proposition 1's curve, with its kink on the lattice."""
    phase = Phase(p, sigma, 1)
    law = lower_law(phase, Curve.SYMMETRIC, chosen, TILT, prec=PREC, working=PREC)
    with working_precision(PREC):
        for loss in losses_of(chosen):
            assert lower_end(hockey_stick(law, loss)) <= upper_end(exact_curve(phase, Curve.SYMMETRIC, loss))


def test_kink_must_be_a_lattice_point() -> None:
    """Proposition 1's lines hold on their own side of γ = 1 only, so a cell across 1 is refused."""
    chosen = Cells((-1, 1), Fraction(0), Fraction(1), (Fraction(1, 2),))
    with pytest.raises(ValueError, match="kink"):
        lower_law(Phase(Fraction(1, 2), Fraction(1), 1), Curve.SYMMETRIC, chosen, TILT, prec=PREC, working=PREC)
    chosen = Cells((-1, 0, 1), Fraction(0), Fraction(1), (Fraction(1, 3), Fraction(1, 2)))
    with pytest.raises(ValueError, match="outside"):
        lower_law(Phase(Fraction(1, 2), Fraction(1), 1), Curve.SYMMETRIC, chosen, TILT, prec=PREC, working=PREC)


def clamp_at_the_right_end(nodes: Sequence[arb], lines: Sequence[Line], start: Line) -> tuple[list[arb], list[arb]]:
    """Put 0 only at the right end of the first cell whose line is not positive there: unsound."""
    xs, ys = curve_below(nodes, lines, start)
    last = len(xs) - 2
    neighbours = [lines[last], start if last == 0 else lines[last - 1]]
    ys[-1] = min((lower_ball(p - nodes[last] * q) for q, p in neighbours), key=lower_end)
    return [*xs, nodes[last + 1]], [*ys, arb(0)]


def test_clamping_the_right_end_only_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """At p = 0.9, σ = 3 and a step of 1.7 that variant overshoots h* clearly, where the sound one stays below."""
    phase = Phase(Fraction(9, 10), Fraction(3), 1)
    step = Fraction(17, 10)
    ends = tuple(range(-3, 4))
    chosen = Cells(ends, Fraction(0), step, tuple(step * (i + Fraction(1, 2)) for i in ends[:-1]))
    points = [step * Fraction(k, 40) for k in range(-120, 121)]

    def overshoot() -> Fraction:
        law = lower_law(phase, Curve.FORWARD, chosen, TILT, prec=PREC, working=PREC)
        with working_precision(PREC):
            return max(
                lower_end(hockey_stick(law, x)) - upper_end(exact_curve(phase, Curve.FORWARD, x)) for x in points
            )

    assert overshoot() <= 0
    monkeypatch.setattr(hull, "curve_below", clamp_at_the_right_end)
    assert overshoot() > Fraction(1, 1000)


def test_lattice_above_the_mean_carries_no_mass() -> None:
    """Where the start line is negative at the first node, a chord to 0 there would pass above it."""
    with working_precision(PREC):
        nodes, start = [arb(2), arb(3)], (arb(1), arb(1))
        xs, ys = curve_below(nodes, [(arb(0), arb(0))], start)
        assert lower_hull(xs, ys) == []
        xs, ys = curve_below([arb(1), arb(3)], [(arb(0), arb(0))], start)  # all mass on γ = 1: exactly representable
        assert [k for k, _ in lower_hull(xs, ys)] == [1]


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 1000)), min_size=1, max_size=30))
def test_lower_hull_is_convex_and_below_the_points(moves: list[tuple[int, int]]) -> None:
    """Exactly: the jumps are positive, and the stop-loss curve they make is below every point."""
    xs, ys = [Fraction(0)], [Fraction(1)]
    for width, height in moves:
        xs.append(xs[-1] + Fraction(width, 64))
        ys.append(Fraction(height, 1024))
    ys[-1] = Fraction(0)
    with working_precision(PREC):
        jumps = lower_hull([ball(x) for x in xs], [ball(y) for y in ys])
        for x, y in zip(xs, ys, strict=True):
            curve = sum(((ball(xs[k]) - ball(x)) * jump for k, jump in jumps if xs[k] > x), arb(0))
            assert lower_end(curve) <= y
        assert all(lower_end(jump) >= 0 for _, jump in jumps)


@given(PROBABILITIES, NOISES, st.sampled_from([Curve.FORWARD, Curve.SYMMETRIC]), STEPS, st.integers(0, 3))
def test_spread_is_above_the_curve(p: Fraction, sigma: Fraction, curve: Curve, step: Fraction, shift: int) -> None:
    """The upper law with its cut tail is above the exact curve everywhere, however coarse its lattice, low its top."""
    phase = Phase(p, sigma, 1)
    offset = Fraction(0) if curve is Curve.SYMMETRIC else step * shift / 5
    chosen = Cells((-7, -4, -2, -1, 0, 1, 2, 3, 5, 9, 17), offset, step)
    law = upper_law(phase, curve, chosen, TILT, prec=PREC, working=PREC)
    with working_precision(PREC):
        for loss in losses_of(chosen):
            assert upper_end(hockey_stick_upper(law, loss)) >= lower_end(exact_curve(phase, curve, loss))


@given(PROBABILITIES, NOISES, st.fractions(-1, 6, max_denominator=4))
def test_cut_tail_covers_the_second_moment(p: Fraction, sigma: Fraction, z: Fraction) -> None:
    """τ at θ = 2 is above E r²·1{z > z_max} = q²Φ(−z) + 2pqΦ(Δ−z) + p²e^{Δ²}Φ(2Δ−z), and at most twice that."""
    with working_precision(PREC):
        step = OneStep(Phase(p, sigma, 1))
        delta, cut = step.sensitivity, ball(z)
        exact = (
            step.q**2 * normal_cdf(-cut)
            + 2 * step.p * step.q * normal_cdf(delta - cut)
            + step.p**2 * (delta**2).exp() * normal_cdf(2 * delta - cut)
        )
        bound = step.theta_mass_above(cut, arb(2))
        assert upper_end(exact) * Fraction(2001, 1000) >= lower_end(bound)
        assert lower_end(exact) <= upper_end(bound)


@given(PROBABILITIES, NOISES, st.sampled_from([Fraction(1, 20), Fraction(1, 5), Fraction(1)]))
def test_spread_raises_and_hull_lowers_the_second_moment(p: Fraction, sigma: Fraction, step: Fraction) -> None:
    """E r² = 1 + p²(e^{Δ²}−1) lies between the two laws' θ-masses at θ = 2 (t² is convex and increasing)."""
    phase = Phase(p, sigma, 1)
    chosen = plan([phase], delta=Fraction(1, 10**6), relative_slack=Fraction(1, 500), grid_step=step)
    above, below = (
        build(phase, Curve.FORWARD, cells(phase, Curve.FORWARD, chosen, upper=up), Fraction(2), prec=PREC, working=PREC)
        for build, up in ((upper_law, True), (lower_law, False))
    )
    with working_precision(PREC):
        exact = 1 + ball(p) ** 2 * ((ball(phase.sensitivity) ** 2).exp() - 1)
        assert lower_end(below.theta_mass()) <= upper_end(exact)
        assert upper_end(above.theta_mass() + above.dropped) >= lower_end(exact)


def test_cut_tail_is_needed() -> None:
    """The spread test has teeth: without the cut tail's θ-mass a low top would fall below the curve."""
    phase = Phase(Fraction(1, 20), Fraction(1), 1)
    chosen = Cells((-1, 0, 1, 2), Fraction(0), Fraction(1, 4))
    law = upper_law(phase, Curve.FORWARD, chosen, TILT, prec=PREC, working=PREC)
    with working_precision(PREC):
        exact = exact_curve(phase, Curve.FORWARD, Fraction(1, 4))
        assert upper_end(hockey_stick(law, Fraction(1, 4))) < lower_end(exact)
        assert upper_end(hockey_stick_upper(law, Fraction(1, 4))) >= lower_end(exact)
        assert upper_end(kl_hinge_upper(law, Fraction(1, 4))) > 0


@given(PROBABILITIES, NOISES, st.fractions(Fraction(1, 20), 20, max_denominator=20))
def test_proposition_1_curve_is_symmetric_and_dominates(p: Fraction, sigma: Fraction, gamma: Fraction) -> None:
    """h(γ) = 1 − γ + γ·h(1/γ), and h is at least both directions of the single pair, and 1 − γ, and 0."""
    phase = Phase(p, sigma, 1)
    with working_precision(PREC):
        value = hockey_stick_ball(p, sigma, gamma, prec=PREC)
        g = ball(gamma)
        assert value.overlaps(1 - g + g * hockey_stick_ball(p, sigma, 1 / gamma, prec=PREC))
        assert upper_end(value) >= max(Fraction(0), 1 - gamma)
        step = OneStep(phase)
        for x in (-1, 0, 1, 3):
            for q_mass, p_mass in (step.forward_above(arb(x)), step.reversed_above(arb(x))):
                assert upper_end(value) >= lower_end(p_mass - upper_ball(g) * q_mass)
