"""A dp-accounting ``PrivacyAccountant`` whose every answer is a certified upper bound (needs dp-accounting).

dp-accounting's events give the noise multiplier alone, and what it is relative to differs: its ``GaussianDpEvent``
is documented as relative to the bound C on the records' norms, and its PLD accountant computes that; its RDP
accountant reads the same number under REPLACE_ONE as relative to the sensitivity, 2C. So here it must be said.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from dp_accounting import dp_event
from dp_accounting.privacy_accountant import NeighboringRelation, PrivacyAccountant

from certified_dp.accountant import Accountant
from certified_dp.enclosure import float_upper
from certified_dp.errors import InvalidParameterError
from certified_dp.interop.convention import CONVENTIONS, Convention, clip_norm_multiplier
from certified_dp.parameters import DPSGD, Phase

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from certified_dp.methods import OptionValues

__all__ = ["CertifiedAccountant", "Convention"]

#: What composing an event adds: phases of DP-SGD, or the end of all privacy.
_NON_PRIVATE: Literal["non-private"] = "non-private"


class CertifiedAccountant(PrivacyAccountant):  # type: ignore[misc]
    """Certified (ε, δ) for fixed-size batches and full-batch Gaussian steps under REPLACE_ONE.

    Guarantee: `get_epsilon` and `get_delta` are at least the true values, rounded up to a double.
    Takes ``SampledWithoutReplacementDpEvent`` of a ``GaussianDpEvent``, plain ``GaussianDpEvent``, ``ComposedDpEvent``,
    ``SelfComposedDpEvent``, ``NoOpDpEvent`` and ``NonPrivateDpEvent``; refuses everything else (Poisson sampling
    included) with dp-accounting's ``UnsupportedEventError``.

    Example:
        >>> accountant = CertifiedAccountant(noise_multiplier_convention="clip_norm", method="single_pair_renyi")
        >>> step = dp_event.SampledWithoutReplacementDpEvent(60_000, 600, dp_event.GaussianDpEvent(2.0))
        >>> round(accountant.compose(step, 8000).get_epsilon(1e-6), 4)
        6.5644
    """

    def __init__(
        self,
        *,
        noise_multiplier_convention: Convention,
        neighboring_relation: NeighboringRelation = NeighboringRelation.REPLACE_ONE,
        method: str = "best",
        **options: Unpack[OptionValues],
    ) -> None:
        """Start with no events.

        Args:
            noise_multiplier_convention: what events' noise multipliers are relative to: "clip_norm", the bound C on the
                records' norms, or "sensitivity", the L2 sensitivity under replacement, 2C.
            neighboring_relation: REPLACE_ONE.
            method: as in `certified_dp.epsilon`.
            **options: see `certified_dp.methods.read_options`.

        Raises:
            InvalidParameterError: another relation or convention.
        """
        if neighboring_relation is not NeighboringRelation.REPLACE_ONE:
            raise InvalidParameterError("neighboring_relation", neighboring_relation, "REPLACE_ONE")
        if noise_multiplier_convention not in CONVENTIONS:
            raise InvalidParameterError(
                "noise_multiplier_convention", noise_multiplier_convention, f"one of {', '.join(CONVENTIONS)}"
            )
        super().__init__(neighboring_relation)
        self._convention, self._method, self._options = noise_multiplier_convention, method, options
        self._accountant, self._non_private = Accountant(), False

    def _maybe_compose(
        self, event: dp_event.DpEvent, count: int, do_compose: bool
    ) -> PrivacyAccountant.CompositionErrorDetails | None:
        """Check, or compose, an event; the return value says which sub-event cannot be certified and why."""
        if isinstance(event, dp_event.NoOpDpEvent):
            return None
        if isinstance(event, dp_event.SelfComposedDpEvent):
            if event.count < 0:
                return _refusal(event, f"count = {event.count} is negative")
            return self._maybe_compose(event.event, event.count * count, do_compose)
        if isinstance(event, dp_event.ComposedDpEvent):
            refusals = (self._maybe_compose(inner, count, do_compose) for inner in event.events)
            return next((refusal for refusal in refusals if refusal is not None), None)
        try:
            step = self._step(event)
        except InvalidParameterError as error:
            return _refusal(event, str(error))
        if step is None:
            return _refusal(event, "no certified bound for this event")
        if do_compose and count:
            if isinstance(step, Phase):
                self._accountant.compose(step, count)
            else:
                self._non_private = True
        return None

    def _step(self, event: dp_event.DpEvent) -> Phase | Literal["non-private"] | None:
        """Read one step, or None where nothing is certified. Raises InvalidParameterError."""
        if isinstance(event, dp_event.NonPrivateDpEvent):
            return _NON_PRIVATE
        if isinstance(event, dp_event.GaussianDpEvent):
            sizes = {"sampling_probability": Fraction(1)}
            gaussian = event
        elif isinstance(event, dp_event.SampledWithoutReplacementDpEvent):
            sizes = {"dataset_size": event.source_dataset_size, "batch_size": event.sample_size}
            gaussian = event.event
        else:
            return None
        if not isinstance(gaussian, dp_event.GaussianDpEvent):
            return None
        if gaussian.noise_multiplier == 0:
            DPSGD(**sizes, noise_multiplier=1, steps=1)  # refuses impossible sizes
            return _NON_PRIVATE
        return DPSGD(
            **sizes, noise_multiplier=clip_norm_multiplier(gaussian.noise_multiplier, self._convention), steps=1
        )

    def get_epsilon(self, target_delta: float) -> float:
        """Return the smallest double that is at least the certified ε (0 without events, inf where there is no bound).

        Raises: InvalidParameterError unless 0 ≤ δ ≤ 1, PrecisionExhaustedError, ResourceLimitError.
        """
        if not 0 <= target_delta <= 1:
            raise InvalidParameterError("delta", target_delta, "a probability")
        if self._non_private:
            return math.inf
        if target_delta == 1 or not self._accountant.phases:
            return 0.0
        if target_delta == 0:
            return math.inf
        result = self._accountant.epsilon(target_delta, method=self._method, **self._options)
        return float_upper(result.upper)

    def get_delta(self, target_epsilon: float) -> float:
        """Return the smallest double that is at least the certified δ (0 without events, 1 where there is no bound).

        Raises: InvalidParameterError unless ε ≥ 0, PrecisionExhaustedError, ResourceLimitError.
        """
        if not target_epsilon >= 0:
            raise InvalidParameterError("epsilon", target_epsilon, "a number ≥ 0")
        if self._non_private:
            return 1.0
        if target_epsilon == math.inf or not self._accountant.phases:
            return 0.0
        return float_upper(self._accountant.delta(target_epsilon, method=self._method, **self._options).upper)


def _refusal(event: dp_event.DpEvent, why: str) -> PrivacyAccountant.CompositionErrorDetails:
    return PrivacyAccountant.CompositionErrorDetails(invalid_event=event, error_message=why)
