"""Writes the test vectors: ``python -m certified_dp.oracle.generate [--only GROUP ...] [--folder PATH]``.

The same settings give the same bytes, so a file can be checked by making it again.
"""

import argparse
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import certified_dp
from certified_dp.oracle.answers import MARGIN, expected
from certified_dp.oracle.settings import FLAGS, GROUPS, Group, Request
from certified_dp.oracle.vectors import FORMAT, canonical_bytes

_CONVENTION = (
    "noise_multiplier = noise standard deviation / C for the sum of gradients clipped to norm C (so noise_multiplier*C"
    "/batch_size on their mean); the L2 sensitivity under replacement is 2C. An accountant whose noise multiplier is"
    " relative to that sensitivity must be given noise_multiplier/2."
)
_EXPECTED = (
    "lo and hi are certified outward decimals around the value named in source, widened by"
    f" {MARGIN}; an answer below lo is unsound, above hi loose. refuse: the input is to be refused; or_value is the"
    " only other right answer. lo = 0 beside a hi of 1e-300 says that doubles cannot hold the value."
)


def case(group: Group, index: int, request: Request) -> dict[str, object]:
    """Answer one request and write it as a case of its file."""
    return {
        "id": f"{group.name}-{index + 1:04d}",
        "comment": request.comment,
        "flags": list(dict.fromkeys(request.flags)),
        "parameters": request.parameters,
        "expected": expected(group.question, request.parameters),
    }


def content(group: Group) -> dict[str, Any]:
    """Answer all requests of a group: the content of its file."""
    cases = [case(group, index, request) for index, request in enumerate(group.requests())]
    used = {flag for request in group.requests() for flag in request.flags}
    return {
        "format": FORMAT,
        "group": group.name,
        "question": group.question,
        "relation": "replace_one",
        "sampling": "fixed-size batches without replacement, fresh at each step",
        "noise_multiplier_convention": _CONVENTION,
        "expected_convention": _EXPECTED,
        "source": group.source,
        "generator": "python -m certified_dp.oracle.generate",
        "verifier": "python -m certified_dp.oracle.verify",
        "flags": {flag: FLAGS[flag] for flag in sorted(used)},
        "cases": cases,
    }


def write(group: Group, target: Path) -> Mapping[str, Any]:
    """Write one file of vectors and return its content."""
    made = content(group)
    target.joinpath(f"{group.name}.json").write_bytes(canonical_bytes(made))
    return made


def main() -> None:
    """Write the groups asked for, and say how long each took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=[group.name for group in GROUPS], help="these groups only")
    default = Path(certified_dp.__file__).parent / "oracle" / "vectors"
    parser.add_argument("--folder", type=Path, default=default, help="where to write (default: into the package)")
    arguments = parser.parse_args()
    for group in GROUPS:
        if arguments.only is None or group.name in arguments.only:
            start = time.perf_counter()
            made = write(group, arguments.folder)
            print(f"{group.name}: {len(made['cases'])} cases, {time.perf_counter() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()
