"""Figures: their points are the library's certified numbers, and every drawing works in every format."""

import csv
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from certified_dp import DPSGD, epsilon, rdp
from certified_dp.asymptotics import limit_delta
from certified_dp.errors import InvalidParameterError
from certified_dp.paper.figure_data import ALL, DATA, PAPER, time_setting
from certified_dp.paper.figures import draw, figure
from certified_dp.paper.grid import Setting
from certified_dp.paper.rowlog import Row


def invented(settings: list[Setting], task: Callable[[Setting], Row]) -> list[Row]:
    """Answer every setting at once with made-up numbers, and one with an error."""
    rows = []
    for number, setting in enumerate(settings):
        scale = 1 + (*ALL, "floor").index(setting["method"]) / 10
        upper = repr(scale / 200 if "epsilon" in setting else scale * int(setting["steps"]) ** 0.5 / 40)
        answer = {"upper": upper, "floor": repr(0.9 * float(upper)), "error": ""}
        answer |= {"median": "0.2", "p10": "0.1", "p90": "0.4"}
        if number == 3:
            answer = {**dict.fromkeys(answer, ""), "floor": "1", "error": "ResourceLimitError: too large"}
        rows.append({**setting, **answer})
    return rows


@pytest.mark.parametrize("number", DATA)
def test_every_figure_is_drawn_in_every_format(number: int, tmp_path: Path) -> None:
    """PNG, SVG and PDF come out whole, the same for the same rows, and nothing else is left in the folder."""
    rows = DATA[number](invented)
    for suffix, magic in ((".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")):
        path = tmp_path / f"figure{suffix}"
        draw(number, rows, path)
        first = path.read_bytes()
        assert first.startswith(magic)
        if suffix == ".svg":
            draw(number, rows, path)
            assert path.read_bytes() == first
    assert {path.name for path in tmp_path.iterdir()} == {"figure.png", "figure.svg", "figure.pdf"}


def test_axes_are_the_papers() -> None:
    """Figures 2 and 3 show the four accountants at the paper's parameters and numbers of steps."""
    settings: list[Setting] = []

    def collect(asked: list[Setting], task: Callable[[Setting], Row]) -> list[Row]:
        settings.extend(asked)
        return invented(asked, task)

    DATA[2](collect)
    DATA[3](collect)
    panels = {
        (p, sigma): [s["steps"] for s in settings if (s["sampling_probability"], s["noise_multiplier"]) == (p, sigma)]
        for p, sigma in (("0.01", "2"), ("0.01", "6"), ("0.0025", "4"), ("0.04", "4"))
    }
    assert [len(steps) for steps in panels.values()] == [8 * 4, 9 * 4, 9 * 4, 7 * 4]
    assert {s["method"] for s in settings} == set(PAPER)
    assert {s["delta"] for s in settings} == {"1e-6"}
    assert all(s["max_order"] == "256" for s in settings if s["method"] != "lossless")


def test_points_are_certified_numbers(tmp_path: Path) -> None:
    """Figure 5's points are at least the library's bounds, and what is returned is what is saved."""
    rows = figure(5, tmp_path / "figure5.svg")
    assert rows == list(csv.DictReader((tmp_path / "figure5.csv").read_text().splitlines()))
    ours = [row for row in rows if row["series"] == "theorem1"]
    assert [row["order"] for row in ours] == [str(order) for order in range(2, 16)] * 2
    for row in ours[::5]:
        step = DPSGD(sampling_probability=row["sampling_probability"], noise_multiplier=3, steps=1)
        bound = rdp(step, row["order"], method="theorem1").upper
        assert bound <= Fraction(row["upper"]) <= bound * Fraction(100001, 100000)


