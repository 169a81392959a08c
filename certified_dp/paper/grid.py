"""Grid files: lists and ranges of every parameter of a question, read exactly and multiplied out."""

import sys
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, TypeAlias

from certified_dp.errors import InvalidParameterError
from certified_dp.methods import METHODS, read_options
from certified_dp.parameters import DPSGD, Number, exact, exact_delta, exact_epsilon, exact_integer, exact_order
from certified_dp.renyi import RENYI_METHODS
from certified_dp.result import decimal_exact

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: One question about one run, as text: parameters of `DPSGD`, one of delta, epsilon and order, method and options.
Setting: TypeAlias = dict[str, str]

RUN_KEYS = ("dataset_size", "batch_size", "sampling_probability", "noise_multiplier", "steps")
#: The value that a question starts from, by which the question is known: ε at delta, δ at epsilon, ρ at order.
GIVEN_KEYS = ("delta", "epsilon", "order")
OPTION_KEYS = ("digits", "orders", "max_order", "conversion", "relative_slack", "memory_limit")
_KEYS = (*RUN_KEYS, *GIVEN_KEYS, "method", *OPTION_KEYS)
_MOST_SETTINGS = 10**6
_MOST_VALUES = 10**5


def read_grid(path: Path) -> list[Setting]:
    r"""Read the settings of a sweep from a TOML file.

    Each key is a parameter of a question; its value is one value, a list, or a range ``{start, stop, step}`` or
    ``{start, stop, factor}`` that includes its stop when it meets it. All combinations are taken, the last key
    varying fastest. Several ``[[grid]]`` tables are read one after the other.

    Raises:
        InvalidParameterError: an unreadable file, or a key with its value that is not allowed.

    Example:
        >>> import tempfile
        >>> text = 'sampling_probability = 0.01\nnoise_multiplier = [2, "5/2"]\ndelta = "1e-6"\n'
        >>> text += 'steps = {start = 250, stop = 1000, factor = 2}'
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "grid.toml")
        ...     _ = path.write_text(text)
        ...     settings = read_grid(path)
        >>> len(settings), settings[-1]
        (6, {'sampling_probability': '0.01', 'noise_multiplier': '5/2', 'delta': '1e-6', 'steps': '1000'})
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=str)
    except OSError as error:
        raise InvalidParameterError("grid", str(path), f"a readable file ({error.strerror})") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidParameterError("grid", str(path), f"a TOML file ({error})") from None
    if "grid" not in content:
        return expand(content)
    grids = content.pop("grid")
    if content or not isinstance(grids, list) or not all(isinstance(grid, dict) for grid in grids):
        raise InvalidParameterError("grid", str(path), "[[grid]] tables and nothing else, or no such table")
    return [setting for grid in grids for setting in expand(grid)]


def expand(grid: Mapping[str, Any]) -> list[Setting]:
    """Multiply out one grid: a mapping from parameters to a value, a list of values or a range.

    Raises:
        InvalidParameterError: naming the key, its value and what is allowed.

    Example:
        >>> len(expand({"sampling_probability": ["0.01", "0.1"], "noise_multiplier": 1, "steps": 10, "delta": 1e-5}))
        2
    """
    unknown = next((key for key in grid if key not in _KEYS), None)
    if unknown is not None:
        raise InvalidParameterError(unknown, grid[unknown], f"left out: a grid has {', '.join(_KEYS)}")
    _check_complete(grid)
    axes = {key: _axis(key, value) for key, value in grid.items()}
    for key, values in axes.items():
        for value in values:
            _check_value(key, value, "order" in grid)
    count = prod(len(values) for values in axes.values())
    if count > _MOST_SETTINGS:
        raise InvalidParameterError("grid", count, f"at most {_MOST_SETTINGS} settings")
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


def _check_complete(grid: Mapping[str, Any]) -> None:
    given = [key for key in GIVEN_KEYS if key in grid]
    if len(given) > 1:
        raise InvalidParameterError(given[1], grid[given[1]], f"left out when {given[0]} is given")
    sizes = ["dataset_size", "batch_size"]
    if "sampling_probability" in grid:
        superfluous = next((key for key in sizes if key in grid), None)
        if superfluous is not None:
            raise InvalidParameterError(superfluous, grid[superfluous], "left out when sampling_probability is given")
        sizes = []
    for key in (*sizes, "noise_multiplier", "steps"):
        if key not in grid:
            raise InvalidParameterError(key, None, "given")
    if not given:
        raise InvalidParameterError("delta", None, "given (or epsilon, to ask for δ, or order, for ρ)")


def _axis(key: str, value: Any) -> list[str]:
    if isinstance(value, dict):
        return _range(key, value)
    values = value if isinstance(value, list) else [value]
    if not values:
        raise InvalidParameterError(key, value, "a value, a list that is not empty, or a range")
    for item in values:
        if isinstance(item, bool) or not isinstance(item, (str, int, float, Fraction)):
            raise InvalidParameterError(key, item, "a number or a string")
    return [str(item) for item in values]


def _range(key: str, value: dict[str, Any]) -> list[str]:
    allowed = "a range {start, stop, step} or {start, stop, factor}, rising, of at most 100000 values"
    kind = next((name for name in ("step", "factor") if set(value) == {"start", "stop", name}), None)
    if kind is None:
        raise InvalidParameterError(key, value, allowed)
    start, stop, by = (exact(f"{key}.{name}", value[name]) for name in ("start", "stop", kind))
    advance: Callable[[Fraction], Fraction] = (lambda x: x + by) if kind == "step" else (lambda x: x * by)
    values: list[Fraction] = []
    while start <= stop:
        following = advance(start)
        if following <= start or len(values) == _MOST_VALUES:
            raise InvalidParameterError(key, value, allowed)
        values.append(start)
        start = following
    if not values:
        raise InvalidParameterError(key, value, allowed)
    return [decimal_exact(x) for x in values]


def _check_value(key: str, value: str, asks_rdp: bool) -> None:
    """Refuse a value that no combination could make right: every other parameter is harmless here."""
    if key in ("dataset_size", "batch_size"):
        exact_integer(key, value, 1, "an integer ≥ 1")
    elif key in RUN_KEYS:
        harmless: dict[str, Number] = {"sampling_probability": 1, "noise_multiplier": 1, "steps": 1}
        DPSGD(**{**harmless, key: value})
    elif key in GIVEN_KEYS:
        {"delta": exact_delta, "epsilon": exact_epsilon, "order": exact_order}[key](value)
    elif key == "method":
        names = list(RENYI_METHODS) if asks_rdp else ["best", "floor", *METHODS]
        if value not in names:
            raise InvalidParameterError(key, value, f"one of {', '.join(names)}")
    elif asks_rdp and key != "digits":
        raise InvalidParameterError(key, value, "left out when order is given")
    else:
        read_options(**{key: value})
