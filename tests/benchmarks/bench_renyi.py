"""Time the Rényi methods against dp-accounting's RdpAccountant, on the settings of the paper's tables, in one run.

Run: python tests/benchmarks/bench_renyi.py
"""

import csv
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from dp_accounting import dp_event
from dp_accounting.privacy_accountant import NeighboringRelation
from dp_accounting.rdp import RdpAccountant

import certified_dp
from certified_dp import DPSGD, Phase, epsilon

TABLES = Path(certified_dp.__file__).parent / "paper" / "paper_tables.csv"


def seconds(call: Callable[[], object], repeats: int = 3) -> float:
    """Return the least time of several calls."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def peer(run: Phase, delta: float) -> float:
    """Return dp-accounting's ε for the same run (its noise multiplier is relative to 2C, hence the halving)."""
    accountant = RdpAccountant(orders=list(range(2, 257)), neighboring_relation=NeighboringRelation.REPLACE_ONE)
    n = run.sampling_probability.denominator
    event = dp_event.SampledWithoutReplacementDpEvent(
        n, run.sampling_probability.numerator, dp_event.GaussianDpEvent(float(run.noise_multiplier) / 2)
    )
    accountant.compose(event, run.steps)
    return float(accountant.get_epsilon(delta))


def main() -> None:
    """Print medians, worst cases and ratios."""
    rows = [row for row in csv.DictReader(TABLES.read_text(encoding="utf-8").splitlines()) if row["ours"][0] != ">"]
    runs = [(DPSGD(sampling_probability=r["p"], noise_multiplier=r["sigma"], steps=r["T"]), r["delta"]) for r in rows]
    times: dict[str, list[float]] = {}
    for method in ("single_pair_renyi", "theorem1"):
        times[method] = [
            seconds(lambda run=run, at=at, method=method: epsilon(run, at, method=method, orders="integer"))  # type: ignore[misc]
            for run, at in runs
        ]
    sample = runs[:: len(runs) // 6]
    peer_times = [seconds(lambda run=run, at=at: peer(run, float(at)), 1) for run, at in sample]  # type: ignore[misc]
    for method, values in times.items():
        ratios = [slow / values[runs.index(key)] for slow, key in zip(peer_times, sample, strict=True)]
        print(
            f"{method}: median {1e3 * statistics.median(values):.2f} ms, worst {1e3 * max(values):.2f} ms; "
            f"dp-accounting's RdpAccountant takes {min(ratios):.0f} to {max(ratios):.0f} times as long"
        )
    command = [sys.executable, "-m", "certified_dp", "epsilon", "--sampling-probability", "0.01"]
    command += ["--noise-multiplier", "2", "--steps", "8000", "--delta", "1e-6", "--method", "single_pair_renyi"]
    whole = seconds(lambda: subprocess.run(command, check=True, capture_output=True))
    print(f"whole process: {whole:.3f} s")


if __name__ == "__main__":
    main()