def test_limits_of_figure_4() -> None:
    """T·p² is 1/2 to twelve digits, never above, and the limits are those of the paper's Lemma 3 and Proposition 4."""
    rows = DATA[4](invented)
    finite = [row for row in rows if row["steps"]]
    assert len(finite) == 2 * 3 * 5
    for row in finite:
        product = Fraction(row["sampling_probability"]) ** 2 * int(row["steps"])
        assert Fraction(1, 2) - Fraction(1, 10**9) <= product <= Fraction(1, 2)
    for row in rows[len(finite) :]:
        bound = limit_delta(row["method"], Fraction(1, 2), Fraction(2), Fraction(row["epsilon"]))
        assert bound.upper <= Fraction(row["upper"])
    assert [row["method"] for row in rows[len(finite) :: 3]] == ["proposition4", "lossless"]


def test_figure_1_is_an_isosceles() -> None:
    """|a| = |a − b| = Δ, as Theorem 1 says."""
    a, b = ((float(row["x"]), float(row["y"])) for row in DATA[1](invented)[1::2])
    assert a == (4.5, 0.0)
    assert abs((a[0] - b[0]) ** 2 + b[1] ** 2 - 4.5**2) < 1e-9


def test_run_times_are_of_the_real_question() -> None:
    """Twenty repeats of the question: percentiles in order; an error is passed on."""
    setting = {"sampling_probability": "0.01", "noise_multiplier": "2", "steps": "1000", "delta": "1e-8"}
    row = time_setting({**setting, "method": "single_pair_renyi"})
    assert 0 < float(row["p10"]) <= float(row["median"]) <= float(row["p90"])
    assert time_setting({**setting, "method": "none"})["error"].startswith("InvalidParameterError")


def test_figure_7_points(tmp_path: Path) -> None:
    """A few points of the bracket, computed for real: floor ≤ every accountant, upper bounds as the library's."""
    chosen: list[Setting] = []

    def some(settings: list[Setting], task: Callable[[Setting], Row]) -> list[Row]:
        chosen.extend(s for s in settings if s["steps"] == "1000" and s["method"] in ("theorem1", "kl_hinge", "floor"))
        return [{**setting, **task(setting)} for setting in chosen]

    rows = {row["method"]: row for row in DATA[7](some)}
    assert len(chosen) == 3
    run = DPSGD(sampling_probability="0.01", noise_multiplier=2, steps=1000)
    assert Fraction(rows["kl_hinge"]["upper"]) >= epsilon(run, "1e-6", method="kl_hinge").upper
    assert Fraction(rows["floor"]["floor"]) < Fraction(rows["kl_hinge"]["upper"]) < Fraction(rows["theorem1"]["upper"])


def test_command_line(tmp_path: Path) -> None:
    """The command draws, saves the data beside the picture and leaves no log; refusals are one line, status 2."""
    command = [sys.executable, "-m", "certified_dp", "figure"]
    run = subprocess.run([*command, "1"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert run.stdout == "figure1.png, figure1.csv\n"
    assert {path.name for path in tmp_path.iterdir()} == {"figure1.png", "figure1.csv"}
    refusals = [(["9"], "number = '9'"), (["2", "-o", "x.gif"], "x.gif"), (["2", "-o", "no/x.png"], "no/x.png")]
    for arguments, needle in refusals:
        run = subprocess.run([*command, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (run.returncode, run.stdout, run.stderr.count("\n")) == (2, "", 1)
        assert needle in run.stderr
    with pytest.raises(InvalidParameterError):
        figure(0, tmp_path / "x.png")


def test_missing_matplotlib_is_one_line(tmp_path: Path) -> None:
    """Without the extra, the refusal names it before anything is computed."""
    program = "import sys; sys.modules['matplotlib'] = None; from certified_dp.cli import main; main()"
    run = subprocess.run(
        [sys.executable, "-c", program, "figure", "2"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == "certified-dp: figures need the extra plots: pip install 'certified-dp[plots]'\n"


def test_lazy_imports() -> None:
    """Neither the package nor the start of the command line loads matplotlib, rich, sweeps or multiprocessing."""
    program = (
        "import sys, certified_dp.cli; "
        "print([m for m in sys.modules if m.split('.')[0] in ('matplotlib', 'rich', 'multiprocessing', 'numpy')"
        " or m.startswith('certified_dp.paper')])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
