"""Claims with certificates: what a result says, and witnesses from which proofs_checks/checker.py proves it again.

The format is described in proofs_checks/CERTIFICATE.md. Nothing here needs to be believed.
"""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TypeAlias

from flint import arb

from certified_dp.certificate_hinge import hinge_witness
from certified_dp.conversion import epsilon_from_rdp_ball
from certified_dp.enclosure import ball, decimal_upper, lower_end, refine, relative_accuracy_bits, upper_end
from certified_dp.errors import InvalidParameterError, PrecisionExhaustedError, ResourceLimitError
from certified_dp.gaussian import gaussian_delta_ball
from certified_dp.paper.output import check_folder
from certified_dp.parameters import Phase
from certified_dp.renyi import RENYI_METHODS, total_rdp_ball
from certified_dp.result import Result, decimal_exact
from certified_dp.witnesses import (
    LARGEST_ORDER,
    Draft,
    Step,
    bits_below,
    decimal_between,
    gaussian_moment,
    single_pair_moment,
    theorem1_moment,
)

_LARGEST_BITS = 4096  # of the checker
_LARGEST_TANGENT = 10**300  # the checker reads numbers of up to 400 digits
_OneStep: TypeAlias = Callable[[Draft, int, Phase, Fraction, Fraction], tuple[int, Fraction]]
_ONE_STEP: dict[str, _OneStep] = {"theorem1": theorem1_moment, "single_pair_renyi": single_pair_moment}
#: The methods whose bounds on ε can be certified.
CERTIFIABLE = (*_ONE_STEP, "kl_hinge", "gaussian")


@dataclass(frozen=True)
class Certificate:
    """A claim and its certificate, as the JSON objects of proofs_checks/CERTIFICATE.md."""

    claim: Step
    certificate: Step

    @property
    def claim_text(self) -> str:
        """The claim's file."""
        return json.dumps(self.claim, indent=1) + "\n"

    @property
    def certificate_text(self) -> str:
        """The certificate's file, a step a line."""
        steps = ",\n  ".join(json.dumps(step) for step in self.certificate["steps"])
        return f'{{"version": 1, "bits": {self.certificate["bits"]}, "steps": [\n  {steps}\n]}}\n'

    def write(self, name: Path) -> tuple[Path, Path]:
        """Write NAME.claim.json and NAME.cert.json; neither takes its name before both are complete.

        Raises: InvalidParameterError: the folder does not exist.
        """
        texts = {"claim": self.claim_text, "cert": self.certificate_text}
        paths = [name.with_name(f"{name.name}.{kind}.json") for kind in texts]
        for path in paths:
            check_folder(path)
        partials = [path.with_name(path.name + ".partial") for path in paths]
        try:
            for partial, text in zip(partials, texts.values(), strict=True):
                with open(partial, "w", encoding="utf-8", newline="") as file:
                    file.write(text)
                    file.flush()
                    os.fsync(file.fileno())
            for partial, path in zip(partials, paths, strict=True):
                os.replace(partial, path)
        finally:
            for partial in partials:
                partial.unlink(missing_ok=True)
        return paths[0], paths[1]


