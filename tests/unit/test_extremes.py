"""Extreme but valid inputs: certified on the right side, or refused by this package's own errors."""

from contextlib import suppress
from fractions import Fraction
from typing import Any

import pytest
from flint import arb

from certified_dp import DPSGD, CertifiedDPError, ResourceLimitError, delta, epsilon
from certified_dp.composition.floor import floor_delta
from certified_dp.composition.hull import curve_below, hull_masses
from certified_dp.composition.lossless import lossless_epsilon
from certified_dp.enclosure import ball, upper_end, working_precision
from certified_dp.gaussian import gaussian_delta_ball
from certified_dp.parameters import as_phases


def gaussian_truth(sigma: str, at: int) -> Fraction:
    """Return an upper end of the exact δ of one full-batch step, so tight that a floor above it is wrong."""
    with working_precision(4000):
        return upper_end(gaussian_delta_ball(ball(2 / Fraction(sigma)), Fraction(at)))


@pytest.mark.parametrize(("sigma", "at"), [("0.05", 400), ("0.03", 1550), ("0.03", 1636), ("0.02", 4037)])
def test_floor_where_all_losses_are_far_above_0(sigma: str, at: int) -> None:
    """With Δ in the tens the law begins far above ratio 1; the floor still stays below the exact δ near 1."""
    phases = as_phases(DPSGD(sampling_probability=1, noise_multiplier=sigma, steps=1))
    assert floor_delta(phases, Fraction(at)).delta <= gaussian_truth(sigma, at)


@pytest.mark.parametrize(("sigma", "at"), [("0.071", 110), ("0.073", 80), ("0.075", 70)])
def test_floor_of_a_full_batch_beside_a_negligible_phase(sigma: str, at: int) -> None:
    """A phase whose total variation is below 1e-30 changes δ by no more than that."""
    run = [
        DPSGD(sampling_probability=1, noise_multiplier=sigma, steps=1),
        DPSGD(sampling_probability="1e-30", noise_multiplier=2, steps=1),
    ]
    floor = delta(run, at).floor
    assert floor is not None
    assert floor <= gaussian_truth(sigma, at) + Fraction(1, 10**30)


def test_a_lattice_that_begins_above_the_mean_gives_no_mass() -> None:
    """Where 1 − γ is negative at the first lattice point nothing can be put below the curve: not 1/e at e."""
    with working_precision(100):
        nodes = [arb(1).exp(), arb(2).exp()]
        assert hull_masses(nodes, [(arb(0), arb(0))], (arb(1), arb(1))) == []
        assert curve_below(nodes, [(arb(0), arb(0))], (arb(1), arb(1)))[1] == [0]


@pytest.mark.parametrize("method", ["best", "kl_hinge", "lossless", "single_pair_renyi"])
def test_very_little_noise(method: str) -> None:
    """σ = 0.05, losses of a thousand nats: the bracket is ordered and holds for the two questions."""
    run = DPSGD(sampling_probability="0.01", noise_multiplier="0.05", steps=1)
    result = epsilon(run, "1e-6", method=method)
    assert 900 < result.upper < 10_000
    assert (result.floor or 0) <= result.upper
    assert delta(run, 5, method=method).upper >= Fraction(99, 10_000)


@pytest.mark.parametrize(
    "changes",
    [
        {"steps": 10**400},
        {"noise_multiplier": "1e400"},
        {"noise_multiplier": "1e-400"},
        {"noise_multiplier": "1e-17"},
    ],
)
@pytest.mark.parametrize("method", ["best", "kl_hinge", "single_pair_renyi"])
def test_what_cannot_be_computed_is_refused(changes: dict[str, Any], method: str) -> None:
    """Beyond the range of the float searches: a bound, or a refusal that a caller can catch, never another error."""
    run = DPSGD(**{"sampling_probability": "0.01", "noise_multiplier": 2, "steps": 10, **changes})
    with suppress(CertifiedDPError):
        assert epsilon(run, "1e-6", method=method).upper >= 0


@pytest.mark.parametrize("method", ["best", "kl_hinge", "lossless", "single_pair_renyi", "theorem1"])
def test_huge_epsilon(method: str) -> None:
    """δ at ε = 1e400 is refused or bounded."""
    run = DPSGD(sampling_probability="0.01", noise_multiplier=2, steps=10)
    with suppress(CertifiedDPError):
        assert 0 <= delta(run, "1e400", method=method).upper <= 1


def test_memory_is_checked_before_any_work() -> None:
    """A lattice step of 1e-8 needs gigabytes: refused at once, with the sizes."""
    run = as_phases(DPSGD(sampling_probability="0.01", noise_multiplier=1, steps=1))
    with pytest.raises(ResourceLimitError, match="MiB"):
        lossless_epsilon(run, Fraction(1, 10**6), grid_step=Fraction(1, 10**8), memory_limit=1 << 20)


def test_gaussian_delta_is_a_probability() -> None:
    """δ at ε = 0 of a run that hides nothing is 1, not a little more."""
    assert delta(DPSGD(sampling_probability=1, noise_multiplier="0.01", steps=1000), 0).upper == 1
