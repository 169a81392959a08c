"""The command line: reads text exactly, asks the library, prints outward-rounded numbers."""

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

import certified_dp
from certified_dp import calibration
from certified_dp.enclosure import decimal_upper
from certified_dp.errors import CertifiedDPError, InvalidParameterError
from certified_dp.methods import METHODS
from certified_dp.parameters import DPSGD, Phase
from certified_dp.renyi import RENYI_METHODS
from certified_dp.result import Bound, Result, decimal_exact
from certified_dp.runfile import read_run

_EXAMPLE_RUN = "--sampling-probability 0.01 --noise-multiplier 2 --steps 8000"
_SYMBOL = {"epsilon": "ε", "delta": "δ", "rdp": "ρ"}


def _options(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def apply(command: Any) -> Any:
        for decorate in reversed(decorators):
            command = decorate(command)
        return command

    return apply


_SIZES = (
    click.option("--dataset-size", metavar="N", help="Number of records."),
    click.option("--batch-size", metavar="N", help="Records in each batch (the logical batch, not the physical one)."),
    click.option("--sampling-probability", metavar="P", help="Instead of the sizes: batch size / dataset size."),
)
_NOISE = click.option(
    "--noise-multiplier", metavar="SIGMA", help="Noise standard deviation / (clip norm / batch size), on the mean."
)
_STEPS = click.option("--steps", metavar="T", help="Number of steps.")
_RUN_FILE = click.option(
    "--run", "run_file", type=click.Path(path_type=Path), help="A TOML file with [[phase]] tables."
)
_DELTA = click.option("--delta", required=True, metavar="D", help="The δ of (ε, δ).")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
_DIGITS = click.option("--digits", default="6", show_default=True, help="Significant digits.")
_METHOD = click.option("--method", default="best", show_default=True, help=f"best, {', '.join(METHODS)}.")
_HOW = (
    _METHOD,
    _DIGITS,
    click.option("--orders", default="real", show_default=True, help="Rényi orders: integer or real."),
    click.option("--max-order", metavar="N", help="Largest Rényi order (256 reproduces the paper)."),
    click.option("--conversion", default="balle", show_default=True, help="balle, mironov or tangent."),
    click.option("--relative-slack", default="0.002", show_default=True, help="Target accuracy of the grid methods."),
    click.option("--memory-limit", default=str(2 << 30), show_default=True, help="Bytes for the grid methods."),
    _JSON,
)
_RUN = (*_SIZES, _NOISE, _STEPS, _RUN_FILE)


#: Commands that live in modules loaded only when they are asked for: command -> module.
_LAZY = {
    "certify": "certified_dp.cli_certify",
    "check": "certified_dp.cli_certify",
    "compare": "certified_dp.cli_compare",
    "limits": "certified_dp.cli_compare",
    "figure": "certified_dp.cli_paper",
    "sweep": "certified_dp.cli_paper",
    "table": "certified_dp.cli_paper",
    "vectors": "certified_dp.cli_oracle",
}


class _LazyGroup(click.Group):
    """Keeps the start of the everyday commands fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *_LAZY})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _LAZY:
            command: click.Command = getattr(importlib.import_module(_LAZY[cmd_name]), cmd_name)
            return command
        return super().get_command(ctx, cmd_name)


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(certified_dp.__version__, prog_name="certified-dp")
def cli() -> None:
    """Certified privacy bounds for DP-SGD with fixed-size batches under replace adjacency."""


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
def _working(message: str) -> Iterator[None]:
    """Show a spinner on a terminal's standard error."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(message):
        yield


@cli.command(epilog=f"Example: certified-dp epsilon {_EXAMPLE_RUN} --delta 1e-6")
@_options(*_RUN, _DELTA, *_HOW)
def epsilon(delta: str, method: str, as_json: bool, **values: Any) -> None:
    """Bound ε at δ: the bracket for the true value, and the bounds side by side."""
    _ask("epsilon", certified_dp.epsilon, delta, method, as_json, values)


@cli.command(epilog=f"Example: certified-dp delta {_EXAMPLE_RUN} --epsilon 7")
@_options(*_RUN, click.option("--epsilon", required=True, metavar="E", help="The ε of (ε, δ)."), *_HOW)
def delta(epsilon: str, method: str, as_json: bool, **values: Any) -> None:
    """Bound δ at ε: the bracket for the true value, and the bounds side by side."""
    _ask("delta", certified_dp.delta, epsilon, method, as_json, values)


def _ask(
    name: str, question: Callable[..., Result], given: str, method: str, as_json: bool, values: dict[str, Any]
) -> None:
    run, options = _split(values)
    with _working("computing certified bounds"):
        result = question(run, given, method=method, **options)
        bounds = dict(result.bounds)
        if method == "best" and result.phases and "gaussian" not in bounds:
            bounds = {"theorem1": question(run, given, method="theorem1", **options).bound, **bounds}
    if as_json:
        _print_json(
            {**_describe(result), "bounds": {name: _bound_json(b, result.digits) for name, b in bounds.items()}}
        )
        return
    click.echo(_inputs_line(result, "δ" if name == "epsilon" else "ε") + "\n")
    symbol = _SYMBOL[name]
    click.echo(f"  {'method':<19}{symbol + ' at most':<14}order")
    for key, bound in bounds.items():
        order = "" if bound.order is None else decimal_exact(bound.order)
        click.echo(f"  {key:<19}{decimal_upper(bound.upper, result.digits):<14}{order}".rstrip())
    for note in result.bound.notes:
        click.echo(f"  note: {note}")
    click.echo(f"\n{bracket(result)}")


def bracket(result: Result) -> str:
    """Say in one line what is certified: the upper bound, and the floor if it is known."""
    symbol = _SYMBOL[result.quantity]
    line = f"{symbol} ≤ {result.upper_decimal} ({result.method})"
    if result.floor_decimal is None:
        return line
    return f"{line}; no sound accountant for the release of all iterates can report less than {result.floor_decimal}"


def _split(values: dict[str, Any]) -> tuple[tuple[Phase, ...], dict[str, Any]]:
    names = ("run_file", "dataset_size", "batch_size", "sampling_probability", "noise_multiplier", "steps")
    run = _read_run(**{name: values.pop(name) for name in names})
    return run, values


def _inputs_line(result: Result, asked: str) -> str:
    runs = "; ".join(str(phase) for phase in result.phases) or "no steps"
    return f"read as: {runs}; {asked} = {result.given}; replace adjacency"


def _describe(result: Result) -> dict[str, Any]:
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


def _bound_json(bound: Bound, digits: int) -> dict[str, str]:
    order = {} if bound.order is None else {"order": decimal_exact(bound.order)}
    return {"upper": decimal_upper(bound.upper, digits), **order}


def _print_json(value: dict[str, Any]) -> None:
    click.echo(json.dumps(value, ensure_ascii=False, allow_nan=False))


@cli.command(epilog=f"Example: certified-dp rdp {_EXAMPLE_RUN} --order 5")
@_options(
    *_RUN,
    click.option("--order", required=True, metavar="A", help="Rényi order > 1."),
    click.option("--method", default="single_pair_renyi", show_default=True, help=f"{', '.join(RENYI_METHODS)}."),
    _DIGITS,
    _JSON,
)
def rdp(order: str, method: str, digits: str, as_json: bool, **values: Any) -> None:
    """Bound the Rényi divergence of the whole run at one order."""
    run, _ = _split(values)
    result = certified_dp.rdp(run, order, method=method, digits=digits)
    if as_json:
        _print_json(_describe(result))
        return
    click.echo(f"{_inputs_line(result, 'α')}\n\n{result}")


@cli.command(
    epilog="Example: certified-dp calibrate --target-epsilon 3 --delta 1e-6 --sampling-probability 0.01 --steps 8000"
)
@_options(
    click.option("--target-epsilon", required=True, metavar="E", help="The ε to stay within."),
    _DELTA,
    *_SIZES,
    _NOISE,
    _STEPS,
    click.option("--value-digits", default="5", show_default=True, help="Significant digits of the noise multiplier."),
    *_HOW,
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
    with _working("searching; every value tried is certified"):
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
        _print_json({name: found.value_decimal, **_describe(found.result)})
        return
    click.echo(f"{_inputs_line(found.result, 'δ')}\n\n{name} {found.value_decimal}: {bracket(found.result)}")


def main() -> None:
    """Run the command line; every refusal is one line on standard error and exit status 2."""
    try:
        status = cli.main(standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        sys.exit(2)
    except click.UsageError as error:
        _refuse(error.format_message())
    except click.Abort:
        _refuse("interrupted")
    except InvalidParameterError as error:
        _refuse(f"--{str(error).replace(error.name, error.name.replace('_', '-'), 1)}")
    except CertifiedDPError as error:
        _refuse(str(error))
    else:
        sys.exit(status if isinstance(status, int) else 0)


def _refuse(message: str) -> None:
    click.echo(f"certified-dp: {' '.join(message.split())}", err=True)
    sys.exit(2)
