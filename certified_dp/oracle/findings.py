"""Runs the oracle over other accountants: ``python -m certified_dp.oracle.findings NAME``; see FINDINGS.md.

The libraries are imported when their check runs; the earlier Rényi formulas are written in doubles, as a user would.
"""

import argparse
import importlib.metadata
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from certified_dp.oracle.check import Report, run, select

#: The orders of the paper, and of most users of a Rényi formula.
_ORDERS = tuple(range(2, 257))


def _from_rdp(rdp: Callable[[float, float, int], float], orders: Sequence[int] = _ORDERS) -> Callable[..., float]:
    """Convert a one-step Rényi bound in doubles to (ε, δ) by the conversion (6)."""

    def epsilon(p: float, sigma: float, steps: int, delta: float) -> float:
        values = []
        for order in orders:
            try:
                rho = rdp(p, sigma, order)
            except (ValueError, OverflowError, ZeroDivisionError):
                continue
            values.append(steps * rho + math.log1p(-1 / order) - math.log(delta * order) / (order - 1))
        return max(0.0, min(values, default=math.inf))

    return epsilon


def _central_moments(sigma: float, most: int) -> list[float]:
    """Compute E(L−1)^k for k = 0, ..., most by the alternating sum of the papers, in doubles."""
    square = 4 / sigma**2
    moments = [1.0, 0.0]
    for k in range(2, most + 1):
        terms = [(-1) ** (k - j) * math.comb(k, j) * math.exp(j * (j - 1) * square / 2) for j in range(2, k + 1)]
        moments.append(sum(terms) + (-1) ** (k - 1) * (k - 1))
    return moments


def _even(moments: Sequence[float], k: int) -> float:
    return moments[k] if k % 2 == 0 else math.sqrt(moments[k - 1] * moments[k + 1])


def wang_rdp(p: float, sigma: float, order: int) -> float:
    """Wang, Balle, Kasiviswanathan 2021, Theorem 9, as printed, in doubles."""
    moments = _central_moments(sigma, order + 1)
    total = 1.0
    for i in range(2, order + 1):
        worst = min(4 * _even(moments, i), 2 * math.exp(i * (i - 1) * 2 / sigma**2))
        total += math.comb(order, i) * p**i * worst
    return math.log(total) / (order - 1)


def birrell_rdp(p: float, sigma: float, order: int, tuning: int = 4) -> float:
    """Birrell et al. 2024, Theorem 3.4, as printed, with tuning order m, in doubles."""
    alpha, q, square, m = order, 1 - p, 4 / sigma**2, tuning
    moments = _central_moments(sigma, alpha + m + 2)
    total = 1 + alpha * (alpha - 1) * (math.exp(square) - math.exp(square / 2)) * p**2
    for k in range(3, m):
        inner = 4.0 if k % 2 == 0 else 3.0
        for j in range(k + 1):
            product = alpha / (alpha - 1)
            for i in range(1, j):
                product *= 1 - i / alpha
            for i in range(k - j):
                product *= 1 + (i - 1) / alpha
            inner += math.comb(k, j) * abs(product - 1)
        total += p**k / math.factorial(k) * (alpha - 1) * alpha ** (k - 1) * _even(moments, k) * inner
    for j in range(min(m, alpha) + 1):
        weight = p**m / math.factorial(m) * q ** (-(alpha + m - j - 1)) * math.comb(m, j)
        for i in range(j):
            weight *= abs(alpha - i)
        for i in range(m - j):
            weight *= alpha + i - 1
        if alpha <= j:
            rest = q ** (alpha - j) * _even(moments, m)
        else:
            rest = _even(moments, m)
            for i in range(alpha - j + 1):
                factor = 1.0
                for k in range(i):
                    factor *= (alpha - j - k) / (m + i - k)
                rest += p**i * _even(moments, i + m) * factor
        total += weight * rest
    return math.log(total) / (alpha - 1)


def _whole_orders(rdp: Callable[[float, float, int], float]) -> Callable[[float, float, float], float]:
    def at(p: float, sigma: float, order: float) -> float:
        if order != int(order):
            raise ValueError("integer orders only")
        if p == 1:
            raise ValueError("p < 1 only")
        return rdp(p, sigma, int(order))

    return at


def _dp_accounting_rdp() -> Callable[..., float]:
    from dp_accounting import dp_event
    from dp_accounting.privacy_accountant import NeighboringRelation
    from dp_accounting.rdp import RdpAccountant

    def epsilon(p: float, sigma: float, steps: int, delta: float) -> float:
        accountant = RdpAccountant(neighboring_relation=NeighboringRelation.REPLACE_ONE)
        gaussian = dp_event.GaussianDpEvent(sigma)
        event = gaussian if p == 1 else dp_event.SampledWithoutReplacementDpEvent(1_000_000_000_000, p * 1e12, gaussian)
        return float(accountant.compose(event, steps).get_epsilon(delta))

    return epsilon


def _dp_accounting_rdp_orders() -> Callable[..., float]:
    from dp_accounting.rdp import rdp_privacy_accountant

    def rdp(p: float, sigma: float, order: float) -> float:
        return float(rdp_privacy_accountant._compute_rdp_sample_wor_gaussian(p, sigma, [order])[0])

    return rdp


