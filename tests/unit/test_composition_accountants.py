"""kl_hinge, floor and lossless: known values, order, monotonicity, extremes, adaptive adversaries by brute force."""

import csv
import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from flint import ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from certified_dp.composition.floor import floor_delta, floor_epsilon
from certified_dp.composition.kl_hinge import kl_hinge_delta, kl_hinge_epsilon
from certified_dp.composition.lossless import lossless_delta, lossless_epsilon
from certified_dp.composition.one_step import Curve
from certified_dp.enclosure import ball, lower_end, upper_end, working_precision
from certified_dp.errors import ResourceLimitError
from certified_dp.gaussian import gaussian_delta_ball
from certified_dp.parameters import DPSGD, Phase, as_phases

TABLES = Path(__file__).resolve().parents[2] / "certified_dp" / "paper" / "paper_tables.csv"
COARSE = Fraction(1, 50)


def run(p: str, sigma: str, steps: int) -> tuple[Phase, ...]:
    """Describe one phase."""
    return as_phases(DPSGD(sampling_probability=p, noise_multiplier=sigma, steps=steps))


# (p, σ, T, δ), float references of kl_hinge and floor (domination theorem, “How much it gives”)
REFERENCES = [
    ("0.01", "2", 8000, "1e-6", "6.197", "6.105"),
    ("0.0025", "2", 64000, "1e-6", "4.076", "4.017"),
    ("0.01", "2", 32000, "1e-6", "13.726", "13.540"),
    ("0.0025", "4", 8000, "1e-6", "0.4934", "0.4853"),
    ("0.04", "6", 1000, "1e-8", "2.413", "2.387"),
    ("0.0025", "1", 250, "1e-6", "5.205", "5.042"),
    ("256/60000", "1.1", 14063, "1e-7", "18.66", "18.33"),
]


@pytest.mark.parametrize(("p", "sigma", "steps", "delta", "hinge", "floor"), REFERENCES)
def test_reference_brackets(p: str, sigma: str, steps: int, delta: str, hinge: str, floor: str) -> None:
    """kl_hinge is at most 0.2% above its reference, floor at most 0.2% below, and floor ≤ kl_hinge."""
    phases, exact_delta = run(p, sigma, steps), Fraction(delta)
    upper = kl_hinge_epsilon(phases, exact_delta).epsilon
    lower = floor_epsilon(phases, exact_delta).epsilon
    assert Fraction(floor) * Fraction(998, 1000) <= lower < upper <= Fraction(hinge) * Fraction(1002, 1000)


def test_wide_settings() -> None:
    """Where ε is in the hundreds, or Δ = 20, the brackets stay within a few per cent (δ = 1e-6, 1e-5)."""
    wide = run("0.125", "0.8", 1000)
    assert kl_hinge_epsilon(wide, Fraction(1, 10**6)).epsilon <= 315
    assert floor_epsilon(wide, Fraction(1, 10**6)).epsilon >= Fraction("308.9")
    wide = run("0.2", "1", 500)
    assert kl_hinge_epsilon(wide, Fraction(1, 10**5)).epsilon <= 170
    assert floor_epsilon(wide, Fraction(1, 10**5)).epsilon >= Fraction("166.4")
    violent = run("250/60000", "0.1", 14400)
    upper = kl_hinge_epsilon(violent, Fraction(1, 10**5)).epsilon
    lower = floor_epsilon(violent, Fraction(1, 10**5)).epsilon
    assert 18000 < lower <= lossless_epsilon(violent, Fraction(1, 10**5)).upper
    assert lower <= upper <= lower * Fraction(11, 10)


@pytest.mark.parametrize(
    ("p", "sigma", "steps", "delta", "low", "high"),
    [
        ("0.01", "2", 8000, "1e-6", "7.8447", "7.8449"),
        ("0.0025", "4", 8000, "1e-6", ".5699", ".5701"),
        ("0.04", "6", 1000, "1e-8", "2.6187", "2.6189"),
        ("0.0025", "2", 64000, "1e-6", "5.3142", "5.3145"),
    ],
)
def test_lossless_enclosures(p: str, sigma: str, steps: int, delta: str, low: str, high: str) -> None:
    """The enclosure overlaps the known interval and is less than 0.5% wide."""
    found = lossless_epsilon(run(p, sigma, steps), Fraction(delta))
    assert found.lower <= Fraction(high)
    assert found.upper >= Fraction(low)
    assert found.upper - found.lower < found.upper / 200


def test_pessimistic_grid_of_the_paper() -> None:
    """Connect the dots on losses i·10⁻⁴ gives 0.5701, rounded to nearest."""
    step = Fraction(1, 10_000)
    upper = lossless_epsilon(run("0.0025", "4", 8000), Fraction(1, 10**6), grid_step=step).upper
    assert abs(upper - Fraction("0.5701")) <= Fraction(1, 20_000)


