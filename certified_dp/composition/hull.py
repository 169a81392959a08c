"""A lattice law below a stop-loss curve: tangents, lower convex hull, slope jumps (lower bounds only).

For independent non-negative factors products preserve the increasing convex order: if E(X'_k−γ)_+ ≤ E(r_k−γ)_+ for
all γ ≥ 0 and all k, then E(ΠX'_k−K)_+ ≤ E(Πr_k−K)_+. So a lower bound needs a lattice law whose stop-loss curve is
below h*. Rounding losses down would be one, but it costs up to a lattice step for each of the T steps.
"""

from collections.abc import Sequence
from fractions import Fraction

from flint import arb

from certified_dp.enclosure import ball, lower_ball, upper_ball
from certified_dp.errors import PrecisionExhaustedError

_MAX_BITS = 1 << 22

#: The masses (Q(E), P(E)) of an event E: the line γ ↦ P(E) − γ·Q(E) is below γ ↦ sup_E P(E) − γ·Q(E) = h*(γ).
Line = tuple[arb, arb]


def curve_below(nodes: Sequence[arb], lines: Sequence[Line], start: Line) -> tuple[list[arb], list[arb]]:
    """Return exact points (γ_k, y_k), γ_0 = 0, whose linear interpolation (0 after the last) is below h* on γ ≥ 0.

    Guarantee: if lines[j] ≤ h* on the cell [nodes[j], nodes[j+1]] and ``start`` ≤ h* on [0, nodes[0]], and h* ≥ 0,
    the interpolation is ≤ h* everywhere; its last value is 0.
    Source: domination theorem, “Floor and other lower bounds”.

    Why: y_k is at most both neighbouring lines at node k, so the chord over a cell lies below the cell's line. Let m be
    the first cell whose line is not certainly positive at its right end; y = 0 from the *left* end of cell m on.
    (Putting 0 at the right end only is unsound: the chord over cell m could then pass above the line, and above h*.)
    [0, nodes[0]] is a cell too, of the line ``start``: when that is not certainly positive at nodes[0], all of y is 0.

    Args:
        nodes: exact balls, increasing, > 0.
        lines: one per cell, len(nodes) − 1 of them.
        start: the line left of the first node; with total masses (1, 1) it is 1 − γ.
    """
    xs, ys = [arb(0)], [_not_below_0(lower_ball(start[1]))]
    before = lower_ball(start[1] - nodes[0] * start[0])
    if before < 0:  # the lattice begins where even ``start`` may be negative: only γ ↦ 0 is left
        return xs, [arb(0)]
    for j, (q, p) in enumerate(lines):
        xs.append(nodes[j])
        after = lower_ball(p - nodes[j] * q)
        right_end = p - nodes[j + 1] * q
        if not right_end > 0:
            ys.append(arb(0))
            return xs, ys
        # the cell's line falls and is > 0 at its right end, hence here; so was the line before: 0 is below both
        ys.append(_not_below_0(after if after < before else before))
        before = lower_ball(right_end)
    return [*xs, nodes[-1]], [*ys, arb(0)]


def _not_below_0(exact: arb) -> arb:
    return exact if exact > 0 else arb(0)


def _integers(values: Sequence[arb]) -> tuple[list[int], int]:
    """Write exact balls as integers over one power of two 2^bits."""
    pairs = [(int(mantissa), int(exponent)) for mantissa, exponent in (value.man_exp() for value in values)]
    bits = max(0, -min((exponent for mantissa, exponent in pairs if mantissa), default=0))
    if bits > _MAX_BITS:
        raise PrecisionExhaustedError(
            f"a stop-loss curve that spans {bits} bits is too extreme to compute with exactly"
        )
    return [mantissa << (exponent + bits) if mantissa else 0 for mantissa, exponent in pairs], bits


def lower_hull(xs: Sequence[arb], ys: Sequence[arb]) -> list[tuple[int, arb]]:
    """Return (k, slope jump at x_k), k ≥ 1, at the vertices of exact points' lower convex hull; the last slope is 0.

    Guarantee: the balls enclose the exact jumps, which are ≥ 0 when ys ≥ 0 ends in 0. The hull is found with integer
    cross products, so no comparison of balls is involved. Assumes: xs increasing.
    """
    (x, x_bits), (y, y_bits) = _integers(xs), _integers(ys)
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


def hull_masses(nodes: Sequence[arb], lines: Sequence[Line], start: Line) -> list[tuple[int, arb]]:
    """Return (k, mass at e^{ℓ_k}) of a law below the stop-loss curve; nodes[k] encloses e^{ℓ_k}.

    The hull's vertices sit at exact numbers γ̃_k ≥ e^{ℓ_k} (upper ends); the masses are then moved down to e^{ℓ_k},
    which a lower bound allows and which, at this rounding, costs nothing. Point 0 of the curve is γ = 0, where mass
    counts for nothing, so it is left out.
    """
    points = curve_below([upper_ball(node) for node in nodes], lines, start)
    return [(k - 1, mass) for k, mass in lower_hull(*points)]
