"""The numbers behind the paper's Figures 1 to 6 and two more: certified, as plain rows of text."""

import math
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import TypeAlias

from certified_dp.accountant import rdp
from certified_dp.asymptotics import birrell_expansion_ball, limit_delta, theorem1_expansion_ball
from certified_dp.divergence.birrell import rdp_birrell_expansion_ball
from certified_dp.enclosure import decimal_upper, upper_end, working_precision
from certified_dp.paper.grid import Setting
from certified_dp.paper.rowlog import Row
from certified_dp.paper.sweep import evaluate
from certified_dp.parameters import DPSGD
from certified_dp.result import decimal_exact

#: ``run(settings, task)`` answers settings, as `certified_dp.paper.sweep.sweep`.
Run: TypeAlias = Callable[[list[Setting], Callable[[Setting], Row]], list[Row]]

PAPER = ("theorem1", "birrell", "wang", "lossless")
ALL = (*PAPER, "single_pair_renyi", "kl_hinge")
_PAPER_ORDERS = {"orders": "integer", "max_order": "256"}


def _doublings(first: int, last: int) -> list[int]:
    return [first << k for k in range((last // first).bit_length())]


def _setting(method: str, p: str, sigma: str, steps: int, **given: str) -> Setting:
    run = {"sampling_probability": p, "noise_multiplier": sigma, "steps": str(steps), **given, "method": method}
    return {**run, **(_PAPER_ORDERS if method in ("theorem1", "birrell", "wang") else {})}


def isosceles(run: Run) -> list[Row]:
    """Figure 1: the means and weights of the two mixtures of (5) at p = 0.2, Δ = 4.5, u = 0.3."""
    p, delta, u = 0.2, 4.5, 0.3
    means = {"a": (delta, 0.0), "b": (delta * u, delta * math.sqrt(2 * u - u * u))}
    return [
        {"mixture": name, "x": repr(x), "y": repr(y), "weight": repr(weight)}
        for name, mean in means.items()
        for (x, y), weight in (((0.0, 0.0), 1 - p), (mean, p))
    ]


def _against_steps(run: Run, panels: Iterable[tuple[str, str, int]], methods: Iterable[str]) -> list[Row]:
    return run(
        [
            _setting(method, p, sigma, steps, delta="1e-6")
            for p, sigma, last in panels
            for method in methods
            for steps in _doublings(250, last)
        ],
        evaluate,
    )


def by_noise(run: Run) -> list[Row]:
    """Figure 2: ε at δ = 1e-6 against T for p = 0.01 and σ = 2, 6."""
    return _against_steps(run, [("0.01", "2", 32000), ("0.01", "6", 64000)], PAPER)


def by_sampling(run: Run) -> list[Row]:
    """Figure 3: ε at δ = 1e-6 against T for σ = 4 and p = 0.0025, 0.04."""
    return _against_steps(run, [("0.0025", "4", 64000), ("0.04", "4", 16000)], PAPER)


def limits(run: Run) -> list[Row]:
    """Figure 4: δ at ε = 2, 3, 4 against T for T·p² = 1/2 and σ = 2, and its limits ("steps" is then empty)."""
    nu, sigma, epsilons = Fraction(1, 2), "2", ("2", "3", "4")

    def rate(steps: int) -> str:
        return decimal_exact(Fraction(math.isqrt(nu.numerator * 10**24 // (nu.denominator * steps)), 10**12))

    rows = run(
        [
            _setting(method, rate(steps), sigma, steps, epsilon=epsilon)
            for method in ("theorem1", "lossless")
            for epsilon in epsilons
            for steps in _doublings(2000, 32000)
        ],
        evaluate,
    )
    for method in ("proposition4", "lossless"):
        for epsilon in epsilons:
            bound = limit_delta(method, nu, Fraction(sigma), Fraction(epsilon))
            rows.append({"epsilon": epsilon, "method": method, "steps": "", "upper": decimal_upper(bound.upper)})
    return rows


def expansions(run: Run) -> list[Row]:
    """Figure 5: one-step Rényi bounds at σ = 3 and p = 0.005, 0.01 for α = 2, ..., 15, and (8) and (9)."""
    sigma, expansion_order = Fraction(3), 4
    rows: list[Row] = []
    for p in ("0.005", "0.01"):
        for order in range(2, 16):
            rate = Fraction(p)
            step = DPSGD(sampling_probability=p, noise_multiplier=sigma, steps=1)
            with working_precision(128):
                values = {
                    "birrell": rdp_birrell_expansion_ball(sigma, rate, order, expansion_order, prec=128),
                    "theorem1_expansion": theorem1_expansion_ball(sigma, rate, Fraction(order)),
                    "birrell_expansion": birrell_expansion_ball(sigma, rate, Fraction(order)),
                }
                ends = {name: upper_end(value) for name, value in values.items()}
            ends["theorem1"] = rdp(step, order, method="theorem1").upper
            at = {"sampling_probability": p, "order": str(order)}
            rows += [{**at, "series": name, "upper": decimal_upper(upper)} for name, upper in ends.items()]
    return rows


_REPEATS = 20


def time_setting(setting: Setting) -> Row:
    """Time a question 20 times: the median and the 10th and 90th percentiles, in seconds.

    Each repeat, of this and of other numbers of steps, asks about its own noise multiplier, less than 1e-6 away, so
    that nothing kept from one helps another.
    """
    seconds = []
    for repeat in range(_REPEATS):
        own = Fraction(int(setting["steps"]) * _REPEATS + repeat, 10**12)
        sigma = Fraction(setting["noise_multiplier"]) + own
        start = time.perf_counter()
        row = evaluate({**setting, "noise_multiplier": str(sigma)})
        seconds.append(time.perf_counter() - start)
        if row["error"]:
            return row
    deciles = statistics.quantiles(seconds, n=10, method="inclusive")
    return {"median": repr(statistics.median(seconds)), "p10": repr(deciles[0]), "p90": repr(deciles[8]), "error": ""}


def run_times(run: Run) -> list[Row]:
    """Figure 6: seconds for ε at δ = 1e-8, p = 0.01, σ = 2, 6 and T = 1000, 10000; Rényi orders up to 64."""
    settings = [
        {**_setting(method, "0.01", sigma, steps, delta="1e-8"), "max_order": "64"}
        for sigma in ("2", "6")
        for steps in (1000, 10000)
        for method in ALL
    ]
    return run(settings, time_setting)


def bracket(run: Run) -> list[Row]:
    """Figure 7: every accountant's ε and the floor against T, at p = 0.01, σ = 2, δ = 1e-6."""
    return _against_steps(run, [("0.01", "2", 64000)], (*ALL, "floor"))


_WINNER_NOISE = ("0.7", "0.8", "1", "1.25", "1.5", "2", "2.5", "3", "4", "6", "8", "12")
_WINNER_STEPS = [4**k for k in range(9)]


def winners(run: Run) -> list[Row]:
    """Figure 8: every accountant's ε over σ and T at p = 0.01, δ = 1e-6."""
    return run(
        [
            _setting(method, "0.01", sigma, steps, delta="1e-6")
            for sigma in _WINNER_NOISE
            for steps in _WINNER_STEPS
            for method in ALL
        ],
        evaluate,
    )


#: The data of each figure.
DATA: Mapping[int, Callable[[Run], list[Row]]] = {
    1: isosceles,
    2: by_noise,
    3: by_sampling,
    4: limits,
    5: expansions,
    6: run_times,
    7: bracket,
    8: winners,
}
