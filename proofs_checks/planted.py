"""Slips planted on purpose: each is one edit in one load-bearing formula, and a check must fail because of it.

`plant` swaps the code of the formula's function for that of its edited source, wherever the function has been
imported, runs the check named with the slip, and puts the old code back.
"""

import importlib
import inspect
import textwrap
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType
from typing import cast

from proofs_checks.registry import find_claim, run


@dataclass(frozen=True)
class Slip:
    """One edit: in ``target`` (module:function) the text ``right`` becomes ``wrong``; ``claim`` must catch it."""

    target: str
    right: str
    wrong: str
    claim: str


@dataclass(frozen=True)
class Trial:
    """What became of a planted slip; ``failure`` is the message of the check that caught it."""

    slip: Slip
    failure: str

    @property
    def caught(self) -> bool:
        """Whether the check failed, as it must."""
        return bool(self.failure)

    def as_json(self) -> dict[str, object]:
        """Return the trial with stable keys."""
        slip = self.slip
        return {
            "target": slip.target,
            "right": slip.right,
            "planted": slip.wrong,
            "claim": slip.claim,
            "caught": self.caught,
            "failure": self.failure,
        }


def _function(target: str) -> FunctionType:
    module, name = target.split(":")
    return cast(FunctionType, inspect.unwrap(getattr(importlib.import_module(module), name)))


@contextmanager
def planted(slip: Slip) -> Iterator[None]:
    """Run the block with the slip in place.

    Raises:
        ValueError: the text to edit does not occur exactly once, so the formula has changed and the slip has not.
    """
    function = _function(slip.target)
    source = textwrap.dedent(inspect.getsource(function))
    if source.count(slip.right) != 1:
        raise ValueError(f"{slip.target}: {slip.right!r} occurs {source.count(slip.right)} times, not once")
    undecorated = source[source.index("def ") :]
    namespace: dict[str, object] = dict(function.__globals__)
    exec(compile(undecorated.replace(slip.right, slip.wrong), slip.target, "exec"), namespace)
    before = function.__code__
    _forget(slip.target)
    function.__code__ = cast(FunctionType, namespace[function.__name__]).__code__
    try:
        yield
    finally:
        function.__code__ = before
        _forget(slip.target)


def _forget(target: str) -> None:
    """Empty the caches of the slip's module, which may hold values of the other version."""
    for value in vars(importlib.import_module(target.split(":")[0])).values():
        if hasattr(value, "cache_clear"):
            value.cache_clear()


def try_slip(slip: Slip) -> Trial:
    """Plant one slip and run its check."""
    claim = find_claim(slip.claim)
    with planted(slip):
        (outcome,) = run([claim])
    return Trial(slip, outcome.failure)


def plant_all(only: Collection[str] = ()) -> Iterator[Trial]:
    """Try every slip, or those caught by the claims named."""
    for slip in SLIPS:
        if not only or slip.claim in only:
            yield try_slip(slip)


_F = "proofs_checks.formulas:"
_D = "certified_dp.divergence."

