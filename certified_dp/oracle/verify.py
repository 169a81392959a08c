"""Verifies the test vectors by other means: ``python -m certified_dp.oracle.verify [--only GROUP ...] [--sample N]``.

mpmath at 60 digits instead of balls, integrals from the definitions instead of closed forms, and for composed runs an
inverse Mellin transform of the one-step moments instead of a composition on a grid. None of it is certified: it is a
second opinion, which would see a wrong formula. Nothing here imports the package's numerics.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from mpmath import mp, mpf

from certified_dp.oracle.vectors import Case, all_cases

_DIGITS = 60
#: A one-step law under Q: (mass, privacy loss) at quadrature nodes.
Law = Sequence[tuple[Any, Any]]


class NotConvergedError(ArithmeticError):
    """The second computation does not reach its accuracy: with few steps the transform decays slowly."""


def number(value: Fraction | str | int) -> Any:
    """Turn an exact rational into an mpf at the working precision."""
    exact = Fraction(value)
    return mpf(exact.numerator) / exact.denominator


def _parts(parameters: Mapping[str, Any]) -> tuple[Any, Any]:
    return number(parameters["sampling_probability"]), 2 / number(parameters["noise_multiplier"])


def _panels(start: Any, end: Any) -> list[Any]:
    return list(mp.linspace(start, end, max(2, int(mp.ceil((end - start) / 2)) + 1)))


def renyi(parameters: Mapping[str, Any]) -> Any:
    """Compute 1/(α−1)·log E(q+pL)^α from the integral of (1+p(L−1))^α − 1 − αp(L−1), which has the same mean less 1."""
    p, delta = _parts(parameters)
    alpha = number(parameters["order"])
    if alpha * delta > 500:  # the integral is too wide: sum the terms of the binomial theorem one by one instead
        k_max = int(alpha)
        excess = mp.fsum(
            mp.binomial(k_max, k) * (1 - p) ** (k_max - k) * p**k * mp.expm1(k * (k - 1) * delta**2 / 2)
            for k in range(2, k_max + 1)
        )
        return mp.log1p(excess) / (alpha - 1)

    def integrand(z: Any) -> Any:
        x = p * mp.expm1(delta * z - delta**2 / 2)
        return (mp.expm1(alpha * mp.log1p(x)) - alpha * x) * mp.npdf(z)

    reach = mp.sqrt(2 * mp.log(10) * _DIGITS)
    return mp.log1p(mp.quad(integrand, _panels(-reach, alpha * delta + reach))) / (alpha - 1)


def renyi_at(parameters: Mapping[str, Any], u: Any) -> Any:
    """Compute J(u) for an integer order by the Gaussian shift: an integral over V for each term of a binomial sum.

    F = Σ_k C(α,k) q^{α−k} p^k e^{k(k−1)A/2} E(q + p·exp(√B·V − B/2 + kc))^{1−α}, (A, B, c) = Δ²(1, 2u, u).
    """
    p, delta = _parts(parameters)
    alpha = int(parameters["order"])
    variance, covariance = 2 * u * delta**2, u * delta**2
    reach = mp.sqrt(2 * mp.log(10) * 40)

    def term(k: int) -> Any:
        def integrand(v: Any) -> Any:
            return (1 - p + p * mp.exp(mp.sqrt(variance) * v - variance / 2 + k * covariance)) ** (1 - alpha) * mp.npdf(
                v
            )

        weight = mp.binomial(alpha, k) * (1 - p) ** (alpha - k) * p**k * mp.exp(k * (k - 1) * delta**2 / 2)
        # (q + pe^Y)^{1−α} is largest to the left, at most q^{1−α}.
        return weight * mp.quad(integrand, _panels(-reach, reach))

    return mp.log(mp.fsum(term(k) for k in range(alpha + 1))) / (alpha - 1)


def one_step_delta(p: Any, delta: Any, epsilon: Any) -> Any:
    """Integrate (dP − e^ε dQ)_+ for P = ΔBer(p)+N, Q = N, from where it is positive."""
    q, gamma = 1 - p, mp.exp(epsilon)
    x = (mp.log((mp.expm1(epsilon) + p) / p) + delta**2 / 2) / delta

    def integrand(z: Any) -> Any:
        return q * mp.npdf(z) + p * mp.npdf(z - delta) - gamma * mp.npdf(z)

    # Beyond x the integrand falls off like e^{−xz}: panels that double in width.
    edges, width = [x], 1 / (4 + 4 * abs(x))
    while edges[-1] < max(x, delta) + 22:
        edges.append(edges[-1] + width)
        width = min(2 * width, mpf(2))
    scale = integrand(edges[1])  # mp.quad aims at an absolute error
    return scale * mp.quad(lambda z: integrand(z) / scale, edges)


def _nodes(start: Any, end: Any) -> Iterator[tuple[Any, Any]]:
    """Yield 12-point Gauss–Legendre nodes and weights on panels of length at most 1."""
    rule = mp.quad.__self__._gauss_legendre.get_nodes(-1, 1, 3, mp.prec)
    count = int(mp.ceil(end - start))
    half = (end - start) / (2 * count)
    for panel in range(count):
        middle = start + (2 * panel + 1) * half
        for x, weight in rule:
            yield middle + half * x, half * weight


def forward_law(p: Any, delta: Any, top: Any) -> Law:
    """Discretise log(q + pL) under N by nodes up to ``top``."""
    reach = mpf(14)
    return [
        (weight * mp.npdf(z), mp.log1p(p * mp.expm1(delta * z - delta**2 / 2)))
        for z, weight in _nodes(-reach, top + reach)
    ]


def reversed_law(p: Any, delta: Any, top: Any) -> Law:
    """Discretise the loss of (N ‖ ΔBer(p)+N): the ratio is 1/r, under the mixture."""
    return [(mass * mp.exp(loss), -loss) for mass, loss in forward_law(p, delta, top)]


def symmetric_law(p: Any, delta: Any, top: Any) -> Law:
    """Discretise Proposition 1's pair: the forward law above loss 0, the reversed one below, an atom at 0."""
    law = []
    for z, weight in _nodes(delta / 2, top + 14):
        mass, loss = weight * mp.npdf(z), mp.log1p(p * mp.expm1(delta * z - delta**2 / 2))
        law += [(mass, loss), (mass * mp.exp(loss), -loss)]
    return [*law, ((1 - p) * (2 * mp.ncdf(delta / 2) - 1), mpf(0))]


