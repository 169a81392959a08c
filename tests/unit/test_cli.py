"""The command line as a user meets it: real output, JSON, one-line refusals, exit statuses, lazy imports."""

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from certified_dp import DPSGD, epsilon
from certified_dp.cli import main

RUN = ["--sampling-probability", "0.01", "--noise-multiplier", "2", "--steps", "8000"]
SINGLE = ["--method", "single_pair_renyi"]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run the command line in this process; return exit status, standard output and standard error."""

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["certified-dp", *arguments])
        with pytest.raises(SystemExit) as stop:
            main()
        out, err = capsys.readouterr()
        return int(stop.value.code or 0), out, err

    return call


def test_epsilon_shows_inputs_order_and_bound(command: Any) -> None:
    """The print names the exact inputs, the method, its order, and rounds the bound up."""
    status, out, err = command("epsilon", *RUN, "--delta", "1e-6", *SINGLE, "--orders", "integer")
    assert (status, err) == (0, "")
    assert "sampling probability 1/100, noise multiplier 2, 8000 steps; δ = 1/1000000; replace adjacency" in out
    assert "single_pair_renyi  6.57772       5" in out
    assert out.endswith("ε ≤ 6.57772 (single_pair_renyi)\n")


def test_json_is_the_librarys_number(command: Any) -> None:
    """JSON numbers are decimal strings, the bound is the library's, rounded up."""
    status, out, _ = command("epsilon", *RUN, "--delta", "1e-6", *SINGLE, "--json")
    answer = json.loads(out)
    result = epsilon(
        DPSGD(sampling_probability="0.01", noise_multiplier=2, steps=8000), "1e-6", method="single_pair_renyi"
    )
    assert status == 0
    assert answer["upper"] == result.upper_decimal
    assert Fraction(answer["upper"]) >= result.upper
    assert answer["inputs"]["noise_multiplier"] == "2"
    assert answer["inputs"]["phases"] == [{"sampling_probability": "1/100", "noise_multiplier": "2", "steps": 8000}]
    assert answer["delta"] == "1/1000000"
    assert answer["adjacency"] == "replace_one"
    assert answer["bounds"]["single_pair_renyi"]["upper"] == result.upper_decimal


def test_delta_rdp_and_sizes(command: Any) -> None:
    """Sizes are the same as their ratio; delta and rdp answer likewise."""
    sizes = ["--dataset-size", "60000", "--batch-size", "600", "--noise-multiplier", "2", "--steps", "8000"]
    assert command("delta", *sizes, "--epsilon", "7", *SINGLE) == command("delta", *RUN, "--epsilon", "7", *SINGLE)
    assert "ρ ≤ 3.74934 (α = 5" in command("rdp", *RUN, "--order", "5")[1]
    assert json.loads(command("rdp", *RUN, "--order", "5", "--json")[1])["order"] == "5"


def test_calibrate_both_ways(command: Any) -> None:
    """What calibrate prints meets the target when given to epsilon."""
    at = ["--delta", "1e-6", "--sampling-probability", "0.01"]
    noise = json.loads(command("calibrate", "--target-epsilon", "3", *at, "--steps", "800", *SINGLE, "--json")[1])
    sigma = noise["noise_multiplier"]
    back = command("epsilon", *at, "--noise-multiplier", sigma, "--steps", "800", *SINGLE, "--json")[1]
    assert Fraction(json.loads(back)["upper"]) <= 3
    most = json.loads(
        command("calibrate", "--target-epsilon", "3", *at, "--noise-multiplier", sigma, *SINGLE, "--json")[1]
    )
    assert int(most["steps"]) >= 800
    assert "noise_multiplier " in command("calibrate", "--target-epsilon", "3", *at, "--steps", "800", *SINGLE)[1]


