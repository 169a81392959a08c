"""Section 3 of the paper's accounting: from Rényi divergence to (ε, δ), and the best order."""
# ruff: noqa: D401 -- the docstring of a check is the statement that it claims

import sympy as sp

from proofs_checks import formulas
from proofs_checks.registry import claim
from proofs_checks.symbolic import alpha, must_vanish

_ORDER = 1 + sp.Symbol("order_minus_1", positive=True)  # α > 1, so that sympy knows the signs
_total, _eps, _log_delta = sp.symbols("total eps log_delta", real=True)


def _expand_logs(expression: sp.Expr) -> sp.Expr:
    return sp.expand_log(sp.expand_log(sp.together(sp.powsimp(expression)), force=True).expand(), force=True)


@claim(
    name="conversion-6",
    source="(6), (7)",
    status="proved",
    how="the tangent of t^α solved for its zero; (7) solved for ε",
)
def conversion() -> None:
    """δ(ε) ≤ E[t^α]/(αx^{α−1}) at e^ε = x(1−1/α), the tangent of t^α at x, is (7); solved for ε it is (6)."""
    x = sp.Symbol("x", positive=True)
    power = x**_ORDER
    slope = sp.diff(power, x)
    zero_of_tangent = x - power / slope
    must_vanish(zero_of_tangent - x * (1 - 1 / _ORDER), "zero of the tangent", sp.powsimp)
    # (t − e^ε)_+ ≤ t^α/slope, so log δ ≤ (α−1)Tρ − log slope, with log x = ε − log(1 − 1/α).
    log_x = _eps - sp.log(1 - 1 / _ORDER)
    log_slope = sp.log(_ORDER) + (_ORDER - 1) * log_x
    must_vanish(sp.log(slope) - sp.log(_ORDER) - (_ORDER - 1) * sp.log(x), "slope", sp.powsimp, _expand_logs)
    derived = (_ORDER - 1) * _total - log_slope
    must_vanish(derived - formulas.conversion_log_delta(_ORDER, _total, _eps, sp.log), "(7)")
    eps = formulas.conversion_epsilon(_ORDER, _total, _log_delta, sp.log)
    must_vanish(formulas.conversion_log_delta(_ORDER, _total, eps, sp.log) - _log_delta, "(6) in (7)")


@claim(
    name="tangent-conversion",
    source="spec, section 3",
    status="proved",
    how="tangent of t^α − 1 − α(t−1) at x, symbolic α, x",
)
def tangent_conversion() -> None:
    """δ ≤ (M−1)/(α(x^{α−1}−1)) at e^ε = x − (x^α−1−α(x−1))/(α(x^{α−1}−1)), for any x > 1."""
    t, x, moment, delta = sp.symbols("t x moment delta", positive=True)
    excess = t**alpha - 1 - alpha * (t - 1)  # its mean is M − 1, as E[t] = 1
    must_vanish(excess.subs(t, 1), "the tangent at 1 is subtracted")
    must_vanish(sp.diff(excess, t).subs(t, 1), "its slope is 0 at 1")
    slope = sp.diff(excess, t).subs(t, x)
    must_vanish(slope - alpha * (x ** (alpha - 1) - 1), "slope at x", sp.powsimp)
    best_x = (1 + (moment - 1) / (alpha * delta)) ** (1 / (alpha - 1))
    at_best = (moment - 1) / (alpha * (sp.powdenest(best_x ** (alpha - 1), force=True) - 1))
    must_vanish(at_best - delta, "the x for a given δ")


@claim(
    name="best-order-unimodal",
    source="Proposition 3, Appendix A.4",
    status="proved",
    how="differentiated for symbolic α, δ",
)
def unimodal() -> None:
    """((α−1)log(α−1) − α log α − log δ)'' = 1/(α(α−1)) > 0, and ε(α) grows beyond α = 1/δ."""
    order = sp.Symbol("order", positive=True)
    numerator = (order - 1) * sp.log(order - 1) - order * sp.log(order) - _log_delta
    must_vanish(sp.diff(numerator, order, 2) - 1 / (order * (order - 1)), "second derivative")
    constant_part = formulas.conversion_epsilon(order, sp.Integer(0), _log_delta, sp.log)
    split = sp.log(1 - 1 / order) - sp.log((order - 1) / order)
    must_vanish(constant_part - numerator / (order - 1) - split, "(30)", sp.expand_log)
    must_vanish(split, "log(1 − 1/α)", sp.together, lambda e: e.replace(sp.log, lambda a: sp.log(sp.together(a))))
    growth = (_log_delta + sp.log(order)) / (order - 1) ** 2
    must_vanish(sp.diff(constant_part, order) - growth, "derivative in α")


@claim(
    name="proposition-4",
    source="Proposition 4, from (7)",
    status="proved",
    how="(7) at α = 1 + ε/λ with limiting Rényi divergence αλ/2",
)
def proposition4() -> None:
    """δ(ε) ≤ (λ/(λ+ε))·(ε/(λ+ε))^{ε/λ}·exp(−ε²/(2λ) + ε/2)."""
    lam, eps = sp.symbols("lambda eps", positive=True)
    order = 1 + eps / lam
    limit = order * lam / 2  # να(e^{4/σ²} − e^{2/σ²}) with λ = 2ν(e^{4/σ²} − e^{2/σ²})
    derived = formulas.conversion_log_delta(order, limit, eps, sp.log)
    printed = formulas.proposition4_log_delta(lam, eps, sp.log)
    must_vanish(derived - printed, "Proposition 4", _single_logs)


def _single_logs(expression: sp.Expr) -> sp.Expr:
    """Write every logarithm of a rational function as a sum of logarithms of its factors."""
    factored = expression.replace(sp.log, lambda argument: sp.expand_log(sp.log(sp.factor(argument)), force=True))
    return sp.expand(factored)


@claim(
    name="footnote-6",
    source="footnote 6",
    status="proved",
    how="log of (7) differentiated in α",
)
def footnote6() -> None:
    """The derivative of log (7) in α is λα − (ε + λ/2) − log(α/(α−1)), and λ/2 − log(1 + λ/ε) at α = 1 + ε/λ."""
    lam, eps, order = sp.symbols("lambda eps order", positive=True)
    slope = sp.diff(formulas.conversion_log_delta(order, order * lam / 2, eps, sp.log), order)
    printed = lam * order - (eps + lam / 2) - sp.log(order / (order - 1))
    must_vanish(slope - printed, "slope", _single_logs)
    at_choice = lam / 2 - sp.log(1 + lam / eps)
    must_vanish(printed.subs(order, 1 + eps / lam) - at_choice, "at α = 1 + ε/λ", _single_logs)
