"""An accountant with the interface of Opacus' accountants (``step``, ``get_epsilon``, state), without torch.

Unlike Opacus' own, it accounts for batches of a fixed size under replace adjacency, and every ε is certified.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from certified_dp.accountant import epsilon
from certified_dp.enclosure import float_upper
from certified_dp.errors import InvalidParameterError
from certified_dp.parameters import DPSGD, Number, Phase, exact_delta

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from certified_dp.methods import OptionValues

_KEYS = ("history", "mechanism")


class CertifiedOpacusAccountant:
    """Collects optimiser steps; σ is noise standard deviation / clip norm, the sample rate batch size / dataset size.

    Assumes: each step draws a fresh uniform batch of a fixed size (the logical batch); replace adjacency. Opacus' own
    Poisson sampling is another mechanism: use the accountant that comes with it there.

    Example:
        >>> accountant = CertifiedOpacusAccountant()
        >>> for _ in range(3):
        ...     accountant.step(noise_multiplier=1.0, sample_rate="600/60000")
        >>> len(accountant), accountant.history
        (3, [(Fraction(1, 1), Fraction(1, 100), 3)])
        >>> accountant.get_epsilon(delta=1e-5, method="single_pair_renyi") < 5.5
        True
    """

    def __init__(self) -> None:
        """Start with no steps."""
        self.history: list[tuple[Fraction, Fraction, int]] = []

    @classmethod
    def mechanism(cls) -> str:
        """Name the accountant, as stored in its state."""
        return "certified_fixed_batch_replace_one"

    def __len__(self) -> int:
        """Return the number of steps."""
        return sum(steps for _, _, steps in self.history)

    def step(self, *, noise_multiplier: Number, sample_rate: Number, steps: Number = 1) -> None:
        """Record steps; like ones in a row are one entry (noise multiplier, sample rate, steps) of ``history``.

        Args: sample_rate: batch size / dataset size; a float is read as the decimal it prints as, so pass a Fraction or
            "b/n" where b/n has no short decimal.
        Raises: InvalidParameterError.
        """
        phase = DPSGD(noise_multiplier=noise_multiplier, sampling_probability=sample_rate, steps=steps)
        self._append(phase)

    def _append(self, phase: Phase) -> None:
        key, count = (phase.noise_multiplier, phase.sampling_probability), phase.steps
        if self.history and self.history[-1][:2] == key:
            count += self.history.pop()[2]
        if count:
            self.history.append((*key, count))

    def _phases(self) -> list[Phase]:
        return [Phase(rate, sigma, steps) for sigma, rate, steps in self.history]

    def get_epsilon(self, delta: Number, *, method: str = "best", **options: Unpack[OptionValues]) -> float:
        """Return the smallest double that is at least the certified ε at δ.

        Raises: InvalidParameterError, PrecisionExhaustedError, ResourceLimitError.
        """
        return float_upper(epsilon(self._phases(), exact_delta(delta), method=method, **options).upper)

    def merge(self, other: CertifiedOpacusAccountant) -> None:
        """Append another accountant's steps: the composition of both runs on the same dataset."""
        for phase in other._phases():
            self._append(phase)

    def state_dict(self) -> dict[str, Any]:
        """Return the state: plain strings and integers that JSON and ``load_state_dict`` keep exactly."""
        return {
            "history": [[str(sigma), str(rate), steps] for sigma, rate, steps in self.history],
            "mechanism": self.mechanism(),
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Replace the state by a saved one; nothing changes when it is refused.

        Raises: InvalidParameterError: other keys, another mechanism, or an entry that `step` would refuse.
        """
        if set(state_dict) != set(_KEYS):
            raise InvalidParameterError("state_dict", sorted(state_dict), f"a mapping with the keys {', '.join(_KEYS)}")
        if state_dict["mechanism"] != self.mechanism():
            raise InvalidParameterError("mechanism", state_dict["mechanism"], self.mechanism())
        loaded = CertifiedOpacusAccountant()
        for entry in state_dict["history"]:
            if len(entry) != 3:
                raise InvalidParameterError("history", entry, "[noise multiplier, sample rate, steps]")
            loaded.step(noise_multiplier=entry[0], sample_rate=entry[1], steps=entry[2])
        self.history = loaded.history
