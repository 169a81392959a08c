"""The float search for tilt, lattice step, cut-offs and precision. Nothing here is trusted: any choice is valid."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from certified_dp.composition.compose import COARSEN_ABOVE, Repetition, check_memory
from certified_dp.composition.one_step import Cells, Curve
from certified_dp.errors import PrecisionExhaustedError
from certified_dp.parameters import Phase, log_estimate

#: Cells at loss x are about |x|·step/(first step·_GROWTH) wide beyond one lattice step: few Φ's in the far tail.
_GROWTH = 256
_SQRT2 = math.sqrt(2)
_QUARTILE = 0.6745  # of the standard normal distribution
_FARTHEST = 2000.0  # standard deviations: e^(−z²/2) is then below anything that matters


def log_normal_tail(x: float) -> float:
    """Estimate log Φ(−x)."""
    if x < 25:
        return math.log(math.erfc(x / _SQRT2) / 2)
    return -x * x / 2 - math.log(x * math.sqrt(2 * math.pi))


def log_add(a: float, b: float) -> float:
    """Return log(e^a + e^b)."""
    high, low = max(a, b), min(a, b)
    return high if low == -math.inf else high + math.log1p(math.exp(low - high))


def touching_share(slope: float, width: float) -> float:
    """Choose where in a lattice cell of this width a lower law's line should touch, as a share of the width.

    Lines lose nothing where neighbours meet at a lattice point: where the ratio's mean between two touching points is
    the lattice point between them. For a log-density of the loss with slope k the point is then a below the cell's
    right end, e^a = k/(k+1)·(e^{(k+1)w}−1)/(e^{kw}−1).
    """
    k = max(-600.0 / width, min(600.0 / width, slope))

    def mean_exponential(t: float) -> float:  # (e^t − 1)/t
        t = min(t, 700.0)
        return math.expm1(t) / t if abs(t) > 1e-9 else 1 + t / 2

    below = math.log(mean_exponential((k + 1) * width) / mean_exponential(k * width))
    return max(1e-3, min(1 - 1e-3, 1 - below / width))


class PairEstimate:
    """One phase's single pair in floats: log r(z) and the moments of r under Q."""

    def __init__(self, phase: Phase) -> None:
        """Take logarithms first: p may be tiny and Δ large."""
        p = phase.sampling_probability
        self.steps = phase.steps
        self.log_p = log_estimate(p)
        self.log_q = log_estimate(1 - p) if p < 1 else -math.inf
        self.sensitivity = math.exp(log_estimate(phase.sensitivity))

    def log_ratio(self, z: float) -> float:
        """Estimate log r(z)."""
        return log_add(self.log_q, self.log_p + self.sensitivity * z - self.sensitivity**2 / 2)

    def log_density_slope(self, loss: float) -> float:
        """Estimate d/dℓ of the log-density of ℓ = log r under Q; +inf at log q and below."""
        if loss - self.log_q <= 1e-15:
            return math.inf
        share = -math.expm1(self.log_q - loss)  # 1 − q/r
        x = (loss + math.log(share) - self.log_p) / self.sensitivity + self.sensitivity / 2
        return 1 - (1 + x / self.sensitivity) / share

    def log_cell_mean(self, h: float) -> float:
        """Estimate log m with m = E[r | log r < log m + touching(h)]: the mean of the lowest cell (1/m for 1/r)."""
        p, q, delta = math.exp(self.log_p), math.exp(self.log_q), self.sensitivity
        unit = 1.0  # m = q + p·unit
        for _ in range(40):
            m = q + p * unit
            reach = min(h, 600.0) * touching_share(self.log_density_slope(math.log(m) + h / 2), h)
            x = math.log(unit + m * math.expm1(reach) / p) / delta + delta / 2
            unit = math.exp(max(-600.0, log_normal_tail(delta - x) - log_normal_tail(-x)))
        return math.log(q + p * unit) if p > 0.1 else math.log1p(p * (unit - 1))

    def tilted(self, order: float) -> tuple[float, list[tuple[float, float]]]:
        """Estimate log E r^order, and the tilted law: (log r, probability ∝ φ(z)r^order) at nodes of z."""
        delta = self.sensitivity
        low, high = -9.0 - max(0.0, delta - 1), order * delta + 9.0
        count = max(64, min(4000, int((high - low) / min(0.5, 1.0 / delta))))
        width = (high - low) / count
        nodes = [low + width * k for k in range(count + 1)]
        losses = [self.log_ratio(z) for z in nodes]
        exponents = [order * loss - z * z / 2 for z, loss in zip(nodes, losses, strict=True)]
        top = max(exponents)
        densities = [math.exp(e - top) for e in exponents]
        total = math.fsum(densities)
        log_moment = top + math.log(total * width / math.sqrt(2 * math.pi))
        return log_moment, [(loss, d / total) for loss, d in zip(losses, densities, strict=True) if d > 1e-18 * total]


