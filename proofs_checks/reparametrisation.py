"""Appendix B.3.1: the reparametrisation behind the one-dimensional form (35), and the Gram form of F."""

import sympy as sp

from proofs_checks import formulas
from proofs_checks.registry import claim
from proofs_checks.symbolic import must_vanish, sensitivity, theorem1_gram, u


@claim(
    name="covariances-15",
    source="(15)",
    status="proved",
    how="inner products of the vectors themselves",
)
def covariances() -> None:
    """With a = Δ(1,0) and b = Δ(u, √(2u−u²)) the norms are |a| = |a−b| = Δ, |b|² = 2uΔ², ⟨a,b⟩ = uΔ²."""
    A, B, c = theorem1_gram()
    must_vanish(A - sensitivity**2, "|a|²")
    must_vanish(B - 2 * u * sensitivity**2, "|b|²")
    must_vanish(c - u * sensitivity**2, "⟨a,b⟩")
    must_vanish(A + B - 2 * c - sensitivity**2, "|a−b|²")


@claim(
    name="one-dimensional-form",
    source="(35)",
    status="proved",
    how="covariances of (⟨a,Z⟩, ⟨b,Z⟩) and the Gaussian moment over W, symbolic k, u, Δ",
)
def one_dimensional_form() -> None:
    """⟨a,Z⟩ = (β/2)V + √(Δ²−β²/4)W with ⟨b,Z⟩ = βV, and integrating W out leaves (35)'s k-th coefficient."""
    beta = sensitivity * sp.sqrt(2 * u)
    A, B, c = theorem1_gram()
    on_v, on_w = beta / 2, sp.sqrt(sensitivity**2 - beta**2 / 4)
    must_vanish(on_v**2 + on_w**2 - A, "variance of ⟨a,Z⟩")
    must_vanish(on_v * beta - c, "covariance")
    must_vanish(beta**2 - B, "variance of ⟨b,Z⟩")
    k = sp.Symbol("k", integer=True, nonnegative=True)
    # E_W exp(k(on_w·W − Δ²/2)) = exp(k²on_w²/2 − kΔ²/2); what is left of e^{kX} is e^{kβV/2}.
    integrated = k**2 * on_w**2 / 2 - k * sensitivity**2 / 2
    must_vanish(integrated - formulas.one_dimensional_log_coefficient(k, sensitivity, beta), "(35)")


@claim(
    name="gram-shift",
    source="spec of F in Gram form",
    status="proved",
    how="the shift of measure on e^{jY}, symbolic k, j, A, B, c",
)
def gram_shift() -> None:
    """E[L_a^k g(Y)] = e^{k(k−1)A/2} E[g(Y + kc)]: the k-th term of F for integer orders."""
    k, j, A, B, c = sp.symbols("k j A B c", real=True)
    shifted = k * (k - 1) * A / 2 + formulas.log_moment(0, j, A, B, c) + j * k * c
    must_vanish(formulas.log_moment(k, j, A, B, c) - shifted, "shift by k·a")
