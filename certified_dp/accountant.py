"""The public questions: ε at δ, δ at ε and the Rényi divergence of a run of DP-SGD, by a chosen method."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING

from certified_dp.best import best_bounds
from certified_dp.errors import CertifiedDPError, InvalidParameterError, PrecisionExhaustedError, ResourceLimitError
from certified_dp.methods import METHODS, Options, read_options
from certified_dp.parameters import (
    Number,
    Phase,
    Run,
    as_phases,
    exact_delta,
    exact_epsilon,
    exact_integer,
    exact_order,
)
from certified_dp.renyi import RENYI_METHODS, renyi_rdp
from certified_dp.result import Bound, Quantity, Result

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from certified_dp.methods import OptionValues


def epsilon(run: Run, delta: Number, *, method: str = "best", **options: Unpack[OptionValues]) -> Result:
    """Bound ε at δ.

    Guarantee: the run is (result.upper, δ)-DP under replace adjacency with all iterates released, or an exception
        is raised.
    Source: by method: "theorem1" the paper's Corollary 1; "single_pair_renyi" and "kl_hinge" Corollaries 1 and 3 of
        proofs_checks/domination_theorem.md; "lossless" Proposition 1; "best" the smallest of them.

    Args:
        run: a `DPSGD`, or several, composed.
        delta: in (0, 1).
        method: "best" or a name in `METHODS`.
        **options: see `read_options`.
    Returns: `Result`, with ``upper`` exact and ≥ 0.
    Raises: InvalidParameterError, PrecisionExhaustedError, ResourceLimitError.

    Example:
        >>> from certified_dp import DPSGD
        >>> run = DPSGD(sampling_probability="0.01", noise_multiplier=2, steps=8000)
        >>> print(epsilon(run, "1e-6", method="single_pair_renyi", orders="integer"))
        ε ≤ 6.57772 (δ = 1e-06, replace adjacency, single_pair_renyi at order 5)
    """
    return _answer("epsilon", as_phases(run), exact_delta(delta), method, read_options(**options))


def delta(run: Run, epsilon: Number, *, method: str = "best", **options: Unpack[OptionValues]) -> Result:
    """Bound δ at ε: the run is (ε, result.upper)-DP. Arguments, methods and errors as `epsilon`, with ε ≥ 0.

    Example:
        >>> from certified_dp import DPSGD
        >>> run = DPSGD(sampling_probability="0.01", noise_multiplier=2, steps=8000)
        >>> print(delta(run, 7, method="single_pair_renyi", orders="integer"))
        δ ≤ 1.84677e-07 (ε = 7, replace adjacency, single_pair_renyi at order 5)
    """
    return _answer("delta", as_phases(run), exact_epsilon(epsilon), method, read_options(**options))


def _answer(quantity: Quantity, phases: tuple[Phase, ...], given: Fraction, method: str, options: Options) -> Result:
    if method != "best" and method not in METHODS:
        raise InvalidParameterError("method", method, f"one of best, {', '.join(METHODS)}")
    floor: Fraction | None = None
    bounds: dict[str, Bound]
    with _extremes_refused():
        if not phases:
            bounds, floor = {method: Bound(Fraction(0), Fraction(0))}, Fraction(0)
        elif method == "best":
            bounds, floor = best_bounds(quantity, phases, given, options)
        else:
            bounds = {method: METHODS[method][quantity](phases, given, options)}
    winner = min(bounds, key=lambda name: bounds[name].upper)
    return Result(quantity, phases, given, winner, bounds[winner], options.digits, bounds, floor)


@contextmanager
def _extremes_refused() -> Iterator[None]:
    """Turn what the float searches cannot carry (1e400, say) into this package's own refusal."""
    try:
        yield
    except CertifiedDPError:
        raise
    except (ArithmeticError, ValueError) as error:
        raise PrecisionExhaustedError(f"the parameters are too extreme for this method ({error})") from error
    except MemoryError as error:
        raise ResourceLimitError("the request does not fit into the machine's memory") from error


def rdp(run: Run, order: Number, *, method: str = "single_pair_renyi", digits: Number = 6) -> Result:
    """Bound the order-α Rényi divergence of the whole run, in nats.

    Guarantee: D_α ≤ result.upper for every pair of replace-adjacent datasets, in both directions.
    Args: order: α > 1 (an integer for "theorem1").  method: a Rényi method.  digits: significant digits.

    Example:
        >>> from certified_dp import DPSGD
        >>> print(rdp(DPSGD(sampling_probability="1e-12", noise_multiplier=1, steps=1), 2, digits=10))
        ρ ≤ 5.359815004e-23 (α = 2, replace adjacency, single_pair_renyi)
    """
    if method not in RENYI_METHODS:
        raise InvalidParameterError("method", method, f"one of {', '.join(RENYI_METHODS)}")
    settings, phases, given = read_options(digits=digits), as_phases(run), exact_order(order)
    with _extremes_refused():
        bound = renyi_rdp(RENYI_METHODS[method], phases, given, settings.digits)
    return Result("rdp", phases, given, method, bound, settings.digits, {method: bound})


class Accountant:
    """Collects phases of DP-SGD and answers questions about their adaptive composition.

    Assumes: the phases' parameters are fixed in advance; each step draws a fresh batch and fresh noise.

    Example:
        >>> from certified_dp import DPSGD
        >>> accountant = Accountant()
        >>> for steps in (60, 40):
        ...     accountant.compose(DPSGD(sampling_probability="0.01", noise_multiplier=1, steps=steps))
        >>> print(accountant.epsilon("1e-5", method="single_pair_renyi", orders="integer"))
        ε ≤ 10.6612 (δ = 1e-05, replace adjacency, single_pair_renyi at order 2)
    """

    def __init__(self) -> None:
        """Start with no steps: ε = 0."""
        self._phases: tuple[Phase, ...] = ()

    @property
    def phases(self) -> tuple[Phase, ...]:
        """What was composed so far, in canonical form."""
        return self._phases

    def compose(self, run: Run, count: Number = 1) -> None:
        """Append ``count`` copies of a phase or of several.

        Raises: InvalidParameterError.
        """
        repeats = exact_integer("count", count, 0, "an integer ≥ 0")
        added = [Phase(p.sampling_probability, p.noise_multiplier, p.steps * repeats) for p in as_phases(run)]
        self._phases = as_phases([*self._phases, *added])

    def epsilon(self, delta: Number, *, method: str = "best", **options: Unpack[OptionValues]) -> Result:
        """Bound ε at δ; see `certified_dp.epsilon`."""
        return epsilon(self._phases, delta, method=method, **options)

    def delta(self, epsilon: Number, *, method: str = "best", **options: Unpack[OptionValues]) -> Result:
        """Bound δ at ε; see `certified_dp.delta`."""
        return delta(self._phases, epsilon, method=method, **options)

    def rdp(self, order: Number, *, method: str = "single_pair_renyi", digits: Number = 6) -> Result:
        """Bound the Rényi divergence at an order; see `certified_dp.rdp`."""
        return rdp(self._phases, order, method=method, digits=digits)
