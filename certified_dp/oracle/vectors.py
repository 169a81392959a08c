"""The shipped test vectors: reading them, and the closed format that they keep to."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from certified_dp.errors import CertifiedDPError

#: The format's name, in every file.
FORMAT = "certified-dp-vectors/1"


class VectorFormatError(CertifiedDPError, ValueError):
    """A file of vectors that does not keep to the schema."""


@dataclass(frozen=True)
class Case:
    """One test vector.

    Attributes:
        identifier: unique among all files.
        question: what is asked: "epsilon", "delta", "renyi", ...
        parameters: as in the file: rationals as text, counts as integers, phases as lists.
        flags: why the case is there; each is explained in its file.
        expected: {"lo", "hi"}, certified decimals; or {"refuse": true} with an optional "or_value".
    """

    identifier: str
    group: str
    question: str
    parameters: Mapping[str, Any]
    flags: tuple[str, ...]
    comment: str
    expected: Mapping[str, Any]

    @property
    def must_refuse(self) -> bool:
        """Whether the parameters are outside the domain."""
        return "refuse" in self.expected

    @property
    def bracket(self) -> tuple[Fraction, Fraction]:
        """The certified bracket [lo, hi] of the true answer, exact."""
        return Fraction(self.expected["lo"]), Fraction(self.expected["hi"])

    @property
    def cost(self) -> str:
        """What the case costs a usual accountant: "low", or "high" for many steps, phases or a large order."""
        phases = self.parameters.get("phases", [self.parameters])
        steps = [phase.get("steps", 1) for phase in phases]
        many = any(isinstance(count, int) and count > 10**4 for count in steps) or len(phases) > 3
        return "high" if many or Fraction(self.parameters.get("order", 2)) > 128 else "low"


def folder() -> Traversable:
    """Return the folder of the vectors, in the installed package."""
    return files("certified_dp.oracle").joinpath("vectors")


def vector_files() -> list[str]:
    """Return the names of the files of vectors, sorted.

    Example:
        >>> "renyi.json" in vector_files()
        True
    """
    names = (entry.name for entry in folder().iterdir())
    return sorted(name for name in names if name.endswith(".json") and name != "schema.json")


@lru_cache(maxsize=32)
def read_file(name: str) -> dict[str, Any]:
    """Read and check one file of vectors.

    Raises: VectorFormatError.
    """
    return parse(folder().joinpath(name).read_bytes(), name)


def parse(data: bytes, name: str) -> dict[str, Any]:
    """Check that bytes are canonical and keep to the schema, and return their content.

    Raises: VectorFormatError, naming the file and the place.
    """
    try:
        content = json.loads(data, parse_float=_no_floats, parse_constant=_no_floats)
    except ValueError as error:
        raise VectorFormatError(f"{name}: {error}") from None
    schema = json.loads(folder().joinpath("schema.json").read_text(encoding="utf-8"))
    problem = next(violations(content, schema, schema, ""), None)
    if problem is not None:
        raise VectorFormatError(f"{name}: {problem}")
    if canonical_bytes(content) != data:
        raise VectorFormatError(f"{name}: not in canonical form")
    return dict(content)


def _no_floats(text: str) -> float:
    raise ValueError(f"{text}: numbers are integers, or rationals as strings")


def canonical_bytes(content: Mapping[str, Any]) -> bytes:
    r"""Write a file of vectors in its one canonical form: sorted keys, one case a line, UTF-8, a final newline.

    Example:
        >>> canonical_bytes({"b": 1, "cases": [{"id": "x"}]}).decode()
        '{\n"b": 1,\n"cases": [\n{"id": "x"}\n]\n}\n'
    """

    def dump(value: Any) -> str:
        return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)

    lines = [f"{dump(key)}: {dump(content[key])}" for key in sorted(content) if key != "cases"]
    cases = ",\n".join(dump(case) for case in content["cases"])
    lines.append(f'"cases": [\n{cases}\n]')
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def violations(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any], place: str) -> Iterator[str]:
    """Yield how a value breaks a schema: the part of JSON Schema that schema.json uses, and an error for any other.

    Example:
        >>> list(violations(3, {"type": "string"}, {}, "x"))
        ['x: 3 is not a string']
    """
    known = {"$defs", "$schema", "$id", "title", "description", "type", "const", "enum", "pattern", "$ref", "oneOf"}
    known |= {"properties", "required", "additionalProperties", "items", "minItems", "uniqueItems", "minProperties"}
    if unknown := set(schema) - known:
        raise VectorFormatError(f"schema.json uses {', '.join(sorted(unknown))}")
    if "$ref" in schema:
        yield from violations(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root, place)
    if "oneOf" in schema:
        problems = [list(violations(value, option, root, place)) for option in schema["oneOf"]]
        if sum(not found for found in problems) != 1:
            yield f"{place}: {min(problems, key=len)[:1] or 'more than one alternative fits'}"
    types = {"string": str, "integer": int, "object": dict, "array": list, "boolean": bool}
    kind = schema.get("type")
    if kind is not None and (not isinstance(value, types[kind]) or (kind == "integer" and isinstance(value, bool))):
        yield f"{place}: {value!r} is not a{'n' if kind[0] in 'aio' else ''} {kind}"
        return
    if "const" in schema and value != schema["const"]:
        yield f"{place}: {value!r} is not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{place}: {value!r} is not one of {schema['enum']}"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"{place}: {value!r} does not match {schema['pattern']}"
    if isinstance(value, dict):
        yield from _object_violations(value, schema, root, place)
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            yield f"{place}: too few items"
        if schema.get("uniqueItems") and any(value.count(item) > 1 for item in value):
            yield f"{place}: repeated items"
        for index, item in enumerate(value):
            yield from violations(item, schema.get("items", {}), root, f"{place}[{index}]")


def _object_violations(
    value: Mapping[str, Any], schema: Mapping[str, Any], root: Mapping[str, Any], place: str
) -> Iterator[str]:
    properties = schema.get("properties", {})
    others = schema.get("additionalProperties", {})
    for key in schema.get("required", []):
        if key not in value:
            yield f"{place}: {key} is missing"
    for key, item in value.items():
        if key in properties:
            yield from violations(item, properties[key], root, f"{place}.{key}")
        elif others is False:
            yield f"{place}: {key} is not allowed"
        else:
            yield from violations(item, others, root, f"{place}.{key}")


@lru_cache(maxsize=1)
def all_cases() -> tuple[Case, ...]:
    """Return every shipped case, by file and in the files' order.

    Raises: VectorFormatError.
    """
    return tuple(
        Case(
            case["id"],
            content["group"],
            content["question"],
            case["parameters"],
            tuple(case["flags"]),
            case["comment"],
            case["expected"],
        )
        for content in map(read_file, vector_files())
        for case in content["cases"]
    )
