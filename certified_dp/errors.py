"""Every exception the package raises on purpose."""


class CertifiedDPError(Exception):
    """Base class: catching it catches every refusal of this package."""


class InvalidParameterError(CertifiedDPError, ValueError):
    """An input is outside its domain; the one-line message names it, its value and what is allowed."""

    def __init__(self, name: str, value: object, allowed: str) -> None:
        """Build the message from the parameter's name, its value (shown shortened) and the allowed domain."""
        try:
            shown = repr(value)
        except ValueError:  # an int too long to print
            shown = "<too long to print>"
        if len(shown) > 80:
            shown = shown[:77] + "..."
        super().__init__(f"{name}: must be {allowed}" if value is None else f"{name} = {shown}: must be {allowed}")
        self.name, self.value, self.allowed = name, value, allowed

    def __reduce__(self) -> tuple[type, tuple[str, object, str]]:
        """Pickle by the three arguments, so that the error survives a process boundary."""
        return type(self), (self.name, self.value, self.allowed)


class PrecisionExhaustedError(CertifiedDPError, ArithmeticError):
    """The accuracy asked for was not reached at the largest precision (or grid) allowed."""


class UndecidedComparisonError(CertifiedDPError, ArithmeticError):
    """Two balls overlap, so their order is not known at this precision."""


class ResourceLimitError(CertifiedDPError, MemoryError):
    """The request needs more memory or work than allowed; the message says how much."""
