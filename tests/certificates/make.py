"""Write the certificates in the folders beside this file: ``python -m tests.certificates.make``.

An untrusted producer for the tests of ``proofs_checks/checker.py``: mpmath for the moments, floats for every search,
and outward margins. What it writes is believed only if the checker verifies it.
"""

import json
import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from mpmath import mp, mpf

from proofs_checks import checker

HERE = Path(__file__).parent
Json = dict[str, Any]
Case = tuple[Json, Json]
mp.dps = 40


def real(x: Any) -> Any:
    """Convert a rational, or its text, to mpmath."""
    return mpf(Fraction(x).numerator) / Fraction(x).denominator


def decimal_upper(x: Fraction, digits: int) -> str:
    """Print a number rounded up to so many significant digits."""
    return str(Context(digits, ROUND_CEILING).divide(Decimal(x.numerator), Decimal(x.denominator))).lower()


def above(value: Any, digits: int = 25) -> str:
    """Print a decimal a little above a number ≥ 0: by 1e-15 relative and 1e-36 absolute."""
    sign, mantissa, exponent, _ = (value + value * mpf("1e-15") + mpf("1e-36"))._mpf_
    return decimal_upper((-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** exponent, digits)


def claim(phases: list[tuple[str, str, int]], delta: str, epsilon: str) -> Json:
    """Build a claim."""
    names = ("sampling_probability", "noise_multiplier", "steps")
    parts = [dict(zip(names, phase, strict=True)) for phase in phases]
    return {"version": 1, "adjacency": "replace_one", "phases": parts, "delta": delta, "epsilon": epsilon}


def certificate(*steps: Json, bits: int = 256) -> Json:
    """Build a certificate."""
    return {"version": 1, "bits": bits, "steps": list(steps)}


def log_weights(p: str, sigma: str, order: int) -> list[Any]:
    """Compute log(C(α,k) q^(α−k) p^k e^(k(k−1)Δ²/2))."""
    log_p, log_q, square = mp.log(real(p)), mp.log(1 - real(p)), (2 / real(sigma)) ** 2
    choose = [mp.log(mp.binomial(order, k)) for k in range(order + 1)]
    return [c + (order - k) * log_q + k * log_p + k * (k - 1) * square / 2 for k, c in enumerate(choose)]


def log_sum(terms: list[Any]) -> Any:
    """Compute log Σ e^term."""
    top = max(terms)
    return top + mp.log(mp.fsum(mp.exp(term - top) for term in terms))


def closed(phase: int, p: str, sigma: str, order: int) -> Json:
    """Build the closed point at u = 0."""
    value = above(log_sum(log_weights(p, sigma, order)))
    return {"rule": "point_closed", "phase": phase, "order": str(order), "log_moment": value}


def trapezoid(phase: int, p: str, sigma: str, order: str, u: str = "0", bits: int = 70) -> Json:
    """Build a point by quadrature, with the step and strip of spec 2(b) and all nodes that matter."""
    alpha, at, shift = float(Fraction(order)), Fraction(u), 2 / real(sigma)
    beta = mp.sqrt(2 * real(at)) * shift if at else shift
    spread = 1 + (alpha - 1) * float(beta) ** 2 / 4 if at else 1.0
    step = 2 * math.pi / math.sqrt(2 * spread * bits * math.log(2))
    strip = min(2 * math.pi / (step * spread), 0.9 * math.pi / float(beta))
    loss = strip**2 / 2 - (alpha - 1) * math.log(math.cos(float(beta) * strip / 2)) * bool(at)
    step = min(step, 2 * math.pi * strip / (bits * math.log(2) + loss))
    h, d = Fraction(step).limit_denominator(10**4), Fraction(strip).limit_denominator(10**4)
    weights = log_weights(p, sigma, int(alpha)) if at else [mpf(0)]
    power = 1 - real(order) if at else real(order)

    logs, bounds = {}, {}
    reach = int(max(14, alpha * float(beta) + 12) / step) + 1
    for n in range(-reach, reach + 1):
        v = real(h * n)
        mixture = mp.log(1 - real(p) + real(p) * mp.exp(beta * v - beta**2 / 2))
        normals = log_sum([w - (v - k * beta / 2) ** 2 / 2 for k, w in enumerate(weights)])
        logs[n] = power * mixture + normals
        bounds[n] = power * mp.log(1 - real(p)) + normals if at else logs[n]  # what the checker takes for the tails
    kept = [n for n, bound in bounds.items() if bound > max(logs.values()) - bits * math.log(2) - 5]
    value = log_sum(list(logs.values())) + mp.log(real(h) / mp.sqrt(2 * mp.pi))
    return {"rule": "point_trapezoid", "phase": phase, "order": order, "u": u, "step": str(h), "strip": str(d),
            "first": kept[0], "last": kept[-1], "log_moment": above(value)}  # fmt: skip


def domination(point: int) -> Json:
    """Build a step."""
    return {"rule": "domination", "point": point}


def compose(*moments: int) -> Json:
    """Build a step."""
    return {"rule": "compose", "moments": list(moments)}


def balle(total: int) -> Json:
    """Build a step."""
    return {"rule": "convert_balle", "total": total}


def finished(phases: list[tuple[str, str, int]], delta: str, steps: Json, digits: int = 7) -> Case:
    """Find by bisection the smallest ε that the checker accepts, and claim it rounded up."""
    low, high = Fraction(0), Fraction(10_000)
    while high - low > max(high, Fraction(1, 10**4)) / 10 ** (digits + 1):
        middle = (low + high) / 2
        try:
            verify(claim(phases, delta, str(middle)), steps)
            high = middle
        except checker.Rejected:
            low = middle
    return claim(phases, delta, decimal_upper(high, digits)), steps


def verify(claimed: Json, certified: Json) -> None:
    """Run the checker on the texts of a claim and a certificate."""
    parsed = checker.parse(json.dumps(claimed), checker.CLAIM)
    checker.check(parsed, checker.parse(json.dumps(certified), checker.CERTIFICATE))


def theorem1_cells(p: str, sigma: str, order: int, slack: float) -> list[Json]:
    """Divide [0, 1/2] until the key of each cell is at most slack above the largest value seen."""
    proof = checker.Proof(checker.parse(json.dumps(claim([(p, sigma, 1)], "1e-6", "1")), checker.CLAIM))
    points = {Fraction(0): closed(0, p, sigma, order), Fraction(1, 2): trapezoid(0, p, sigma, str(order), "1/2")}
    open_cells, curvatures = [(Fraction(0), Fraction(1, 2))], {}
    while open_cells:
        left, right = open_cells.pop()
        best = max(Fraction(point["log_moment"]) for point in points.values())
        a, b = (Fraction(points[u]["log_moment"]) for u in (left, right))
        bounds = {r: proof._kappa(0, Fraction(order), r) for r in (Fraction(0), right)}
        r = min(bounds, key=lambda r: bounds[r])
        bend, rise = bounds[r] * (right - left) ** 2, abs(b - a)
        key = (a + b) / 2 + bend / 8 + rise**2 / (2 * bend) if rise < bend / 2 else max(a, b)
        if key <= best + Fraction(slack):
            curvatures[left] = r
        else:
            middle = (left + right) / 2
            points[middle] = trapezoid(0, p, sigma, str(order), str(middle))
            open_cells += [(left, middle), (middle, right)]
    order_of_points = sorted(points)
    best = max(Fraction(point["log_moment"]) for point in points.values()) + Fraction(slack)
    return [*(points[u] for u in order_of_points),
            {"rule": "theorem1_cells", "points": list(range(len(points))),
             "curvatures": [str(curvatures[u]) for u in order_of_points[:-1]],
             "log_moment": decimal_upper(best, 25)}]  # fmt: skip


def deviation(p: str, sigma: str) -> float:
    """Estimate the standard deviation of a step's privacy loss."""
    prob, shift = float(Fraction(p)), 2 / float(Fraction(sigma))
    return prob * math.sqrt(math.exp(min(shift * shift, 4)) - 1) if prob < 1 else shift


def grid(p: str, sigma: str, theta: float, h: Fraction, reach: float, growth: float = 1.2) -> Json:
    """Choose a one-step law's cells: of one lattice step in the middle, wider and wider up to z = θΔ + reach."""
    prob, shift, fineness = float(Fraction(p)), 2 / float(Fraction(sigma)), math.ceil(deviation(p, sigma) / h)
    z = theta * shift + reach
    log_l = shift * z - shift * shift / 2
    top = (log_l if log_l > 30 else math.log1p(prob * math.expm1(log_l))) + (math.log(prob) if log_l > 30 else 0)
    bottom = math.log1p(-prob) if prob < 1 else -shift * reach - shift * shift / 2
    first = math.floor(bottom / float(h)) - 1
    cells, i, width = [], first, 1
    while i * float(h) < top:
        count = 5 * fineness if width > 1 or prob == 1 else math.ceil((8 * deviation(p, sigma) - bottom) / float(h))
        cells.append([width, count])
        i, width = i + width * count, width if prob == 1 else math.ceil(width * growth)
    return {"grid_step": str(h), "first": first, "cells": cells}


def kl_hinge(
    phases: list[tuple[str, str, int]], delta: str, theta: str, fineness: int = 8, reach: float = 10.5,
    digits: int = 30, drop_digits: int = 12, bits: int = 256,
) -> Case:  # fmt: skip
    """Choose λ by a float search on the composed law, and claim what the checker proves."""
    h = Fraction(min(deviation(p, sigma) for p, sigma, _ in phases) / fineness).limit_denominator(10**6)
    grids = [grid(p, sigma, float(Fraction(theta)), h, reach) for p, sigma, _ in phases]
    step: Json = {
        "rule": "kl_hinge",
        "tilt": theta,
        "hinge": "0",
        "digits": digits,
        "drop_digits": drop_digits,
        "grids": grids,
    }
    laws: list[checker.Law] = []
    original = checker.Law.hinge_bound
    try:
        checker.Law.hinge_bound = lambda law, *_: laws.append(law) or checker.Interval.of(0)  # type: ignore
        verify(claim(phases, delta, "1"), certificate(step, bits=bits))
    finally:
        checker.Law.hinge_bound = original  # type: ignore[method-assign]
    law, tilt = laws[0], Fraction(theta)

    def bound(hinge: Fraction) -> Fraction:
        return Fraction(law.hinge_bound(tilt, hinge, Fraction(delta)).hi, 1 << bits)

    low, high = Fraction(-1), Fraction(600)
    while high - low > Fraction(1, 1000):
        left, right = (2 * low + high) / 3, (low + 2 * high) / 3
        try:
            low, high = (low, right) if bound(left) < bound(right) else (left, high)
        except checker.Rejected:
            low = left
    step["hinge"] = str(round(low, 3))
    best = bound(Fraction(step["hinge"]))
    return claim(phases, delta, decimal_upper(max(best, Fraction(0)), 7)), certificate(step, bits=bits)


def accepted() -> dict[str, Case]:
    """Build the certificates that must be verified."""
    main = ("1/100", "2", 8000)
    cases = {
        "closed_order_5": finished(
            [main], "1e-6", certificate(closed(0, *main[:2], 5), domination(0), compose(1), balle(2))
        ),
        "real_order": finished(
            [main], "1e-6", certificate(trapezoid(0, *main[:2], "479/100"), domination(0), compose(1), balle(2))
        ),
    }

    def simple(name: str, phase: tuple[str, str, int], delta: str, order: str) -> None:
        point = closed(0, *phase[:2], int(order)) if order.isdigit() else trapezoid(0, *phase[:2], order)
        cases[name] = finished([phase], delta, certificate(point, domination(0), compose(1), balle(2)))

    simple("tiny_probability", ("1e-12", "1", 10**9), "1e-5", "6")
    simple("many_steps", ("1e-6", "1", 10**9), "1e-5", "6")
    simple("order_50", ("0.1", "20", 128), "1e-9", "50")
    simple("order_1100_delta_1e-300", ("1/100", "50", 100), "1e-300", "1100")
    simple("wide_real_order", ("1/5", "1", 500), "1e-5", "1217/1000")
    simple("wide_real_order_0.8", ("1/8", "4/5", 1000), "1e-6", "144/125")
    cells = theorem1_cells(*main[:2], 5, 1e-8)
    count = len(cells)
    cases["theorem1_cells"] = finished([main], "1e-6", certificate(*cells, compose(count - 1), balle(count), bits=128))
    small = ("0.04", "6", 1000)
    cells = theorem1_cells(*small[:2], 12, 1e-7)
    count = len(cells)
    cases["theorem1_cells_order_12"] = finished([small], "1e-8", certificate(*cells, compose(count - 1), balle(count)))
    cells = theorem1_cells(*small[:2], 4, 1e-4)
    count = len(cells)
    cases["theorem1_cells_coarse"] = finished(
        [small], "1e-8", certificate(*cells, compose(count - 1), balle(count), bits=128)
    )
    steep = ("0.0025", "1", 250)
    at_zero = {"rule": "theorem1_at_zero", "point": 0}
    steps = certificate(closed(0, *steep[:2], 5), at_zero, compose(1), balle(2))
    cases["theorem1_at_zero"] = finished([steep], "1e-6", steps, digits=10)
    between = {"rule": "interpolate", "low": 1, "high": 3, "order": "9/2"}
    points = [closed(0, *main[:2], 4), domination(0), closed(0, *main[:2], 5), domination(2)]
    cases["interpolate"] = finished([main], "1e-6", certificate(*points, between, compose(4), balle(5)))
    below = {"rule": "interpolate", "low": -1, "high": 1, "order": "3/2"}
    wide = ("0.2", "1", 50)
    cases["interpolate_from_1"] = finished(
        [wide], "1e-5", certificate(closed(0, *wide[:2], 2), domination(0), below, compose(2), balle(3))
    )
    other = ("0.02", "3/2", 100)
    points = [closed(0, *main[:2], 5), domination(0), trapezoid(1, *other[:2], "5"), domination(2)]
    cases["two_phases"] = finished([main, other], "1e-6", certificate(*points, compose(1, 3), balle(4)))
    gauss = ("1", "40", 10)
    moment = {"rule": "gaussian_moment", "phase": 1, "order": "5"}
    points = [closed(0, *main[:2], 5), domination(0), moment]
    cases["phase_with_p_1"] = finished([main, gauss], "1e-6", certificate(*points, compose(1, 2), balle(3)))
    few = ("1/400", "2", 250)
    order, value = 11, float(log_sum(log_weights("1/400", "2", 11))) * 250
    x = Fraction(round((1 + math.expm1(value) / (order * 1e-6)) ** (1 / (order - 1)) + 1e-6, 8)).limit_denominator(
        10**8
    )
    tangent = {"rule": "convert_tangent", "total": 2, "tangent_at": str(x)}
    cases["tangent"] = finished(
        [few], "1e-6", certificate(closed(0, *few[:2], order), domination(0), compose(1), tangent)
    )
    cases["gaussian_curve"] = finished([("1", "3", 50)], "1e-5", certificate({"rule": "gaussian_curve"}), digits=9)
    cases["gaussian_curve_delta_1e-300"] = finished(
        [("1", "3", 5)], "1e-300", certificate({"rule": "gaussian_curve"}, bits=1200), digits=9
    )
    for name, phase, delta in (
        ("a", ("0.01", "2", 8000), "1e-6"), ("b", ("0.0025", "2", 64000), "1e-6"), ("c", ("0.01", "2", 32000), "1e-6"),
        ("d", ("0.0025", "4", 8000), "1e-6"), ("e", ("0.04", "6", 1000), "1e-8"), ("f", ("0.0025", "1", 250), "1e-6"),
        ("g", ("256/60000", "1.1", 14063), "1e-7"),
    ):  # fmt: skip
        cases[f"kl_hinge_{name}"] = kl_hinge([phase], delta, "2")
    cases["kl_hinge_wide"] = kl_hinge([("1/8", "4/5", 1000)], "1e-6", "144/125", 40)
    cases["kl_hinge_two_phases"] = kl_hinge([("0.04", "6", 100), ("1", "20", 10)], "1e-6", "3")
    cases["kl_hinge_small"] = kl_hinge([("0.1", "4", 5)], "1e-3", "2", 4)
    cases["kl_hinge_one_step"] = kl_hinge([("0.3", "3", 1)], "1e-4", "4", 5)
    return cases


def edited(case: Case, **changes: Any) -> Case:
    """Change a copy: a name like claim__epsilon or step1__log_moment, double underscores between the levels."""
    claimed, certified = json.loads(json.dumps(case))
    for path, value in changes.items():
        first, *names = path.split("__")
        target = claimed if first == "claim" else certified
        keys: list[Any] = [int(name) if name.isdigit() else name for name in names]
        if first.startswith("step"):
            keys = ["steps", int(first[4:]), *keys]
        for key in keys[:-1]:
            target = target[key]
        target[keys[-1]] = value
    return claimed, certified


def rejected(good: dict[str, Case]) -> dict[str, Case]:
    """Build well-formed certificates that do not prove their claims, one for each thing that a rule requires."""
    closed5, cells, real_order = good["closed_order_5"], good["theorem1_cells"], good["real_order"]
    hinge, last = good["kl_hinge_small"], len(good["theorem1_cells"][1]["steps"]) - 3
    half, between = cells[1]["steps"][0]["log_moment"], good["interpolate"][1]["steps"][4]
    cases = {
        "epsilon_too_small": edited(closed5, claim__epsilon="6.577712"),
        "one_more_step": edited(closed5, claim__phases__0__steps=8001),
        "less_noise": edited(closed5, claim__phases__0__noise_multiplier="1.9999"),
        "smaller_delta": edited(closed5, claim__delta="0.999e-6"),
        "log_moment_too_small": edited(closed5, step0__log_moment=closed5[1]["steps"][0]["log_moment"][:-12]),
        "other_order": edited(closed5, step0__order="6"),
        "fractional_order_closed": edited(closed5, step0__order="9/2"),
        "order_below_one": edited(real_order, step0__order="1/2"),
        "reference_to_itself": edited(closed5, step1__point=1),
        "reference_to_later": edited(closed5, step1__point=2),
        "reference_of_wrong_kind": edited(closed5, step2__moments=[0]),
        "negative_reference": edited(closed5, step1__point=-2),
        "moment_used_twice": edited(closed5, step2__moments=[1, 1]),
        "phase_without_moment": edited(good["two_phases"], step4__moments=[1]),
        "phases_swapped": edited(good["two_phases"], step4__moments=[3, 1]),
        "no_such_phase": edited(closed5, step0__phase=1),
        "negative_phase": edited(closed5, step0__phase=-1),
        "no_conclusion": (closed5[0], certificate(*closed5[1]["steps"][:3])),
        "quadrature_step_too_large": edited(real_order, step0__step="2"),
        "quadrature_strip_too_wide": edited(real_order, step0__strip="6.5"),
        "quadrature_range_cut_right": edited(real_order, step0__last=10),
        "quadrature_range_cut_left": edited(real_order, step0__first=-5),
        "quadrature_range_empty": edited(real_order, step0__last=-100),
        "quadrature_negative_step": edited(real_order, step0__step="-1/10", step0__strip="-1"),
        "domination_at_u_half": edited(good["theorem1_cells"], **{f"step{last}": domination(last - 1)}),
        "theorem1_without_zero": edited(cells, **{f"step{last}__points": list(range(1, last))}),
        "theorem1_hole": edited(cells, **{f"step{last}__points": [0, last - 1], f"step{last}__curvatures": ["1/2"]}),
        "theorem1_unordered": edited(cells, **{f"step{last}__points": [0, 2, 1, *range(3, last)]}),
        "theorem1_curvature_of_smaller_range": edited(cells, **{f"step{last}__curvatures": ["1e-9"] * (last - 1)}),
        "theorem1_missing_curvature": edited(cells, **{f"step{last}__curvatures": ["1/2"] * (last - 2)}),
        "theorem1_bound_too_small": edited(cells, **{f"step{last}__log_moment": half}),
        "condition_19_fails": edited(closed5, step1={"rule": "theorem1_at_zero", "point": 0}),
        "interpolate_outside": edited(good["interpolate"], step4__order="6"),
        "interpolate_other_phase": edited(good["two_phases"], step4={**between, "low": 1, "high": 3}),
        "closed_at_p_1": edited(closed5, claim__phases__0__sampling_probability="1"),
        "gaussian_moment_below_p_1": edited(closed5, step1={"rule": "gaussian_moment", "phase": 0, "order": "5"}),
        "gaussian_curve_below_p_1": edited(good["gaussian_curve"], claim__phases__0__sampling_probability="0.999999"),
        "gaussian_curve_epsilon": edited(good["gaussian_curve"], claim__epsilon="30.506279"),
        "gaussian_curve_too_few_bits": edited(good["gaussian_curve_delta_1e-300"], cert__bits=900),
        "tangent_slope_too_small": edited(good["tangent"], step3__tangent_at="2.3"),
        "tangent_at_one": edited(good["tangent"], step3__tangent_at="1"),
        "tangent_at_negative": edited(good["tangent"], step3__tangent_at="-2"),
        "hinge_epsilon": edited(hinge, claim__epsilon=str(Fraction(hinge[0]["epsilon"]) - Fraction(1, 10**6))),
        "hinge_tilt_one": edited(hinge, step0__tilt="1"),
        "hinge_grid_cut_short": edited(hinge, step0__grids__0__cells=[[1, 40]]),
        "hinge_grid_never_above_q": edited(hinge, step0__grids__0__first=-1000, step0__grids__0__cells=[[1, 5]]),
        "hinge_too_many_cells": edited(hinge, step0__grids__0__cells=[[1, 1_000_000]]),
        "hinge_run_of_three": edited(hinge, step0__grids__0__cells=[[1, 2, 3]]),
        "hinge_negative_width": edited(hinge, step0__grids__0__cells=[[2, 200], [-1, 5]]),
        "hinge_everything_dropped": edited(hinge, step0__drop_digits=60),
        "hinge_few_digits": edited(hinge, step0__digits=3),
        "hinge_other_lattice": edited(good["kl_hinge_two_phases"], step0__grids__1__grid_step="1/50"),
    }  # fmt: skip
    noise, delta = ("sampling_probability", "noise_multiplier"), ("0", "-1e-6", "1", "2")
    for index, value in enumerate(delta):
        cases[f"delta_out_of_range_{index}"] = edited(closed5, claim__delta=value)
    for name in noise:
        for index, value in enumerate(("0", "-1/2", "1e-300", "1e6")):
            cases[f"{name}_out_of_range_{index}"] = edited(closed5, **{f"claim__phases__0__{name}": value})
    for index, steps in enumerate((0, -1, 10**13)):
        cases[f"steps_out_of_range_{index}"] = edited(closed5, claim__phases__0__steps=steps)
    return cases


def malformed(good: dict[str, Case]) -> dict[str, tuple[Any, Any]]:
    """Build files that are no claim or no certificate."""
    closed5, hinge = good["closed_order_5"], good["kl_hinge_small"]
    claimed, certified = (json.dumps(part) for part in closed5)
    cases: dict[str, tuple[Any, Any]] = {
        "float": edited(closed5, claim__delta=1e-6),
        "integer_for_text": edited(closed5, claim__epsilon=7),
        "text_for_integer": edited(closed5, claim__phases__0__steps="8000"),
        "boolean_for_integer": edited(closed5, step0__phase=False),
        "boolean_version": edited(closed5, claim__version=True),
        "null": edited(closed5, step0__order=None),
        "other_adjacency": edited(closed5, claim__adjacency="add_remove"),
        "claim_version_2": edited(closed5, claim__version=2),
        "certificate_version_2": edited(closed5, cert__version=2),
        "unknown_rule": edited(closed5, step0__rule="trust_me"),
        "private_method_as_rule": edited(closed5, step0__rule="_claim"),
        "constructor_as_rule": edited(closed5, step0__rule="__init__"),
        "unknown_field": edited(closed5, step0__comment="hello"),
        "unknown_claim_field": edited(closed5, claim__note="hello"),
        "missing_field": (closed5[0], certificate({"rule": "point_closed", "phase": 0, "order": "5"})),
        "no_phases": edited(closed5, claim__phases=[]),
        "no_steps": (closed5[0], certificate()),
        "steps_is_object": (closed5[0], {**closed5[1], "steps": {}}),
        "step_is_list": (closed5[0], {**closed5[1], "steps": [[]]}),
        "curvatures_of_numbers": edited(good["theorem1_cells"], step6__curvatures=[0, 0, 0, 0, 0]),
        "grids_shorter": edited(good["kl_hinge_two_phases"], step0__grids=[hinge[1]["steps"][0]["grids"][0]] * 3),
        "not_a_number": edited(closed5, claim__epsilon="nan"),
        "infinity": edited(closed5, claim__epsilon="Infinity"),
        "hexadecimal": edited(closed5, claim__epsilon="0x10"),
        "underscore": edited(closed5, claim__epsilon="1_0"),
        "blank": edited(closed5, claim__epsilon=" 7"),
        "other_digits": edited(closed5, claim__epsilon="٧"),
        "division_by_zero": edited(closed5, claim__epsilon="7/0"),
        "huge_exponent": edited(closed5, claim__epsilon="1e9999"),
        "long_number": edited(closed5, claim__epsilon="7" + "0" * 4300),
        "nan_token": (claimed.replace('"6.577713"', "NaN"), certified),
        "infinity_token": (claimed.replace('"6.577713"', "-Infinity"), certified),
        "long_integer": (claimed.replace("8000", "8" * 4300), certified),
        "longer_integer": (claimed.replace("8000", "8" * 5000), certified),
        "duplicate_key": (claimed.replace('"delta"', '"delta": "1e-5", "delta"'), certified),
        "duplicate_key_in_step": (claimed, certified.replace('"order"', '"order": "6", "order"')),
        "duplicate_rule": (claimed, certified.replace('"rule"', '"rule": "compose", "rule"')),
        "trailing_text": (claimed + "{}", certified),
        "empty": ("", certified),
        "empty_object": ("{}", "{}"),
        "deep_nesting": (claimed, "[" * 20_000),
        "deep_objects": (claimed, '{"version":' * 20_000),
    }
    return cases


def write(folder: str, cases: dict[str, Case]) -> None:
    """Write claims and certificates."""
    (HERE / folder).mkdir(exist_ok=True)
    for name, pair in cases.items():
        for kind, content in zip(("claim", "cert"), pair, strict=True):
            text = content if isinstance(content, str) else json.dumps(content, indent=1)
            (HERE / folder / f"{name}.{kind}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    good = accepted()
    write("accepted", good)
    write("rejected", rejected(good))
    write("malformed", malformed(good))
    for label, case in good.items():
        verify(*case)
        print(f"{label}: ε ≤ {case[0]['epsilon']}")
