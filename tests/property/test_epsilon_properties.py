"""What must hold of ε and δ by the Rényi methods, at random exact parameters; exact one-sided comparisons only."""

from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import Phase as Stage
from hypothesis import find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from certified_dp import DPSGD, Phase, delta, epsilon
from certified_dp.conversion import epsilon_from_rdp_ball
from certified_dp.divergence.single_pair import rdp_single_pair_ball
from certified_dp.enclosure import certainly_less, working_precision
from certified_dp.oracle.strategies import (
    deltas,
    dpsgd_runs,
    noise_multipliers,
    orders,
    sampling_probabilities,
    step_counts,
)

PREC = 200
METHOD = "single_pair_renyi"

sigmas = noise_multipliers("0.7", 50)
runs = dpsgd_runs(noise_multiplier=sigmas)
factors = st.sampled_from([Fraction(5, 4), Fraction(2), Fraction(100)])
# Larger noise and larger orders cost more, as the best order grows like σ².
small_factors = st.sampled_from([Fraction(101, 100), Fraction(3, 2), Fraction(4)])


def _epsilon(run: tuple[Phase, ...], at: Fraction) -> Fraction:
    return epsilon(run, at, method=METHOD, orders="integer").upper


@given(runs, deltas(), factors)
def test_epsilon_falls_with_delta(run: tuple[Phase, ...], at: Fraction, factor: Fraction) -> None:
    """A larger δ never gives a larger ε."""
    assert _epsilon(run, min(at * factor, Fraction(1, 2))) <= _epsilon(run, at)


@given(runs, deltas(), factors)
def test_epsilon_grows_with_steps(run: tuple[Phase, ...], at: Fraction, factor: Fraction) -> None:
    """More steps never give a smaller ε."""
    [phase] = run
    more = DPSGD(
        sampling_probability=phase.sampling_probability,
        noise_multiplier=phase.noise_multiplier,
        steps=1 + int(phase.steps * factor),
    )
    assert _epsilon(run, at) <= _epsilon((more,), at)


@given(runs, deltas(), small_factors)
def test_epsilon_falls_with_noise(run: tuple[Phase, ...], at: Fraction, factor: Fraction) -> None:
    """More noise never gives a larger ε."""
    [phase] = run
    quieter = Phase(phase.sampling_probability, phase.noise_multiplier * factor, phase.steps)
    assert _epsilon((quieter,), at) <= _epsilon(run, at)


@given(runs, deltas(), factors)
def test_epsilon_grows_with_probability(run: tuple[Phase, ...], at: Fraction, factor: Fraction) -> None:
    """A larger sampling probability never gives a smaller ε."""
    [phase] = run
    larger = Phase(min(phase.sampling_probability * factor, Fraction(1)), phase.noise_multiplier, phase.steps)
    assert _epsilon(run, at) <= _epsilon((larger,), at)


@given(dpsgd_runs(max_phases=3, noise_multiplier=sigmas), deltas())
def test_epsilon_of_a_part_is_at_most_that_of_the_whole(run: tuple[Phase, ...], at: Fraction) -> None:
    """Leaving out a phase never gives a larger ε."""
    assert _epsilon(run[1:], at) <= _epsilon(run, at)


@given(runs, deltas())
def test_delta_at_epsilon_is_at_most_delta(run: tuple[Phase, ...], at: Fraction) -> None:
    """δ(ε) at the upper bound of ε(δ) is not certainly above δ: the same order gives at most δ."""
    at_most = epsilon(run, at, method=METHOD, orders="integer").upper
    if at_most > 0:
        assert delta(run, at_most, method=METHOD, orders="integer").enclosure[0] <= at


@given(sigmas, sampling_probabilities(), step_counts(), deltas(), orders(40), small_factors, small_factors)
def test_epsilon_is_unimodal_across_orders(
    sigma: Fraction, p: Fraction, steps: int, at: Fraction, order: Fraction, left: Fraction, right: Fraction
) -> None:
    """ε(α) by (6) is strictly quasiconvex: between two orders it is below the larger of their values."""
    a = order
    b = 1 + (a - 1) * left
    c = 1 + (b - 1) * right
    with working_precision(PREC):
        at_a, at_b, at_c = (
            epsilon_from_rdp_ball(steps * rdp_single_pair_ball(sigma, p, x, prec=PREC), x, at) for x in (a, b, c)
        )
        assert certainly_less(at_b, at_c) if certainly_less(at_a, at_c) else certainly_less(at_b, at_a)


def test_a_falsified_example_prints_exact_parameters() -> None:
    """A failing example names every parameter as an exact rational, ready to be pasted."""

    @settings(phases=[Stage.generate, Stage.shrink])
    @given(dpsgd_runs())
    def claim(run: tuple[Phase, ...]) -> None:
        assert run[0].noise_multiplier <= 1

    with pytest.raises(AssertionError) as failure:
        claim()
    notes = "\n".join(failure.value.__notes__)
    assert "Fraction(1, 2)" in notes
    assert "Fraction(2, 1)" in notes


def test_strategies_stay_in_their_domain() -> None:
    """No draw lies outside the bounds asked for."""

    def outside(least: Fraction, most: Fraction) -> Callable[[Fraction], bool]:
        return lambda x: not least <= x <= most

    for strategy, least, most in (
        (sampling_probabilities("1e-12", 1), Fraction(1, 10**12), Fraction(1)),
        (noise_multipliers("0.3", 300), Fraction(3, 10), Fraction(300)),
        (deltas("1e-300", "0.001"), Fraction(1, 10**300), Fraction(1, 1000)),
    ):
        with pytest.raises(NoSuchExample):
            find(strategy, outside(least, most), settings=settings(max_examples=40))
