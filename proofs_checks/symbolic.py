"""What ``proved`` means: sympy rewrites an expression to the literal 0, by algebra alone."""

from collections.abc import Callable

import sympy as sp

from proofs_checks import formulas
from proofs_checks.registry import CheckFailedError, require

#: The parameters of the paper, with only the assumptions that it makes.
alpha = sp.Symbol("alpha", positive=True)
p = sp.Symbol("p", positive=True)
sensitivity = sp.Symbol("Delta", positive=True)
u = sp.Symbol("u", nonnegative=True)
q = 1 - p


def must_vanish(difference: sp.Expr, what: str, *rewrites: Callable[[sp.Expr], sp.Expr]) -> None:
    """Reduce ``difference`` to the literal 0 by the given exact rewrites, then by sympy's own.

    Nothing is evaluated numerically: sympy's ``equals``, which samples points, is not used.

    Raises:
        CheckFailedError: when something is left over; the message shows it.
    """
    expression = sp.sympify(difference)
    for rewrite in (*rewrites, sp.expand, _gather_exponentials, sp.simplify, sp.factor):
        if expression is sp.S.Zero:
            return
        expression = rewrite(expression)
    if expression is not sp.S.Zero:
        raise CheckFailedError(f"{what}: {str(expression)[:300]} is left over")


def must_be_nonnegative(expression: sp.Expr, what: str, *rewrites: Callable[[sp.Expr], sp.Expr]) -> None:
    """Have sympy derive ``expression ≥ 0`` from the signs declared for its symbols.

    Raises:
        CheckFailedError: when it cannot.
    """
    for rewrite in (sp.expand, sp.factor, *rewrites):
        if expression.is_nonnegative:
            return
        expression = rewrite(expression)
    require(expression.is_nonnegative is True, f"{what}: the sign of {expression} is not evident")


def numerator(expression: sp.Expr) -> sp.Expr:
    """Return the expanded numerator of a rational expression, which vanishes exactly when the expression does."""
    return sp.expand(sp.fraction(sp.together(expression))[0])


def _gather_exponentials(expression: sp.Expr) -> sp.Expr:
    """Expand, writing each product of exponentials as one exponential of an expanded sum."""
    gathered = sp.powsimp(sp.expand(expression))
    return sp.expand(gathered.replace(sp.exp, lambda exponent: sp.exp(sp.expand(exponent))))


def mean(polynomial: sp.Expr, first: sp.Symbol, second: sp.Symbol, gram: tuple[sp.Expr, sp.Expr, sp.Expr]) -> sp.Expr:
    """Return E of a polynomial in first = L_a and second = L_b, term by term from E[L_a^i L_b^j].

    ``gram`` is (A, B, c) = (|a|², |b|², ⟨a,b⟩).
    """
    terms = sp.Poly(polynomial, first, second).terms()
    return sp.Add(*(constant * sp.exp(formulas.log_moment(i, j, *gram)) for (i, j), constant in terms))


#: (A, B, c) of Theorem 1's pair a = Δ(1,0), b = Δ(u, √(2u−u²)).
def theorem1_gram(position: sp.Expr = u) -> tuple[sp.Expr, sp.Expr, sp.Expr]:
    """Return (|a|², |b|², ⟨a,b⟩) of the pair at u, computed from the vectors themselves."""
    a = sp.Matrix([sensitivity, 0])
    b = sensitivity * sp.Matrix([position, sp.sqrt(2 * position - position**2)])
    return tuple(sp.expand(product) for product in (a.dot(a), b.dot(b), a.dot(b)))
