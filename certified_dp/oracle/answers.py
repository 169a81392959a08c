"""The expected answers of the test vectors: certified brackets, written as decimals rounded outward."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from flint import arb

import certified_dp
from certified_dp.asymptotics import lossless_mu_squared_ball, single_pair_lambda_ball, theorem1_lambda_ball
from certified_dp.calibration import calibrate_noise_multiplier
from certified_dp.composition.one_step import Curve, OneStep
from certified_dp.enclosure import (
    ball,
    certainly_less,
    decimal_lower,
    decimal_upper,
    lower_end,
    refine,
    relative_accuracy_bits,
    upper_end,
)
from certified_dp.errors import InvalidParameterError
from certified_dp.gaussian import gaussian_delta_ball, gaussian_epsilon
from certified_dp.parameters import DPSGD, Number, Phase, as_phases, exact, exact_delta, exact_epsilon, exact_order
from certified_dp.renyi import RENYI_METHODS, renyi_rdp

#: Brackets are widened by this share, so that a careful computation in doubles lies inside and not just beside.
MARGIN = Fraction(1, 10**10)
_DIGITS = 12
#: Values below the range of doubles are only bounded, by [0, this].
_SMALLEST = Fraction(1, 10**300)
#: Of the grid methods: the bracket [floor, best] need not be tighter than the gap between the two.
_GRID_SLACK = Fraction(1, 250)

Interval = tuple[Fraction, Fraction]
Parameters = Mapping[str, Any]


def expected(question: str, parameters: Parameters) -> dict[str, object]:
    """Answer a case.

    Guarantee: the value that `certified_dp.oracle.settings.Group.source` names lies in [lo, hi]. Parameters outside the
        domain are to be refused; where nothing is released, 0 is right too.

    Example:
        >>> expected("renyi", {"sampling_probability": "1/100", "noise_multiplier": "2", "order": "5"})
        {'lo': '0.000468667242122', 'hi': '0.000468667242217'}
    """
    if "0" in (parameters.get("sampling_probability"), parameters.get("steps")):
        return {"refuse": True, "or_value": "0"}
    try:
        low, high = ANSWERS[question](parameters)
    except InvalidParameterError:
        return {"refuse": True}
    if 0 < high < _SMALLEST:
        low, high = Fraction(0), _SMALLEST
    return {"lo": decimal_lower(low * (1 - MARGIN), _DIGITS), "hi": decimal_upper(high * (1 + MARGIN), _DIGITS)}


def _phase(parameters: Parameters, steps: Number | None = None, noise_multiplier: Number | None = None) -> Phase:
    return DPSGD(
        sampling_probability=parameters["sampling_probability"],
        noise_multiplier=parameters["noise_multiplier"] if noise_multiplier is None else noise_multiplier,
        steps=parameters["steps"] if steps is None else steps,
    )


def _renyi(method: str, digits: int) -> Callable[[Parameters], Interval]:
    def answer(parameters: Parameters) -> Interval:
        phase = _phase(parameters, steps=1)
        bound = renyi_rdp(RENYI_METHODS[method], [phase], exact_order(parameters["order"]), digits)
        return bound.lower or Fraction(0), bound.upper

    return answer


def one_step_delta_ball(phase: Phase, epsilon: Fraction) -> arb:
    """Enclose the exact δ(ε) of one step, at the current precision: Proposition 1's h(e^ε), attained for ε ≥ 0."""
    if phase.sampling_probability == 1:
        return gaussian_delta_ball(ball(phase.sensitivity), epsilon)
    q_mass, p_mass = OneStep(phase).above(Curve.FORWARD, epsilon)
    return p_mass - ball(epsilon).exp() * q_mass


def _is_exact(phases: Sequence[Phase]) -> bool:
    return all(phase.sampling_probability == 1 for phase in phases)


def epsilon_interval(phases: Sequence[Phase], delta: Fraction) -> Interval:
    """Return a certified bracket of the true ε at δ: exact for full batches and for one step, else [floor, best]."""
    if _is_exact(phases):
        bound = gaussian_epsilon(phases, delta, _DIGITS)
        return bound.lower or Fraction(0), bound.upper
    if len(phases) == 1 and phases[0].steps == 1:
        return _bisect(lambda epsilon: one_step_delta_ball(phases[0], epsilon), delta, Fraction(0))
    result = certified_dp.epsilon(phases, delta, relative_slack=_GRID_SLACK)
    return result.floor or Fraction(0), result.upper


