"""Many settings at once: on local processes or any executor, resumable, with the same rows whatever computed them."""

import hashlib
import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias, TypedDict

import certified_dp
from certified_dp.composition.floor import floor_delta, floor_epsilon
from certified_dp.enclosure import decimal_lower
from certified_dp.errors import CertifiedDPError
from certified_dp.methods import read_options
from certified_dp.paper.grid import GIVEN_KEYS, OPTION_KEYS, RUN_KEYS, Setting
from certified_dp.paper.rowlog import Row, RowLog
from certified_dp.parameters import DPSGD, Phase, as_phases, exact_delta, exact_epsilon
from certified_dp.result import Result, decimal_exact

#: What is computed about a setting; it must be importable by other processes, and should not raise.
Task: TypeAlias = Callable[[Setting], Row]

_QUESTIONS: dict[str, Callable[..., Result]] = {
    "delta": certified_dp.epsilon,
    "epsilon": certified_dp.delta,
    "order": certified_dp.rdp,
}
_ANSWER_KEYS = ("winner", "upper", "lower", "floor", "best_order", "notes", "error")


def ask(setting: Setting) -> Result:
    """Answer the question that a setting is.

    Guarantee: that of `certified_dp.epsilon` where the setting has a delta, `certified_dp.delta` where it has an
        epsilon, `certified_dp.rdp` where it has an order.

    Raises: whatever they raise.

    Example:
        >>> setting = {"sampling_probability": "0.01", "noise_multiplier": "2", "steps": "8000", "order": "5"}
        >>> print(ask(setting))
        ρ ≤ 3.74934 (α = 5, replace adjacency, single_pair_renyi)
    """
    given = next(key for key in GIVEN_KEYS if key in setting)
    options = {key: setting[key] for key in ("method", *OPTION_KEYS) if key in setting}
    return _QUESTIONS[given](_run(setting), setting[given], **options)


def _run(setting: Setting) -> Phase:
    return DPSGD(**{key: setting[key] for key in RUN_KEYS if key in setting})


def evaluate(setting: Setting) -> Row:
    """Answer a setting as a row of text: bounds rounded outward, or the error.

    The method "floor" asks for nothing but the floor.

    Returns: "upper", "lower" (of the method's own value), "floor" (of the true value), "winner" (the method that
        gave upper), "best_order", "notes" and "error"; empty where there is nothing to say.

    Example:
        >>> setting = {"sampling_probability": "0.01", "noise_multiplier": "2", "steps": "8000", "delta": "1e-6"}
        >>> row = evaluate({**setting, "method": "single_pair_renyi", "orders": "integer"})
        >>> row["upper"], row["best_order"], evaluate({**setting, "steps": "none"})["error"]
        ('6.57772', '5', "InvalidParameterError: steps = 'none': must be an integer ≥ 0")
    """
    try:
        answers = _floor(setting) if setting.get("method") == "floor" else _bounds(ask(setting))
    except Exception as error:  # recorded in the row, so that one bad setting does not end a sweep
        return failed(error)
    return {**dict.fromkeys(_ANSWER_KEYS, ""), **answers}


def _bounds(result: Result) -> Row:
    bound = result.bound
    return {
        "winner": result.method,
        "upper": result.upper_decimal,
        "lower": "" if bound.lower is None else decimal_lower(bound.lower, result.digits),
        "floor": result.floor_decimal or "",
        "best_order": "" if bound.order is None else decimal_exact(bound.order),
        "notes": "; ".join(bound.notes),
    }


def _floor(setting: Setting) -> Row:
    run = as_phases(_run(setting))
    options = read_options(**{key: setting[key] for key in OPTION_KEYS if key in setting})
    if not run:
        floor = Fraction(0)
    elif "delta" in setting:
        floor = floor_epsilon(run, exact_delta(setting["delta"]), **options.grid).epsilon
    else:
        floor = floor_delta(run, exact_epsilon(setting["epsilon"]), **options.grid).delta
    return {"floor": decimal_lower(floor, options.digits)}


def failed(error: BaseException) -> Row:
    """Return the row of a setting that could not be answered."""
    message = " ".join(f"{type(error).__name__}: {error}".split())
    return {**dict.fromkeys(_ANSWER_KEYS, ""), "error": message}


class SweepOptions(TypedDict, total=False):
    """The keyword options of `sweep` that say how, not what."""

    log: Path | None
    executor: Executor | None
    processes: int | None
    progress: Callable[[int, int], None] | None


