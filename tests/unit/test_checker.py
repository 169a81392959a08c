"""The certificate checker: arithmetic against mpmath, the KL-hinge law, hostile input, the documentation's examples."""

import ast
import json
import random
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from mpmath import mp, mpf

from proofs_checks import checker
from proofs_checks.checker import Interval

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "proofs_checks" / "checker.py"
ACCEPTED = ROOT / "tests" / "certificates" / "accepted"


def real(x: Fraction) -> Any:
    """Convert a rational to mpmath."""
    return mpf(x.numerator) / x.denominator


def encloses(interval: Interval, value: Any) -> bool:
    """Compare exactly, at mpmath's precision."""
    return bool(mpf(interval.lo) <= value * mpf(2) ** Interval.bits <= mpf(interval.hi))


FUNCTIONS: dict[str, tuple[Callable[[Interval], Interval], Callable[[Any], Any]]] = {
    "exp": (Interval.exp, lambda x: mp.exp(x)),
    "log": (Interval.log, lambda x: mp.log(x)),
    "cos": (Interval.cos, lambda x: mp.cos(x)),
    "normal_cdf": (Interval.normal_cdf, lambda x: mp.erfc(-x / mp.sqrt(2)) / 2),
}


@pytest.mark.parametrize("bits", [64, 256, 900])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_enclosures_hold_and_are_tight(name: str, bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At random rationals each function encloses mpmath's value, computed with 60 digits more, and is tight."""
    monkeypatch.setattr(Interval, "bits", bits)
    monkeypatch.setattr(Interval, "work", 0)
    function, reference = FUNCTIONS[name]
    generator = random.Random(name + str(bits))
    low, high = {"exp": (-300, 300), "log": (1, 10**9), "cos": (0, 2), "normal_cdf": (-30, 30)}[name]
    with mp.workdps(int(bits * 0.302) + 200):
        for _ in range(120):
            x = low + Fraction(generator.randrange(10**12), 10**12) * (high - low) / generator.choice((1, 10, 1000))
            interval, exact = function(Interval.of(x)), reference(real(x))
            assert encloses(interval, exact), x
            assert interval.hi - interval.lo <= 10**4 * max(1, exact), x
            wider = Interval(
                Interval.of(x).lo - (name != "cos"), Interval.of(x).hi + generator.randrange(1 << bits // 2)
            )
            if name != "cos" or wider.hi <= 2 << bits:
                assert encloses(function(wider), exact), x
                assert encloses(function(wider), reference(mpf(wider.hi) / mpf(2) ** bits)), x


@pytest.mark.parametrize("x", [Fraction(3893924827815215, 2**50), Fraction(1381846513289487, 2**46)])
def test_exp_where_mpmath_intervals_are_wrong(x: Fraction) -> None:
    """Exp encloses the true value at the two inputs at which mpmath's own interval exp does not."""
    with mp.workdps(200):
        assert encloses(Interval.of(x).exp(), mp.exp(real(x)))


def test_constants_and_exact_arithmetic() -> None:
    """Encloses π; +, −, ×, ÷ of intervals around rationals enclose the exact results."""
    with mp.workdps(200):
        assert encloses(Interval.pi(), mp.pi)
    generator = random.Random(5)
    for _ in range(300):
        x, y = (Fraction(generator.randrange(-(10**9), 10**9), generator.randrange(1, 10**9)) for _ in range(2))
        a, b = Interval.of(x), Interval.of(y)
        pairs = [(a + b, x + y), (a - b, x - y), (a * b, x * y), (a.times(y), x * y)]
        pairs += [(a / b, x / y)] if y > 0 else []
        for interval, exact in pairs:
            assert Fraction(interval.lo, 1 << Interval.bits) <= exact <= Fraction(interval.hi, 1 << Interval.bits)


def test_undefined_operations_are_rejected() -> None:
    """A logarithm of 0, a division by 0 and an oversized exponential are refused, not approximated."""
    for attempt in (
        Interval(0, 5).log,
        Interval(-1, 5).log,
        lambda: Interval.of(1) / Interval(0, 1),
        Interval.of(10**6).exp,
        Interval.of(3).cos,
    ):
        with pytest.raises(checker.Rejected):
            attempt()


def grid(step: Fraction, first: int, count: int) -> dict[str, Any]:
    """Build a lattice of equal cells."""
    return {"grid_step": step, "first": first, "cells": [[1, count // 2], [2, count // 4]]}


def expected_hinge(p: Fraction, shift: Fraction, gamma: Any, scale: Any = 1) -> Any:
    """Compute E f_γ(scale·r) for one step, by quadrature with mpmath."""

    def integrand(z: Any) -> Any:
        t = scale * (1 - real(p) + real(p) * mp.exp(real(shift) * z - real(shift) ** 2 / 2))
        return (t * mp.log(t / gamma) - t + gamma) * mp.npdf(z) if t > gamma else mpf(0)

    if gamma / scale <= 1 - real(p):
        return mp.quad(integrand, [-12, -4, 0, 4, 16])
    kink = (mp.log((gamma / scale - 1 + real(p)) / real(p)) + real(shift) ** 2 / 2) / real(shift)
    return mp.quad(integrand, [kink, kink + 1, kink + 4, kink + 12])


def bound_of_hinge(law: checker.Law, theta: Fraction, gamma: Any) -> Any:
    """Read a bound for E f_γ off a law, with mpmath (step 4 of “Computing it with balls”)."""
    total = mpf(0)
    for i, mass in enumerate(law.masses, law.first):
        x = mp.exp(real(i * law.step))
        if x > gamma:
            total += mass * x ** -real(theta) * (x * mp.log(x / gamma) - x + gamma)
    dropped = law.lost * gamma ** (1 - real(theta)) / (mp.e * (real(theta) - 1))
    return (total + dropped) * mpf(10) ** law.unit


LAWS = [
    (Fraction(1, 10), Fraction(1, 2), Fraction(2), grid(Fraction(1, 100), -12, 400)),
    (Fraction(1, 2), Fraction(1), Fraction(3, 2), grid(Fraction(1, 20), -14, 400)),
    (Fraction(1), Fraction(1, 3), Fraction(3), grid(Fraction(1, 20), -60, 200)),
    (Fraction(1, 10), Fraction(1, 2), Fraction(2), grid(Fraction(1, 100), -3, 400)),  # lifts the lower part
]


@pytest.mark.parametrize(("p", "shift", "theta", "cells"), LAWS)
def test_one_step_law_is_above_every_kl_hinge(
    p: Fraction, shift: Fraction, theta: Fraction, cells: dict[str, Any]
) -> None:
    """The lattice law's E f_γ is at least the true one, for many γ, and near it when nothing is lifted."""
    law = checker.one_step(p, shift, theta, 30, cells)
    with mp.workdps(25):
        for gamma in (mpf("0.3"), mpf("0.95"), mpf(1), mpf("1.2"), mpf(2), mpf(4)):
            bound, exact = bound_of_hinge(law, theta, gamma), expected_hinge(p, shift, gamma)
            assert bound >= exact
            if exact > 1e-9 and cells["first"] != -3:
                assert bound <= exact * mpf("1.05") + mpf("1e-12")


def test_two_steps_are_above_the_true_composition() -> None:
    """The composed law's E f_γ is at least that of two independent steps, by nested quadrature."""
    p, shift, theta, cells = LAWS[1]
    law = checker.one_step(p, shift, theta, 30, cells)
    law = law.compose(law, 30, 10**9)
    with mp.workdps(15):
        for gamma in (mpf(1), mpf(3)):
            nodes = [mpf(k) / 2 for k in range(-16, 21)]  # the trapezoidal rule is exact to 1e-13 here
            exact = mp.fsum(
                mp.npdf(z) / 2 * expected_hinge(p, shift, gamma, (1 + mp.exp(z - mpf(1) / 2)) / 2) for z in nodes
            )
            assert exact * (1 - mpf("1e-9")) <= bound_of_hinge(law, theta, gamma) <= exact * mpf("1.02")


def test_products_of_laws_are_exact_up_to_rounding_up() -> None:
    """Masses are those of the polynomial product divided by a power of ten, rounded up; nothing gets lost."""
    generator = random.Random(3)
    for size in (1, 2, 7, 40):
        a, b = ([generator.randrange(10**20) for _ in range(size + extra)] for extra in (0, 3))
        product = checker.Law(Fraction(1), -5, a, 7, -20).compose(checker.Law(Fraction(1), 2, b, 0, -20), 20, 0)
        unit = 10 ** (product.unit + 40)
        exact = [sum(a[i] * b[k - i] for i in range(len(a)) if 0 <= k - i < len(b)) for k in range(len(a) + len(b) - 1)]
        assert product.masses == [-(-mass // unit) for mass in exact]
        assert product.first == -3
        assert product.lost == -(-7 * sum(b) // unit)
    thin = checker.Law(Fraction(1), 0, [1, 10**20, 1], 0, -20)
    product = thin.compose(thin, 20, 10**18)
    kept = sum(product.masses) + product.lost
    assert len(product.masses) == 1
    assert kept * 10 ** (product.unit + 40) >= (10**20 + 2) ** 2


def test_hinge_bound_of_gaussian_is_above_the_exact_curve() -> None:
    """At p = 1 the KL hinge cannot be below the Gaussian mechanism's exact ε, and lies within 5% of it."""
    claim = {"version": 1, "adjacency": "replace_one", "delta": "1e-5",
             "phases": [{"sampling_probability": "1", "noise_multiplier": "3", "steps": 4}]}  # fmt: skip
    step = {"rule": "kl_hinge", "tilt": "3", "hinge": "5.95", "digits": 30, "drop_digits": 10,
            "grids": [{"grid_step": "1/20", "first": -150, "cells": [[1, 310]]}]}  # fmt: skip

    def least(*steps: dict[str, Any]) -> Fraction:
        low, high = Fraction(0), Fraction(50)
        while high - low > Fraction(1, 1000):
            middle = (low + high) / 2
            try:
                checker.check(
                    checker.parse(json.dumps({**claim, "epsilon": str(middle)}), checker.CLAIM),
                    checker.parse(json.dumps({"version": 1, "bits": 192, "steps": steps}), checker.CERTIFICATE),
                )
                high = middle
            except checker.Rejected:
                low = middle
        return low

    exact, hinge = least({"rule": "gaussian_curve"}), least(step)
    assert exact <= hinge <= exact * Fraction(105, 100)


def test_curvature_is_above_difference_quotients() -> None:
    """The bound on |(log F)''| holds for second differences of log F, and κ₂ for those at any u."""
    claim = {"version": 1, "adjacency": "replace_one", "delta": "1e-5", "epsilon": "1",
             "phases": [{"sampling_probability": "1/5", "noise_multiplier": "2", "steps": 1}]}  # fmt: skip
    proof = checker.Proof(checker.parse(json.dumps(claim), checker.CLAIM))
    with mp.workdps(30):
        p, alpha = mpf(1) / 5, 3

        def log_f(u: Any) -> Any:
            beta = mp.sqrt(2 * u)
            weights = [
                mp.binomial(alpha, k) * (1 - p) ** (alpha - k) * p**k * mp.exp(mpf(k * (k - 1)) / 2) for k in range(4)
            ]
            nodes = [mpf(n) / 4 for n in range(-40, 48)]
            return mp.log(
                mp.fsum(
                    (1 - p + p * mp.exp(beta * v - u)) ** (1 - alpha)
                    * mp.fsum(w * mp.npdf(v - k * beta / 2) for k, w in enumerate(weights))
                    for v in nodes
                )
                / 4
            )

        for u in (mpf("0.1"), mpf("0.25"), mpf("0.49")):
            h = mpf("1e-4")
            second = abs(log_f(u + h) - 2 * log_f(u) + log_f(u - h)) / h**2
            for r in (Fraction(1, 2), Fraction(0)):
                assert second <= real(proof._kappa(0, Fraction(alpha), r))


def documentation_examples() -> list[tuple[str, str]]:
    """Read the pairs of JSON blocks (claim, certificate) from the documentation."""
    blocks = re.findall(r"```json\n(.*?)```", (SOURCE.parent / "CERTIFICATE.md").read_text(encoding="utf-8"), re.S)
    return list(zip(blocks[::2], blocks[1::2], strict=True))


def test_documentation_examples_are_verified() -> None:
    """The hand-written claims and certificates in the documentation are accepted, and refused with a smaller ε."""
    examples = documentation_examples()
    assert examples
    for claim, certificate in examples:
        parsed = checker.parse(claim, checker.CLAIM)
        checker.check(parsed, checker.parse(certificate, checker.CERTIFICATE))
        parsed["epsilon"] -= Fraction(1, 10**3)
        with pytest.raises(checker.Rejected):
            checker.check(parsed, checker.parse(certificate, checker.CERTIFICATE))


def test_documentation_has_every_rule_and_field() -> None:
    """Each rule and each of its fields is described."""
    text = (SOURCE.parent / "CERTIFICATE.md").read_text(encoding="utf-8")
    for name, rule in vars(checker.Proof).items():
        if not name.startswith("_"):
            assert f"`{name}`" in text
            for field in rule.__annotations__:
                assert field == "return" or f"`{field}`" in text, (name, field)


def test_checker_is_small_and_stands_alone() -> None:
    """At most 500 lines, only modules of the standard library, no assert, no eval."""
    text = SOURCE.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 500
    for node in ast.walk(ast.parse(text)):
        assert not isinstance(node, ast.Assert)
        if isinstance(node, ast.Import):
            assert all(alias.name in sys.stdlib_module_names for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0
            assert str(node.module).split(".")[0] in sys.stdlib_module_names
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in {"eval", "exec", "compile", "__import__"}


def run_alone(folder: Path, claim: str | bytes, certificate: str | bytes) -> int:
    """Run a copy of the checker with ``python -I -S`` under limits of 5 CPU seconds and 500 MB."""
    shutil.copy(SOURCE, folder / "alone.py")
    for name, content in (("claim", claim), ("cert", certificate)):
        (folder / f"{name}.json").write_bytes(content.encode() if isinstance(content, str) else content)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (5, 6))
        resource.setrlimit(resource.RLIMIT_AS, (500_000_000, 500_000_000))

    command = [sys.executable, "-I", "-S", "alone.py", "claim.json", "cert.json"]
    return subprocess.run(command, cwd=folder, preexec_fn=limit, capture_output=True, check=False).returncode


def hostile() -> dict[str, tuple[str | bytes, str | bytes]]:
    """Build input that tries to exhaust or confuse."""
    claim = (ACCEPTED / "closed_order_5.claim.json").read_text(encoding="utf-8")
    certificate = (ACCEPTED / "closed_order_5.cert.json").read_text(encoding="utf-8")
    quadrature = (ACCEPTED / "real_order.cert.json").read_text(encoding="utf-8")
    hinge_claim = (ACCEPTED / "kl_hinge_small.claim.json").read_text(encoding="utf-8")
    hinge = json.loads((ACCEPTED / "kl_hinge_small.cert.json").read_text(encoding="utf-8"))

    def with_hinge(**changes: Any) -> str:
        step = json.loads(json.dumps(hinge["steps"][0]))
        for name, value in changes.items():
            (step if name in step else step["grids"][0])[name] = value
        return json.dumps({**hinge, "steps": [step]})

    def quadrature_with(name: str, value: str) -> str:
        return re.sub(rf'"{name}": ("[^"]*"|-?\d+)', f'"{name}": {value}', quadrature)

    return {
        "sigma_1e-300": (claim.replace('"2"', '"1e-300"'), certificate),
        "steps_1e30": (claim.replace("8000", str(10**30)), certificate),
        "steps_1e24": (claim.replace("8000", str(10**24)), certificate),
        "order_1e9": (claim, certificate.replace('"5"', '"1000000000"')),
        "order_2048": (claim, certificate.replace('"5"', '"2048"')),
        "huge_exponent": (claim, certificate.replace('"5"', '"1e999999999999"')),
        "exponent_999": (claim, certificate.replace('"5"', '"1e999"')),
        "digits_4300": (claim, certificate.replace('"5"', '"' + "5" * 4300 + '"')),
        "digits_400_over_400": (claim, certificate.replace('"5"', '"' + "5" * 400 + "/" + "7" * 400 + '"')),
        "integer_of_a_million_digits": (claim.replace("8000", "8" * 1_000_000), certificate),
        "deep_nesting": (claim, "[" * 1_000_000),
        "deep_objects": (claim, '{"steps":' * 200_000),
        "deep_in_field": (claim, certificate.replace('"5"', "[" * 100_000 + "]" * 100_000)),
        "million_steps": (claim, '{"version": 1, "bits": 256, "steps": [' + "{}," * 600_000 + "{}]}"),
        "million_cells": (hinge_claim, with_hinge(cells=[[1, 1_000_000]])),
        "cells_1e24": (hinge_claim, with_hinge(cells=[[1, 10**24]])),
        "width_1e24": (hinge_claim, with_hinge(cells=[[10**24, 1]])),
        "many_runs": (hinge_claim, with_hinge(cells=[[1, 1]] * 200_000)),
        "first_1e24": (hinge_claim, with_hinge(first=-(10**24))),
        "first_far_right": (hinge_claim, with_hinge(first=10**24)),
        "tiny_lattice": (hinge_claim, with_hinge(grid_step="1e-300")),
        "lattice_0": (hinge_claim, with_hinge(grid_step="0")),
        "lattice_negative": (hinge_claim, with_hinge(grid_step="-1/10")),
        "wide_lattice": (hinge_claim, with_hinge(grid_step="1e300")),
        "digits_1e24": (hinge_claim, with_hinge(digits=10**24)),
        "drop_digits_1e24": (hinge_claim, with_hinge(drop_digits=10**24)),
        "tilt_1e300": (hinge_claim, with_hinge(tilt="1e300")),
        "tilt_almost_1": (hinge_claim, with_hinge(tilt="1." + "0" * 390 + "1")),
        "hinge_1e300": (hinge_claim, with_hinge(hinge="1e300")),
        "hinge_far_below": (hinge_claim, with_hinge(hinge="-1e300")),
        "bits_1e24": (claim, certificate.replace("256", str(10**24))),
        "bits_negative": (claim, certificate.replace("256", "-1")),
        "nodes_1e24": (claim, quadrature_with("last", str(10**24))),
        "step_0": (claim, quadrature_with("step", '"0"')),
        "step_tiny": (claim, quadrature_with("step", '"1e-300"')),
        "strip_huge": (claim, quadrature_with("strip", '"1e300"')),
        "strip_tiny": (claim, quadrature_with("strip", '"1e-300"')),
        "not_utf8": (b"\xff\xfe\x00", certificate),
        "byte_order_mark": ("\ufeff" + claim, certificate),
        "null_bytes": (b"\x00" * 1000, certificate),
        "three_megabytes": (claim + " " * 3_000_000, certificate),
        "surrogate": (claim.replace("replace_one", "\\ud800"), certificate),
    }


@pytest.mark.parametrize("name", hostile())
def test_hostile_input_ends_soon(name: str, tmp_path: Path) -> None:
    """Exit status 1 or 2, within 5 CPU seconds and 500 MB, from a lone copy without any third-party package."""
    assert run_alone(tmp_path, *hostile()[name]) in (1, 2)


@pytest.mark.parametrize("name", ["closed_order_5", "real_order", "theorem1_cells", "gaussian_curve", "kl_hinge_a"])
def test_lone_copy_verifies(name: str, tmp_path: Path) -> None:
    """A copy of the file alone verifies what it should, and rejects a smaller ε."""
    claim, certificate = ((ACCEPTED / f"{name}.{kind}.json").read_text(encoding="utf-8") for kind in ("claim", "cert"))
    assert run_alone(tmp_path, claim, certificate) == 0
    lower = {**json.loads(claim), "epsilon": str(Fraction(json.loads(claim)["epsilon"]) - Fraction(1, 10**4))}
    assert run_alone(tmp_path, json.dumps(lower), certificate) == 1


def test_usage_and_missing_files(capsys: pytest.CaptureFixture[str]) -> None:
    """Wrong arguments are malformed."""
    assert checker.main([]) == 2
    assert checker.main(["a"]) == 2
    assert checker.main(["/does/not/exist", "/does/not/exist"]) == 2
    assert capsys.readouterr().out.count("MALFORMED: ") == 3
