"""The grid methods against Rényi accounting on random runs: exact comparisons, no tolerance beyond the stated slack."""

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from certified_dp import DPSGD, Phase, epsilon
from certified_dp.composition.floor import floor_epsilon
from certified_dp.composition.kl_hinge import kl_hinge_epsilon

RUNS = st.builds(
    lambda p, sigma, steps: DPSGD(sampling_probability=p, noise_multiplier=sigma, steps=steps),
    st.fractions(Fraction(1, 1000), Fraction(9, 10), max_denominator=1000),
    st.fractions(Fraction(1, 2), 10, max_denominator=20),
    st.integers(1, 2000),
)


@settings(max_examples=25)
@given(RUNS, st.integers(2, 12).map(lambda k: Fraction(1, 10**k)))
def test_kl_hinge_is_never_worse_than_renyi(run: Phase, delta: Fraction) -> None:
    """KL hinges are optimal: kl_hinge ≤ Rényi at any real order by (6), up to the 0.2% of the grid; floor ≤ both."""
    renyi = epsilon(run, delta, method="single_pair_renyi").upper
    hinge = kl_hinge_epsilon([run], delta).epsilon
    assert hinge <= renyi * Fraction(1002, 1000)
    assert floor_epsilon([run], delta).epsilon <= min(renyi, hinge)
