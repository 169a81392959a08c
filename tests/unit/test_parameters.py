"""Inputs are read exactly or refused with one line that names the parameter, the value and what is allowed."""

import pickle
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from certified_dp import DPSGD, InvalidParameterError, Phase, delta, epsilon, rdp
from certified_dp.parameters import as_phases, exact

GOOD: dict[str, Any] = {"sampling_probability": "0.01", "noise_multiplier": 2, "steps": 10}


@pytest.mark.parametrize("value", ["0.01", 0.01, Decimal("0.01"), Fraction(1, 100), "1/100", "1e-2", " .01 ", "+1E-2"])
def test_every_kind_of_number_is_read_exactly(value: Any) -> None:
    """0.01 is 1/100 however it is written, also as a float."""
    assert exact("p", value) == Fraction(1, 100)


@pytest.mark.parametrize("kind", ["float32", "float64", "int32", "uint8", "longdouble"])
def test_numpy_scalars(kind: str) -> None:
    """A numpy scalar is read as the decimal that it prints as."""
    numpy = pytest.importorskip("numpy")
    assert exact("x", getattr(numpy, kind)(3)) == 3
    assert exact("x", numpy.float32(0.1)) == Fraction(1, 10)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sampling_probability", 0),
        ("sampling_probability", "1.0000001"),
        ("sampling_probability", -0.1),
        ("sampling_probability", float("nan")),
        ("sampling_probability", float("inf")),
        ("sampling_probability", True),
        ("sampling_probability", "one"),
        ("sampling_probability", "1/0"),
        ("sampling_probability", "1e-99999"),
        ("sampling_probability", "nan"),
        ("sampling_probability", Decimal("NaN")),
        ("sampling_probability", [0.1]),
        ("sampling_probability", 1 + 0j),
        ("noise_multiplier", 0),
        ("noise_multiplier", -1),
        ("noise_multiplier", float("-inf")),
        ("noise_multiplier", False),
        ("noise_multiplier", ""),
        pytest.param("noise_multiplier", 10**6000, id="an int too long to print"),
        ("noise_multiplier", "9" * 5000),
        ("steps", -1),
        ("steps", 2.5),
        ("steps", True),
        ("steps", "many"),
    ],
)
def test_bad_values_are_refused_by_name(name: str, value: Any) -> None:
    """The error is one line that starts with the parameter's name and says what is allowed."""
    with pytest.raises(InvalidParameterError) as caught:
        DPSGD(**{**GOOD, name: value})
    message = str(caught.value)
    assert message.startswith(f"{name} = ")
    assert "must be" in message
    assert "\n" not in message
    assert len(message) < 250


def test_numpy_bool_is_refused() -> None:
    """A numpy bool is no number either."""
    numpy = pytest.importorskip("numpy")
    with pytest.raises(InvalidParameterError, match="bool"):
        exact("x", numpy.bool_(True))


@pytest.mark.parametrize(
    ("sizes", "name"),
    [
        ({"dataset_size": 10, "batch_size": 11}, "batch_size"),
        ({"dataset_size": 10, "batch_size": 0}, "batch_size"),
        ({"dataset_size": 10.5, "batch_size": 1}, "dataset_size"),
        ({"dataset_size": 10}, "batch_size"),
        ({"batch_size": 10}, "dataset_size"),
        ({}, "dataset_size"),
        ({"dataset_size": 10, "batch_size": 1, "sampling_probability": 0.1}, "sampling_probability"),
    ],
)
def test_sizes(sizes: dict[str, Any], name: str) -> None:
    """Sizes must be given together, whole, and the batch within the dataset."""
    with pytest.raises(InvalidParameterError, match=f"^{name}"):
        DPSGD(noise_multiplier=1, steps=1, **sizes)


@pytest.mark.parametrize("value", [0, 1, -1, 2, float("nan"), True, "x"])
def test_delta_outside_the_open_unit_interval(value: Any) -> None:
    """δ = 0 and δ = 1 are refused too."""
    with pytest.raises(InvalidParameterError, match=r"^delta"):
        epsilon(DPSGD(**GOOD), value)


def test_order_and_epsilon_domains() -> None:
    """Orders must exceed 1 and ε must not be negative."""
    with pytest.raises(InvalidParameterError, match=r"^order"):
        rdp(DPSGD(**GOOD), 1)
    with pytest.raises(InvalidParameterError, match=r"^epsilon"):
        delta(DPSGD(**GOOD), -1)
    with pytest.raises(InvalidParameterError, match=r"^method"):
        epsilon(DPSGD(**GOOD), 0.1, method="magic")
    with pytest.raises(InvalidParameterError, match=r"^run"):
        epsilon("0.01", 0.1)  # type: ignore[arg-type]


def test_integral_strings_and_floats_are_integers() -> None:
    """1e6 steps and "8000.0" steps are whole numbers."""
    assert DPSGD(sampling_probability=0.5, noise_multiplier=1, steps=1e6).steps == 10**6
    assert DPSGD(sampling_probability=0.5, noise_multiplier=1, steps="8000.0").steps == 8000


def test_canonical_phases() -> None:
    """Like phases merge, empty ones vanish, and order does not matter."""
    a = Phase(Fraction(1, 2), Fraction(1), 3)
    b = Phase(Fraction(1, 3), Fraction(1), 4)
    assert as_phases([a, b, a]) == as_phases([b, Phase(a.sampling_probability, a.noise_multiplier, 6)])
    assert as_phases(Phase(Fraction(1, 2), Fraction(1), 0)) == ()


def test_errors_survive_pickling() -> None:
    """An error raised in another process arrives as itself."""
    error = InvalidParameterError("steps", -1, "an integer ≥ 0")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