@pytest.mark.slow
def test_pessimistic_grid_of_the_paper_at_large_settings() -> None:
    """The same at the settings that take seconds: 2.6188, 7.8449 and 5.3145."""
    step = Fraction(1, 10_000)
    for setting, delta, printed in (
        (run("0.04", "6", 1000), Fraction(1, 10**8), "2.6188"),
        (run("0.01", "2", 8000), Fraction(1, 10**6), "7.8449"),
        (run("0.0025", "2", 64000), Fraction(1, 10**6), "5.3145"),
    ):
        upper = lossless_epsilon(setting, delta, grid_step=step).upper
        assert abs(upper - Fraction(printed)) <= Fraction(1, 20_000)


def table_rows() -> list[dict[str, str]]:
    """Read the rows of the paper's tables that print a number for the lossless accountant."""
    with TABLES.open(encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if row["lossless"].replace(".", "").isdigit()]


def check_row(row: dict[str, str]) -> None:
    """Check that the lossless enclosure meets the printed interval, and that floor is below both upper bounds."""
    phases, delta = run(row["p"], row["sigma"], int(row["T"])), Fraction(row["delta"])
    printed, half = Fraction(row["lossless"]), Fraction(5, 1000)
    found = lossless_epsilon(phases, delta)
    assert found.lower <= printed + half
    if found.upper < printed - half:  # the print is a 10⁻⁴ grid's upper bound
        assert lossless_epsilon(phases, delta, grid_step=Fraction(1, 10_000)).upper >= printed - half
    lower = floor_epsilon(phases, delta).epsilon
    assert lower <= found.upper
    assert lower <= kl_hinge_epsilon(phases, delta).epsilon


@pytest.mark.parametrize("index", [0, 48, 90, 140, 232])
def test_lossless_column(index: int) -> None:
    """A sample of the tables' lossless column; (0.0025, 8, 4000) is printed as 0.17, but is 0.1648."""
    check_row(table_rows()[index])


@pytest.mark.slow
@pytest.mark.parametrize("index", range(264))
def test_whole_lossless_column(index: int) -> None:
    """All 264 printed entries of the lossless column."""
    check_row(table_rows()[index])


SETTINGS = st.builds(
    Phase,
    st.sampled_from([Fraction(1, 1000), Fraction(1, 100), Fraction(1, 8), Fraction(9, 10), Fraction(1)]),
    st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(2), Fraction(5)]),
    st.integers(1, 60),
)
DELTAS = st.sampled_from([Fraction(1, 10**9), Fraction(1, 10**5), Fraction(1, 100), Fraction(1, 3)])


@settings(max_examples=15)
@given(st.lists(SETTINGS, min_size=1, max_size=3), DELTAS)
def test_floor_is_below_every_upper_bound(parts: list[Phase], delta: Fraction) -> None:
    """Also with unlike phases mixed, p = 1 among them; and δ at the bounds' ε is bracketed in the same way."""
    phases = as_phases(parts)
    lower = floor_epsilon(phases, delta, relative_slack=COARSE)
    hinge = kl_hinge_epsilon(phases, delta, relative_slack=COARSE)
    lossless = lossless_epsilon(phases, delta, relative_slack=COARSE)
    assert 0 <= lower.epsilon <= hinge.epsilon
    assert lower.epsilon <= lossless.upper
    assert lossless.lower <= lossless.upper
    at_floor = kl_hinge_delta(phases, lower.epsilon, relative_slack=COARSE).delta
    assert at_floor >= (delta if lower.epsilon else 0)  # the true δ there is ≥ delta
    back = floor_delta(phases, hinge.epsilon, relative_slack=COARSE).delta
    assert back <= delta


@settings(max_examples=10)
@given(SETTINGS, DELTAS, st.sampled_from([Fraction(1, 16), Fraction(1, 50), Fraction(3, 100)]))
def test_enclosures_of_two_grids_overlap(phase: Phase, delta: Fraction, step: Fraction) -> None:
    """Different lattices enclose the same number."""
    one = lossless_epsilon([phase], delta, grid_step=step)
    other = lossless_epsilon([phase], delta, relative_slack=COARSE)
    assert max(one.lower, other.lower) <= min(one.upper, other.upper)


def test_splitting_phases_and_coarse_slack_overlap() -> None:
    """Phases that together are one composition give overlapping brackets, and a coarser target is not below."""
    delta = Fraction(1, 10**6)
    whole = run("0.01", "2", 200)
    almost = [Phase(Fraction("0.01"), Fraction(2), 70), Phase(Fraction("0.01"), Fraction(2), 130)]
    one, two = lossless_epsilon(whole, delta), lossless_epsilon(almost, delta)
    assert max(one.lower, two.lower) <= min(one.upper, two.upper)
    assert floor_epsilon(almost, delta).epsilon <= kl_hinge_epsilon(whole, delta).epsilon
    assert floor_epsilon(whole, delta).epsilon <= kl_hinge_epsilon(almost, delta).epsilon


