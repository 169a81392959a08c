"""Time the composition accountants on the settings of the paper's tables, and lossless against dp-accounting.

dp-accounting composes the same pair's loss, connect the dots on the same lattice step, in floating point (FFT) and from
above only; lossless gives a certified interval from both sides. Run: python tests/benchmarks/bench_composition.py
"""

import csv
import math
import statistics
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
from dp_accounting.pld import pld_pmf
from scipy.stats import norm  # type: ignore[import-untyped]

import certified_dp
from certified_dp import DPSGD, Phase
from certified_dp.composition.floor import floor_epsilon
from certified_dp.composition.kl_hinge import kl_hinge_epsilon
from certified_dp.composition.lossless import lossless_epsilon

TABLES = Path(certified_dp.__file__).parent / "paper" / "paper_tables.csv"


def seconds(call: Callable[[], object]) -> float:
    """Return the processor time of one call."""
    start = time.process_time()
    call()
    return time.process_time() - start


def peer(run: Phase, delta: float, step: float) -> float:
    """Return dp-accounting's ε of Proposition 1's pair on the given lattice step."""
    p, shift = float(run.sampling_probability), 2 / float(run.noise_multiplier)
    top = math.log1p(p * math.expm1(shift * (shift + 9) - shift**2 / 2))
    indices = np.arange(-math.ceil(top / step), math.ceil(top / step) + 1)
    losses = np.abs(indices) * step
    x = np.log1p(np.expm1(losses) / p) / shift + shift / 2
    curve = norm.sf(x) * (1 - p - np.exp(losses)) + p * norm.sf(x - shift)
    deltas = np.where(indices >= 0, curve, -np.expm1(-losses) + np.exp(-losses) * curve)
    pmf = pld_pmf.create_pmf_pessimistic_connect_dots(step, indices, np.maximum.accumulate(deltas[::-1])[::-1])
    return float(pmf.self_compose(run.steps, 1e-15).get_epsilon_for_delta(delta))


def report(name: str, values: Sequence[float]) -> None:
    """Print median and worst."""
    print(f"{name}: median {statistics.median(values):.2f} s, worst {max(values):.2f} s, {len(values)} rows")


def main() -> None:
    """Print medians, worst cases and ratios."""
    rows = [r for r in csv.DictReader(TABLES.read_text(encoding="utf-8").splitlines()) if r["ours"][0] != ">"]
    runs = [(DPSGD(sampling_probability=r["p"], noise_multiplier=r["sigma"], steps=r["T"]), r["delta"]) for r in rows]
    report("kl_hinge", [seconds(lambda run=run, at=at: kl_hinge_epsilon([run], Fraction(at))) for run, at in runs])  # type: ignore[misc]
    report("floor", [seconds(lambda run=run, at=at: floor_epsilon([run], Fraction(at))) for run, at in runs[::6]])  # type: ignore[misc]
    ratios, ours = [], []
    for run, at in runs[::6]:
        start = time.process_time()
        found = lossless_epsilon([run], Fraction(at))
        ours.append(time.process_time() - start)
        start = time.process_time()
        theirs = peer(run, float(at), float(found.grid_step))
        ratios.append(ours[-1] / (time.process_time() - start))
        if not float(found.lower) * 0.999 <= theirs <= float(found.upper) * 1.01:
            print(f"  note: dp-accounting says {theirs} at {run}, we [{float(found.lower)}, {float(found.upper)}]")
    report("lossless, both sides", ours)
    print(f"lossless / dp-accounting: median {statistics.median(ratios):.1f}, worst {max(ratios):.1f}")


if __name__ == "__main__":
    main()