def sweep(
    settings: Sequence[Setting],
    *,
    task: Task = evaluate,
    log: Path | None = None,
    executor: Executor | None = None,
    processes: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Row]:
    """Answer many settings; row i is settings[i] with its answer.

    Guarantee: every row is what ``task`` alone returns for its setting, whatever ran it and however often the sweep
        was stopped. A setting that fails has an "error" and the others go on.

    Args:
        settings: from `read_grid` or `expand`, or written out.
        task: what is computed, `evaluate` by default.
        log: where finished rows are kept; a sweep that was stopped goes on from there.
        executor: any ``concurrent.futures`` executor, e.g. ``distributed.Client().get_executor()``. Default: local
            processes (so a script that calls this needs the usual ``if __name__ == "__main__"``).
        processes: how many local processes; by default one for each available core.
        progress: called with (rows finished, rows in all).

    Raises: LogRefusedError for a log of different work; CertifiedDPError when the given executor breaks down (with a
        log, nothing finished is lost).

    Example:
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> from certified_dp.paper.grid import expand
        >>> grid = {"sampling_probability": "0.01", "noise_multiplier": 2, "steps": [250, 500], "delta": "1e-6"}
        >>> with ThreadPoolExecutor() as executor:
        ...     rows = sweep(expand({**grid, "method": "single_pair_renyi"}), executor=executor)
        >>> [(row["steps"], row["upper"]) for row in rows]
        [('250', '1.70108'), ('500', '1.96857')]
    """
    report = progress or (lambda done, total: None)
    with RowLog(log, _name_of_work(settings, task)) if log else nullcontext() as book:
        rows: dict[int, Row] = dict(book.rows) if book else {}
        left = {index: setting for index, setting in enumerate(settings) if index not in rows}
        report(len(rows), len(settings))
        for finished in _on(executor, task, left) if executor else _on_processes(task, left, processes):
            if book:
                book.append(finished.answered.items())
            rows.update({**finished.answered, **finished.lost})
            report(len(rows), len(settings))
    return [{**setting, **rows[index]} for index, setting in enumerate(settings)]


def _name_of_work(settings: Sequence[Setting], task: Task) -> str:
    """Identify what the rows of a log mean."""
    meaning = [certified_dp.__version__, f"{task.__module__}.{task.__qualname__}", list(settings)]
    return hashlib.sha256(json.dumps(meaning).encode()).hexdigest()


@dataclass
class _Finished:
    """Settings whose futures ended together, by index.

    Attributes:
        answered: their rows.
        lost: those that the executor could not bring to an end; tried again on a restart.
        broken: those that were under way when the executor broke down.
    """

    answered: dict[int, Row] = field(default_factory=dict)
    lost: dict[int, Row] = field(default_factory=dict)
    broken: dict[int, BaseException] = field(default_factory=dict)

    def add(self, index: int, future: "Future[Row]") -> None:
        error = CancelledError() if future.cancelled() else future.exception()
        if error is None:
            self.answered[index] = future.result()
        elif isinstance(error, (BrokenExecutor, CancelledError)):
            self.broken[index] = error
        else:
            self.lost[index] = failed(error)


def _stream(executor: Executor, task: Task, settings: Mapping[int, Setting], in_flight: int) -> Iterator[_Finished]:
    """Yield what ends, never more than ``in_flight`` settings ahead; submit nothing more once the executor breaks."""
    waiting = iter(settings.items())
    indices: dict[Future[Row], int] = {}
    ended: SimpleQueue[Future[Row]] = SimpleQueue()
    room = in_flight
    while True:
        try:
            for index, setting in islice(waiting, room):
                future = executor.submit(task, setting)
                indices[future] = index
                future.add_done_callback(ended.put)
        except BrokenExecutor:
            waiting = iter(())
        if not indices:
            return
        finished = _Finished()
        futures = list(_take(ended))
        for future in futures:
            finished.add(indices.pop(future), future)
        if finished.broken:
            waiting = iter(())
        yield finished
        room = len(futures)


def _take(queue: "SimpleQueue[Future[Row]]") -> Iterator["Future[Row]"]:
    """Wait for one item, then take what else is there."""
    yield queue.get()
    with suppress(Empty):
        while True:
            yield queue.get_nowait()


def _on(executor: Executor, task: Task, settings: Mapping[int, Setting]) -> Iterator[_Finished]:
    for finished in _stream(executor, task, settings, 10_000):
        yield finished
        if finished.broken:
            reason = next(iter(finished.broken.values()))
            raise CertifiedDPError(f"the executor broke down ({type(reason).__name__}: {reason}); start again to go on")


def _on_processes(task: Task, settings: Mapping[int, Setting], processes: int | None) -> Iterator[_Finished]:
    """Run on local processes; a setting whose process dies even when it runs alone is the one to blame."""
    workers = processes or _available_cores()
    left = dict(settings)
    while left:
        suspects: dict[int, BaseException] = {}
        with _pool(min(workers, len(left))) as pool:
            for finished in _stream(pool, task, dict(left), 4 * workers):
                suspects.update(finished.broken)
                for index in (*finished.answered, *finished.lost):
                    del left[index]
                yield finished
        for index in suspects:
            with _pool(1) as pool:
                for finished in _stream(pool, task, {index: left.pop(index)}, 1):
                    finished.lost.update({i: failed(error) for i, error in finished.broken.items()})
                    yield finished


def _available_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Run fresh interpreters: nothing of the caller's threads or of flint's state is copied into them."""
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _start_worker)
    try:
        try:
            pool.submit(os.getpid).result()
        except BrokenExecutor:
            raise CertifiedDPError(
                'worker processes do not start (a script needs `if __name__ == "__main__":` around what it runs)'
            ) from None
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _start_worker() -> None:
    """Leave Ctrl-C to the parent, and end with it however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent: Any = multiprocessing.parent_process()

    def end_with_parent() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