def _dp_accounting_pld(*, sampled: bool) -> Callable[..., float]:
    from dp_accounting import dp_event
    from dp_accounting.pld import PLDAccountant
    from dp_accounting.privacy_accountant import NeighboringRelation

    def epsilon(p: float, sigma: float, steps: int, delta: float) -> float:
        accountant = PLDAccountant(NeighboringRelation.REPLACE_ONE)
        gaussian = dp_event.GaussianDpEvent(sigma)
        event = dp_event.PoissonSampledDpEvent(p, gaussian) if sampled else gaussian
        return float(accountant.compose(event, steps).get_epsilon(delta))

    return epsilon


def _prv_accountant() -> Callable[..., float]:
    from prv_accountant import PRVAccountant
    from prv_accountant.privacy_random_variables import GaussianMechanism

    def epsilon(p: float, sigma: float, steps: int, delta: float) -> float:
        # Its full-batch Gaussian mechanism has sensitivity 1, so σ relative to the sensitivity 2C is the one to give.
        mechanism = GaussianMechanism(noise_multiplier=sigma)
        accountant = PRVAccountant(
            prvs=[mechanism], max_self_compositions=[steps], eps_error=0.1, delta_error=delta / 1000
        )
        return float(accountant.compute_epsilon(delta, [steps])[2])

    return epsilon


@dataclass(frozen=True)
class Check:
    """An accountant, what it is asked, and which cases apply to it."""

    accountant: Callable[[], Callable[..., Any]]
    question: str
    noise_multiplier_convention: str
    package: str | None = None
    keep: Callable[[dict[str, Any]], bool] = lambda parameters: True


def _full_batch(parameters: dict[str, Any]) -> bool:
    return bool(parameters["sampling_probability"] == "1")


def _subsampled(parameters: dict[str, Any]) -> bool:
    return not _full_batch(parameters)


def _small_full_batch(parameters: dict[str, Any]) -> bool:
    return _full_batch(parameters) and parameters["steps"] in (1, 5, 50)


CHECKS = {
    "wang_rdp": Check(lambda: _whole_orders(wang_rdp), "renyi", "clip_norm", keep=_subsampled),
    "wang": Check(lambda: _from_rdp(wang_rdp, range(2, 65)), "epsilon", "clip_norm", keep=_subsampled),
    "birrell_rdp": Check(lambda: _whole_orders(birrell_rdp), "renyi", "clip_norm", keep=_subsampled),
    "birrell": Check(lambda: _from_rdp(birrell_rdp, range(2, 65)), "epsilon", "clip_norm", keep=_subsampled),
    "dp_accounting_rdp": Check(_dp_accounting_rdp, "epsilon", "sensitivity", "dp-accounting", _subsampled),
    "dp_accounting_rdp_one_step": Check(_dp_accounting_rdp_orders, "renyi", "sensitivity", "dp-accounting"),
    "dp_accounting_rdp_as_documented": Check(_dp_accounting_rdp, "epsilon", "clip_norm", "dp-accounting"),
    "dp_accounting_rdp_gaussian": Check(_dp_accounting_rdp, "epsilon", "sensitivity", "dp-accounting", _full_batch),
    "dp_accounting_pld_gaussian": Check(
        lambda: _dp_accounting_pld(sampled=False), "epsilon", "clip_norm", "dp-accounting", _small_full_batch
    ),
    "dp_accounting_pld_poisson": Check(
        lambda: _dp_accounting_pld(sampled=True),
        "epsilon",
        "clip_norm",
        "dp-accounting",
        lambda parameters: _subsampled(parameters) and parameters["steps"] in range(1, 2001),
    ),
    "prv_accountant_gaussian": Check(
        _prv_accountant,
        "epsilon",
        "sensitivity",
        "prv-accountant",
        lambda x: _small_full_batch(x) and x["delta"] != "0",
    ),
}


def check(name: str, *, domain: bool = False, max_cases: int | None = None) -> Report:
    """Hold one of the accountants against the vectors that apply to it.

    Args: domain: the inputs outside the domain instead.  max_cases: at most so many.
    """
    chosen = CHECKS[name]
    full_batch_only = chosen.keep in (_full_batch, _small_full_batch)
    cases = [
        case
        for case in select(chosen.question)
        if case.must_refuse == domain
        and (not full_batch_only or _full_batch(dict(case.parameters)))
        and (domain or chosen.keep(dict(case.parameters)))
    ]
    if max_cases is not None and len(cases) > max_cases:
        cases = [cases[index * len(cases) // max_cases] for index in range(max_cases)]
    return run(chosen.accountant(), cases, noise_multiplier_convention=chosen.noise_multiplier_convention)


def main() -> None:
    """Print the report of one accountant."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=CHECKS)
    parser.add_argument("--domain", action="store_true", help="ask what should be refused")
    parser.add_argument("--max-cases", type=int)
    parser.add_argument("--rows", type=int, default=12, help="rows of the table")
    arguments = parser.parse_args()
    package = CHECKS[arguments.name].package
    version = "" if package is None else f" {package} {importlib.metadata.version(package)}"
    report = check(arguments.name, domain=arguments.domain, max_cases=arguments.max_cases)
    print(f"{arguments.name}{version}\n{report.table(arguments.rows)}")


if __name__ == "__main__":
    main()
