"""Two lattices for tiny p and very many steps: still on its own side, whatever the window, the scale and the drops."""

from fractions import Fraction

import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from certified_dp.composition.compose import Coarsen, Repetition, coarsen_down, coarsen_up, compose, product
from certified_dp.composition.floor import floor_epsilon
from certified_dp.composition.kl_hinge import kl_hinge_epsilon
from certified_dp.composition.law import LatticeLaw, hockey_stick, hockey_stick_upper, kl_hinge, kl_hinge_upper
from certified_dp.composition.lossless import lossless_epsilon
from certified_dp.composition.one_step import Cells, Weights
from certified_dp.composition.two_scale import gather, split
from certified_dp.enclosure import ball, lower_end, upper_end, working_precision
from certified_dp.errors import ResourceLimitError
from certified_dp.parameters import Phase

PREC = 128
TILT = Fraction(3, 2)
STEP = Fraction(1, 16)
THRESHOLDS = [Fraction(k, 3) for k in range(-9, 10)]


def one_step(bulk: list[int], below: list[int], above: list[int], window: int, scale: int) -> tuple[Weights, Cells]:
    """Make a law with masses in hundredths near 0, and rarer ones on multiples of ``scale`` outside ±window."""
    window *= scale
    masses = {index: Fraction(mass, 100) for index, mass in zip(range(-1, window), bulk, strict=False)}
    masses |= {-window - scale * k: Fraction(mass, 10_000) for k, mass in enumerate(below)}
    masses |= {window + scale * k: Fraction(mass, 10_000) for k, mass in enumerate(above)}
    cells = Cells(sorted({*masses, -1, window}), Fraction(1, 50), STEP, (), window, scale)
    tilted = {index: ball(mass) * ball(TILT * cells.loss(index)).exp() for index, mass in masses.items()}
    return Weights(tilted, arb(0)), cells


def plain(law: LatticeLaw, count: int) -> LatticeLaw:
    """Compose by repeated products, dropping nothing."""
    result = law
    for _ in range(count - 1):
        result = product(result, law)
    return result


RARE = st.lists(st.integers(0, 40), max_size=4)


@given(
    st.lists(st.integers(5, 30), min_size=3, max_size=5),
    RARE,
    RARE,
    st.integers(1, 3),
    st.sampled_from([2, 4]),
    st.integers(2, 21),
    st.sampled_from([1e-12, 1e-3]),
)
def test_each_side_stays_on_its_side(
    bulk: list[int], below: list[int], above: list[int], window: int, scale: int, count: int, drop: float
) -> None:
    """Against plain products: E (R−K)_+ and the KL hinge of upper laws are above, of lower laws below."""
    with pytest.MonkeyPatch.context() as patch, working_precision(PREC):
        for module in ("compose", "two_scale"):
            patch.setattr(f"certified_dp.composition.{module}.COARSEN_ABOVE", 4)
        weights, cells = one_step(bulk, below, above, window, scale)
        exact = plain(weights.dense(cells, TILT), count)
        found = []
        sides: tuple[Coarsen, Coarsen] = (coarsen_up, coarsen_down)
        for coarsen in sides:
            both = split(weights, cells, TILT, coarsen)
            repetition = Repetition(count, float(STEP), 10.0)
            parts = gather(both, repetition, coarsen=coarsen, drop=drop, coarsen_budget=1.0)
            found.append(compose(parts, coarsen=coarsen, drop=drop, coarsen_budget=1.0, memory_limit=1 << 30))
        upper, lower = found
        for threshold in THRESHOLDS:
            truth = hockey_stick(exact, threshold)
            assert upper_end(hockey_stick_upper(upper, threshold)) >= lower_end(truth)
            assert lower_end(hockey_stick(lower, threshold)) <= upper_end(truth)
            assert upper_end(kl_hinge_upper(upper, threshold)) >= lower_end(kl_hinge(exact, threshold))


def test_a_mass_off_the_coarse_lattice_is_refused() -> None:
    """The split takes every mass or raises."""
    with working_precision(PREC):
        weights, cells = one_step([10, 20, 10], [], [5], 2, 2)
        weights.masses[5] = arb(1)
        with pytest.raises(ValueError, match="not on the coarse lattice"):
            split(weights, cells, TILT, coarsen_up)


def test_two_scales_agree_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """At (0.0005, 1, 4096, 1e-6), with the second lattice forced, the brackets overlap and move by less than 1%."""
    phases, delta, slack = [Phase(Fraction(1, 2000), Fraction(1), 4096)], Fraction(1, 10**6), Fraction(1, 100)
    hinge_one = kl_hinge_epsilon(phases, delta, relative_slack=slack).epsilon
    floor_one = floor_epsilon(phases, delta, relative_slack=slack).epsilon
    lossless_one = lossless_epsilon(phases, delta, relative_slack=slack)
    for module in ("compose", "two_scale", "grid"):
        monkeypatch.setattr(f"certified_dp.composition.{module}.COARSEN_ABOVE", 128)
    hinge = kl_hinge_epsilon(phases, delta, relative_slack=slack).epsilon
    floor = floor_epsilon(phases, delta, relative_slack=slack).epsilon
    lossless = lossless_epsilon(phases, delta, relative_slack=slack)
    assert floor_one <= hinge <= hinge_one * Fraction(101, 100)
    assert floor_one * Fraction(99, 100) <= floor <= hinge_one
    assert max(lossless_one.lower, lossless.lower) <= min(lossless_one.upper, lossless.upper)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("p", "steps", "delta", "wide"),
    [("1e-4", 10**6, "1e-6", "1.03"), ("1e-6", 10**6, "1e-5", "1.25"), ("1e-6", 10**9, "1e-5", "1.04")],
)
def test_tiny_rates_and_very_many_steps(p: str, steps: int, delta: str, wide: str) -> None:
    """A bracket in seconds, as tight as the theorem lets it be."""
    phases = [Phase(Fraction(p), Fraction(1), steps)]
    upper = kl_hinge_epsilon(phases, Fraction(delta)).epsilon
    lower = floor_epsilon(phases, Fraction(delta)).epsilon
    assert lower <= upper <= lower * Fraction(wide)
    assert lower <= lossless_epsilon(phases, Fraction(delta)).upper


def test_hopeless_sizes_are_refused() -> None:
    """(10⁻⁹, 1) at T = 10¹² within 4 MiB is refused at once."""
    with pytest.raises(ResourceLimitError, match="points needs about"):
        kl_hinge_epsilon([Phase(Fraction(1, 10**9), Fraction(1), 10**12)], Fraction(1, 10**5), memory_limit=1 << 22)
