"""Conversions from a Rényi divergence: inverse to each other, ordered, and right where the truth is known."""

from fractions import Fraction

import pytest
from flint import arb
from hypothesis import assume, given
from hypothesis import strategies as st

from certified_dp import DPSGD, InvalidParameterError
from certified_dp.conversion import CONVERSIONS, delta_from_rdp_ball, epsilon_from_rdp_ball
from certified_dp.enclosure import ball, lower_end, upper_end, working_precision
from certified_dp.gaussian import gaussian_epsilon, rdp_gaussian_ball

orders = st.fractions(Fraction(11, 10), 500, max_denominator=100)
divergences = st.fractions(Fraction(1, 10**6), 100, max_denominator=10**6)
deltas = st.integers(1, 100).map(lambda k: Fraction(1, 3**k))


@pytest.mark.parametrize("conversion", CONVERSIONS)
@given(rdp=divergences, order=orders, delta=deltas)
def test_delta_inverts_epsilon(conversion: str, rdp: Fraction, order: Fraction, delta: Fraction) -> None:
    """δ at the ε of δ is δ, within the enclosures (the tangent's is searched, so only at most a little above)."""
    with working_precision(400):
        epsilon = epsilon_from_rdp_ball(ball(rdp), order, delta, conversion)
        assume(lower_end(epsilon) > 0)
        at_upper = delta_from_rdp_ball(ball(rdp), order, upper_end(epsilon), conversion)
        at_lower = delta_from_rdp_ball(ball(rdp), order, lower_end(epsilon), conversion)
        assert lower_end(at_upper) <= upper_end(at_lower)
        assert lower_end(at_lower) >= delta * (1 - Fraction(1, 10**15))
        assert upper_end(at_upper) <= delta * (1 + Fraction(1, 10**11))


@given(divergences, orders, deltas)
def test_order_of_the_conversions(rdp: Fraction, order: Fraction, delta: Fraction) -> None:
    """Balle's ε never exceeds Mironov's."""
    with working_precision(200):
        balle, mironov = (epsilon_from_rdp_ball(ball(rdp), order, delta, name) for name in ("balle", "mironov"))
        assert balle < mironov


@pytest.mark.parametrize("conversion", CONVERSIONS)
@given(order=orders, delta=deltas, sigma=st.fractions(Fraction(1, 2), 50, max_denominator=100))
def test_never_below_the_gaussian_truth(conversion: str, order: Fraction, delta: Fraction, sigma: Fraction) -> None:
    """At p = 1 the exact ε is known: no conversion at any order falls below it."""
    truth = gaussian_epsilon([DPSGD(sampling_probability=1, noise_multiplier=sigma, steps=1)], delta, 8)
    with working_precision(200):
        epsilon = epsilon_from_rdp_ball(rdp_gaussian_ball(sigma, order), order, delta, conversion)
        assert max(upper_end(epsilon), Fraction(0)) >= (truth.lower or 0)


def test_unknown_conversion() -> None:
    """A misspelt conversion is refused with the names that exist."""
    with pytest.raises(InvalidParameterError, match="one of balle, mironov, tangent"):
        epsilon_from_rdp_ball(arb(1), Fraction(2), Fraction(1, 10), "bale")