def test_run_file_of_two_phases(command: Any, tmp_path: Path) -> None:
    """Phases of a TOML file compose, with floats read as they are written."""
    path = tmp_path / "run.toml"
    path.write_text(
        "[[phase]]\nsampling_probability = 0.01\nnoise_multiplier = 2\nsteps = 4000\n"
        '[[phase]]\ndataset_size = 100\nbatch_size = 1\nnoise_multiplier = "2"\nsteps = 4000\n'
    )
    want = command("epsilon", *RUN, "--delta", "1e-6", *SINGLE)
    assert command("epsilon", "--run", str(path), "--delta", "1e-6", *SINGLE) == want


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("phase = 3", "[[phase]] tables"),
        ("x = ", "a TOML file"),
        ("[[phase]]\nsteps = 3\nsampling_probability = 0.5", "--noise-multiplier: must be given"),
        ("[[phase]]\nsigma = 3", "--sigma = 3"),
        ("[[phase]]\nsteps = true\nnoise_multiplier = 1\nsampling_probability = 0.5", "--steps = True"),
        ("[[phase]]\nsteps = 1\nnoise_multiplier = nan\nsampling_probability = 0.5", "--noise-multiplier = 'nan'"),
    ],
)
def test_bad_run_files(command: Any, tmp_path: Path, content: str, says: str) -> None:
    """A run file that is not understood is refused with one line."""
    path = tmp_path / "run.toml"
    path.write_text(content)
    status, out, err = command("epsilon", "--run", str(path), "--delta", "1e-6")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert says in err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["epsilon", *RUN], "Missing option '--delta'"),
        (["epsilon", *RUN, "--delta", "2"], "--delta = '2': must be a probability strictly between 0 and 1"),
        (["epsilon", *RUN, "--delta", "nan"], "--delta = 'nan'"),
        (["epsilon", *RUN, "--delta", "0.1", "--method", "x"], "--method = 'x': must be one of best"),
        (["epsilon", *RUN, "--delta", "0.1", "--digits", "0"], "--digits = '0'"),
        (["epsilon", *RUN, "--delta", "0.1", "--orders", "some"], "--orders = 'some'"),
        (["epsilon", *RUN, "--delta", "0.1", "--max-order", "1"], "--max-order = '1'"),
        (["epsilon", *RUN, "--delta", "0.1", "--conversion", "x"], "--conversion = 'x'"),
        (["epsilon", *RUN, "--delta", "0.1", "--run", "/none"], "--sampling-probability = '0.01'"),
        (["epsilon", "--run", "/none", "--delta", "0.1"], "--run = '/none': must be a readable file"),
        (["epsilon", "--steps", "3", "--delta", "0.1"], "--noise-multiplier: must be given"),
        (["rdp", *RUN, "--order", "1"], "--order = '1'"),
        (["rdp", *RUN, "--order", "2.5", "--method", "theorem1"], "must be an integer for theorem1"),
        (["calibrate", "--target-epsilon", "3", "--delta", "0.1", "--sampling-probability", "0.1"], "--steps"),
        (["conjure"], "No such command 'conjure'"),
    ],
)
def test_refusals_are_one_line_and_status_2(command: Any, arguments: list[str], says: str) -> None:
    """Bad input: nothing on standard output, one line that names the option on standard error, status 2."""
    status, out, err = command(*arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert says in err


@pytest.mark.parametrize("name", ["epsilon", "delta", "rdp", "calibrate"])
def test_help_has_an_example(command: Any, name: str) -> None:
    """Every command's help ends with an example."""
    status, out, _ = command(name, "--help")
    assert status == 0
    assert f"Example: certified-dp {name}" in " ".join(out.split())


def test_import_is_light() -> None:
    """Importing the package loads none of the heavy or interactive libraries."""
    script = (
        "import sys, certified_dp; "
        "heavy = {'matplotlib', 'sympy', 'rich', 'click', 'mpmath', 'hypothesis', 'numpy'} & set(sys.modules); "
        "sys.exit(str(heavy) if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
