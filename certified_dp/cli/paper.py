"""Commands that compute many numbers: sweep, table, figure."""

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path

import click

import certified_dp
from certified_dp.errors import InvalidParameterError
from certified_dp.paper.grid import read_grid
from certified_dp.paper.output import check_folder, check_suffix, write_rows, write_text
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
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def _files() -> Iterator[None]:
    """Turn trouble with a file (no permission, disk full) into one line."""
    try:
        yield
    except OSError as error:
        raise click.UsageError(f"{error.filename or 'output'}: {error.strerror}") from None


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
    with _executor(dask) as executor, _files():
        with _progress("settings") as progress:
            rows = run_sweep(settings, log=log, executor=executor, processes=workers, progress=progress)
        write_rows(rows, output)
    failures = sum(bool(row["error"]) for row in rows)
    click.echo(f"{len(rows)} settings, {failures} failed: {output}")


def _log_of(output: Path | None, name: str) -> Path | None:
    """Choose where a command keeps what it finished: beside its output, else in the user's cache, if that works."""
    if output is not None:
        return output.with_name(output.name + ".log")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "certified-dp"
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return cache / f"{name}-{certified_dp.__version__}.log"


@click.command(epilog="Example: certified-dp table 2 --format markdown -o table2.md")
@click.argument("number")
@click.option("--format", "style", default="text", show_default=True, help="text, markdown, csv or json.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write to a file instead.")
@_PROCESSES
def table(number: str, style: str, output: Path | None, processes: str | None) -> None:
    """Compute Table 1 to 6 of the paper in certified numbers, or "all", and mark where the print differs.

    A run that was stopped goes on where it was.
    """
    from certified_dp.paper import table_text, tables

    if style not in table_text.FORMATS:
        raise InvalidParameterError("format", style, f"one of {', '.join(table_text.FORMATS)}")
    if output is not None:
        check_folder(output)
    which = None if number == "all" else exact_integer("number", number, 1, "1 to 6, or all")
    log = _log_of(output, f"table-{number}")
    with _files(), _progress(f"table {number}") as progress:
        rows = tables.table(which, log=log, processes=_count(processes), progress=progress)
    if output is not None:
        with _files():
            write_text(output, table_text.FORMATS[style](rows))
    elif style == "text" and sys.stdout.isatty():
        from rich.console import Console

        table_text.print_tables(rows, Console(width=max(Console().width, table_text.WIDTH)))
    else:
        click.echo(table_text.FORMATS[style](rows), nl=False)
    if log is not None:
        log.unlink()


@click.command(epilog="Example: certified-dp figure 7 -o bracket.svg")
@click.argument("number")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="A .png, .svg or .pdf file [default: figureN.png]."
)
@_PROCESSES
def figure(number: str, output: Path | None, processes: str | None) -> None:
    """Draw Figure 1 to 6 of the paper, 7 (the bracket) or 8 (who wins where), from certified numbers.

    The numbers are saved beside the picture as CSV. A run that was stopped goes on where it was. Needs the extra
    plots.
    """
    from certified_dp.paper import figures

    path = output or Path(f"figure{number}.png")
    figures.check_figure(number, path)
    log = path.with_name(path.name + ".log")
    with _files(), _progress(f"figure {number}") as progress:
        figures.figure(number, path, log=log, processes=_count(processes), progress=progress)
    log.unlink(missing_ok=True)
    click.echo(f"{path}, {path.with_suffix('.csv')}")
