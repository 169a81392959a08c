"""Hypothesis strategies for runs of DP-SGD and what is asked about them; all values are exact and valid.

Every strategy shrinks towards simple parameters: one phase, one step, noise multiplier 1, probability 1/2, order 2.
"""

from collections.abc import Sequence
from fractions import Fraction

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from certified_dp.parameters import Number, Phase, exact, exact_integer, exact_positive

_SIMPLE_PROBABILITIES = tuple(Fraction(text) for text in ("1/2", "1/10", "1/100", "1/1000"))


def _decimals(least: Fraction, most: Fraction, simple: Sequence[Fraction]) -> SearchStrategy[Fraction]:
    """Draw from [least, most] by decades, after the simple values that lie there."""
    lowest = _decade(least)

    def scaled(mantissa: int, decade: int) -> Fraction:
        return min(max(Fraction(mantissa, 1000) * Fraction(10) ** (decade + 1), least), most)

    # Highest decade first: shrinking goes towards the larger, less extreme numbers.
    decades = st.sampled_from(range(_decade(most), lowest - 1, -1))
    anywhere = st.builds(scaled, st.integers(100, 1000), decades)
    inside = [value for value in simple if least <= value <= most]
    return st.one_of(st.sampled_from(inside), anywhere) if inside else anywhere


def _decade(value: Fraction) -> int:
    """Return e with 10^e ≤ value < 10^(e+1)."""
    exponent = len(str(value.numerator)) - len(str(value.denominator))
    return exponent if Fraction(10) ** exponent <= value else exponent - 1


def sampling_probabilities(least: Number = "1e-6", most: Number = "0.99") -> SearchStrategy[Fraction]:
    """Draw sampling probabilities, evenly over the decades from ``least`` > 0 to ``most`` ≤ 1.

    Example:
        >>> from hypothesis import find
        >>> find(sampling_probabilities(), lambda p: True)
        Fraction(1, 2)
    """
    return _decimals(exact_positive("least", least), exact("most", most), _SIMPLE_PROBABILITIES)


def noise_multipliers(least: Number = "0.3", most: Number = "300") -> SearchStrategy[Fraction]:
    """Draw noise multipliers (noise standard deviation / clip norm; the sensitivity under replacement is twice that).

    Example:
        >>> from hypothesis import find
        >>> find(noise_multipliers(), lambda sigma: sigma > 1)
        Fraction(2, 1)
    """
    simple = [Fraction(value) for value in (1, 2, 4, 8, 16)]
    return _decimals(exact_positive("least", least), exact_positive("most", most), simple)


def deltas(least: Number = "1e-30", most: Number = "0.1") -> SearchStrategy[Fraction]:
    """Draw δ, evenly over the decades; the default reaches far below what doubles handle after a subtraction from 1.

    Example:
        >>> from hypothesis import find
        >>> find(deltas(), lambda delta: delta < Fraction(1, 10**4))
        Fraction(1, 100000)
    """
    simple = [Fraction(1, 10**k) for k in (1, 2, 3, 5, 6, 8, 12)]
    return _decimals(exact_positive("least", least), exact("most", most), simple)


def orders(most: Number = 256, *, real: bool = True) -> SearchStrategy[Fraction]:
    """Draw Rényi orders above 1, up to ``most``: integers, and with ``real`` also thousandths from 1.001 on.

    Example:
        >>> from hypothesis import find
        >>> find(orders(), lambda order: order < 2).numerator > 1000
        True
    """
    largest = exact_integer("most", most, 2, "an integer ≥ 2")
    integers = st.integers(2, largest).map(Fraction)
    if not real:
        return integers
    return st.one_of(integers, st.integers(1001, 1000 * largest).map(lambda m: Fraction(m, 1000)))


def step_counts(most: Number = 10**6) -> SearchStrategy[int]:
    """Draw numbers of steps ≥ 1, evenly over the decades."""
    largest = exact_integer("most", most, 1, "an integer ≥ 1")
    return _decimals(Fraction(1), Fraction(largest), [Fraction(1)]).map(int)


@st.composite
def dpsgd_runs(
    draw: st.DrawFn,
    *,
    max_phases: int = 1,
    sampling_probability: SearchStrategy[Fraction] | None = None,
    noise_multiplier: SearchStrategy[Fraction] | None = None,
    steps: SearchStrategy[int] | None = None,
) -> tuple[Phase, ...]:
    """Draw runs of DP-SGD with fixed-size batches: 1 to ``max_phases`` phases, each part from its own strategy.

    Args: max_phases: ≥ 1.  sampling_probability, noise_multiplier, steps: default to the strategies of this module.

    Example:
        >>> from hypothesis import find
        >>> find(dpsgd_runs(), lambda run: True)
        (Phase(sampling_probability=Fraction(1, 2), noise_multiplier=Fraction(1, 1), steps=1),)
    """
    phase = st.builds(
        Phase,
        sampling_probabilities() if sampling_probability is None else sampling_probability,
        noise_multipliers() if noise_multiplier is None else noise_multiplier,
        step_counts() if steps is None else steps,
    )
    return tuple(draw(st.lists(phase, min_size=1, max_size=max_phases)))
