"""Gaussian means in balls, by the trapezoidal rule with an error known before any evaluation.

On the real line with step h the rule errs by at most 2M/(e^{2πd/h}−1) when the integrand is analytic on |Im z| < d and
∫|G(x+iy)|dx ≤ M for |y| < d (Trefethen and Weideman, SIAM Review 56 (2014), Theorem 5.1). Here G = g·φ, and the
caller states an *envelope*: |g(x+iy)| ≤ Σ c·e^{s·x} on the closed strip, which settles M, since
|φ(x+iy)| = φ(x)e^{y²/2} and E e^{sZ} = e^{s²/2}, and also the nodes that are left out.
"""

import math
from collections.abc import Callable, Sequence

from flint import arb

from certified_dp.enclosure import finite, float_estimate
from certified_dp.gaussian import normal_cdf, normal_pdf
from proofs_checks.registry import CheckFailedError

#: Terms (c, s) of an envelope Σ c·e^{s·x}, c ≥ 0; in the plane (c, s₁, s₂).
Envelope = Sequence[tuple[arb, arb]]
PlaneEnvelope = Sequence[tuple[arb, arb, arb]]


def _step(strip: float, bits: int) -> tuple[arb, arb]:
    """Choose the half-width and step (untrusted: any positive step is valid): e^{d²/2 − 2πd/h} ≈ 2^{−bits}."""
    need = bits * math.log(2)
    d = min(strip, math.sqrt(2 * need))
    return arb(d), arb(2 * math.pi * d / (need + d * d / 2))


def _reach(slopes: Sequence[arb], bits: int) -> tuple[float, float]:
    """Choose how far to sum on either side (untrusted: what is left out is bounded)."""
    centres = [float_estimate(slope) for slope in slopes]
    width = math.sqrt(2 * bits * math.log(2))
    return min([0.0, *centres]) - width, max([0.0, *centres]) + width


def _beyond(slope: arb, step: arb, first: int, last: int) -> arb:
    """Bound step·Σφ(n·step − slope) over n < first and n > last, both outside the mode.

    Beyond the mode φ decreases, so each sum is below the integral that starts one node earlier.
    """
    left, right = step * first, step * last
    if not (left < slope < right):
        raise CheckFailedError("the nodes do not reach the mode of the envelope")
    return normal_cdf(left - slope) + normal_cdf(slope - right)


def _symmetric(bound: arb) -> arb:
    return finite(arb(0).union(bound).union(-bound), "a quadrature error")


def gaussian_means(
    g: Callable[[arb], Sequence[arb]], *, strip: float, envelope: Callable[[arb], Envelope], bits: int
) -> list[arb]:
    """Enclose E g(Z) for each of the values that ``g`` returns together, Z ~ N(0,1).

    Guarantee: the balls contain the means if every component is analytic on |Im z| ≤ d and within ``envelope(d)``
    there, for the d ≤ ``strip`` that is chosen.
    Args: g: the integrands at a real node.  strip: largest half-width allowed.  envelope: of the half-width d.
        bits: absolute accuracy aimed at (changes tightness, never validity).
    """
    d, step = _step(strip, bits)
    terms = envelope(d)
    low, high = _reach([slope for _, slope in terms], bits)
    first, last = math.floor(low / float(step)) - 1, math.ceil(high / float(step)) + 1
    weight = [constant * (slope**2 / 2).exp() for constant, slope in terms]
    total = sum(weight, arb(0))
    error = 2 * total * (d * d / 2).exp() / (2 * arb.pi() * d / step).expm1()
    error += sum((w * _beyond(s, step, first, last) for w, (_, s) in zip(weight, terms, strict=True)), arb(0))
    sums: list[arb] = []
    for n in range(first, last + 1):
        node = step * n
        density = normal_pdf(node)
        values = [density * value for value in g(node)]
        sums = [a + b for a, b in zip(sums, values, strict=True)] if sums else values
    return [finite(step * value + _symmetric(error), "a Gaussian mean") for value in sums]


def gaussian_mean(g: Callable[[arb], arb], *, strip: float, envelope: Callable[[arb], Envelope], bits: int) -> arb:
    """Enclose E g(Z), Z ~ N(0,1). Guarantee and Args: as `gaussian_means`."""
    return gaussian_means(lambda x: [g(x)], strip=strip, envelope=envelope, bits=bits)[0]


def plane_mean(
    g: Callable[[int, int], arb],
    *,
    strip: float,
    envelope: Callable[[arb], PlaneEnvelope],
    prepare: Callable[[arb, range, range], None],
    bits: int,
) -> arb:
    """Enclose E g(Z₁, Z₂) for two independent N(0,1).

    Guarantee: as `gaussian_means`, with the envelope on |Im z₁|, |Im z₂| ≤ d. The rule is applied in z₁ at every node
    z₂ and then in z₂: the first error is the one-dimensional one times step·Σ_m e^{s₂x}φ(x) ≤ e^{s₂²/2}(1 + step·φ(0)),
    the second the one-dimensional one.
    Args: g: the integrand at the node (n·step, m·step).  prepare: is told the step and the node ranges first, so that
        powers can be tabulated.
    """
    d, step = _step(strip, bits)
    terms = envelope(d)
    crowd = 1 + step / (2 * arb.pi()).sqrt()
    ranges = []
    for axis in (1, 2):
        low, high = _reach([term[axis] for term in terms], bits)
        ranges.append(range(math.floor(low / float(step)) - 1, math.ceil(high / float(step)) + 2))
    weight = [constant * ((s1**2 + s2**2) / 2).exp() for constant, s1, s2 in terms]
    damping = (d * d / 2).exp() / (2 * arb.pi() * d / step).expm1()
    error = 2 * (1 + crowd) * sum(weight, arb(0)) * damping
    for w, (_, *slopes) in zip(weight, terms, strict=True):
        for slope, nodes in zip(slopes, ranges, strict=True):
            error += w * crowd * _beyond(slope, step, nodes.start, nodes.stop - 1)
    prepare(step, *ranges)
    densities = [[normal_pdf(step * n) for n in nodes] for nodes in ranges]
    total = arb(0)
    for m, density in zip(ranges[1], densities[1], strict=True):
        row = sum((g(n, m) * weight_n for n, weight_n in zip(ranges[0], densities[0], strict=True)), arb(0))
        total += row * density
    return finite(step * step * total + _symmetric(error), "a Gaussian mean in the plane")
