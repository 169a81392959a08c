"""Commands that compute many numbers: sweep, table, figure. Loaded only when one of them is asked for."""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path

import click

from certified_dp.errors import InvalidParameterError
from certified_dp.paper.grid import read_grid
from certified_dp.paper.output import check_suffix, write_rows
from certified_dp.paper.sweep import sweep as run_sweep
from certified_dp.parameters import exact_integer

_PROCESSES = click.option("--processes", metavar="N", help="Local processes; by default one for each core.")


@contextmanager
def _progress(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show a progress bar with the time left on a terminal's standard error."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left:"))
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task(what)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _count(processes: str | None) -> int | None:
    return None if processes is None else exact_integer("processes", processes, 1, "an integer ≥ 1")


@contextmanager
def _executor(address: str | None) -> Iterator[Executor | None]:
    """Connect to a Dask cluster, if an address is given."""
    if address is None:
        yield None
        return
    try:
        from distributed import Client
    except ImportError:
        raise click.UsageError("--dask needs the extra cluster: pip install 'certified-dp[cluster]'") from None
    try:
        client = Client(address, timeout="10s")  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise InvalidParameterError("dask", address, f"the address of a Dask scheduler ({error})") from None
    with client:
        yield client.get_executor()  # type: ignore[no-untyped-call]


@click.command(epilog="Example: certified-dp sweep grid.toml -o results.csv")
@click.argument("grid", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="The results, a .csv or .json file."
)
@_PROCESSES
@click.option("--dask", metavar="ADDRESS", help="Run on a Dask cluster (tcp://…) instead; needs the extra cluster.")
def sweep(grid: Path, output: Path, processes: str | None, dask: str | None) -> None:
    """Answer every setting of a grid file.

    The grid file is TOML: each key a parameter (sampling_probability, noise_multiplier, steps, delta, method, …),
    each value one value, a list, or a range such as {start = 250, stop = 64000, factor = 2}. Finished settings are
    kept in OUTPUT.log: a sweep that was stopped, however it was stopped, goes on where it was.
    """
    check_suffix(output)
    workers = _count(processes)
    try:
        settings = read_grid(grid)
    except InvalidParameterError as error:
        raise click.UsageError(f"{grid}: {error}") from None
    log = output.with_name(output.name + ".log")
    with _executor(dask) as executor, _progress("settings") as progress:
        rows = run_sweep(settings, log=log, executor=executor, processes=workers, progress=progress)
    write_rows(rows, output)
    failures = sum(bool(row["error"]) for row in rows)
    click.echo(f"{len(rows)} settings, {failures} failed: {output}")
