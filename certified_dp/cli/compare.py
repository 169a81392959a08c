"""Commands that set accountants side by side: compare, on a run, and limits."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import click

from certified_dp.asymptotics import LIMITS, limit_delta, limit_epsilon
from certified_dp.cli.shared import (
    DELTA,
    DIGITS,
    EXAMPLE_RUN,
    HOW,
    JSON,
    METHOD,
    RUN,
    bound_json,
    bracket,
    command_options,
    describe,
    inputs_line,
    print_json,
    split_run,
    working,
)
from certified_dp.comparison import Comparison, Row
from certified_dp.comparison import compare as compare_run
from certified_dp.enclosure import decimal_lower, decimal_upper
from certified_dp.errors import InvalidParameterError
from certified_dp.methods import read_options
from certified_dp.parameters import exact_delta, exact_epsilon, exact_positive
from certified_dp.result import Bound, decimal_exact


@click.command(epilog=f"Example: certified-dp compare {EXAMPLE_RUN} --delta 1e-6")
@command_options(*RUN, DELTA, *(option for option in HOW if option is not METHOD))
def compare(delta: str, as_json: bool, **values: Any) -> None:
    """Set all accountants side by side: bounds, the bracket for the truth, differences to lossless, times."""
    run, options = split_run(values)
    with working("computing certified bounds"):
        comparison = compare_run(run, delta, **options)
    best = comparison.best
    if as_json:
        print_json({**describe(best), "bounds": {row.method: _row_json(comparison, row) for row in comparison.rows}})
        return
    click.echo(inputs_line(best, "δ") + "\n")
    click.echo(f"  {'method':<19}{'ε at most':<14}{'order':<10}{'to lossless':<20}seconds")
    for row in comparison.rows:
        click.echo(f"  {row.method:<19}{_answer(comparison, row)}{row.seconds:.2f}")
    click.echo(f"\n{bracket(best)}")


def _answer(comparison: Comparison, row: Row) -> str:
    if row.result is None:
        return f"refused: {row.error}  "
    if row.method == "floor":
        return f"{'≥ ' + (comparison.best.floor_decimal or '0'):<44}"
    order = "" if row.result.order is None else decimal_exact(row.result.order)
    return f"{row.result.upper_decimal:<14}{order:<10}{_percentage(comparison, row):<20}"


def _percentage(comparison: Comparison, row: Row) -> str:
    """Print the relative difference in percent with two decimals; as an interval where they are not settled."""
    ends = comparison.relative_difference(row.method)
    if ends is None:
        return ""
    low, high = math.floor(ends[0] * 10_000), math.ceil(ends[1] * 10_000)
    if high - low <= 1:
        return f"~{round((ends[0] + ends[1]) * 5_000) / 100:+.2f}%"
    return f"{low / 100:+.2f} to {high / 100:+.2f}%"


def _row_json(comparison: Comparison, row: Row) -> dict[str, Any]:
    seconds = f"{row.seconds:.3f}"
    if row.result is None:
        return {"error": row.error, "seconds": seconds}
    digits = row.result.digits
    if row.method == "floor":
        return {"lower": comparison.best.floor_decimal, "seconds": seconds}
    ends = comparison.relative_difference(row.method)
    difference = {} if ends is None else {"relative_difference": _interval(*ends, digits)}
    return {**bound_json(row.result.bound, digits), **difference, "seconds": seconds}


@click.command(epilog="Example: certified-dp limits --nu 0.8 --noise-multiplier 2 --delta 1e-6")
@command_options(
    click.option("--nu", required=True, metavar="NU", help="The limit of steps · sampling probability²."),
    click.option("--noise-multiplier", required=True, metavar="SIGMA", help="The noise multiplier, held fixed."),
    click.option("--delta", metavar="D", help="The δ to find ε at."),
    click.option("--epsilon", metavar="E", help="The ε to find δ at."),
    DIGITS,
    JSON,
)
def limits(nu: str, noise_multiplier: str, delta: str | None, epsilon: str | None, digits: str, as_json: bool) -> None:
    """Print where the accountants' answers go as steps → ∞ with steps · sampling probability² → NU.

    These are limits, not bounds for a finite run. "proposition4" is the paper's bound on the limit of its accountant,
    "theorem1" that limit at the best real order, "floor" the exact limit for the single pair, a Gaussian one.
    """
    if (delta is None) == (epsilon is None):
        raise InvalidParameterError("delta", delta, "given when --epsilon is not, and only then")
    size, sigma = exact_positive("nu", nu), exact_positive("noise_multiplier", noise_multiplier)
    count = read_options(digits=digits).digits
    find: Callable[..., Bound] = limit_delta if delta is None else limit_epsilon
    asked = "epsilon" if delta is None else "delta"
    given = exact_epsilon(str(epsilon)) if delta is None else exact_delta(delta)
    found = {method: find(method, size, sigma, given, count) for method in LIMITS}
    answers = {method: _interval(bound.lower or Fraction(0), bound.upper, count) for method, bound in found.items()}
    if as_json:
        inputs = {"nu": str(size), "noise_multiplier": str(sigma)}
        print_json({"inputs": inputs, asked: str(given), "adjacency": "replace_one", "limits": answers})
        return
    symbol, sought = ("δ", "ε") if asked == "delta" else ("ε", "δ")
    click.echo(
        f"read as: steps → ∞, steps · sampling probability² → {size}, noise multiplier {sigma}; {symbol} = {given}\n"
    )
    click.echo(f"  {'method':<19}{sought} in the limit, enclosed")
    for method, (low, high) in answers.items():
        click.echo(f"  {method:<19}{low} to {high}")


def _interval(low: Fraction, high: Fraction, digits: int) -> list[str]:
    return [decimal_lower(low, digits), decimal_upper(high, digits)]
