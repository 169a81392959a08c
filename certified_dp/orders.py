"""The search for a good Rényi order. It only proposes: every order gives a valid bound.

ε(α) is strictly quasiconvex (the paper's Proposition 3), so a minimum bracketed by its neighbours is the minimum,
and the bracket is widened for as long as the function falls: there is no largest order.
"""

import math
from collections.abc import Callable
from fractions import Fraction

#: Orders nearer to 1 than this are not tried: such bounds are beyond any use (ε in the millions).
_SMALLEST_EXCESS = Fraction(1, 1 << 40)

#: `scan_integer_orders` tries every order up to this one.
_SCANNED = 256


def best_integer_order(objective: Callable[[int], float], max_order: int | None = None) -> int:
    """Return an integer order ≥ 2 (and ≤ max_order) that minimises a quasiconvex objective.

    Example:
        >>> best_integer_order(lambda order: (order - 781.3) ** 2), best_integer_order(lambda order: order)
        (781, 2)
    """
    values: dict[int, float] = {}

    def value(order: int) -> float:
        if order < 2 or (max_order is not None and order > max_order):
            return math.inf
        if order not in values:
            values[order] = objective(order)
        return values[order]

    low, middle, high = 1, 2, 3
    while value(high) < value(middle):
        low, middle, high = middle, high, 2 * high
    turn = 0
    while high - low > 2:
        turn += 1
        probe = _vertex(low, middle, high, value) if turn % 2 else None
        if probe is None:
            above = high - middle > middle - low
            probe = middle + math.ceil(0.382 * (high - middle)) if above else middle - math.ceil(0.382 * (middle - low))
        keep, other = (middle, probe) if value(middle) <= value(probe) else (probe, middle)
        low, middle, high = (low, keep, other) if keep < other else (other, keep, high)
    return middle


def scan_integer_orders(objective: Callable[[int], float], max_order: int | None = None) -> int:
    """Return an integer order ≥ 2 (and ≤ max_order) with a small objective that need not be quasiconvex.

    Every order up to 256 is tried, then ever wider steps as far as twice the best order found, then every order
    around the best one.

    Example:
        >>> scan_integer_orders(lambda order: min((order - 5) ** 2 + 1, abs(order - 233)))
        233
    """
    best, order = 2, 2
    least = objective(2)

    def consider(order: int) -> None:
        nonlocal best, least
        if (max_order is None or order <= max_order) and (value := objective(order)) < least:
            best, least = order, value

    while order < max(_SCANNED, 2 * best) and (max_order is None or order < max_order):
        order += max(1, order // (_SCANNED // 2))
        consider(order)
    step = best // (_SCANNED // 2)
    for order in range(max(2, best - step), best + step + 1):
        consider(order)
    return best


def _vertex(low: int, middle: int, high: int, value: Callable[[int], float]) -> int | None:
    """Return the integer nearest the vertex of the parabola through three points, if it is a new inner one."""
    left, right = value(low) - value(middle), value(high) - value(middle)
    a, b = middle - low, high - middle
    curvature = left * b + right * a
    if not 0 < curvature < math.inf:
        return None
    probe = middle + round((left * b * b - right * a * a) / (2 * curvature))
    return probe if low < probe < high and probe != middle else None


def best_real_order(objective: Callable[[Fraction], float], start: int) -> Fraction:
    """Return an order > 1 near the minimum of a quasiconvex objective, 4 significant digits of order − 1.

    Args: start: the best integer order; the minimum is sought between its neighbours, or below 3 if it is 2.

    Example:
        >>> best_real_order(lambda order: (float(order) - 1.152) ** 2, 2)
        Fraction(144, 125)
    """
    middle = Fraction(start - 1)
    low, high = middle - 1, middle + 1
    while low <= 0 or objective(1 + low) < objective(1 + middle):
        if low > 0:
            middle, high = low, middle
        low = middle / 2
        if low < _SMALLEST_EXCESS:
            return 1 + middle
    return 1 + _golden_section(objective, low, high)


def _golden_section(objective: Callable[[Fraction], float], low: Fraction, high: Fraction) -> Fraction:
    """Minimise over order − 1 in [low, high], on a logarithmic scale."""
    a, b = math.log(low), math.log(high)
    shrink = (math.sqrt(5) - 1) / 2

    def value(x: float) -> float:
        return objective(1 + _four_digits(math.exp(x)))

    x, y = b - shrink * (b - a), a + shrink * (b - a)
    at_x, at_y = value(x), value(y)
    while b - a > 1e-3:
        if at_x <= at_y:
            b, y, at_y = y, x, at_x
            x = b - shrink * (b - a)
            at_x = value(x)
        else:
            a, x, at_x = x, y, at_y
            y = a + shrink * (b - a)
            at_y = value(y)
    return _four_digits(math.exp((a + b) / 2))


def _four_digits(x: float) -> Fraction:
    return Fraction(f"{x:.3e}")
