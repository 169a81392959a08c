"""What the commands share: options, reading a run, and printing an answer."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

import certified_dp
from certified_dp.enclosure import decimal_upper
from certified_dp.errors import InvalidParameterError
from certified_dp.methods import METHODS
from certified_dp.parameters import DPSGD, Phase
from certified_dp.result import Bound, Result, decimal_exact
from certified_dp.runfile import read_run

EXAMPLE_RUN = "--sampling-probability 0.01 --noise-multiplier 2 --steps 8000"
SYMBOLS = {"epsilon": "ε", "delta": "δ", "rdp": "ρ"}


def command_options(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Give a command several options, in this order."""

    def apply(command: Any) -> Any:
        for decorate in reversed(decorators):
            command = decorate(command)
        return command

    return apply


SIZES = (
    click.option("--dataset-size", metavar="N", help="Number of records."),
    click.option("--batch-size", metavar="N", help="Records in each batch (the logical batch, not the physical one)."),
    click.option("--sampling-probability", metavar="P", help="Instead of the sizes: batch size / dataset size."),
)
NOISE = click.option(
    "--noise-multiplier", metavar="SIGMA", help="Noise standard deviation / (clip norm / batch size), on the mean."
)
STEPS = click.option("--steps", metavar="T", help="Number of steps.")
RUN_FILE = click.option("--run", "run_file", type=click.Path(path_type=Path), help="A TOML file with [[phase]] tables.")
DELTA = click.option("--delta", required=True, metavar="D", help="The δ of (ε, δ).")
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
DIGITS = click.option("--digits", default="6", show_default=True, help="Significant digits.")
METHOD = click.option("--method", default="best", show_default=True, help=f"best, {', '.join(METHODS)}.")
HOW = (
    METHOD,
    DIGITS,
    click.option("--orders", default="real", show_default=True, help="Rényi orders: integer or real."),
    click.option("--max-order", metavar="N", help="Largest Rényi order (256 reproduces the paper)."),
    click.option("--conversion", default="balle", show_default=True, help="balle, mironov or tangent."),
    click.option("--relative-slack", default="0.002", show_default=True, help="Target accuracy of the grid methods."),
    click.option("--memory-limit", default=str(2 << 30), show_default=True, help="Bytes for the grid methods."),
    JSON,
)
RUN = (*SIZES, NOISE, STEPS, RUN_FILE)


def _read_run(run_file: Path | None, **parameters: str | None) -> tuple[Phase, ...]:
    if run_file is not None:
        given = next((name for name, value in parameters.items() if value is not None), None)
        if given:
            raise InvalidParameterError(given, parameters[given], "left out when run is given")
        return read_run(run_file)
    for name in ("noise_multiplier", "steps"):
        if parameters[name] is None:
            raise InvalidParameterError(name, None, "given (or run, a TOML file)")
    return (DPSGD(**parameters),)  # type: ignore[arg-type]


@contextmanager
def working(message: str) -> Iterator[None]:
    """Show a spinner on a terminal's standard error."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(message):
        yield


def bracket(result: Result) -> str:
    """Say in one line what is certified: the upper bound, and the floor if it is known."""
    symbol = SYMBOLS[result.quantity]
    line = f"{symbol} ≤ {result.upper_decimal} ({result.method})"
    if result.floor_decimal is None:
        return line
    return f"{line}; no sound accountant for the release of all iterates can report less than {result.floor_decimal}"


def split_run(values: dict[str, Any]) -> tuple[tuple[Phase, ...], dict[str, Any]]:
    """Read the run from a command's values; return it and the values that are left."""
    names = ("run_file", "dataset_size", "batch_size", "sampling_probability", "noise_multiplier", "steps")
    run = _read_run(**{name: values.pop(name) for name in names})
    return run, values


def inputs_line(result: Result, asked: str) -> str:
    """Say which exact rationals the inputs were read as."""
    runs = "; ".join(str(phase) for phase in result.phases) or "no steps"
    return f"read as: {runs}; {asked} = {result.given}; replace adjacency"


def describe(result: Result) -> dict[str, Any]:
    """Describe a result for JSON: stable keys, numbers as strings."""
    phases = [
        {
            "sampling_probability": str(phase.sampling_probability),
            "noise_multiplier": str(phase.noise_multiplier),
            "steps": phase.steps,
        }
        for phase in result.phases
    ]
    asked = {"epsilon": "delta", "delta": "epsilon", "rdp": "order"}[result.quantity]
    return {
        "inputs": {**(phases[0] if len(phases) == 1 else {}), "phases": phases},
        "quantity": result.quantity,
        asked: str(result.given),
        "adjacency": "replace_one",
        "method": result.method,
        "upper": result.upper_decimal,
        "floor": result.floor_decimal,
        "notes": list(result.bound.notes),
        "digits": result.digits,
        "version": certified_dp.__version__,
    }


def bound_json(bound: Bound, digits: int) -> dict[str, str]:
    """Describe one method's bound for JSON."""
    order = {} if bound.order is None else {"order": decimal_exact(bound.order)}
    return {"upper": decimal_upper(bound.upper, digits), **order}


def print_json(value: dict[str, Any]) -> None:
    """Print one JSON object, without NaN or Infinity tokens."""
    click.echo(json.dumps(value, ensure_ascii=False, allow_nan=False))