def composed_delta(
    phases: Sequence[Mapping[str, Any]],
    epsilon: Any,
    delta: Any,
    one_step: Callable[[Any, Any, Any], Law] = forward_law,
) -> Any:
    """Compute E(R − K)_+, K = e^ε, of the composed ratio: 1/(2πi)·∫ M(s) K^{1−s}/(s(s−1)) ds over Re s = θ > 1.

    M(s) = E R^s is the product of the one-step moments. The trapezoidal rule in Im s repeats the curve along log K with
    period 2π/step, so the step is chosen by θ − 1 and δ, and halved until two values agree.
    """
    laws = [(one_step(*_parts(phase), 4 * _parts(phase)[1]), mpf(phase["steps"])) for phase in phases]

    def log_size(theta: Any) -> Any:
        total = mp.fsum(steps * mp.log(mp.fsum(m * mp.exp(theta * x) for m, x in law)) for law, steps in laws)
        return total - (theta - 1) * epsilon - mp.log(theta * (theta - 1))

    theta = 1 + _minimise(lambda x: log_size(1 + mp.exp(x)), mpf(-5), mpf(5))
    step = 2 * mp.pi * (theta - 1) / (-mp.log(delta) + 60)
    value = _mellin_sum(laws, epsilon, theta, step)
    for _ in range(6):
        step /= 2
        coarser, value = value, _mellin_sum(laws, epsilon, theta, step)
        if abs(coarser - value) <= abs(value) * mpf(10) ** -9:
            return value
    raise NotConvergedError("the inverse Mellin transform has not converged")


