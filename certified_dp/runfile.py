"""Reading a run of several phases from a TOML file, with every number kept as the text it was written as."""

import sys
from pathlib import Path

from certified_dp.errors import InvalidParameterError
from certified_dp.parameters import DPSGD, Phase

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_FIELDS = ("dataset_size", "batch_size", "sampling_probability", "noise_multiplier", "steps")


def read_run(path: Path) -> tuple[Phase, ...]:
    r"""Read the phases of a run.

    The file holds one ``[[phase]]`` table for each phase, with the arguments of `DPSGD`, as numbers or strings.

    Raises:
        InvalidParameterError: an unreadable file, an unknown or missing field, or a bad value.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "run.toml")
        ...     _ = path.write_text("[[phase]]\nsampling_probability = 0.01\nnoise_multiplier = 2\nsteps = 10")
        ...     read_run(path)
        (Phase(sampling_probability=Fraction(1, 100), noise_multiplier=Fraction(2, 1), steps=10),)
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=str)
    except OSError as error:
        raise InvalidParameterError("run", str(path), f"a readable file ({error.strerror})") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidParameterError("run", str(path), f"a TOML file ({error})") from None
    tables = content.get("phase")
    if set(content) != {"phase"} or not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
        raise InvalidParameterError("run", str(path), "a TOML file of [[phase]] tables and nothing else")
    phases = []
    for table in tables:
        unknown = next((name for name in table if name not in _FIELDS), None)
        if unknown is not None:
            raise InvalidParameterError(unknown, table[unknown], f"left out: a phase has {', '.join(_FIELDS)}")
        missing = next((name for name in ("noise_multiplier", "steps") if name not in table), None)
        if missing is not None:
            raise InvalidParameterError(missing, None, "given in every phase")
        phases.append(DPSGD(**table))
    return tuple(phases)
