"""A lattice law below a stop-loss curve: tangents, lower convex hull, slope jumps (lower bounds only).

For independent non-negative factors products preserve the increasing convex order: if E(X'_k−γ)_+ ≤ E(r_k−γ)_+ for
all γ ≥ 0 and all k, then E(ΠX'_k−K)_+ ≤ E(Πr_k−K)_+. So a lower bound needs a lattice law whose stop-loss curve is
below h*. Rounding losses down would be one, but it costs up to a lattice step for each of the T steps.
"""

from collections.abc import Sequence
from fractions import Fraction

from flint import arb, arb_poly

from certified_dp.composition.law import LatticeLaw
from certified_dp.enclosure import ball, lower_end, upper_ball, upper_end

#: The masses (Q(E), P(E)) of an event E: the line γ ↦ P(E) − γ·Q(E) is below γ ↦ sup_E P(E) − γ·Q(E) = h*(γ).
Line = tuple[arb, arb]


def curve_below(nodes: Sequence[arb], lines: Sequence[Line], start: Line) -> tuple[list[Fraction], list[Fraction]]:
    """Return points (γ_k, y_k), γ_0 = 0, whose linear interpolation (0 after the last) is below h* on γ ≥ 0.

    Guarantee: if lines[j] ≤ h* on the cell [nodes[j], nodes[j+1]] and ``start`` ≤ h* on [0, nodes[0]], and h* ≥ 0,
    the interpolation is ≤ h* everywhere; its last value is 0.
    Source: domination theorem, “Floor and other lower bounds”.

    Why: y_k is at most both neighbouring lines at node k, so the chord over a cell lies below the cell's line. Let m be
    the first cell whose line is not certainly positive at its right end; y = 0 from the *left* end of cell m on.
    (Putting 0 at the right end only is unsound: the chord over cell m could then pass above the line, and above h*.)

    Args:
        nodes: exact balls, increasing, > 0.
        lines: one per cell, len(nodes) − 1 of them.
        start: the line left of the first node; with total masses (1, 1) it is 1 − γ.
    """
    xs, ys = [Fraction(0)], [max(Fraction(0), lower_end(start[1]))]
    before = start
    for node, (q, p) in zip(nodes, lines):  # noqa: B905 -- the last node has no cell to its right
        here = min(lower_end(before[1] - node * before[0]), lower_end(p - node * q))
        xs.append(upper_end(node))
        right_end = nodes[len(xs) - 1]
        if not (p - right_end * q) > 0:
            ys.append(Fraction(0))
            return xs, ys
        # the cell's line is > 0 at its right end, hence here; so was the line before; 0 is below both
        ys.append(max(Fraction(0), here))
        before = q, p
    return [*xs, upper_end(nodes[-1])], [*ys, Fraction(0)]


def lower_hull(xs: Sequence[Fraction], ys: Sequence[Fraction]) -> list[tuple[int, arb]]:
    """Return (k, slope jump at x_k) for the vertices k ≥ 1 of the lower convex hull of the points, slope 0 at the end.

    Guarantee: the balls enclose the exact jumps, which are ≥ 0 when ys ≥ 0 ends in 0. The hull is found with integer
    cross products, so no comparison of balls is involved. Assumes: denominators are powers of two; xs increasing.
    """
    x_bits = max(x.denominator.bit_length() for x in xs) - 1
    y_bits = max(y.denominator.bit_length() for y in ys) - 1
    x = [value.numerator << (x_bits + 1 - value.denominator.bit_length()) for value in xs]
    y = [value.numerator << (y_bits + 1 - value.denominator.bit_length()) for value in ys]
    hull: list[int] = []
    for k in range(len(x)):
        while len(hull) > 1:
            i, j = hull[-2], hull[-1]
            if (y[j] - y[i]) * (x[k] - x[j]) < (y[k] - y[j]) * (x[j] - x[i]):  # slopes rise at j: keep it
                break
            hull.pop()
        hull.append(k)
    unit = ball(Fraction(1 << x_bits, 1 << y_bits))
    jumps = []
    for position in range(1, len(hull)):
        i, j = hull[position - 1], hull[position]
        width, fall = x[j] - x[i], y[i] - y[j]
        if position + 1 < len(hull):
            k = hull[position + 1]
            next_width, next_fall = x[k] - x[j], y[j] - y[k]
            jump = arb(fall * next_width - next_fall * width) / (arb(width) * next_width)
        else:
            jump = arb(fall) / arb(width)
        jumps.append((j, jump * unit))
    return jumps


def hull_law(
    indices: Sequence[int], lines: Sequence[Line], start: Line, *, offset: Fraction, step: Fraction, tilt: Fraction
) -> LatticeLaw:
    """Build the lower law of a stop-loss curve from lines on the cells between the given lattice indices.

    The hull's vertices sit at exact numbers γ̃_k ≥ e^{ℓ_k} (upper ends); the law puts their masses at e^{ℓ_k}. Moving
    mass down is allowed for a lower bound, and at this rounding it costs nothing.
    """
    nodes = [upper_ball(ball(offset + index * step).exp()) for index in indices]
    weights = [arb(0)] * (indices[-1] - indices[0] + 1)
    for k, mass in lower_hull(*curve_below(nodes, lines, start)):
        index = indices[k - 1]  # point 0 of the curve is γ = 0, where mass counts for nothing
        weights[index - indices[0]] = mass * ball(tilt * (offset + index * step)).exp()
    return LatticeLaw(arb_poly(weights), offset + indices[0] * step, step, tilt, arb(0))