@dataclass(frozen=True)
class Plan:
    """What the search found: everything a composition needs besides the phases."""

    tilt: Fraction
    step: Fraction
    log_drop: float  # log of the share of the final θ-mass that may be dropped at each doubling
    steps: int
    log_delta: float
    epsilon_scale: float  # what relative_slack of ε refers to, at least: a share of the loss's standard deviation
    deviation: float  # estimated standard deviation of the composed loss under the tilt, in nats
    growth: int
    coarsen_budget: float  # for `compose`: what coarsening may add, a share of what the accuracy allows

    @property
    def prec(self) -> int:
        """Precision of the composition: masses down to the dropped ones keep some bits after all the products."""
        return 28 + self.steps.bit_length() + math.ceil(-self.log_drop / math.log(2))

    @property
    def working(self) -> int:
        """Precision of the one-step law: masses are second differences on the grid."""
        return self.prec + 32 + 2 * max(0, -round(math.log2(self.step)))

    def refined(self, factor: int) -> "Plan":
        """Divide the lattice step by ``factor``; what coarsening adds falls with the square, as the rest does."""
        return replace(
            self,
            step=self.step / factor,
            growth=self.growth * factor,
            coarsen_budget=self.coarsen_budget / factor**2,
        )


def _golden_minimum(f: Callable[[float], float], low: float, high: float, rounds: int) -> float:
    ratio = (math.sqrt(5) - 1) / 2
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    fa, fb = f(a), f(b)
    for _ in range(rounds):
        if fa < fb:
            high, b, fb = b, a, fa
            a = high - ratio * (high - low)
            fa = f(a)
        else:
            low, a, fa = a, b, fb
            b = low + ratio * (high - low)
            fb = f(b)
    return a if fa < fb else b


def plan(
    phases: Sequence[Phase],
    *,
    delta: Fraction | None = None,
    epsilon: Fraction | None = None,
    relative_slack: Fraction,
    grid_step: Fraction | None = None,
) -> Plan:
    """Choose tilt, step, cut-offs and precision for the given δ (or the given ε)."""
    pairs = [PairEstimate(phase) for phase in phases]
    excess, value = _best_order(pairs, delta, epsilon)
    order = 1 + excess
    log_delta = log_estimate(delta) if delta is not None else min(0.0, value)
    target = value if epsilon is None else float(epsilon)

    tilt_excess = min(1.0, excess)
    bits = 6 - math.floor(math.log2(tilt_excess))
    tilt = 1 + Fraction(max(1, round(tilt_excess * 2.0**bits)), 1 << bits)
    theta = float(tilt)
    total_moment = variance = 0.0
    for pair in pairs:
        moment, law = pair.tilted(theta)
        mean = math.fsum(x * w for x, w in law)
        total_moment += pair.steps * moment
        variance += pair.steps * math.fsum((x - mean) ** 2 * w for x, w in law)

    least_scale = 0.05 * math.sqrt(variance)
    # spreading adds α·variance/2 to ε, and α(α−1)·variance/2 to log δ
    scale = max(target, least_scale) if epsilon is None else max(1.0, -log_delta) / excess
    allowed = float(relative_slack) * 2 / order * scale
    if grid_step is None:
        laws = [(pair.steps, pair.log_q, pair.tilted(order)[1]) for pair in pairs]
        step = _dyadic_below(_largest_step(laws, allowed))
    else:
        step = grid_step
    # dropped·γ^{1−θ}/(e(θ−1)) should be far below the hinge expectation, about δ
    log_drop = log_delta + math.log(theta - 1) + (theta - 1) * target - total_moment - 20.0
    return Plan(
        tilt=tilt,
        step=step,
        log_drop=max(-3000.0, min(-27.0, log_drop)),
        steps=sum(phase.steps for phase in phases),
        log_delta=log_delta,
        epsilon_scale=least_scale,
        deviation=math.sqrt(variance),
        growth=_GROWTH if grid_step is None else 1 << 60,  # a step that was asked for is used everywhere
        coarsen_budget=allowed / 4 if grid_step is None else 0.0,
    )


