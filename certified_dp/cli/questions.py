"""The commands that ask one question about a run: epsilon, delta, rdp, and calibrate, which asks the inverse."""

from collections.abc import Callable
from typing import Any

import click

import certified_dp
from certified_dp import calibration
from certified_dp.cli.shared import (
    DELTA,
    DIGITS,
    EXAMPLE_RUN,
    HOW,
    JSON,
    NOISE,
    RUN,
    SIZES,
    STEPS,
    SYMBOLS,
    bound_json,
    bracket,
    command_options,
    describe,
    inputs_line,
    print_json,
    split_run,
    working,
)
from certified_dp.enclosure import decimal_upper
from certified_dp.errors import InvalidParameterError
from certified_dp.renyi import RENYI_METHODS
from certified_dp.result import Result, decimal_exact


@click.command(epilog=f"Example: certified-dp epsilon {EXAMPLE_RUN} --delta 1e-6")
@command_options(*RUN, DELTA, *HOW)
def epsilon(delta: str, method: str, as_json: bool, **values: Any) -> None:
    """Bound ε at δ: the bracket for the true value, and the bounds side by side."""
    _ask("epsilon", certified_dp.epsilon, delta, method, as_json, values)


@click.command(epilog=f"Example: certified-dp delta {EXAMPLE_RUN} --epsilon 7")
@command_options(*RUN, click.option("--epsilon", required=True, metavar="E", help="The ε of (ε, δ)."), *HOW)
def delta(epsilon: str, method: str, as_json: bool, **values: Any) -> None:
    """Bound δ at ε: the bracket for the true value, and the bounds side by side."""
    _ask("delta", certified_dp.delta, epsilon, method, as_json, values)


def _ask(
    name: str, question: Callable[..., Result], given: str, method: str, as_json: bool, values: dict[str, Any]
) -> None:
    run, options = split_run(values)
    with working("computing certified bounds"):
        result = question(run, given, method=method, **options)
        bounds = dict(result.bounds)
        if method == "best" and result.phases and "gaussian" not in bounds:
            bounds = {"theorem1": question(run, given, method="theorem1", **options).bound, **bounds}
    if as_json:
        print_json({**describe(result), "bounds": {name: bound_json(b, result.digits) for name, b in bounds.items()}})
        return
    click.echo(inputs_line(result, "δ" if name == "epsilon" else "ε") + "\n")
    symbol = SYMBOLS[name]
    click.echo(f"  {'method':<19}{symbol + ' at most':<14}order")
    for key, bound in bounds.items():
        order = "" if bound.order is None else decimal_exact(bound.order)
        click.echo(f"  {key:<19}{decimal_upper(bound.upper, result.digits):<14}{order}".rstrip())
    for note in result.bound.notes:
        click.echo(f"  note: {note}")
    click.echo(f"\n{bracket(result)}")


@click.command(epilog=f"Example: certified-dp rdp {EXAMPLE_RUN} --order 5")
@command_options(
    *RUN,
    click.option("--order", required=True, metavar="A", help="Rényi order > 1."),
    click.option("--method", default="single_pair_renyi", show_default=True, help=f"{', '.join(RENYI_METHODS)}."),
    DIGITS,
    JSON,
)
def rdp(order: str, method: str, digits: str, as_json: bool, **values: Any) -> None:
    """Bound the Rényi divergence of the whole run at one order."""
    run, _ = split_run(values)
    result = certified_dp.rdp(run, order, method=method, digits=digits)
    if as_json:
        print_json(describe(result))
        return
    click.echo(f"{inputs_line(result, 'α')}\n\n{result}")


@click.command(
    epilog="Example: certified-dp calibrate --target-epsilon 3 --delta 1e-6 --sampling-probability 0.01 --steps 8000"
)
@command_options(
    click.option("--target-epsilon", required=True, metavar="E", help="The ε to stay within."),
    DELTA,
    *SIZES,
    NOISE,
    STEPS,
    click.option("--value-digits", default="5", show_default=True, help="Significant digits of the noise multiplier."),
    *HOW,
)
def calibrate(
    target_epsilon: str,
    delta: str,
    noise_multiplier: str | None,
    steps: str | None,
    value_digits: str,
    as_json: bool,
    **values: Any,
) -> None:
    """Find the least noise multiplier for --steps, or the most steps for --noise-multiplier, within a target ε."""
    with working("searching; every value tried is certified"):
        if steps is not None and noise_multiplier is None:
            name = "noise_multiplier"
            found = calibration.calibrate_noise_multiplier(
                target_epsilon, delta, steps=steps, value_digits=value_digits, **values
            )
        elif noise_multiplier is not None and steps is None:
            name = "steps"
            found = calibration.calibrate_steps(target_epsilon, delta, noise_multiplier=noise_multiplier, **values)
        else:
            raise InvalidParameterError("steps", steps, "given when --noise-multiplier is not, and only then")
    if as_json:
        print_json({name: found.value_decimal, **describe(found.result)})
        return
    click.echo(f"{inputs_line(found.result, 'δ')}\n\n{name} {found.value_decimal}: {bracket(found.result)}")