def _bisect(delta_at: Callable[[Fraction], arb], delta: Fraction, least: Fraction) -> Interval:
    """Return low < high around the x ≥ least where a falling δ(x) crosses δ; (least, least) when δ(least) ≤ δ."""

    def bisect(prec: int) -> Interval:
        target = ball(delta)

        def misses(x: Fraction) -> bool:
            return certainly_less(target, delta_at(x))

        low, high = least, least + 1
        if low == 0 and not misses(low):
            return low, low
        while misses(high):
            low, high = high, 2 * high
        while (high - low) * 10**_DIGITS > high:
            middle = (low + high) / 2
            low, high = (middle, high) if misses(middle) else (low, middle)
        return low, high

    return refine(bisect, lambda interval: True, prec=256, what="a bracket")


def _epsilon(parameters: Parameters) -> Interval:
    return epsilon_interval([_phase(parameters)], exact_delta(parameters["delta"]))


def _delta(parameters: Parameters) -> Interval:
    phase, epsilon = _phase(parameters), exact_epsilon(parameters["epsilon"])
    if phase.steps == 1:
        value = refine(
            lambda prec: one_step_delta_ball(phase, epsilon),
            lambda delta: relative_accuracy_bits(delta) > 4 * _DIGITS,
            prec=256,
            what="a one-step hockey-stick divergence",
        )
        if value < ball(_SMALLEST):
            return Fraction(0), _SMALLEST / 2
        return lower_end(value), upper_end(value)
    result = certified_dp.delta(phase, epsilon, relative_slack=_GRID_SLACK)
    return result.floor or Fraction(0), result.upper


def _composition(parameters: Parameters) -> Interval:
    phases = as_phases([_phase(part) for part in parameters["phases"]])
    return epsilon_interval(phases, exact_delta(parameters["delta"]))


def _lossless(parameters: Parameters) -> Interval:
    result = certified_dp.epsilon(
        _phase(parameters), parameters["delta"], method="lossless", relative_slack=_GRID_SLACK
    )
    return result.bound.lower or Fraction(0), result.upper


def _noise_multiplier(parameters: Parameters) -> Interval:
    """Bracket the least σ with ε(σ) ≤ target: true ε falls in σ, since more noise is a post-processing."""
    delta, epsilon = exact_delta(parameters["delta"]), exact_epsilon(parameters["epsilon"])
    phase = _phase(parameters, noise_multiplier=1)
    if _is_exact([phase]):  # δ depends on μ² = T·Δ² alone
        one = Fraction(1)
        low, high = _bisect(lambda x: gaussian_delta_ball(ball(2 / x), epsilon), delta, one / 10**6)
        root = ball(phase.steps).sqrt()
        return lower_end(ball(low) * root), upper_end(ball(high) * root)
    if phase.steps == 1:
        return _bisect(
            lambda x: one_step_delta_ball(Phase(phase.sampling_probability, x, 1), epsilon), delta, Fraction(1, 10**3)
        )
    found = calibrate_noise_multiplier(
        epsilon,
        delta,
        steps=phase.steps,
        sampling_probability=phase.sampling_probability,
        value_digits=4,
        method="kl_hinge",
        relative_slack=_GRID_SLACK,
    )
    low = found.value
    while epsilon_interval([Phase(phase.sampling_probability, low, phase.steps)], delta)[0] <= epsilon:
        low = low * Fraction(199, 200)
    return low, found.value


def _limit(parameters: Parameters) -> Interval:
    ball_of = {
        "lossless_mu_squared": lossless_mu_squared_ball,
        "theorem1_lambda": theorem1_lambda_ball,
        "single_pair_lambda": single_pair_lambda_ball,
    }[parameters["quantity"]]
    nu, sigma = exact("nu", parameters["nu"]), exact("noise_multiplier", parameters["noise_multiplier"])
    value = refine(
        lambda prec: ball_of(nu, sigma),
        lambda x: relative_accuracy_bits(x) > 4 * _DIGITS,
        prec=128,
        what="a limit",
    )
    return lower_end(value), upper_end(value)


ANSWERS: dict[str, Callable[[Parameters], Interval]] = {
    "renyi": _renyi("single_pair_renyi", _DIGITS),
    "renyi_theorem1": _renyi("theorem1", 9),
    "epsilon": _epsilon,
    "delta": _delta,
    "composition": _composition,
    "lossless_epsilon": _lossless,
    "noise_multiplier": _noise_multiplier,
    "limit": _limit,
}