def _minimise(objective: Callable[[Any], Any], low: Any, high: Any) -> Any:
    with mp.workdps(15):
        shrink = (mp.sqrt(5) - 1) / 2
        while high - low > mpf("0.02"):
            x, y = high - shrink * (high - low), low + shrink * (high - low)
            low, high = (low, y) if objective(x) < objective(y) else (x, high)
        return mp.exp((low + high) / 2)


def _mellin_sum(laws: Sequence[tuple[Law, Any]], epsilon: Any, theta: Any, step: Any) -> Any:
    atoms = []
    for law, steps in laws:
        tilted = [(mass * mp.exp(theta * loss), mp.expj(step * loss)) for mass, loss in law]
        least = mpf(10) ** -28 * max(weight for weight, _ in tilted)
        kept = [(weight, turn) for weight, turn in tilted if weight > least]
        atoms.append(([weight for weight, _ in kept], [turn for _, turn in kept], steps))
    terms = [[mp.mpc(weight) for weight in weights] for weights, _, _ in atoms]
    total, n = mpf(0), 0
    while True:
        s = mp.mpc(theta, n * step)
        log_moment = mp.fsum(steps * mp.log(mp.fsum(term)) for term, (_, _, steps) in zip(terms, atoms, strict=True))
        value = mp.exp(log_moment - (s - 1) * epsilon) / (s * (s - 1))
        total += value.real / (2 if n == 0 else 1)
        if n and abs(value) < abs(total) * mpf(10) ** -16:
            return total * step / mp.pi
        if n > 20_000:
            raise NotConvergedError("the inverse Mellin transform does not decay")
        n += 1
        terms = [
            [x * turn for x, turn in zip(term, turns, strict=True)]
            for term, (_, turns, _) in zip(terms, atoms, strict=True)
        ]


def pair_delta(phases: Sequence[Mapping[str, Any]], epsilon: Any, delta: Any) -> Any:
    """Compute the δ at ε that the explicit run attains: the larger of the single pair's two directions."""
    if len(phases) == 1 and phases[0]["steps"] == 1:
        return one_step_delta(*_parts(phases[0]), epsilon)
    if all(Fraction(phase["sampling_probability"]) == 1 for phase in phases):
        square = sum(phase["steps"] * (2 / Fraction(phase["noise_multiplier"])) ** 2 for phase in phases)
        return one_step_delta(mpf(1), mp.sqrt(number(square)), epsilon)
    with mp.workdps(30):
        forward = composed_delta(phases, epsilon, delta, forward_law)
        largest = -mp.fsum(phase["steps"] * mp.log1p(-number(phase["sampling_probability"])) for phase in phases)
        if epsilon >= largest:  # the reversed pair's loss never exceeds log(1/q) a step
            return forward
        return max(forward, composed_delta(phases, epsilon, delta, reversed_law))


def _encloses(low: Any, value: Any, high: Any) -> bool:
    return bool(low <= value <= high)


def _brackets_epsilon(case: Case, delta_at: Callable[[Any], Any]) -> bool:
    """Check δ(lo) ≥ δ ≥ δ(hi): a falling δ(ε) crosses δ inside the bracket (at the most at 0)."""
    low, high = map(number, case.bracket)
    delta = number(case.parameters["delta"])
    return bool((low == 0 or delta_at(low) >= delta) and delta_at(high) <= delta)


def verify(case: Case) -> bool | None:
    """Say whether a case agrees with the second computation; None where there is none.

    Example:
        >>> from certified_dp.oracle.check import select
        >>> verify(select("delta", max_cases=3)[1])
        True
    """
    with mp.workdps(_DIGITS):
        try:
            return _verify(case)
        except NotConvergedError:
            return None