def certificate(result: Result) -> Certificate:
    """Write down why a bound on ε holds, for a program that trusts nothing of this library.

    The claim's numbers are the exact inputs; its ε is the printed decimal, which is rounded up. Where that is nearer
    than 1e-8 (relative) to the bound, ε is one unit of its last digit more, to leave the checker room; the KL-hinge
    bound is proved on a coarser lattice, at a cost of less than 0.5%.

    Guarantee: none is needed: proofs_checks/checker.py proves the claim from the certificate, or refuses it.
    Args: result: of `certified_dp.epsilon` by theorem1, single_pair_renyi, kl_hinge or gaussian (full batches).
    Raises: InvalidParameterError: another quantity or method, no steps, or a number outside the format's limits;
        ResourceLimitError: the checker's limits are too small; PrecisionExhaustedError.

    Example:
        >>> from certified_dp import DPSGD, epsilon
        >>> run = DPSGD(sampling_probability="0.01", noise_multiplier=2, steps=8000)
        >>> written = certificate(epsilon(run, "1e-6", method="single_pair_renyi", orders="integer"))
        >>> written.claim["epsilon"], [step["rule"] for step in written.certificate["steps"]]
        ('6.57772', ['point_closed', 'domination', 'compose', 'convert_balle'])
    """
    if result.quantity != "epsilon":
        raise InvalidParameterError("quantity", result.quantity, "epsilon for a certificate")
    if result.method not in CERTIFIABLE:
        raise InvalidParameterError("method", result.method, f"one of {', '.join(CERTIFIABLE)} for a certificate")
    _require_limits(result)
    draft = Draft()
    if result.method in _ONE_STEP:
        epsilon = _renyi(draft, result)
    elif result.method == "kl_hinge":
        epsilon = _kl_hinge(draft, result)
    else:
        epsilon = _gaussian(draft, result)
    if draft.bits > _LARGEST_BITS:
        raise PrecisionExhaustedError(f"the checker would need {draft.bits} bits, and allows {_LARGEST_BITS}")
    phases = [
        {
            "sampling_probability": decimal_exact(phase.sampling_probability),
            "noise_multiplier": decimal_exact(phase.noise_multiplier),
            "steps": phase.steps,
        }
        for phase in result.phases
    ]
    claim = {"version": 1, "adjacency": "replace_one", "phases": phases}
    claim |= {"delta": decimal_exact(result.given), "epsilon": epsilon}
    return Certificate(claim, {"version": 1, "bits": draft.bits, "steps": draft.steps})


def _require_limits(result: Result) -> None:
    """Refuse what the format has no room for."""
    if not 1 <= len(result.phases) <= 1000:
        raise InvalidParameterError("run", f"{len(result.phases)} phases", "of 1 to 1000 phases for a certificate")
    limits = {
        "sampling_probability": (Fraction(1, 10**18), Fraction(1)),
        "noise_multiplier": (Fraction(1, 100), Fraction(10_000)),
        "steps": (Fraction(1), Fraction(10**12)),
        "delta": (Fraction(1, 10**400), Fraction(1)),
        "order": (Fraction(1), Fraction(LARGEST_ORDER)),
    }
    values = [(name, Fraction(getattr(phase, name))) for phase in result.phases for name in tuple(limits)[:3]]
    values += [("delta", result.given), ("order", result.order or Fraction(2))]
    for name, value in values:
        low, high = limits[name]
        if not low <= value <= high:
            allowed = f"from {decimal_upper(low)} to {decimal_upper(high)} for a certificate"
            raise InvalidParameterError(name, str(value), allowed)
        if max(abs(value.numerator), value.denominator) >= 10**400:
            raise InvalidParameterError(name, str(value), "a fraction of at most 400 digits for a certificate")


def _claimed(result: Result, proved: Fraction) -> str:
    """Print the claim: the printed bound, or a unit more where that leaves no room above what is proved."""
    room = abs(proved) / 10 ** (result.digits + 2)
    return decimal_upper(max(result.upper, proved + room), result.digits)


