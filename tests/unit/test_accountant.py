"""ε at δ by the Rényi methods: known values, the reach of the order search, composition, threads."""

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import pytest
from flint import ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from certified_dp import DPSGD, Accountant, Result, delta, epsilon, rdp


def run(p: Any, sigma: Any, steps: int) -> Any:
    return DPSGD(sampling_probability=p, noise_multiplier=sigma, steps=steps)


def single_pair(p: Any, sigma: Any, steps: int, at: Any, **options: Any) -> Result:
    return epsilon(run(p, sigma, steps), at, method="single_pair_renyi", **options)


@pytest.mark.parametrize(
    ("p", "sigma", "steps", "at", "printed", "order"),
    [
        ("0.01", 2, 8000, "1e-6", "6.577713", 5),
        (Fraction(1024, 50000), "1.54", 1464, "1e-5", "9.7403", 3),
        ("0.1", 20, 128, "1e-9", ".65931334", 50),
        ("0.2", 1, 500, "1e-5", "582.863", 2),
        ("0.125", "0.8", 1000, "1e-6", "2218.32", 2),
        ("1e-6", 1, 10**9, "1e-5", "1.94656", 6),
        (1, 3, 50, "1e-5", "32.34885", 2),
    ],
)
def test_integer_orders(p: Any, sigma: Any, steps: int, at: str, printed: str, order: int) -> None:
    """The reference value lies within half a unit of its last digit of the certified enclosure."""
    result = single_pair(p, sigma, steps, at, orders="integer")
    half = Fraction(1, 2 * 10 ** len(printed.partition(".")[2]))
    lower, upper = result.enclosure
    assert Fraction(printed) - half <= upper
    assert lower <= Fraction(printed) + half
    assert result.order == order
    assert ("smallest integer order" in "".join(result.bound.notes)) == (order == 2)


@pytest.mark.parametrize(
    ("p", "sigma", "steps", "at", "low", "high", "order"),
    [
        ("0.01", 2, 8000, "1e-6", "6.5643", "6.5645", "4.77"),
        ("0.2", 1, 500, "1e-5", "176.88", "176.90", "1.217"),
        ("0.125", "0.8", 1000, "1e-6", "325.37", "325.39", "1.152"),
        (Fraction(250, 15000), "1.3", 900, "1e-5", "10.12", "10.13", "2.64"),
    ],
)
def test_real_orders(p: Any, sigma: Any, steps: int, at: str, low: str, high: str, order: str) -> None:
    """Real orders reach down to near 1 and improve on the integers."""
    result = single_pair(p, sigma, steps, at)
    assert Fraction(low) <= result.upper <= Fraction(high)
    assert result.order is not None
    assert abs(result.order - Fraction(order)) < Fraction(1, 100)


def test_large_best_orders_are_reached() -> None:
    """No fixed largest order: tiny δ and much noise have their best order in the hundreds and thousands."""
    result = single_pair("0.1", 100, 1, "1e-30", orders="integer")
    assert result.order is not None
    assert result.order > 500
    again = single_pair("0.1", 100, 1, "1e-30", orders="integer", max_order=256)
    assert again.upper > result.upper
    assert again.order == 256
    assert "largest order" in "".join(again.bound.notes)


def test_extreme_divergences() -> None:
    """Neither overflow at order 256 and σ = 0.1 nor underflow at p = 1e-12."""
    assert str(rdp(run("0.0025", "0.1", 1), 256, digits=10)).startswith("ρ ≤ 51193.98504")
    assert str(rdp(run("1e-12", 1, 1), 2, digits=11)).startswith("ρ ≤ 5.3598150034e-23")


def test_epsilon_is_never_negative() -> None:
    """At δ = 0.5 the conversion is negative and ε = 0 is certified."""
    result = single_pair("0.01", 10, 1, "0.5")
    assert result.upper == 0
    assert str(result).startswith("ε ≤ 0 ")


def test_tiny_delta_is_smooth() -> None:
    """ε grows, concavely in log(1/δ) as a minimum of affine functions does, down to δ = 1e-300."""
    values = [single_pair("0.01", 2, 8000, f"1e-{k}").upper for k in (6, 18, 30, 100, 200, 300)]
    slopes = [(b - a) / gap for a, b, gap in zip(values, values[1:], (12, 12, 70, 100, 100), strict=False)]
    assert all(s > 0 for s in slopes)
    assert slopes == sorted(slopes, reverse=True)


def test_composition_does_not_depend_on_the_split() -> None:
    """100 steps equal 60 + 40 composed, exactly, and two reads are equal."""
    accountant = Accountant()
    accountant.compose(run("0.01", 1, 60))
    accountant.compose(run("0.01", 1, 20), count=2)
    whole = epsilon(run("0.01", 1, 100), "1e-5", method="single_pair_renyi")
    assert accountant.epsilon("1e-5", method="single_pair_renyi") == whole
    assert accountant.epsilon("1e-5", method="single_pair_renyi") == whole


def test_no_steps() -> None:
    """Nothing released costs nothing, under every question."""
    assert epsilon(run("0.5", 1, 0), "1e-5").upper == 0
    assert epsilon([], "1e-5", method="theorem1").floor == 0
    assert delta([], 0).upper == 0
    assert rdp([], 2).upper == 0


def test_unlike_phases_lie_between_their_parts() -> None:
    """Two phases cost more than either and no more than both bounds at their shared order."""
    a, b = run("0.01", 2, 1000), run("0.02", 3, 500)
    together = epsilon([a, b], "1e-6", method="single_pair_renyi").upper
    assert together > max(epsilon(x, "1e-6", method="single_pair_renyi").upper for x in (a, b))


@given(st.integers(2, 400))
@settings(max_examples=20)
def test_delta_inverts_epsilon(tenths: int) -> None:
    """δ at ε, asked back as ε at δ, returns to it from above, within the print's accuracy."""
    at = Fraction(tenths, 10)
    back = single_pair("0.01", 2, 8000, delta(run("0.01", 2, 8000), at, method="single_pair_renyi").upper or 1)
    assert back.upper <= at * (1 + Fraction(1, 10**4))


def test_callers_precision_is_irrelevant_and_unchanged() -> None:
    """A caller's flint precision neither matters nor changes, with 8 threads at once."""
    want = single_pair("0.01", 2, 8000, "1e-6")
    before = ctx.prec
    try:
        ctx.prec = 17
        with ThreadPoolExecutor(8) as pool:
            got = list(pool.map(lambda _: single_pair("0.01", 2, 8000, "1e-6"), range(24)))
        assert ctx.prec == 17
    finally:
        ctx.prec = before
    assert all(result == want for result in got)


@pytest.mark.parametrize("digits", [1, 6, 15, 50])
def test_digits(digits: int) -> None:
    """The print has the digits asked for, at most one unit above the certified value."""
    result = single_pair("0.01", 2, 8000, "1e-6", orders="integer", digits=digits)
    lower, upper = result.enclosure
    assert 0 <= Fraction(result.upper_decimal) - upper <= Fraction(10) ** (1 - digits)
    assert upper - lower <= upper / 10**digits


def test_gaussian_is_exact_under_best() -> None:
    """At p = 1 the mechanism is the Gaussian one: floor and upper bound agree on the known value."""
    result = epsilon(run(1, 3, 50), "1e-5", digits=11)
    assert result.floor is not None
    assert result.floor <= Fraction("30.506279993") + Fraction(1, 10**9)
    assert result.upper >= Fraction("30.506279993") - Fraction(1, 10**9)
    assert result.upper - result.floor < Fraction(1, 10**9)