def test_easier_settings_have_lower_floors() -> None:
    """floor(easier) ≤ kl_hinge(harder) when T, p rise, σ, δ fall one after another."""
    chain = [
        ("0.01", "3", 200, 5),
        ("0.01", "3", 400, 5),
        ("0.02", "3", 400, 5),
        ("0.02", "2", 400, 5),
        ("0.02", "2", 400, 7),
    ]
    floors = [floor_epsilon(run(p, s, t), Fraction(1, 10**d)).epsilon for p, s, t, d in chain]
    uppers = [kl_hinge_epsilon(run(p, s, t), Fraction(1, 10**d)).epsilon for p, s, t, d in chain]
    for easier in range(len(chain)):
        for harder in range(easier, len(chain)):
            assert floors[easier] <= uppers[harder]


def test_gaussian_mechanism_through_the_engine() -> None:
    """At p = 1, σ = 3, T = 50 the enclosures contain 30.506279993, from Balle and Wang's formula."""
    phases, delta = run("1", "3", 50), Fraction(1, 10**5)
    exact = Fraction("30.506279993")
    with working_precision(128):
        mu = (50 * ball(Fraction(4, 9))).sqrt()
        assert lower_end(gaussian_delta_ball(mu, exact + Fraction(1, 10**8))) < delta
        assert upper_end(gaussian_delta_ball(mu, exact - Fraction(1, 10**8))) > delta
    found = lossless_epsilon(phases, delta)
    assert found.lower <= exact <= found.upper
    assert floor_epsilon(phases, delta).epsilon <= exact <= kl_hinge_epsilon(phases, delta).epsilon


def test_delta_at_epsilon_agrees_with_epsilon_at_delta() -> None:
    """δ(ε(δ)) is within 3% of δ, on its own side of the floor."""
    delta = Fraction(1, 10**6)
    for phases in (run("0.02", "3", 200), run("0.0025", "1", 250)):
        hinge = kl_hinge_delta(phases, kl_hinge_epsilon(phases, delta).epsilon).delta
        assert floor_delta(phases, kl_hinge_epsilon(phases, delta).epsilon).delta <= hinge <= delta * Fraction(103, 100)
        found = lossless_delta(phases, lossless_epsilon(phases, delta).upper)
        assert found.lower <= delta
        assert found.upper >= delta * Fraction(9, 10)


def test_nothing_to_report() -> None:
    """Where T·p·(2Φ(Δ/2)−1) ≤ δ the floor and Proposition 1's ε are 0."""
    phases, half = run("0.01", "10", 1), Fraction(1, 2)
    assert floor_epsilon(phases, half).epsilon == 0
    assert lossless_epsilon(phases, half).upper == 0
    assert kl_hinge_epsilon(phases, half).epsilon <= Fraction(1, 100)


@pytest.mark.slow
def test_tiny_delta() -> None:
    """δ = 1e-30 at (0.00033, 4, 10⁴): a bracket narrower than 1%, within a lossless enclosure's reach."""
    phases, delta = run("0.00033", "4", 10_000), Fraction(1, 10**30)
    upper, lower = kl_hinge_epsilon(phases, delta).epsilon, floor_epsilon(phases, delta).epsilon
    assert lower <= upper <= lower * Fraction(101, 100)


def test_resources_are_refused_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small memory limit is refused with the sizes, and no one-step law is built."""

    def never(*_: object, **__: object) -> None:
        raise AssertionError("work was done")

    monkeypatch.setattr("certified_dp.composition.engine.upper_weights", never)
    monkeypatch.setattr("certified_dp.composition.engine.lower_weights", never)
    phases, delta = run("0.01", "2", 8000), Fraction(1, 10**6)
    accountants: list[Callable[..., object]] = [kl_hinge_epsilon, floor_epsilon, lossless_epsilon]
    for accountant in accountants:
        with pytest.raises(ResourceLimitError, match="points needs about"):
            accountant(phases, delta, memory_limit=1 << 20)


def test_results_leave_the_caller_alone() -> None:
    """The caller's precision neither changes nor matters."""
    phases, delta = run("0.04", "6", 50), Fraction(1, 10**6)
    first = kl_hinge_epsilon(phases, delta)
    before, ctx.prec = ctx.prec, 20
    try:
        assert kl_hinge_epsilon(phases, delta) == first
        assert ctx.prec == 20
    finally:
        ctx.prec = before


# --- adaptive adversaries, by dynamic programming ------------------------------------------------------------------
# Outcomes are binned into rectangles with exact masses (post-processing), and the convex values are interpolated from
# below, so that the game's value is itself a lower bound of what an adaptive adversary attains, up to double rounding.