SLIPS = (
    # Appendix A.2
    Slip(_F + "first_derivative_polynomial", "w * (w - v)", "w * (v - w)", "first-derivative"),
    Slip(
        _F + "second_derivative_coefficients",
        "-2 * order * (order + 1)",
        "-2 * order * (order - 1)",
        "second-derivative",
    ),
    Slip(_F + "second_derivative_coefficients", "(1, 2): 5 * order", "(1, 2): 4 * order", "second-derivative"),
    Slip(_F + "second_derivative_coefficients", "(1, 1): -1", "(1, 1): 1", "second-derivative"),
    Slip(_F + "log_moment", "2 * i * j * c", "i * j * c", "operator-16"),
    # Appendix B.3
    Slip(_F + "one_dimensional_log_coefficient", "beta**2 / 8", "beta**2 / 4", "one-dimensional-form"),
    Slip(_F + "one_dimensional_log_coefficient", "sensitivity**2", "sensitivity", "one-dimensional-form"),
    Slip(_F + "monomial_exponent_small", "r * j * (i + j + k - 1)", "r * j * (i + j + k)", "monomial-bound-42"),
    Slip(_F + "monomial_exponent_large", "2 * r * (order - 1)", "r * (order - 1)", "monomial-bound-42"),
    Slip(_F + "monomial_powers_small", "1 - i - j - k", "-i - j - k", "monomial-bound-42"),
    Slip(_F + "monomial_powers_large", "1 + k + i - order", "k + i - order", "monomial-bound-42"),
    Slip(_F + "first_derivative_ratio_bound", "2 * sensitivity**2", "2 * sensitivity", "uniform-curvature-45"),
    Slip(_F + "second_derivative_ratio_bound", "7 * order", "6 * order", "uniform-curvature-45"),
    Slip(_F + "curvature_bound_uniform", "5 * order", "4 * order", "uniform-curvature-45"),
    # Proposition 2
    Slip(
        _F + "tilted_polynomial",
        "(order - 1) * (order * w - 1)",
        "(order - 1) * (order * w + 1)",
        "tilted-polynomial-22",
    ),
    Slip(_F + "tilted_polynomial", "4 * order * w", "2 * order * w", "tilted-polynomial-22"),
    Slip(_F + "proposition2a_log_ratio", "-(order - 1) * (1 - p) * x", "-(order - 1) * p * x", "proposition-2a-ratio"),
    Slip(_F + "proposition2a_slope_bound", "sensitivity**2 / 2", "sensitivity**2", "proposition-2a-ratio"),
    Slip(_F + "proposition2a_condition", "sensitivity**2 / 2", "sensitivity**2", "proposition-2a-ratio"),
    Slip(_F + "proposition2b_bracket", "2 * root - 2) * s", "2 * root + 2) * s", "proposition-2b-collected"),
    Slip(_F + "proposition2b_printed", "6 / gap", "4 / gap", "proposition-2b-collected"),
    # Proposition 5 and Section 6
    Slip(_F + "second_order_coefficient", "x - 2 * y + y**2", "x - 2 * y + y", "second-p-derivative-31"),
    Slip(
        _F + "third_order_coefficient", "3 * (order - 1) * square_a_b", "3 * order * square_a_b", "third-p-derivative"
    ),
    Slip(_F + "third_order_coefficient", "x * y**2 - 2 * y", "x * y - 2 * y", "third-p-derivative"),
    Slip(_F + "expansion", "t**6 - t**4", "t**6 + t**4", "expansion-8"),
    Slip(_F + "birrell_expansion", "(order + 2) / 2", "(order + 2)", "expansion-9"),
    Slip(_F + "birrell_absolute_sum", "range(3 - j)", "range(2 - j)", "birrell-sum-32"),
    Slip(_F + "centred_moment", "(k - 1))", "k)", "centred-moments"),
    Slip(_F + "corollary2_function", "3 * cdf(-y)", "2 * cdf(-y)", "corollary-2-derivative"),
    Slip(_F + "corollary2_derivative", "cdf(-3 * y)", "cdf(-y)", "corollary-2-derivative"),
    Slip(_F + "proposition4_log_delta", "eps**2 / (2 * lam)", "eps**2 / lam", "proposition-4"),
    # Conversion
    Slip(_F + "conversion_epsilon", "log(1 - 1 / order)", "log(1 + 1 / order)", "conversion-6"),
    Slip(_F + "conversion_log_delta", "- log(order)", "+ log(order)", "conversion-6"),
    # The domination theorem
    Slip(_F + "second_order_terms", "-k * P * v * w", "k * P * v * w", "step-1-second-derivatives"),
    Slip(_F + "lemma_left", "A / (A - c)", "(A - c) / A", "lemma-points"),
    Slip(_F + "lemma_right", "B / (B - c)", "2 * B / (B - c)", "step-4-shifts"),
    Slip(_F + "rotation_gain", "- sin_2s", "+ sin_2s", "rotation-gain"),
    Slip(_F + "tangent_zero", "exp_c - 1", "exp_c", "hinge-tangent"),
    # The package's own code
    Slip(
        "certified_dp.asymptotics:lossless_mu_squared_ball",
        "normal_cdf(-y) - 2)",
        "normal_cdf(-y) - 1)",
        "package-asymptotics",
    ),
    Slip("certified_dp.asymptotics:proposition4_delta_ball", ".exp() / alpha", ".exp()", "package-asymptotics"),
    Slip(_D + "moments:mixed_moment_balls", "damping *= ratio", "damping *= fall", "plane-quadrature-agrees"),
    Slip(_D + "moments:mixed_moment_balls", "mixture ** (order - 1)", "mixture**order", "two-quadratures"),
    Slip(_D + "moments:theorem_gram", "2 * square * u", "square * u", "mpmath-moment"),
    Slip(_D + "moments:binomial_weights", "ball(A).exp()", "(ball(A) / 2).exp()", "mpmath-moment"),
    Slip(
        _D + "moments:moment_at_zero_ball",
        "ball(4 / noise_multiplier**2)",
        "ball(2 / noise_multiplier)",
        "single-pair-below-theorem-1",
    ),
    Slip(
        _D + "derivatives:first_derivative_polynomial",
        "return {(0, 2): 1, (1, 1): -1}",
        "return {(0, 2): 1, (1, 1): 1}",
        "package-polynomials",
    ),
    Slip(_D + "derivatives:second_derivative_polynomial", "5 * a", "4 * a", "package-polynomials"),
    Slip(_D + "curvature:curvature_bound_uniform", "3 * order**2", "order**2", "package-polynomials"),
    Slip(_D + "curvature:mixed_moment_bounds", "16)", "64)", "derivative-bounds-40"),
    Slip(_D + "theorem1:key_bound", "bend / 8", "bend / 16", "package-key"),
    Slip(
        _D + "theorem1:maximum_is_at_zero",
        "(order - 1) * q * x)",
        "2 * (order - 1) * q * x)",
        "proposition-2-branch-and-bound",
    ),
    Slip(_D + "theorem1:maximum_is_at_an_end", "odds = 3 +", "odds = 0 *", "package-2b-condition"),
    Slip(
        "certified_dp.conversion:epsilon_from_rdp_ball",
        '(alpha - 1)\n    if conversion == "mironov"',
        'alpha\n    if conversion == "mironov"',
        "mpmath-conversion",
    ),
    Slip("certified_dp.conversion:delta_from_rdp_ball", ".exp() / alpha\n", ".exp()\n", "mpmath-conversion"),
)