def _best_order(pairs: Sequence[PairEstimate], delta: Fraction | None, epsilon: Fraction | None) -> tuple[float, float]:
    """Minimise ε (given δ), or log δ (given ε), of the single pair's Rényi curve: (α − 1, the minimum)."""

    def objective(log_excess: float) -> float:
        excess = math.exp(log_excess)
        order = 1 + excess
        moment = math.fsum(pair.steps * pair.tilted(order)[0] for pair in pairs)
        if epsilon is None and delta is not None:
            return (moment - log_estimate(delta) - math.log(order)) / excess + math.log1p(-1 / order)
        return moment - excess * float(epsilon or 0) - math.log(order) + excess * math.log1p(-1 / order)

    biggest = max(pair.sensitivity for pair in pairs)
    least, most = math.log(1e-5), math.log(60.0 / biggest**2 + 400.0 / biggest + 4.0)
    best = _golden_minimum(objective, least, most, 24)
    return math.exp(best), objective(best)


def _largest_step(laws: Sequence[tuple[int, float, Sequence[tuple[float, float]]]], allowed: float) -> float:
    """Find h with Σ steps·E min(h²/6, x·h) = allowed, x = log r − log q: what spreading adds to the variance."""
    low, high = math.log(1e-12), math.log(10.0)
    for _ in range(30):
        h = math.exp((low + high) / 2)
        added = math.fsum(
            steps * math.fsum(w * min(h * h / 6, (x - log_q) * h) for x, w in law) for steps, log_q, law in laws
        )
        low, high = (math.log(h), high) if added < allowed else (low, math.log(h))
    return math.exp(low)


def _dyadic_below(value: float) -> Fraction:
    """Round down to 5 significant bits."""
    exponent = math.floor(math.log2(value)) - 4
    return Fraction(math.floor(value / 2.0**exponent)) * Fraction(2) ** exponent


def cells(phase: Phase, curve: Curve, chosen: Plan, *, upper: bool, memory_limit: int | None = None) -> Cells:
    """Choose the lattice shift and the cells' ends for one step of a phase.

    Much of the mass may sit within one cell just above q (reversed: below 1/q). An upper law wants a lattice point at
    q, where nothing needs spreading; a lower law at the mean of the cell's mass, which a hull can keep. A lower law's
    lattice reaches below and above loss 0, so that the line 1 − γ is positive where it begins.

    Raises:
        ResourceLimitError: the lattice alone needs more than ``memory_limit``.
        PrecisionExhaustedError: no cut-off was found.
    """
    pair = PairEstimate(phase)
    step, h = chosen.step, float(chosen.step)
    theta, delta = float(chosen.tilt), pair.sensitivity
    negligible = chosen.log_drop - math.log(8.0 * phase.steps) + pair.tilted(theta)[0]
    reach = 0.0
    while _log_tau(pair, theta, theta * delta + reach) > negligible:
        reach += 0.125
        if reach > _FARTHEST:
            raise PrecisionExhaustedError("no point was found beyond which the tail is negligible")
    highest = pair.log_ratio(theta * delta + reach)
    lowest = pair.log_q if pair.log_q > -math.inf else pair.log_ratio(delta - reach)
    if not upper:
        lowest, highest = min(lowest, -2 * h), max(highest, 2 * h)
    anchor = 0.0
    if curve is Curve.FORWARD:
        anchor = pair.log_cell_mean(h) if not upper else max(pair.log_q, -1e6)
    elif curve is Curve.REVERSED:
        anchor = -pair.log_cell_mean(h) - 1e-12 * h
        lowest, highest = -highest, -lowest
    else:
        lowest = min(-h, -highest)
    shift = Fraction(anchor) % step
    low = math.floor((lowest - float(shift)) / h + 1e-6)
    high = max(low + 2, math.ceil((highest - float(shift)) / h))
    window, scale = _two_scales(low, high, phase.steps, chosen)
    if scale == 1 and memory_limit is not None:
        check_memory(high - low, memory_limit)
    ends = tuple(_ends(low, high, chosen.growth, window, scale))
    touching = () if upper else _touching(pair, curve, [shift + i * step for i in ends])
    return Cells(ends, shift, step, touching, window, scale)