def _renyi(draft: Draft, result: Result) -> str:
    """Add the steps of a Rényi bound at the result's order; the slack that the claim leaves is shared by the phases."""
    order, delta, phases = result.order or Fraction(2), result.given, result.phases
    # A bound by Mironov's conversion is above Balle's at the same order.
    conversion = "tangent" if result.bound.conversion == "tangent" else "balle"
    size = max(result.upper, Fraction(1, 10**12))

    first_prec = 80 + 4 * result.digits

    def total_at(prec: int) -> arb:
        accuracy = size / 10 ** (result.digits + 4) / (prec // first_prec) ** 4
        return total_rdp_ball(RENYI_METHODS[result.method], phases, order, accuracy=accuracy, prec=prec)

    def convert(total: arb) -> arb:
        return epsilon_from_rdp_ball(total, order, delta, conversion)

    def accept(total: arb) -> bool:
        epsilon = convert(total)
        return bool(epsilon <= 0) or relative_accuracy_bits(epsilon) >= 4 * result.digits

    total = refine(total_at, accept, prec=first_prec, what=f"{result.method} at order {order}")

    def proved(extra: Fraction) -> Fraction:
        """Return what a total that is larger by ``extra`` proves."""
        epsilon = refine(
            lambda prec: convert(total + ball(extra)),
            lambda value: bool(value.is_finite()),
            prec=2 * first_prec,
            what="ε",
        )
        return upper_end(epsilon)

    text = _claimed(result, proved(Fraction(0)))
    room = Fraction(text) - proved(Fraction(0))
    extra = room
    while proved(extra) > Fraction(text) - room / 4:
        extra /= 2
    slack = extra * (order - 1) / len(phases)
    moments, log_moment = [], Fraction(0)
    for index, phase in enumerate(phases):
        if phase.sampling_probability == 1:
            number, value = gaussian_moment(draft, index, phase, order)
        else:
            share = min(slack / phase.steps, Fraction(1, 8))
            number, value = _ONE_STEP[result.method](draft, index, phase, order, share)
        moments.append(number)
        log_moment += value * phase.steps
    steps = sum(phase.steps for phase in phases)
    bits = bits_below(room) + bits_below(order - 1) + steps.bit_length() + 24
    compose = draft.add({"rule": "compose", "moments": moments}, bits)
    if conversion == "balle":
        draft.add({"rule": "convert_balle", "total": compose})
    else:
        _tangent(draft, compose, log_moment, order, delta, room)
    return text


def _tangent(draft: Draft, total: int, log_moment: Fraction, order: Fraction, delta: Fraction, room: Fraction) -> None:
    """Add the conversion by a tangent: x^{α−1} = 1 + (e^K − 1)/(αδ), rounded up by a small part of the room."""

    def tangent_at(prec: int) -> tuple[arb, arb]:
        slope = ball(log_moment).expm1() / ball(order * delta)
        return (slope.log1p() / ball(order - 1)).exp(), slope

    fine = min(room, Fraction(1)) * (order - 1) / order / 64
    x, slope = refine(
        tangent_at,
        lambda pair: relative_accuracy_bits(pair[0]) > bits_below(fine) + 4 and relative_accuracy_bits(pair[1]) > 8,
        prec=128,
        what="the tangent",
    )
    if not x < ball(_LARGEST_TANGENT):
        raise ResourceLimitError("tangent: epsilon is too large for a certificate; try the conversion balle")
    low = upper_end(x)
    text = decimal_between(low * (1 + fine / 2), low * (1 + fine))
    bits = bits_below(fine) + bits_below(lower_end(slope)) + bits_below(log_moment) + bits_below(delta) + 32
    draft.add({"rule": "convert_tangent", "total": total, "tangent_at": text}, bits)


def _kl_hinge(draft: Draft, result: Result) -> str:
    witness = hinge_witness(result.phases, result.given, result.upper)
    draft.add(witness.step, witness.bits)
    return decimal_upper(max(witness.epsilon, result.upper), result.digits)


def _gaussian(draft: Draft, result: Result) -> str:
    """Add the exact curve at the claim; what is left of δ there decides the bits."""
    squares = sum((phase.steps * phase.sensitivity**2 for phase in result.phases), Fraction(0))
    text = _claimed(result, result.upper)
    epsilon = Fraction(text)
    spare = refine(
        lambda prec: lower_end(ball(result.given) - gaussian_delta_ball(ball(squares).sqrt(), epsilon)),
        lambda room: room > 0,
        prec=128,
        what="δ at the claim",
    )
    draft.add({"rule": "gaussian_curve"}, bits_below(spare) + 2 * int(epsilon) + 32)
    return text
