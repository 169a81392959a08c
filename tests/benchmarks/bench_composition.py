"""Time the grid methods on the settings of the paper's tables, and the lossless enclosure against dp-accounting's PLD.

Run: python tests/benchmarks/bench_composition.py [every N-th row, default 8]

The peer composes the subsampled Gaussian pair (ΔBer(p)+N ‖ N) in both directions, pessimistically and in doubles, at
the coarsest discretisation interval whose ε is within 0.2% of a four times finer one.
"""

import csv
import statistics
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

from dp_accounting.pld import privacy_loss_distribution as pld

import certified_dp
from certified_dp import DPSGD, Phase, epsilon
from certified_dp.composition.kl_hinge import kl_hinge_epsilon
from certified_dp.composition.lossless import lossless_epsilon
from certified_dp.parameters import as_phases

TABLES = Path(certified_dp.__file__).parent / "paper" / "paper_tables.csv"


def seconds(call: Callable[[], object]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def peer(run: Phase, delta: float, interval: float) -> float:
    """Return dp-accounting's pessimistic ε."""
    one = pld.from_gaussian_mechanism(
        standard_deviation=float(run.noise_multiplier) / 2,
        value_discretization_interval=interval,
        sampling_prob=float(run.sampling_probability),
    )
    return float(one.self_compose(run.steps).get_epsilon_for_delta(delta))


def peer_seconds(run: Phase, delta: float) -> float:
    """Time the peer at the interval that gives 0.2%."""
    interval = 0.1
    while True:
        coarse, fine = peer(run, delta, interval), peer(run, delta, interval / 4)
        if abs(coarse - fine) <= 0.002 * fine:
            return seconds(lambda: peer(run, delta, interval))  # noqa: B023 -- called at once
        interval /= 2


def main() -> None:
    """Print medians, worst cases and ratios."""
    every = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    rows = [row for row in csv.DictReader(TABLES.read_text(encoding="utf-8").splitlines()) if row["ours"][0] != ">"]
    times: dict[str, list[float]] = {"kl_hinge": [], "lossless": [], "best": []}
    ratios = []
    for row in rows[::every]:
        run = DPSGD(sampling_probability=row["p"], noise_multiplier=row["sigma"], steps=row["T"])
        phases, delta = as_phases(run), Fraction(row["delta"])
        times["kl_hinge"].append(seconds(lambda: kl_hinge_epsilon(phases, delta)))  # noqa: B023 -- called at once
        times["lossless"].append(seconds(lambda: lossless_epsilon(phases, delta)))  # noqa: B023
        times["best"].append(seconds(lambda: epsilon(run, delta)))  # noqa: B023
        ratios.append(times["lossless"][-1] / peer_seconds(run, float(delta)))
    for name, values in times.items():
        print(f"{name}: median {statistics.median(values):.2f} s, worst {max(values):.2f} s over {len(values)} rows")
    print(f"lossless enclosure / dp-accounting's PLD: median {statistics.median(ratios):.1f}, worst {max(ratios):.1f}")


if __name__ == "__main__":
    main()