def _two_scales(low: int, high: int, steps: int, chosen: Plan) -> tuple[int, int]:
    """Choose how coarse the far tail's lattice is (1: no second lattice) and from where on."""
    points = high - low
    if points <= 16 * COARSEN_ABOVE or chosen.coarsen_budget == 0 or not low <= 0 <= high:
        return 0, 1
    tail_points = 2 * COARSEN_ABOVE * (chosen.growth / _GROWTH) ** 0.25  # finer when the first lattice is
    bits = min(math.ceil(math.log2(points / tail_points)), math.floor(math.log2(steps / 64) / 2)) if steps > 64 else 0
    return (max(16 << bits, COARSEN_ABOVE), 1 << bits) if bits > 1 else (0, 1)


def _touching(pair: PairEstimate, curve: Curve, losses: Sequence[Fraction]) -> tuple[Fraction, ...]:
    points = []
    for left, right in pairwise(losses):
        width, middle = float(right - left), float(left + right) / 2
        forward = curve is Curve.FORWARD or (curve is Curve.SYMMETRIC and middle > 0)
        slope = pair.log_density_slope(middle) if forward else -1 - pair.log_density_slope(-middle)
        points.append(left + (right - left) * Fraction(touching_share(slope, width)))
    return tuple(points)


def repeated(phase: Phase, chosen: Plan) -> Repetition:
    """Describe a phase's repetitions to `compose`."""
    pair = PairEstimate(phase)
    spread = (pair.log_ratio(_QUARTILE) - pair.log_ratio(-_QUARTILE)) / 2
    return Repetition(phase.steps, float(chosen.step), spread)


def peak_points(phases: Sequence[Phase], grids: Sequence[Cells], chosen: Plan) -> int:
    """Foresee the largest number of lattice points that `compose` will multiply at once."""
    total = sum(phase.steps for phase in phases)
    spread = 2 * math.sqrt(-2 * chosen.log_drop) * chosen.deviation
    peak = 0.0
    for phase, grid in zip(phases, grids, strict=True):
        reach = (grid.indices[-1] - grid.indices[0]) * float(grid.step)
        repetition, steps, step = repeated(phase, chosen), 1, float(grid.step) * grid.scale
        while steps <= phase.steps:
            width = min(steps * reach, reach + spread * math.sqrt(steps / total))
            while width / step > COARSEN_ABOVE and repetition.may_coarsen(steps, 2 * step, chosen.coarsen_budget):
                step *= 2
            peak = max(peak, 2 * width / step)
            steps *= 2
    return int(peak)


def _ends(low: int, high: int, growth: int, window: int, scale: int) -> list[int]:
    """Return low … high with cells of 1 + |i|//growth lattice steps, and with 0 among them if it is between.

    Beyond ±window (scale > 1) the ends, low and high included, are multiples of ``scale``, rounded outward.
    """

    def outward(limit: int, start: int) -> list[int]:
        ends = [start]
        while ends[-1] < limit:
            index = ends[-1] + 1 + ends[-1] // growth
            if scale > 1 and ends[-1] < window <= index:
                index = window
            elif scale > 1 and index > window:
                index = max(index // scale * scale, ends[-1] + scale)
            ends.append(index if scale > 1 and index > window else min(limit, index))
        return ends

    below = [-i for i in outward(-low, 0)][:0:-1] if low < 0 else []
    return below + outward(high, max(low, 0))


def _log_tau(pair: PairEstimate, theta: float, z: float) -> float:
    shifted = theta * pair.log_p + theta * (theta - 1) * pair.sensitivity**2 / 2
    return (theta - 1) * math.log(2) + log_add(
        theta * pair.log_q + log_normal_tail(z), shifted + log_normal_tail(z - theta * pair.sensitivity)
    )
