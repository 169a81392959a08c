"""What the test vectors ask: a systematic grid, the paper's grid, settings of practice, and every public bug class."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

#: Every flag of a case, explained. From "sensitivity" on they are bug classes seen in public reports.
FLAGS = {
    "grid": "a point of the systematic grid",
    "paper": "a setting of the paper's tables",
    "practice": "a setting of machine-learning practice",
    "sensitivity": "the sensitivity under replacement is twice the clip norm; accountants have halved or doubled it",
    "poisson": "batches have a fixed size; accounting them as Poisson samples reports another mechanism's privacy",
    "physical_batch": "the rate is that of the logical batch; gradient accumulation tempts to use the physical one",
    "order_grid": "the best Rényi order lies at the edge of, or outside, the usual grids of orders",
    "numerics": "small noise or a large order, where doubles overflow or cancel",
    "tiny_delta": "δ so small that an accountant that drops probability mass jumps or reports too little",
    "negative_epsilon": "ε is 0 here; Rényi conversion gives a negative number before it is clamped",
    "domain": "input outside the domain: δ ≥ 1, NaN, no steps, no noise; to be refused",
    "calibration": "a calibrated noise multiplier; rounding it to nearest misses the target",
    "composition": "the answer must not depend on how the steps are split and ordered",
    "tiny_probability": "p so small that log(1 + x), written without log1p, is 0",
}

#: A rational number as the vectors spell it.
Text = str


@dataclass(frozen=True)
class Request:
    """One case before it is answered: parameters as exact text, flags from `FLAGS`."""

    parameters: dict[str, object]
    flags: tuple[str, ...]
    comment: str = ""


@dataclass(frozen=True)
class Group:
    """A file of vectors: cases that ask one question."""

    name: str
    question: str
    source: str
    requests: Callable[[], Sequence[Request]] = field(repr=False)


def _numeric_flags(probability: Text, noise: Text, order: Text = "2") -> tuple[str, ...]:
    flags = ["grid"]
    if Fraction(noise) <= Fraction(1, 2) or Fraction(order) >= 512:
        flags.append("numerics")
    if Fraction(probability) <= Fraction(1, 10**9):
        flags.append("tiny_probability")
    return tuple(flags)


def _power(exponent: int) -> Text:
    return f"1/{10**exponent}"


def _renyi() -> list[Request]:
    probabilities = (_power(12), _power(9), _power(6), _power(4), "1/100", "1/10", "1/2", "9/10", "1")
    noises = ("3/10", "1/2", "1", "2", "5", "20", "100", "300")
    orders = ("1001/1000", "3/2", "9/4", "2", "3", "8", "32", "101/2", "128", "512", "1024")
    return [
        Request({"sampling_probability": p, "noise_multiplier": s, "order": a}, _numeric_flags(p, s, a))
        for p, s, a in product(probabilities, noises, orders)
    ]


def _theorem1() -> list[Request]:
    grid = product(
        (_power(6), _power(3), "1/100", "1/10", "1/2"), ("1/2", "1", "2", "5", "20"), ("2", "5", "16", "64", "256")
    )
    paper = product(("1/400", "1/100", "1/25"), ("2", "4", "6"), ("3", "6", "12"))
    large = product(("1/100", "1/10"), ("5", "20"), ("1024",))
    return [
        Request({"sampling_probability": p, "noise_multiplier": s, "order": a}, (*_numeric_flags(p, s, a), *more))
        for points, more in ((grid, ()), (paper, ("paper",)), (large, ()))
        for p, s, a in points
    ]


def _run(p: Text, noise: Text, steps: int, **given: Text) -> dict[str, object]:
    return {"sampling_probability": p, "noise_multiplier": noise, "steps": steps, **given}


def _hockey_stick() -> list[Request]:
    probabilities = (_power(12), _power(6), _power(3), "1/100", "1/10", "1/2", "1")
    points = product(probabilities, ("3/10", "1", "2", "5", "20", "300"), ("0", "1/100", "1", "5", "20"))
    return [Request(_run(p, s, 1, epsilon=e), _numeric_flags(p, s)) for p, s, e in points]


def _epsilon_one_step() -> list[Request]:
    probabilities = (_power(6), _power(3), "1/100", "1/10", "1/2", "9/10")
    deltas = (_power(3), _power(5), _power(9), _power(15), _power(100), _power(300))
    return [
        Request(_run(p, s, 1, delta=d), (*_numeric_flags(p, s), *_delta_flags(d)))
        for p, s, d in product(probabilities, ("3/10", "1", "3", "10", "100"), deltas)
    ]


def _delta_flags(delta: Text) -> tuple[str, ...]:
    return ("tiny_delta",) if Fraction(delta) <= Fraction(1, 10**12) else ()


def _epsilon_gaussian() -> list[Request]:
    points = product(
        ("1/2", "1", "3", "10", "100", "300"),
        (1, 50, 10**4, 10**9),
        (_power(3), _power(5), _power(10), _power(15), _power(50), _power(300)),
    )
    cases = [
        Request(_run("1", s, t, delta=d), ("grid", "sensitivity", *_delta_flags(d)), "full batch: exact")
        for s, t, d in points
    ]
    reported = Request(
        _run("1", "28284271247461903/10000000000000000", 5, delta=_power(5)),
        ("sensitivity",),
        "public report; 3.341409 is the add/remove value",
    )
    return [*cases, reported]


def _epsilon_practice() -> list[Request]:
    settings = (
        ("256/60000", "11/10", 14063, _power(7), "MNIST, 60 epochs; published settings"),
        ("600/60000", "2", 8000, _power(6), "MNIST, batch 600"),
        ("600/60000", "4", 1000, _power(5), "MNIST, batch 600"),
        ("1024/50000", "77/50", 1464, _power(5), "CIFAR-10, 30 epochs; public report"),
        ("512/50000", "1", 2000, _power(5), "CIFAR-10, batch 512"),
        ("4096/50000", "3", 1200, _power(5), "CIFAR-10, batch 4096"),
        ("16384/50000", "10", 250, _power(5), "CIFAR-10, very large batch"),
        ("250/15000", "13/10", 900, _power(5), "public report: order grid questions"),
        ("32/500", "3", 200, _power(3), "500 records"),
        ("50/500", "5", 100, _power(4), "500 records"),
        ("1000/100000", "3/2", 500, _power(6), "100,000 records"),
        ("4096/1000000", "4/5", 1000, _power(7), "a million records"),
        ("65536/1200000", "5/2", 2000, _power(7), "ImageNet, batch 65536"),
        ("1024/1000000", "1/2", 100, _power(8), "little noise"),
        ("1000000/1000000000", "1", 100, _power(10), "a billion records"),
        ("128/1000", "300", 10**5, _power(5), "much noise"),
        ("1/10", "20", 128, _power(9), "public report: calibration to a tiny target"),
        ("1/2", "30", 1000, _power(6), "half the records each step"),
        ("9/10", "20", 500, _power(6), "nearly full batches"),
    )
    return [Request(_run(p, s, t, delta=d), ("practice",), text) for p, s, t, d, text in settings]


def _epsilon_paper() -> list[Request]:
    points = (
        *product(("1/400",), ("1", "2", "4"), (250, 8000, 64000), (_power(6),)),
        *product(("1/100",), ("2", "4"), (1000, 8000, 32000), (_power(6),)),
        *product(("1/25",), ("4", "6"), (1000,), (_power(5), _power(8))),
    )
    return [Request(_run(p, s, t, delta=d), ("paper",)) for p, s, t, d in points]


def _epsilon_grid() -> list[Request]:
    points = product(("1/1000", "1/100", "1/10", "1/2"), ("1", "2", "5", "20"), (10, 100, 1000), (_power(5), _power(9)))
    return [Request(_run(p, s, t, delta=d), ("grid",)) for p, s, t, d in points]


def _epsilon_bug_classes() -> list[Request]:
    def cases() -> Iterator[Request]:
        for p, s, t, d in (
            ("1024/50000", "77/50", 1464, _power(5)),
            ("256/60000", "11/10", 14063, _power(7)),
            ("1/100", "2", 100, _power(5)),
            ("1/10", "5", 200, _power(6)),
            ("1/2", "10", 50, _power(5)),
        ):
            text = "halved sensitivity or Poisson sampling falls below the floor"
            yield Request(_run(p, s, t, delta=d), ("sensitivity", "poisson"), text)
        for physical, accumulation in ((8, 8), (16, 4), (32, 16)):
            logical = physical * accumulation
            text = f"physical batch {physical} of 800, accumulated {accumulation} times: the logical batch is {logical}"
            yield Request(_run(f"{logical}/800", "2", 100, delta=_power(5)), ("physical_batch",), text)
        yield Request(_run("8/100", "1", 100, delta=_power(5)), ("physical_batch",), "logical batch; physical: 1/100")
        yield Request(_run("1/100", "1", 100, delta=_power(5)), ("physical_batch",), "the physical batch alone")
        for p, s, t, d, text in (
            ("1/5", "1", 500, _power(5), "best order 1.22; public report: grid failure"),
            ("1/8", "4/5", 1000, _power(6), "best order 1.15; public report: grid failure"),
            ("1/1000", "30", 10, _power(20), "best order in the thousands"),
            ("1/100", "100", 100, _power(10), "best order in the thousands"),
            ("1/10", "100", 10, _power(12), "best order in the hundreds"),
        ):
            yield Request(_run(p, s, t, delta=d), ("order_grid", *_delta_flags(d)), text)
        for p, s, t in (("1/100", "3/10", 10), ("1/1000", "2/5", 100), ("1/10", "1/2", 20)):
            yield Request(_run(p, s, t, delta=_power(5)), ("numerics",), "little noise")
        for exponent in (9, 12, 15, 18, 30, 100):
            yield Request(_run("1/100", "2", 100, delta=_power(exponent)), ("tiny_delta",))
        for p, s, t, d in (
            ("1/100", "10", 1, "1/2"),
            ("1/1000", "20", 10, "1/10"),
            ("1/100", "5", 2, "1/100"),
            (_power(6), "1", 1000, "1/100"),
        ):
            yield Request(_run(p, s, t, delta=d), ("negative_epsilon",), "δ exceeds δ(0), so ε = 0")

    return list(cases())


def _delta_composed() -> list[Request]:
    points = (
        *product(("1/100",), ("2",), (100, 8000), ("1/2", "2", "6")),
        *product(("1/10",), ("5",), (50, 500), ("1/2", "2", "6")),
    )
    return [Request(_run(p, s, t, epsilon=e), ("grid",)) for p, s, t, e in points]


def _composition() -> list[Request]:
    def phases(*parts: tuple[Text, Text, int]) -> list[dict[str, object]]:
        return [_run(p, s, t) for p, s, t in parts]

    whole = (("1/100", "2", 100), ("1/10", "5", 60), ("1", "20", 30))
    splits: list[tuple[list[dict[str, object]], str]] = []
    for p, s, t in whole:
        splits += [
            (phases((p, s, t)), "in one piece"),
            (phases((p, s, t // 2), (p, s, t // 2)), "the same in two halves"),
            (phases((p, s, 1), (p, s, t - 1)), "the same, split after one step"),
            (phases(*[(p, s, t // 10)] * 10), "the same in ten pieces"),
        ]
    mixed = (("1/100", "2", 60), ("1/100", "4", 200), ("1/20", "4", 50))
    splits += [
        (phases(*mixed), "three unlike phases"),
        (phases(*mixed[::-1]), "the same in another order"),
        (phases(*mixed, ("1", "10", 1)), "with a full-batch step"),
        (phases(("1/100", "1", 1), ("1/2", "20", 1)), "two unlike steps"),
    ]
    return [
        Request({"phases": parts, "delta": d}, ("composition",), text)
        for parts, text in splits
        for d in (_power(5), _power(9))
    ]


def _noise_multiplier() -> list[Request]:
    full = product(("1",), (1, 50, 10**4), (_power(5), _power(10)), ("1/10", "1", "3", "8"))
    one = product(("1/100", "1/10", "1/2"), (1,), (_power(6),), ("1/10", "1", "3", "8"))
    several = (("1/100", 100, _power(5), "1"), ("1/10", 128, _power(9), "3/5"))
    return [
        Request({"sampling_probability": p, "steps": t, "delta": d, "epsilon": e}, ("calibration", "sensitivity"), text)
        for points, text in ((full, "full batch: exact"), (one, "one step: exact"), (several, ""))
        for p, t, d, e in points
    ]


def _lossless() -> list[Request]:
    points = (
        ("1/100", "2", 8000, _power(6)),
        ("1/400", "4", 8000, _power(6)),
        ("1/25", "6", 1000, _power(8)),
        ("1/400", "2", 250, _power(6)),
        ("1/400", "1", 250, _power(6)),
        ("1/100", "1", 100, _power(5)),
        ("1/10", "5", 100, _power(5)),
        ("1/2", "10", 50, _power(5)),
        ("1/100", "2", 100, _power(12)),
        ("256/60000", "11/10", 14063, _power(7)),
    )
    return [Request(_run(p, s, t, delta=d), ("paper" if i < 5 else "grid",)) for i, (p, s, t, d) in enumerate(points)]


def _limits() -> list[Request]:
    points = product(
        ("lossless_mu_squared", "theorem1_lambda", "single_pair_lambda"), ("1/2", "1", "2", "6"), ("1/100", "1")
    )
    return [Request({"quantity": q, "noise_multiplier": s, "nu": nu}, ("grid",)) for q, s, nu in points]


def _refuse() -> list[Request]:
    good: dict[str, object] = {
        "sampling_probability": "1/100",
        "noise_multiplier": "2",
        "steps": "100",
        "delta": "1/100000",
    }
    bad = {
        "sampling_probability": ("-1/100", "101/100", "2", "nan", "inf", "-inf"),
        "noise_multiplier": ("0", "-1", "nan", "-inf"),
        "steps": ("-1", "-100", "nan", "inf", "1/2", "21/2"),
        "delta": ("0", "-1/100000", "1", "11/10", "2", "nan", "inf", "-inf"),
    }
    cases: list[Request] = []
    for name, values in bad.items():
        for value in values:
            for p in ("1/100", "1/2", "1"):
                parameters = {**good, "sampling_probability": p, name: value}
                if parameters not in [case.parameters for case in cases]:
                    cases.append(Request(parameters, ("domain",), f"{name} = {value}"))
    for p, t in (("0", "100"), ("1/100", "0"), ("1", "0"), ("0", "0")):
        text = "nothing is released: refuse, or answer 0"
        cases.append(Request({**good, "sampling_probability": p, "steps": t}, ("domain",), text))
    return cases


GROUPS = (
    Group("renyi", "renyi", "domination theorem, Corollary 1: the exact supremum over replace-adjacent data", _renyi),
    Group("renyi_theorem1", "renyi_theorem1", "the paper's Theorem 1: max of J(u) over u in [0, 1/2]", _theorem1),
    Group("hockey_stick", "delta", "Proposition 1 at one step: the exact hockey-stick divergence", _hockey_stick),
    Group("epsilon_one_step", "epsilon", "Proposition 1 at one step, solved for ε: exact", _epsilon_one_step),
    Group("epsilon_gaussian", "epsilon", "Balle and Wang 2018, Theorem 8: exact", _epsilon_gaussian),
    Group("epsilon_practice", "epsilon", "[floor, best]", _epsilon_practice),
    Group("epsilon_grid", "epsilon", "[floor, best]", _epsilon_grid),
    Group("epsilon_paper", "epsilon", "[floor, best]", _epsilon_paper),
    Group("epsilon_bug_classes", "epsilon", "[floor, best]", _epsilon_bug_classes),
    Group("delta", "delta", "[floor, best]", _delta_composed),
    Group("composition", "composition", "[floor, best]", _composition),
    Group("noise_multiplier", "noise_multiplier", "ε(σ) falls: the least σ that meets the target", _noise_multiplier),
    Group("lossless", "lossless_epsilon", "Proposition 1, composed: the lossless accountant", _lossless),
    Group("limits", "limit", "Lemma 3, Proposition 4 and the single pair's limit, Tp² → ν", _limits),
    Group("refuse", "epsilon", "the domain of the questions", _refuse),
)