Floats: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.float64]]"


def bin_masses(edges: Floats, mean: float) -> Floats:
    """Return the normal probabilities of the bins between the edges, unbounded at both ends."""
    below = [0.0, *((1 + math.erf((edge - mean) / math.sqrt(2))) / 2 for edge in edges), 1.0]
    return np.diff(np.array(below))


@cache
def pairs_in_the_ball(p: float, delta: float) -> tuple[tuple[Floats, Floats], ...]:
    """(Q masses, ratios) of (a·Ber(p)+N ‖ b·Ber(p)+N) on bins, for 0, a, b in a ball of radius Δ/2."""
    triples = [((1.0, 0.0), (0.0, 0.0)), ((0.0, 0.0), (1.0, 0.0)), ((0.5, 0.0), (-0.5, 0.0)), ((1.0, 0.0), (0.5, 0.0))]
    for t, s in ((0.0, 0.4), (0.3, 0.9), (0.5, 0.5), (math.pi / 6, math.pi / 6), (0.2, 1.37)):
        a = (math.cos(t) ** 2, math.cos(t) * math.sin(t))
        b = (math.cos(s) ** 2, -math.cos(s) * math.sin(s))
        triples += [(a, b), (b, a)]
    edges = np.linspace(-5, 5 + delta, 40)

    def masses(centre: tuple[float, float]) -> Floats:
        return np.outer(bin_masses(edges, delta * centre[0]), bin_masses(edges, delta * centre[1])).ravel()

    none = masses((0.0, 0.0))
    found = []
    for a, b in triples:
        p_mass, q_mass = ((1 - p) * none + p * masses(c) for c in (a, b))
        seen = q_mass > 1e-200
        found.append((q_mass[seen], p_mass[seen] / q_mass[seen]))
    return tuple(found)


def below_convex(x: Floats, nodes: Floats, values: Floats) -> Floats:
    """Evaluate from below a convex function known at nodes: the neighbouring chords, extended, and 0."""
    slopes = np.diff(values) / np.diff(nodes)
    k = np.clip(np.searchsorted(nodes, x), 2, len(nodes) - 2)
    before = values[k - 1] + slopes[k - 2] * (x - nodes[k - 1])
    after = values[k] + slopes[k] * (x - nodes[k])
    inside = np.where((x >= nodes[1]) & (x <= nodes[-2]), np.maximum(before, after), 0.0)
    return np.maximum(inside, 0.0)


def adaptive_delta(p: float, delta: float, steps: int, epsilon: float) -> float:
    """Play the best pair after every outcome: V_k(R) = max over pairs of E_Q V_{k+1}(R·ratio), V_T = (R−e^ε)_+."""
    nodes = np.exp(1.2 * p * np.sinh(np.linspace(-1, 1, 801) * math.asinh(5 / p)))
    values = None
    for remaining in range(steps, 0, -1):
        points = nodes if remaining > 1 else np.ones(1)
        best = np.zeros(len(points))
        for masses, ratios in pairs_in_the_ball(p, delta):
            for k, point in enumerate(points):
                reached = point * ratios
                worth = reached - math.exp(epsilon) if values is None else below_convex(reached, nodes, values)
                best[k] = max(best[k], masses @ np.maximum(worth, 0.0))
        values = best
    return float(best[0])


@pytest.mark.parametrize(
    ("p", "sigma", "steps", "epsilon"),
    [
        ("0.1", "2", 3, "0.3"),
        ("0.1", "2", 2, "0.1"),
        ("0.5", "1", 2, "1"),
        ("0.3", "1.5", 3, "0.7"),
        ("0.01", "1", 2, "0.2"),
    ],
)
def test_adaptive_adversaries_stay_below(p: str, sigma: str, steps: int, epsilon: str) -> None:
    """Adversaries that choose their pair from the first outcomes never exceed kl_hinge's δ, nor lossless's."""
    phases, exact = run(p, sigma, steps), Fraction(epsilon)
    attained = adaptive_delta(float(Fraction(p)), 2 / float(Fraction(sigma)), steps, float(exact))
    assert attained <= kl_hinge_delta(phases, exact).delta
    assert attained <= lossless_delta(phases, exact).upper


def test_adaptive_adversaries_beat_the_single_pair() -> None:
    """The game above is no straw man: at (0.1, 2, 3), ε = 0.3 it reaches 0.0191 or more, the floor 0.01836."""
    attained = adaptive_delta(0.1, 1.0, 3, 0.3)
    floor = floor_delta(run("0.1", "2", 3), Fraction(3, 10))
    assert floor.curve is Curve.FORWARD
    assert Fraction("0.0183") <= floor.delta <= Fraction("0.01837")
    assert attained >= Fraction("0.0189")