def _verify(case: Case) -> bool | None:
    parameters = case.parameters
    if case.must_refuse:
        return not _in_domain(parameters)
    low, high = map(number, case.bracket)
    if case.question == "renyi":
        with mp.workdps(_DIGITS + 10):
            return _encloses(low, renyi(parameters), high)
    if case.question == "renyi_theorem1":
        if int(parameters["order"]) > 16:
            return None
        with mp.workdps(30):
            return _encloses(low, max(renyi_at(parameters, u) for u in (mpf(0), mpf(1) / 4, mpf(1) / 2)), high)
    if case.question == "limit":
        return _encloses(low, _limit(parameters), high)
    if case.question in ("epsilon", "composition"):
        phases, delta = parameters.get("phases", [parameters]), number(parameters["delta"])
        return _brackets_epsilon(case, lambda epsilon: pair_delta(phases, epsilon, delta))
    if case.question == "delta":
        epsilon = number(parameters["epsilon"])
        value = pair_delta([parameters], epsilon, max(high, mpf(10) ** -300))
        # The explicit run's δ is the exact one for one step; for several it lies between floor and best.
        return _encloses(low, value, high)
    if case.question == "noise_multiplier":
        epsilon, delta = number(parameters["epsilon"]), number(parameters["delta"])
        at_low, at_high = (
            pair_delta([{**parameters, "noise_multiplier": sigma}], epsilon, delta) for sigma in case.bracket
        )
        return bool(at_low >= delta >= at_high)
    with mp.workdps(30):
        delta = number(parameters["delta"])
        return _brackets_epsilon(case, lambda e: composed_delta([parameters], e, delta, symmetric_law))


def _limit(parameters: Mapping[str, Any]) -> Any:
    """Compute T times the one-step variances that the limits are made of, as p → 0 (by integrals of L − 1)."""
    nu, y = number(parameters["nu"]), 2 / number(parameters["noise_multiplier"])

    def square(z: Any) -> Any:
        return mp.expm1(y * z - y**2 / 2) ** 2 * mp.npdf(z)

    if parameters["quantity"] == "single_pair_lambda":
        return nu * mp.quad(square, _panels(mpf(-18), 2 * y + 18))
    if parameters["quantity"] == "lossless_mu_squared":  # the symmetric pair: (L−1)² where L > 1, twice
        return 2 * nu * mp.quad(square, _panels(y / 2, 2 * y + 18))
    # E(L_a − L_b)² with equal lengths y and inner product y²/2: 2(E L² − E L_a L_b)
    return 2 * nu * (mp.quad(square, _panels(mpf(-18), 2 * y + 18)) + 1 - mp.exp(y**2 / 2))


def _in_domain(parameters: Mapping[str, Any]) -> bool:
    try:
        p, sigma, steps, delta = (
            Fraction(parameters[name]) for name in ("sampling_probability", "noise_multiplier", "steps", "delta")
        )
    except ValueError:
        return False
    return 0 < p <= 1 and sigma > 0 and steps >= 1 and steps.denominator == 1 and 0 < delta < 1


def main() -> None:
    """Verify the groups asked for; exit 1 when a case disagrees."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", help="these groups only")
    parser.add_argument("--sample", type=int, help="this many cases of each group, spread evenly")
    arguments = parser.parse_args()
    failed = 0
    for group in sorted({case.group for case in all_cases()}):
        if arguments.only is not None and group not in arguments.only:
            continue
        cases = [case for case in all_cases() if case.group == group]
        if arguments.sample is not None and len(cases) > arguments.sample:
            cases = [cases[index * len(cases) // arguments.sample] for index in range(arguments.sample)]
        start = time.perf_counter()
        answers = {case.identifier: verify(case) for case in cases}
        wrong = [identifier for identifier, answer in answers.items() if answer is False]
        skipped = sum(answer is None for answer in answers.values())
        failed += len(wrong)
        text = f"{len(answers) - skipped - len(wrong)} agree, {skipped} not covered, {len(wrong)} disagree"
        print(f"{group}: {text} {' '.join(wrong)} ({time.perf_counter() - start:.1f} s)", flush=True)
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
