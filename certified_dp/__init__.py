"""Certified privacy bounds for DP-SGD with fixed-size batches under replace adjacency."""

from certified_dp.accountant import Accountant, delta, epsilon, rdp
from certified_dp.errors import (
    CertifiedDPError,
    InvalidParameterError,
    PrecisionExhaustedError,
    ResourceLimitError,
    UndecidedComparisonError,
)
from certified_dp.parameters import DPSGD, Phase
from certified_dp.result import Bound, Result

__version__ = "0.1.0"

__all__ = [
    "DPSGD",
    "Accountant",
    "Bound",
    "CertifiedDPError",
    "InvalidParameterError",
    "Phase",
    "PrecisionExhaustedError",
    "ResourceLimitError",
    "Result",
    "UndecidedComparisonError",
    "delta",
    "epsilon",
    "rdp",
]
