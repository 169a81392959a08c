"""The folders give the verdicts; accepted certificates are mutated field by field."""

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from mpmath import mp, mpf

from proofs_checks import checker

HERE = Path(__file__).parent
STATUS = {"accepted": 0, "rejected": 1, "malformed": 2}
FILES = [
    pytest.param(folder, path.name.removesuffix(".claim.json"), id=f"{folder}-{path.name.removesuffix('.claim.json')}")
    for folder in STATUS
    for path in sorted((HERE / folder).glob("*.claim.json"))
]
NAMES = [path.name.removesuffix(".claim.json") for path in sorted((HERE / "accepted").glob("*.claim.json"))]
#: Accepted certificates whose check takes more than about 50 ms: their mutants are left to a slow test.
COSTLY = ["theorem1_cells", "theorem1_cells_order_12", "order_1100_delta_1e-300", "kl_hinge_e", "kl_hinge_two_phases"]
#: Those that take longer still, and have the same fields: not mutated.
LONG = [f"kl_hinge_{name}" for name in ("a", "b", "c", "d", "f", "g", "wide")]


def texts(folder: str, name: str) -> tuple[str, str]:
    """Read a claim and its certificate."""
    claim, certificate = (HERE / folder / f"{name}.{kind}.json" for kind in ("claim", "cert"))
    return claim.read_text(encoding="utf-8"), certificate.read_text(encoding="utf-8")


