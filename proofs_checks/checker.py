"""Check that a certificate proves a claim about the privacy of DP-SGD: ``checker.py NAME.claim.json NAME.cert.json``.

Exit status: 0 verified (prints the claim, rebuilt from the checked values), 1 rejected, 2 malformed. Standard library
only: copy this file and run it with ``python -I``. It never searches, only evaluates and compares, on integers with
explicit rounding: the precision changes what is provable, not what is true. CERTIFICATE.md states all rules.
"""

import decimal
import json
import re
import sys
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise
from math import comb, isqrt
from typing import Any, ClassVar, NamedTuple

MAX_BYTES, MAX_TERMS, MAX_CELLS = 2_000_000, 2_000_000, 20_000  # of a file, of a quadrature, of a one-step law
MAX_POINTS, MAX_DIGITS, MAX_WORK = 400_000, 25_000_000, 1_000_000_000  # of a composed law (two); in all


class Rejected(Exception):  # noqa: N818 -- a verdict, not an error
    """The certificate does not prove the claim; for malformed files there is ValueError."""


def require(condition: bool, reason: str) -> None:
    """Reject unless the condition holds."""
    if not condition:
        raise Rejected(reason)


@lru_cache(maxsize=64)
def inverse_series(n: int, sign: int, scale: int) -> tuple[int, int]:
    """Enclose 2^scale·Σ_j sign^j/((2j+1)·n^(2j+1)): arctan(1/n) for sign −1, artanh(1/n) for sign +1."""
    power, total, j = (1 << scale) // n, 0, 0
    while power:
        total += sign**j * (power // (2 * j + 1))
        power, j = power // n**2, j + 1
    return total - 2 * j - 2, total + 2 * j + 2  # each summand is less than 2 units short, and so is the rest


class Interval:
    """The reals from lo/2^bits to hi/2^bits. Every operation rounds lo down and hi up: the true value stays inside."""

    __slots__ = ("hi", "lo")
    bits: ClassVar[int] = 256
    work: ClassVar[int] = 0  # spent so far, 30 to 100 units a microsecond

    def __init__(self, lo: int, hi: int) -> None:
        """Take the end points in units of 2^−bits."""
        self.lo, self.hi = lo, hi

    @staticmethod
    def spend(work: int) -> None:
        """Count work, and reject a certificate that asks for too much."""
        Interval.work += work
        require(Interval.work <= MAX_WORK, "work limit exceeded")

    @staticmethod
    def of(x: Fraction | int) -> "Interval":
        """Enclose an exact number."""
        scaled = x.numerator << Interval.bits
        return Interval(scaled // x.denominator, -(-scaled // x.denominator))

    @staticmethod
    def log_of(x: Fraction | int) -> "Interval":
        """Enclose log x of an exact number, however small."""
        return Interval.of(x.numerator).log() - Interval.of(x.denominator).log()

    @staticmethod
    def pi() -> "Interval":
        """Enclose π = 16·arctan(1/5) − 4·arctan(1/239)."""
        a, b = inverse_series(5, -1, Interval.bits), inverse_series(239, -1, Interval.bits)
        return Interval(16 * a[0] - 4 * b[1], 16 * a[1] - 4 * b[0])

    def __add__(self, other: "Interval") -> "Interval":
        return Interval(self.lo + other.lo, self.hi + other.hi)

    def __sub__(self, other: "Interval") -> "Interval":
        return Interval(self.lo - other.hi, self.hi - other.lo)

    def __mul__(self, other: "Interval") -> "Interval":
        ends = (self.lo * other.lo, self.lo * other.hi, self.hi * other.lo, self.hi * other.hi)
        return Interval(min(ends) >> Interval.bits, -(-max(ends) >> Interval.bits))

    def __truediv__(self, other: "Interval") -> "Interval":
        require(other.lo > 0, "a divisor is not certainly positive at this precision")
        lo, hi = self.lo << Interval.bits, self.hi << Interval.bits
        return Interval(lo // (other.hi if lo >= 0 else other.lo), -(-hi // (other.lo if hi >= 0 else other.hi)))

    def times(self, x: Fraction | int) -> "Interval":
        """Multiply by an exact number."""
        ends = (self.lo * x.numerator, self.hi * x.numerator)
        return Interval(min(ends) // x.denominator, -(-max(ends) // x.denominator))

    def exp(self) -> "Interval":
        """Enclose e^x: e^lo = 2^n·(e^s)^256 up to one unit of 2^−bits in the exponent; e^w ≤ 1 + w + w² if w ≤ 1."""
        bits, width, scale = Interval.bits, self.hi - self.lo + 1, Interval.bits + 64
        if self.hi <= -(7 * bits // 10 + 1) << bits:
            return Interval(0, 1)  # e^(−0.7·bits) < 2^−bits
        require(width <= 1 << bits and self.lo <= 20_000 << bits, "an exponential is too imprecise or too large")
        Interval.spend(scale + (scale * scale >> 9))
        n, r = divmod(self.lo << 64, 2 * inverse_series(3, 1, scale)[self.lo >= 0])  # so that n·log 2 + r ≤ lo
        term, total, s, j = 1 << scale, 1 << scale, r >> 8, 0
        while term:
            j, term = j + 1, (term * s >> scale) // (j + 1)
            total += term
        lo, hi = total, total + 2 * j + 4  # a summand is less than 2 units short (s < 2^−8), the rest less than 1
        for _ in range(8):
            lo, hi = lo * lo >> scale, (hi * hi >> scale) + 1
        hi += -(-hi * (width + (width * width >> bits) + 1) >> bits)
        return Interval(lo << max(n, 0) >> 64 - min(n, 0), -(-hi << max(n, 0) >> 64 - min(n, 0)))

    def log(self) -> "Interval":
        """Enclose log x: lo = 2^k·s^64, 1 ≤ s^64 < 2, log s = 2·artanh((s−1)/(s+1)); log hi ≤ log lo + (hi−lo)/lo."""
        require(self.lo > 0, "a logarithm's argument is not certainly positive at this precision")
        bits, scale, one = Interval.bits, Interval.bits + 64, 1 << Interval.bits + 64
        Interval.spend(scale + (scale * scale >> 9))
        k = self.lo.bit_length() - 1 - bits
        s = self.lo << 64 + max(-k, 0) >> max(k, 0)
        for _ in range(6):
            s = isqrt(s << scale)  # less than 2 units short
        t = ((s - one) << scale) // (s + one)  # < 0.006, and less than 2 units short
        square, power, total, j = t * t >> scale, t, 0, 0
        while power:
            total += power // (2 * j + 1)
            power, j = power * square >> scale, j + 1
        below, above = sorted(2 * k * end for end in inverse_series(3, 1, scale))
        above += total + 2 * j + 6 << 7  # a summand is less than 2 units short, the rest less than 2; artanh' < 2
        return Interval(below + (total << 7) >> 64, -(-above >> 64) - (-(self.hi - self.lo << bits) // self.lo))

    def cos(self) -> "Interval":
        """Enclose cos x for 0 ≤ x ≤ 2: the Taylor series at lo, widened by hi − lo."""
        require(self.lo >= 0 and self.hi <= 2 << Interval.bits, "cosine outside [0, 2]")
        term, total, j = 1 << Interval.bits, 0, 0
        while term:
            total, j = total + (-term if j % 2 else term), j + 1
            term = (term * self.lo**2 >> 2 * Interval.bits) // (2 * j * (2 * j - 1))
        error = 2 * j + 4 + self.hi - self.lo  # a summand is less than 2 units short, the rest less than 4
        return Interval(total - error, total + error)

    def normal_cdf(self) -> "Interval":
        """Enclose Φ(x) = ½ ± S/(√(2π)·e^(a²/2)), a = |lo|, S = Σ_k T_k, T_k = a^(2k+1)/(1·3·5⋯(2k+1)); and Φ' ≤ ½."""
        bits, scale, half = Interval.bits, Interval.bits + 64, 1 << Interval.bits - 1
        gap, square = (self.hi - self.lo + 1) // 2 + 1, self.lo * self.lo
        if square >> 2 * bits > 14 * bits // 10 + 1:  # then 1 − Φ(a) ≤ ½·e^(−a²/2) < 2^−bits
            return Interval(0, 1 + gap) if self.lo < 0 else Interval(2 * half - 1, 2 * half)
        term, total, k = abs(self.lo) << 64, abs(self.lo) << 64, 0
        while term or k <= square >> 2 * bits:
            k, term = k + 1, (term * square >> 2 * bits) // (2 * k + 3)
            total += term
        Interval.spend(k * (8 + (scale * scale >> 15)))
        # Rounding at step j costs less than 2 units there, and T_i/T_j ≤ max(T_i, 1) times that at a later step i, as T
        # rises from a and then falls (or falls all along if a < 1): less than 2k(S + k) units for the k terms. The last
        # is 0 in units, so T_k is below 2k; those left out at least halve at each step (k > a²): less than 2k again.
        series = Interval(total >> 64, (total + (total * 4 * k >> scale) + 4 * (k + 2) ** 2 >> 64) + 1)
        exponent = Interval(square >> bits + 1, (square >> bits + 1) + 1) + Interval.pi().times(2).log().times(HALF)
        tail = series / exponent.exp()
        ends = (half - tail.hi, half - tail.lo) if self.lo < 0 else (half + tail.lo, half + tail.hi)
        return Interval(max(0, ends[0]), ends[1] + gap)


Json = dict[str, Any]
HALF = Fraction(1, 2)
NUMBER = re.compile(r"-?[0-9]{1,400}(/(?!0+$)[0-9]{1,400}|(\.[0-9]{1,400})?(e[+-]?[0-9]{1,3})?)")
PHASE = {"sampling_probability": Fraction, "noise_multiplier": Fraction, "steps": int}
CLAIM = {"version": 1, "adjacency": "replace_one", "phases": [PHASE], "delta": Fraction, "epsilon": Fraction}
CERTIFICATE = {"version": 1, "bits": int, "steps": [tuple]}
GRID = {"grid_step": Fraction, "first": int, "cells": [[int]]}
KINDS = {int: int, Fraction: Fraction, list[int]: [int], list[Fraction]: [Fraction], list[Json]: [GRID]}


def read(value: object, schema: Any) -> Any:
    """Read int, tuple (any object), Fraction ("3", "-0.25", "1e-6" or "1/3"), [schema], {field: schema}, or itself."""
    if isinstance(schema, dict) and isinstance(value, tuple) and sorted(name for name, _ in value) == sorted(schema):
        return {name: read(entry, schema[name]) for name, entry in value}
    if isinstance(schema, list) and isinstance(value, list) and 1 <= len(value) <= 1000:
        return [read(entry, schema[0]) for entry in value]
    if schema is Fraction and isinstance(value, str) and len(value) <= 810 and NUMBER.fullmatch(value):
        return Fraction(value)
    if type(value) is schema or (type(value) is type(schema) and value == schema):
        return value
    raise ValueError(f"{str(value)[:60]} is not {schema}"[:200])


def parse(text: str, schema: Any) -> Any:
    """Parse JSON and read it by the schema. No schema allows a float (or NaN), nor None, which long integers become."""
    value = json.loads(text, object_pairs_hook=tuple, parse_int=lambda word: int(word) if len(word) <= 25 else None)
    return read(value, schema)


class Fact(NamedTuple):
    """A conclusion: for one step of a phase ("point", "moment"), for all steps ("total"), or the "claim" itself."""

    kind: str
    value: Fraction  # "point": ≥ log F(u), F of (15); "moment", "total": ≥ (α−1)·(Rényi divergence) for all neighbours
    order: Fraction = Fraction(0)
    phase: int = 0
    u: Fraction = Fraction(0)


class Law(NamedTuple):
    """A bound for a block of steps, in units of 10^unit. Rounding up is sound: masses are summed times f_γ ≥ 0."""

    step: Fraction
    first: int
    masses: list[int]  # at least e^(θx)·(mass) at the loss x = (first+i)·step
    lost: int  # at least the θ-mass E[r^θ] of all that was dropped
    unit: int

    def compose(self, other: "Law", digits: int, drop: int) -> "Law":
        """Compose two blocks, round up to `digits` digits, and drop masses up to `drop` at both ends."""
        here, there, size = sum(self.masses), sum(other.masses), len(self.masses) + len(other.masses) - 1
        slot = ((here + self.lost) * (there + other.lost)).bit_length() * 31 // 100 + 1  # Python reads ≤ 4300 digits
        require(self.step == other.step and size <= MAX_POINTS and slot <= min(4000, MAX_DIGITS // size), "misfit laws")
        Interval.spend(4 * slot * size)
        exact = decimal.Context(slot * size, None, decimal.MIN_EMIN, decimal.MAX_EMAX, traps=[decimal.Inexact])
        # Polynomials are multiplied exactly, packed into long numbers: `decimal` does that in quasi-linear time.
        packed = [decimal.Decimal("".join([f"{mass:0{slot}d}" for mass in law.masses])) for law in (self, other)]
        product = str(exact.multiply(*packed)).zfill(slot * size)
        excess = max(0, slot - digits)
        masses = [-(-int(product[i : i + slot]) // 10**excess) for i in range(0, slot * size, slot)]
        kept = [i for i, mass in enumerate(masses) if mass > drop] or [0]
        # dropped × (kept + dropped) + kept × dropped; E[(rs)^θ] = E[r^θ]·E[s^θ] for independent factors
        lost = -(-(self.lost * (there + other.lost) + here * other.lost) // 10**excess)
        lost += sum(masses[: kept[0]]) + sum(masses[kept[-1] + 1 :])
        first, unit = self.first + other.first + kept[0], self.unit + other.unit + excess
        return Law(self.step, first, masses[kept[0] : kept[-1] + 1], lost, unit)

    def hinge_bound(self, theta: Fraction, hinge: Fraction, delta: Fraction) -> Interval:
        """Bound λ + log((e^c−1)/c), c = E_P[h((L−λ)_+)]/δ, h(y) = y − 1 + e^(−y), λ = hinge.

        E_P[h] is γ^(1−θ) times Σ (tilted mass)·e^(−(θ−1)y)·h(y), y = x−λ > 0, plus lost/(e·(θ−1)) for what was dropped,
        as t·log(t/γ) ≤ γ·(t/γ)^θ/(e·(θ−1)). Upper ends are multiplied along: nothing here is negative.
        """
        bits, one, start = Interval.bits, 1 << Interval.bits, max(0, hinge // self.step + 1 - self.first)
        Interval.spend(len(self.masses) * (20 + (bits * bits >> 14)))
        y, rise, total = (self.first + start) * self.step - hinge, Interval.of(self.step).hi, 0
        fall, decay = Interval.of(-self.step).exp().hi, Interval.of((1 - theta) * self.step).exp().hi
        e_y, tilted, y_up = Interval.of(-y).exp().hi, Interval.of((1 - theta) * y).exp().hi, Interval.of(y).hi
        for mass in self.masses[start:]:
            total += mass * tilted * (y_up - one + e_y)
            e_y, tilted, y_up = (e_y * fall >> bits) + 1, (tilted * decay >> bits) + 1, y_up + rise
        upper = -(-total >> bits) + (Interval.of(self.lost) / Interval.of(1).exp()).times(1 / (theta - 1)).hi
        log_c = Interval(upper, upper).log() + Interval.log_of(10).times(self.unit) - Interval.of((theta - 1) * hinge)
        c = (log_c - Interval.log_of(delta)).exp()  # if this is tiny, log((e^c−1)/c) ≤ c will do
        return Interval.of(hinge) + (c if c.hi <= 1 << bits // 2 else ((c.exp() - Interval.of(1)) / c).log())


def one_step(p: Fraction, shift: Fraction, theta: Fraction, digits: int, grid: Json) -> Law:
    """Bound the law of r = q + p·e^(Δz−Δ²/2): cut above, lift below, spread cells: f_γ is non-decreasing and convex."""
    step, first, runs, q = grid["grid_step"], grid["first"], grid["cells"], 1 - p
    require(all(len(run) == 2 and min(run) > 0 for run in runs), "a run of cells is not [width, count]")
    fits = sum(count for _, count in runs) <= MAX_CELLS and sum(width * count for width, count in runs) < MAX_POINTS
    require(fits, "too many cells or points")
    indices = list(accumulate((width for width, count in runs for _ in range(count)), initial=first))
    points, above, z = [], Interval.of(0), Interval.of(0)
    for x in (Interval.of(i * step).exp() for i in indices):
        above, cdf, put = x - Interval.of(q), Interval.of(0), Interval.of(0)
        if above.hi > 0:  # r(z) = x
            z = (above.log() - Interval.log_of(p)).times(1 / shift) + Interval.of(shift / 2)
            cdf = z.normal_cdf()
            put = above * cdf - (z - Interval.of(shift)).normal_cdf().times(p)
        points.append((x, put))
    # To spread, with mass and mean kept, makes E(x−r)_+ piecewise linear; the masses are the jumps of its slope.
    slopes = [(put_b - put_a) / (b - a) for (a, put_a), (b, put_b) in pairwise(points)]
    masses = [0] * (indices[-1] - first + 1)
    for i, before, after in zip(indices, [Interval.of(0), *slopes], [*slopes, cdf], strict=True):
        tilted = max((after - before).hi, 0) * Interval.of(theta * i * step).exp().hi
        masses[i - first] = -(-tilted * 10**digits >> 2 * Interval.bits)
    # E[r^θ; above z] ≤ 2^(θ−1)(q^θΦ(−z) + p^θe^(θ(θ−1)Δ²/2)Φ(θΔ−z)) ≤ 2^(θ−2)e^(−z²/2)(q^θ + (r(z)−q)^θ) for z ≥ θΔ.
    require(z.lo >= Interval.of(theta * shift).hi, "the grid ends inside the bulk of the tilted law")
    log_cut = Interval.log_of(2).times(theta - 2) - (z * z).times(HALF)
    lost = sum((log_cut + x.log().times(theta)).exp().hi for x in ([above, Interval.of(q)] if q else [above]))
    return Law(step, first, masses, -(-lost * 10**digits >> Interval.bits), -digits)


class Proof:
    """The conclusions drawn so far from a claim's parameters. Each rule returns its conclusion, or rejects."""

    def __init__(self, claim: Json) -> None:
        """Begin with no conclusions, and each phase as (p, Δ = 2/σ, steps)."""
        self.facts, self.delta, self.epsilon = list[Fact](), claim["delta"], claim["epsilon"]
        for p, sigma, steps in ([f[name] for name in PHASE] for f in claim["phases"]):
            fits = Fraction(1, 10**18) <= p <= 1 <= steps <= 10**12 and Fraction(1, 100) <= sigma <= 10_000
            require(fits, "a sampling probability, noise multiplier or number of steps is out of range")
        self.phases = [(f["sampling_probability"], 2 / f["noise_multiplier"], f["steps"]) for f in claim["phases"]]
        require(Fraction(1, 10**400) <= self.delta < 1 and self.epsilon >= 0, "delta or epsilon out of range")

    def _fact(self, index: int, kind: str) -> Fact:
        require(0 <= index < len(self.facts) and self.facts[index].kind == kind, f"step {index} is no earlier {kind}")
        return self.facts[index]._replace(value=Fraction(Interval.of(self.facts[index].value).hi, 1 << Interval.bits))

    def _phase(self, index: int, order: Fraction) -> tuple[Fraction, Fraction, int]:
        require(0 <= index < len(self.phases) and self.phases[index][0] < 1, "no such phase with p < 1")
        require(1 < order <= 2048 and order.denominator == 1, "the order is out of range, or no integer")
        Interval.spend(10_000 * order.numerator)
        return *self.phases[index][:2], order.numerator

    def _claim(self, bound: Interval) -> Fact:
        require(bound.hi <= Interval.of(self.epsilon).lo, "epsilon is too small")
        return Fact("claim", self.epsilon)

    def _sum(self, terms: list[Interval], log_moment: Fraction) -> int:
        scaled = [term - Interval.of(log_moment) for term in terms]
        require(all(term.hi <= 1 << Interval.bits for term in scaled), "one term alone exceeds log_moment")
        return sum(term.exp().hi for term in scaled)

    def _weights(self, phase: int, order: Fraction) -> list[Interval]:
        """Enclose log a_k, a_k = C(α,k)·q^(α−k)·p^k·e^(k(k−1)Δ²/2), for k = 0..α."""
        p, shift, alpha = self._phase(phase, order)
        log_q, log_p = Interval.log_of(1 - p), Interval.log_of(p)
        logs = [Interval.log_of(comb(alpha, k)) + log_q.times(alpha - k) + log_p.times(k) for k in range(alpha + 1)]
        return [log + Interval.of(k * (k - 1) * shift**2 / 2) for k, log in enumerate(logs)]

    def _kappa(self, phase: int, order: Fraction, r: Fraction) -> Fraction:
        """Bound |(log F)''| by |F''|/F + (F'/F)², differences of positive terms; if r > 0: on [0, r], as F ≥ 1."""
        p, shift, alpha = self._phase(phase, order)
        square, rate, log_p, log_q = shift**2, shift**2 * r, Interval.log_of(p), Interval.log_of(1 - p)
        if r == 0:
            return square**2 * alpha * (alpha - 1) * (3 * alpha**2 + 6 * alpha + 4)
        e = dict.fromkeys([(1, 1), (0, 2), (0, 4), (1, 3), (2, 2), (0, 3), (1, 2), (2, 1)], Fraction(0))
        balance = Fraction((log_q - log_p).lo, 1 << Interval.bits) / rate + 1  # the best t is near (balance − a)/2
        for i, j, a in ((*ij, a) for ij in e for a in range(ij[0], alpha + 1)):  # E[vⁱwʲh] by (42), any 1−α ≤ t ≤ j
            t, gap = Fraction(round(2 * (balance - a)), 4), sorted([Fraction(0), Fraction(1 - a)])
            t = gap[p <= HALF] if gap[0] < t < gap[1] else t  # in the gap the exponent is 0: its better end is best
            t = min(max(t, Fraction(1 - alpha)), Fraction(j))
            log = log_q.times(1 - a - t) + log_p.times(a + t) + Interval.of(max(rate * t * (a + t - 1), Fraction(0)))
            log += Interval.of(square * a * (a - 1) / 2) + Interval.log_of(comb(alpha - i, a - i))
            e[i, j] += Fraction(log.exp().hi, 1 << Interval.bits)
        up = (alpha + 1) * (alpha + 2) * e[0, 4] + alpha * (alpha - 1) * e[2, 2] + 5 * alpha * e[1, 2] + 2 * e[0, 2]
        down = 2 * alpha * (alpha + 1) * e[1, 3] + 4 * (alpha + 1) * e[0, 3] + (alpha - 1) * e[2, 1] + e[1, 1]
        return square**2 * alpha * (alpha - 1) * (max(up, down) + alpha * (alpha - 1) * max(e[1, 1], e[0, 2]) ** 2)

    def point_closed(self, phase: int, order: Fraction, log_moment: Fraction) -> Fact:
        """F(0) = Σ_k a_k, a_k as in _weights, for an integer order."""
        require(self._sum(self._weights(phase, order), log_moment) <= 1 << Interval.bits, "the sum exceeds log_moment")
        return Fact("point", log_moment, order, phase)

    def point_trapezoid(self, phase: int, order: Fraction, u: Fraction, step: Fraction, strip: Fraction, first: int,
                        last: int, log_moment: Fraction) -> Fact:  # fmt: skip
        """F(u) = ∫(q + p·e^(βv−β²/2))^s Σ_k b_k φ(v − kβ/2) dv by the trapezoidal rule, nodes hn, h = step, error ηF.

        For u > 0: β² = 2uΔ², s = 1−α, b = a of _weights. For u = 0 and any order: β = Δ, s = α, and only k = 0, b = 1.
        η = factor/(e^(2πd/h)−1): on the strip |Im v| ≤ d < π/β the absolute value integrates to at most ½·factor·F(u).
        """
        (p, shift, _), zero, two = self._phase(phase, order if u else Fraction(2)), Interval.of(0), Interval.log_of(2)
        square, log_q, log_p = 2 * u * shift**2 if u else shift**2, Interval.log_of(1 - p), Interval.log_of(p)
        beta, log_factor = Interval.log_of(square).times(HALF).exp(), two + Interval.of(strip**2 / 2)
        fits = 0 <= u <= HALF and 1 < order <= 2048 and step > 0 and strip > 0
        require(fits and beta.times(strip).hi < Interval.pi().lo, "a parameter is out of range")
        if u:
            power, weights = 1 - order, self._weights(phase, order)
            log_factor += beta.times(strip / 2).cos().log().times(power)
            majorant = [(a + log_q.times(power), beta.times(Fraction(k, 2))) for k, a in enumerate(weights)]
        else:  # (q + pL)^α ≤ 2^(α−1)(q^α + p^αL^α), and φL^α is e^(α(α−1)Δ²/2) times a normal density with mean αΔ
            power, weights, half = order, [zero], two.times(order - 1)
            shifted = half + log_p.times(order) + Interval.of(order * (order - 1) * shift**2 / 2)
            majorant = [(half + log_q.times(order), zero), (shifted, Interval.of(order * shift))]
        require(0 <= (last - first) * (20 + len(weights)) <= MAX_TERMS, "too many nodes, or none")
        exponent, scale = Interval.pi().times(2 * strip / step), Interval.pi().times(2).log().times(HALF)
        require(exponent.lo >= max(1 << Interval.bits, log_factor.hi), "the step is too large")
        eta, total = (log_factor - exponent).exp() / (Interval.of(1) - (zero - exponent).exp()), 0
        weights = [a - Interval.of(k * k * square / 8) for k, a in enumerate(weights)]
        for v in (n * step for n in range(first, last + 1)):
            Interval.spend(1000 + 200 * len(weights))
            x, pull = beta.times(v) - Interval.of(square / 2), beta.times(v / 2)
            outer = x if x.lo > 0 else zero  # log(q + p·e^x) with the larger exponential taken out
            inner = (zero - outer).exp().times(1 - p) + (x - outer).exp().times(p)
            common = (outer + inner.log()).times(power) + Interval.log_of(step) - scale - Interval.of(v * v / 2)
            total += self._sum([a + pull.times(k) + common for k, a in enumerate(weights)], log_moment)
        for weight, mode in majorant:  # h·Σφ over x+h, x+2h, … is at most ½e^(−x²/2) if x ≥ 0, and at most 1 + h·φ(0)
            for x in (Interval.of(last * step) - mode, mode - Interval.of(first * step)):
                tail = (x * x).times(-HALF) - two if x.lo >= 0 else Interval.log_of(1 + step)
                total += self._sum([weight + tail], log_moment)
        require(total <= (Interval.of(1) - eta).lo, "the sum exceeds log_moment")
        return Fact("point", log_moment, order, phase, u)

    def domination(self, point: int) -> Fact:
        """One pair is the worst for every Rényi order: the moment is F(0) (Corollary 1 of domination_theorem.md)."""
        require(self._fact(point, "point").u == 0, "the point must be u = 0")
        return self.facts[point]._replace(kind="moment")

    def gaussian_moment(self, phase: int, order: Fraction) -> Fact:
        """For p = 1 the moment is e^(α(α−1)Δ²/2)."""
        require(0 <= phase < len(self.phases) and self.phases[phase][0] == 1 and order > 1, "no such phase with p = 1")
        return Fact("moment", order * (order - 1) * self.phases[phase][1] ** 2 / 2, order, phase)

    def theorem1_at_zero(self, point: int) -> Fact:
        """By Proposition 2 (a) the maximum over u is at 0 if p·e^((α−1)qΔ²/2) ≥ α/(α−1), (19)."""
        fact = self._fact(point, "point")
        p, shift, alpha = self._phase(fact.phase, fact.order)
        left = Interval.log_of(p) + Interval.of((alpha - 1) * (1 - p) * shift**2 / 2)
        require(fact.u == 0 and left.lo >= Interval.log_of(Fraction(alpha, alpha - 1)).hi, "u > 0, or (19) fails")
        return fact._replace(kind="moment")

    def theorem1_cells(self, points: list[int], curvatures: list[Fraction], log_moment: Fraction) -> Fact:
        """Bound the maximum over u from points that divide [0, ½], by the key (37) on each cell."""
        ends = [self._fact(index, "point") for index in points]
        require(all(end[2:4] == ends[0][2:4] for end in ends), "the points' phases or orders differ")
        require(ends[0].u == 0 and ends[-1].u == HALF and len(curvatures) == len(ends) - 1, "[0, 1/2] is not covered")
        for (left, right), r in zip(pairwise(ends), curvatures, strict=True):
            require(left.u < right.u and (r == 0 or r >= right.u), "points out of order, or a curvature too far left")
            bend, rise = self._kappa(left.phase, left.order, r) * (right.u - left.u) ** 2, abs(right.value - left.value)
            # The largest (1−t)·left + t·right + bend·t(1−t)/2 is at an end, or at t = ½ ± rise/bend if that is inside.
            inner = (left.value + right.value) / 2 + bend / 8 + rise**2 / (2 * bend)
            key = inner if rise < bend / 2 else max(left.value, right.value)
            require(key <= log_moment, f"the key of the cell [{left.u}, {right.u}] exceeds log_moment")
        return Fact("moment", log_moment, ends[0].order, ends[0].phase)

    def interpolate(self, low: int, high: int, order: Fraction) -> Fact:
        """Use that the log-moment is convex in the order, and 0 at order 1 (low = −1)."""
        top = self._fact(high, "moment")
        base = self._fact(low, "moment") if low != -1 else Fact("moment", Fraction(0), Fraction(1), top.phase)
        require(base.phase == top.phase and base.order < order < top.order, "the order is not between the two")
        chord = (top.order - order) * base.value + (order - base.order) * top.value
        return Fact("moment", chord / (top.order - base.order), order, top.phase)

    def compose(self, moments: list[int]) -> Fact:
        """Log-moments of one order add over all steps of all phases."""
        parts = [self._fact(index, "moment") for index in moments]
        wanted = [(parts[0].order, phase) for phase in range(len(self.phases))]
        require([part[2:4] for part in parts] == wanted, "not one moment of the same order for each phase")
        total = sum((part.value * f[2] for part, f in zip(parts, self.phases, strict=True)), Fraction(0))
        return Fact("total", total, parts[0].order)

    def convert_balle(self, total: int) -> Fact:
        """Conclude ε = K/(α−1) + log(1−1/α) − log(αδ)/(α−1), K the log-moment: (6)."""
        _, moment, order, *_ = self._fact(total, "total")
        surprise = Interval.log_of(order * self.delta).times(1 / (order - 1))
        return self._claim(Interval.of(moment / (order - 1)) + Interval.log_of(1 - 1 / order) - surprise)

    def convert_tangent(self, total: int, tangent_at: Fraction) -> Fact:
        """By its tangent t^α−1−α(t−1) ≥ s·(t−e^ε)_+: s = α(x^(α−1)−1), e^ε = x−(x^α−1−α(x−1))/s; δ = (e^K−1)/s."""
        (_, moment, order, *_), x, one = self._fact(total, "total"), tangent_at, Interval.of(1)
        raised = Interval.log_of(x).times(order - 1).exp()
        slope = (raised - one).times(order)
        require((Interval.of(moment).exp() - one - slope.times(self.delta)).hi <= 0, "the slope is too small for delta")
        return self._claim((Interval.of(x) - (raised.times(x) - Interval.of(1 + order * (x - 1))) / slope).log())

    def gaussian_curve(self) -> Fact:
        """If every p is 1, δ(ε) = Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ) with μ² = ΣTΔ²."""
        require(all(p == 1 for p, _, _ in self.phases), "every sampling probability must be 1")
        mu = sum((Interval.of(t * shift**2) for _, shift, t in self.phases), Interval.of(0)).log().times(HALF).exp()
        half, ratio, factor = mu.times(HALF), Interval.of(self.epsilon) / mu, Interval.of(self.epsilon).exp()
        delta = (half - ratio).normal_cdf() - factor * (Interval.of(0) - half - ratio).normal_cdf()
        require(delta.hi <= Interval.of(self.delta).lo, "epsilon is too small")
        return Fact("claim", self.epsilon)

    def kl_hinge(self, tilt: Fraction, hinge: Fraction, digits: int, drop_digits: int, grids: list[Json]) -> Fact:
        """Compose the single pair's law and apply Corollary 3 of domination_theorem.md with λ = hinge, θ = tilt."""
        require(1 < tilt <= 2048 and 10 <= digits <= 100 and 0 <= drop_digits <= 100, "tilt or digits out of range")
        total: Law | None = None
        for (p, shift, steps), grid in zip(self.phases, grids, strict=True):
            block = once = one_step(p, shift, tilt, digits, grid)
            for bit in f"{steps:b}"[1:]:
                block = block.compose(block, digits, 10**drop_digits)
                block = block.compose(once, digits, 10**drop_digits) if bit == "1" else block
            total = total.compose(block, digits, 10**drop_digits) if total else block
        return self._claim((total or block).hinge_bound(tilt, hinge, self.delta))


def check(claim: Json, certificate: Json) -> None:
    """Return if the certificate proves the claim; raise Rejected (which rule and why), or ValueError if malformed."""
    Interval.bits, Interval.work, proof = certificate["bits"], 0, Proof(claim)
    require(64 <= Interval.bits <= 4096, "bits out of range")
    rules = {name: rule for name, rule in vars(Proof).items() if not name.startswith("_")}
    for count, step in enumerate(certificate["steps"]):
        if (name := str(dict(step).get("rule"))) not in rules:
            raise ValueError(f"unknown rule: {name[:40]}")
        kinds = {field: KINDS[kind] for field, kind in rules[name].__annotations__.items() if field != "return"}
        values = read(step, {"rule": name, **kinds})
        try:
            proof.facts.append(rules[values.pop("rule")](proof, **values))
        except Rejected as error:
            raise Rejected(f"step {count}, {name}: {error}") from None
    require(proof.facts[-1].kind == "claim", "the last step does not conclude the claim")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    texts = []
    try:
        for name in sys.argv[1:] if arguments is None else arguments:
            with open(name, "rb") as file:
                texts.append(file.read(MAX_BYTES + 1).decode())
        if len(texts) != 2 or max(map(len, texts)) > MAX_BYTES:
            raise ValueError("usage: checker.py NAME.claim.json NAME.cert.json (at most 2 MB each)")
        claim = parse(texts[0], CLAIM)
        check(claim, parse(texts[1], CERTIFICATE))
    except (Rejected, ValueError, ArithmeticError, OSError, RecursionError, MemoryError) as error:
        rejected = isinstance(error, Rejected)
        print("REJECTED" if rejected else "MALFORMED", ascii(str(error) or type(error).__name__)[1:-1], sep=": ")
        return 1 if rejected else 2
    print(f"VERIFIED: every run of DP-SGD with these phases is (epsilon, delta)-DP: {json.dumps(claim, default=str)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
