"""A single-pair Rényi bound at an integer order as a Coq file: definitions, claim and proof in one (coq_template.v)."""

from collections.abc import Iterable
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from string import Template

from certified_dp.conversion import epsilon_from_rdp_ball
from certified_dp.enclosure import ball, certainly_less, refine
from certified_dp.errors import CertifiedDPError, InvalidParameterError
from certified_dp.paper.output import check_folder, write_text
from certified_dp.parameters import Number, Phase, as_phases, exact_delta, exact_epsilon, exact_integer
from certified_dp.renyi import RENYI_METHODS, total_rdp_ball
from certified_dp.result import Result, decimal_exact

_METHOD = "single_pair_renyi"

#: Coq spends about half a minute on this order, 6 s on half of it.
LARGEST_ORDER = 400


def coq_claim(run: Iterable[Phase], delta: Number, epsilon: Number, order: Number) -> str:
    """Write the claim that (6), at this order, gives at most ``epsilon`` at ``delta``, as a Coq file with its proof.

    Guarantee: coqc accepts the file only if the claim is true of the definitions in it. The claim is not checked
        here: a false one gives a file that coqc rejects.
    Source: (6) on Corollary 1 of proofs_checks/domination_theorem.md; the sum is the moment by the binomial theorem.
    Args: run: phases, p = 1 included.  delta: in (0, 1).  epsilon: ≥ 0.  order: an integer from 2 to `LARGEST_ORDER`.
    Returns: the text of a self-contained file for Coq 8.16 with coq-interval 4.6.
    Raises: InvalidParameterError.

    Example:
        >>> from certified_dp import DPSGD
        >>> run = [DPSGD(sampling_probability="0.01", noise_multiplier=2, steps=8000)]
        >>> print(*[line for line in coq_claim(run, "1e-6", "6.577713", 5).splitlines() if "Theorem claim" in line])
        Theorem claim : epsilon 5 run 1e-06 <= 6.577713.
    """
    phases, exact_claim = as_phases(run), exact_epsilon(epsilon)
    if not phases:
        raise InvalidParameterError("run", None, "at least one step")
    allowed = f"an integer from 2 to {LARGEST_ORDER} for a Coq file"
    alpha = exact_integer("order", order, 2, allowed)
    if alpha > LARGEST_ORDER:
        raise InvalidParameterError("order", alpha, allowed)
    template = Template(files("certified_dp").joinpath("coq_template.v").read_text(encoding="utf-8"))
    return template.substitute(
        order=alpha,
        delta=decimal_exact(exact_delta(delta)),
        epsilon=decimal_exact(exact_claim),
        steps=sum(phase.steps for phase in phases),
        run_comment="\n".join(f"    - {phase}" for phase in phases),
        run=";\n   ".join(map(_record, phases)),
        bits=_precision(phases, exact_claim, alpha),
    )


def write_coq(result: Result, path: Path) -> None:
    """Write the Coq file of a bound on ε; the claim is the printed decimal, which is rounded up.

    Guarantee: the claim holds by this library's balls too, or nothing is written.
    Args: result: of `certified_dp.epsilon` with method="single_pair_renyi" and orders="integer".  path: for the file;
        it is there whole, or as it was before.
    Raises: InvalidParameterError for another quantity, method, conversion or order; CertifiedDPError.

    Example:
        >>> import tempfile
        >>> from certified_dp import DPSGD, epsilon
        >>> run = DPSGD(sampling_probability="0.01", noise_multiplier=2, steps=8000)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "claim.v"
        ...     write_coq(epsilon(run, "1e-6", method="single_pair_renyi", orders="integer"), path)
        ...     "epsilon 5 run 1e-06 <= 6.57772." in path.read_text(encoding="utf-8")
        True
    """
    check_folder(path)
    if result.quantity != "epsilon":
        raise InvalidParameterError("quantity", result.quantity, "epsilon for a Coq file")
    if result.method != _METHOD:
        raise InvalidParameterError("method", result.method, f"{_METHOD} for a Coq file")
    if result.order is None or result.order.denominator != 1:
        shown = None if result.order is None else str(result.order)
        raise InvalidParameterError("order", shown, 'an integer for a Coq file (orders="integer")')
    claim = Fraction(result.upper_decimal)
    text = coq_claim(result.phases, result.given, claim, result.order)
    _require_true(result.phases, result.given, claim, result.order)
    write_text(path, text)


def _require_true(phases: tuple[Phase, ...], delta: Fraction, claim: Fraction, order: Fraction) -> None:
    """Refuse a claim that (6) does not give, such as one by another conversion."""

    def holds(prec: int) -> bool:
        rdp = total_rdp_ball(RENYI_METHODS[_METHOD], phases, order, accuracy=Fraction(1), prec=prec)
        return not certainly_less(ball(claim), epsilon_from_rdp_ball(rdp, order, delta))

    if not refine(holds, lambda settled: True, prec=128, what="the claim"):
        raise CertifiedDPError(
            f"epsilon = {decimal_exact(claim)}: below the bound by the Balle conversion, which a Coq file is about"
        )


def _record(phase: Phase) -> str:
    return (
        f"{{| sampling_probability := {decimal_exact(phase.sampling_probability)}; "
        f"noise_multiplier := {decimal_exact(phase.noise_multiplier)}; steps := {phase.steps} |}}"
    )


def _precision(phases: tuple[Phase, ...], claim: Fraction, order: int) -> int:
    """Choose interval's bits: the claim's own digits, what steps and the largest exponent multiply, and a reserve."""
    steps = sum(phase.steps for phase in phases)
    largest_exponent = int(max(order * order * phase.sensitivity**2 for phase in phases))
    return 64 + claim.denominator.bit_length() + steps.bit_length() + largest_exponent.bit_length()