@pytest.mark.parametrize(("folder", "name"), FILES)
def test_folder_gives_the_verdict(folder: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit status is the folder's, and a verified claim is printed from its values."""
    paths = [str(HERE / folder / f"{name}.{kind}.json") for kind in ("claim", "cert")]
    assert checker.main(paths) == STATUS[folder]
    printed = capsys.readouterr().out
    if folder == "accepted":
        assert printed.startswith("VERIFIED: ")
        claim, shown = json.loads(texts(folder, name)[0]), json.loads(printed[printed.index("{") :])
        assert Fraction(shown["epsilon"]) == Fraction(claim["epsilon"])
        assert [phase["steps"] for phase in shown["phases"]] == [phase["steps"] for phase in claim["phases"]]
    else:
        assert printed.startswith(folder.upper() + ": ")


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """List the paths of all values inside."""
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield (*path, key)
        yield from leaves(value[key], (*path, key))


def number_mutants(text: str) -> Iterator[Any]:
    """Change a number in a string."""
    x = Fraction(text)
    yield from (str(y) for y in (x * 2, x / 2, x + 1, -x, 0, x * Fraction(1001, 1000), x * Fraction(999, 1000)))
    yield from (float(x), None, "", "x" + text, text + "e999999", [text], True)


def mutants_of(value: Any) -> Iterator[Any]:
    """Change a value of a claim or certificate in many ways, none of them the value itself."""
    yield from (new for new in changes(value) if type(new) is not type(value) or new != value)


def changes(value: Any) -> Iterator[Any]:
    """Change a value; some changes may leave it as it is."""
    if isinstance(value, str) and checker.NUMBER.fullmatch(value):
        yield from number_mutants(value)
    elif isinstance(value, str):
        yield from ("", value + "_", "compose", None, 1)
    elif isinstance(value, int):
        yield from (
            value + 1,
            value - 1,
            2 * value + 1,
            -value - 1,
            10**24,
            10**30,
            str(value),
            float(value),
            None,
            True,
        )
    elif isinstance(value, list):
        yield from (value[1:], value[:-1], value + value[-1:], value[::-1], [], {}, None)
    else:
        yield from ({**value, "extra": 1}, [], None, 0)
        for name in value:
            yield {key: entry for key, entry in value.items() if key != name}


def replaced(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Copy a document with one value changed."""
    copy = json.loads(json.dumps(document))
    target = copy
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    return copy


def verdict(claim: Any, certificate: Any) -> int:
    """Run the checker in this process: 0, 1 or 2."""
    try:
        checker.check(
            checker.parse(json.dumps(claim), checker.CLAIM),
            checker.parse(json.dumps(certificate), checker.CERTIFICATE),
        )
    except checker.Rejected:
        return 1
    except ValueError:
        return 2
    return 0


#: What makes a claim stronger: the larger (+1) or the smaller (−1) value.
STRONGER = {"epsilon": -1, "delta": -1, "steps": 1, "noise_multiplier": -1, "sampling_probability": 1}


def follows_by_recomputation(claim: Any, certificate: Any) -> bool:
    """Recompute the ε of a one-phase claim from its closed moment, with mpmath at 60 digits."""
    with mp.workdps(60):
        names = ("sampling_probability", "noise_multiplier")
        p, sigma = (mpf(Fraction(claim["phases"][0][name]).numerator) / Fraction(claim["phases"][0][name]).denominator
                    for name in names)  # fmt: skip
        order, delta = int(certificate["steps"][0]["order"]), mp.mpf(claim["delta"])
        terms = [mp.binomial(order, k) * (1 - p) ** (order - k) * p**k * mp.exp(2 * mpf(k * (k - 1)) / sigma**2)
                 for k in range(order + 1)]  # fmt: skip
        moment = claim["phases"][0]["steps"] * mp.log(mp.fsum(terms))
        epsilon = (moment - mp.log(order * delta)) / (order - 1) + mp.log(1 - mpf(1) / order)
        return bool(epsilon <= mp.mpf(claim["epsilon"]))


def mutate(name: str) -> tuple[int, int]:
    """Mutate an accepted certificate."""
    return mutate_pair(name, *(json.loads(text) for text in texts("accepted", name)))


def mutate_pair(name: str, claim: Any, certificate: Any) -> tuple[int, int]:
    """Check every mutant of a claim and its certificate; return how many there were and how many still verify."""
    count = verified = 0
    points = [i for i, step in enumerate(certificate["steps"]) if step["rule"].startswith("point")]
    for document in (claim, certificate):
        for place in leaves(document):
            old = document
            for key in place:
                old = old[key]
            for new in mutants_of(old):
                count += 1
                mutant = replaced(document, place, new)
                pair = (mutant, certificate) if document is claim else (claim, mutant)
                if verdict(*pair) == 0:
                    verified += 1
                    assert type(new) is type(old), (name, place, new)
                    assert not isinstance(new, dict), (name, place, new)
                    if (
                        document is claim
                    ):  # one number changed: the claim became weaker, up to rounding, or is true anyway
                        change = STRONGER[place[-1]] * (Fraction(new) - Fraction(old))
                        weaker = change <= Fraction(old) / 10**7
                        assert weaker or follows_by_recomputation(mutant, certificate), (name, place, new)
                    elif place[-1] == "log_moment" and place[1] in points:
                        assert Fraction(new) >= Fraction(old), (name, place, new)
            if place[-1] == "log_moment" and place[1] in points:
                count += 1
                smaller = str(Fraction(old) * (1 - Fraction(1, 10**9)))
                assert verdict(claim, replaced(certificate, place, smaller)) == 1, (name, place)
    lowered = str(Fraction(claim["epsilon"]) * (1 - Fraction(1, 10**5)))
    assert verdict({**claim, "epsilon": lowered}, certificate) == 1, name
    return count + 1, verified


def test_mutants_that_claim_more_or_show_less_are_refused() -> None:
    """No mutant that makes the claim stronger is verified, nor one with a smaller moment or of another shape."""
    counts = [mutate(name) for name in NAMES if name not in COSTLY + LONG]
    count, verified = (sum(column) for column in zip(*counts, strict=True))
    print(f"{count} mutants of {len(counts)} accepted certificates; {verified} still prove their claims")
    assert count >= 1000
    assert verified < count / 5


@pytest.mark.slow
@pytest.mark.parametrize("name", COSTLY)
def test_mutants_of_costly_certificates(name: str) -> None:
    """The same for the certificates that take longer."""
    assert mutate(name)[0] >= 100


def test_duplicate_keys_are_refused() -> None:
    """Repeating any field of an accepted certificate, with the same value, is malformed."""
    claim, certificate = texts("accepted", "closed_order_5")
    for name in ("version", "bits", "steps", "rule", "order", "total"):
        doubled = certificate.replace(f'"{name}":', f'"{name}": 1, "{name}":', 1)
        assert doubled != certificate
        with pytest.raises(ValueError, match="is not"):
            checker.check(checker.parse(claim, checker.CLAIM), checker.parse(doubled, checker.CERTIFICATE))
