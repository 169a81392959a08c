"""Sweeps: the same rows from any executor, after any number of kills, with every failure recorded."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from fractions import Fraction
from pathlib import Path

import pytest

from certified_dp import DPSGD, delta, epsilon, rdp
from certified_dp.errors import CertifiedDPError, InvalidParameterError
from certified_dp.paper.grid import Setting, expand, read_grid
from certified_dp.paper.output import as_csv, write_rows
from certified_dp.paper.rowlog import LogRefusedError, Row, RowLog
from certified_dp.paper.sweep import evaluate, sweep

GRID = """
sampling_probability = {start = "0.005", stop = "0.02", step = "0.005"}
noise_multiplier = [1, 2, "5/2", 4, 6]
steps = {start = 100, stop = 25600, factor = 2}
delta = ["1e-6", "1e-8"]
method = "single_pair_renyi"
orders = "integer"
"""
FEW = expand(
    {
        "dataset_size": 100,
        "batch_size": [10, 200],
        "noise_multiplier": [2, 3],
        "steps": 50,
        "delta": "1e-6",
        "method": "single_pair_renyi",
    }
)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "certified_dp", "sweep", *arguments]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the grid once from the command line; return its folder."""
    folder = tmp_path_factory.mktemp("undisturbed")
    (folder / "grid.toml").write_text(GRID)
    subprocess.run(command("grid.toml", "-o", "results.csv"), cwd=folder, check=True, timeout=120)
    return folder


def test_grid_is_multiplied_out_in_order(tmp_path: Path) -> None:
    """All combinations, the last key varying fastest, ranges exact and with their stop."""
    (tmp_path / "grid.toml").write_text(GRID)
    settings = read_grid(tmp_path / "grid.toml")
    assert len(settings) == 4 * 5 * 9 * 2
    assert [setting["steps"] for setting in settings[:18:2]] == [str(100 * 2**k) for k in range(9)]
    assert [Fraction(setting["sampling_probability"]) for setting in settings[::90]] == [
        Fraction(k, 200) for k in range(1, 5)
    ]


def test_several_grids_follow_each_other(tmp_path: Path) -> None:
    """[[grid]] tables are read one after the other."""
    table = '[[grid]]\nsampling_probability = 0.1\nnoise_multiplier = 2\nsteps = 3\nepsilon = ["0.5", 2]\n'
    (tmp_path / "grid.toml").write_text(table + table.replace("epsilon", "order").replace('"0.5"', "2.5"))
    assert [next(iter(set(s) & {"epsilon", "order"})) for s in read_grid(tmp_path / "grid.toml")] == [
        "epsilon",
        "epsilon",
        "order",
        "order",
    ]


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("noise_multiplier = [2, 'abc']", "noise_multiplier", "abc"),
        ("noise_multiplier = true", "noise_multiplier", "True"),
        ("sampling_probability = [0.1, 2]", "sampling_probability", "2"),
        ("steps = []", "steps", "[]"),
        ("steps = {start = 1, stop = 0, step = 1}", "steps", "'stop': 0"),
        ("steps = {start = 1, stop = 9, factor = 1}", "steps", "'factor': 1"),
        ("steps = {start = 1, stop = 9}", "steps", "'stop': 9"),
        ("steps = 2.5", "steps", "2.5"),
        ("delta = 1", "delta", "1"),
        ("method = 'magic'", "method", "magic"),
        ("orders = 'complex'", "orders", "complex"),
        ("digits = 99", "digits", "99"),
        ("sigma = 2", "sigma", "2"),
        ("epsilon = 2", "epsilon", "2"),
        ("batch_size = 2", "batch_size", "2"),
        ("steps = {start = 1, stop = 1e9, step = 1}", "steps", "1e9"),
    ],
)
def test_grid_refusals_name_key_and_value(tmp_path: Path, line: str, key: str, value: str) -> None:
    """A bad grid is refused with one line that names the key and the value."""
    good = {"sampling_probability": "0.1", "noise_multiplier": "2", "steps": "10", "delta": "1e-6"}
    good.pop(line.split(" ", 1)[0], None)
    (tmp_path / "grid.toml").write_text("\n".join([line, *(f"{k} = {v}" for k, v in good.items())]))
    with pytest.raises(InvalidParameterError) as refusal:
        read_grid(tmp_path / "grid.toml")
    assert refusal.value.name == key
    assert value in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_command_line_refusals(tmp_path: Path) -> None:
    """Exit status 2 and one line on standard error."""
    (tmp_path / "grid.toml").write_text(GRID.replace('"5/2"', '"x"'))
    for arguments, needle in [
        (["grid.toml", "-o", "r.csv"], "grid.toml: noise_multiplier = 'x': must be a number > 0"),
        (["grid.toml", "-o", "r.xls"], "--output = 'r.xls'"),
        (["grid.toml", "-o", "nowhere/r.csv"], "--output = 'nowhere/r.csv'"),
        (["none.toml", "-o", "r.csv"], "none.toml"),
        (["grid.toml", "-o", "r.csv", "--processes", "0"], "--processes = '0'"),
    ]:
        run = subprocess.run(command(*arguments), cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (run.returncode, run.stdout, run.stderr.count("\n")) == (2, "", 1)
        assert needle in run.stderr


def test_rows_are_the_librarys_answers() -> None:
    """Each kind of question, rounded outward; the error where there is one."""
    run = {"sampling_probability": "0.01", "noise_multiplier": "2", "steps": "100"}
    phase = DPSGD(**run)
    method = {"method": "single_pair_renyi"}
    for given, answer in [
        ({"delta": "1e-6"}, epsilon(phase, "1e-6", **method)),
        ({"epsilon": "1"}, delta(phase, 1, **method)),
        ({"order": "3.5"}, rdp(phase, "3.5", **method)),
    ]:
        row = evaluate({**run, **given, **method})
        assert row["upper"] == answer.upper_decimal
        assert Fraction(row["lower"]) <= answer.upper <= Fraction(row["upper"])
        assert row["error"] == ""


def test_the_floor_can_be_asked_for() -> None:
    """The method "floor" gives a lower bound and nothing else, for ε and δ; without steps it is 0."""
    run = {"sampling_probability": "0.1", "noise_multiplier": "3", "method": "floor"}
    row = evaluate({**run, "steps": "10", "delta": "1e-5"})
    phase = DPSGD(sampling_probability="0.1", noise_multiplier=3, steps=10)
    assert 0 < Fraction(row["floor"]) < epsilon(phase, "1e-5").upper
    assert (row["upper"], row["error"]) == ("", "")
    assert 0 < Fraction(evaluate({**run, "steps": "10", "epsilon": "1"})["floor"]) < 1
    assert evaluate({**run, "steps": "0", "delta": "1e-5"})["floor"] == "0"


def test_failures_are_recorded_and_the_rest_goes_on() -> None:
    """A batch larger than the data fails alone, with its reason."""
    with ThreadPoolExecutor(2) as executor:
        rows = sweep(FEW, executor=executor)
    assert [bool(row["error"]) for row in rows] == [False, False, True, True]
    assert (
        rows[2]["error"] == "InvalidParameterError: batch_size = '200': must be an integer from 1 to dataset_size = 100"
    )
    assert [row["upper"] for row in rows[2:]] == ["", ""]


def deadly(setting: Setting) -> Row:
    """Evaluate, but die at one noise multiplier."""
    if setting["noise_multiplier"] == "3":
        os.kill(os.getpid(), signal.SIGKILL)
    return evaluate(setting)


def test_a_setting_that_kills_its_process_is_recorded(tmp_path: Path) -> None:
    """The others are answered all the same, and a restart tries only the lost ones again."""
    rows = sweep(FEW, task=deadly, log=tmp_path / "log", processes=2)
    assert [row["error"].split(":")[0] for row in rows] == [
        "",
        "BrokenProcessPool",
        "InvalidParameterError",
        "BrokenProcessPool",
    ]
    with pytest.raises(LogRefusedError):
        RowLog(tmp_path / "log", "other work")
    lines = (tmp_path / "log").read_text().splitlines()
    assert sorted(json.loads(line)[0] for line in lines[1:]) == [0, 2]


class Counting(Executor):
    """Runs at once, counts, and breaks down after a while."""

    def __init__(self, most: int) -> None:
        """Break down after ``most`` settings."""
        self.count, self.most = 0, most

    def submit(self, fn, /, *args, **kwargs):  # type: ignore[no-untyped-def]
        """Compute now."""
        future: Future[Row] = Future()
        if self.count == self.most:
            future.set_exception(BrokenProcessPool("out of order"))
        else:
            self.count += 1
            future.set_result(fn(*args, **kwargs))
        return future


def test_nothing_lost_nothing_repeated(tmp_path: Path) -> None:
    """After a breakdown, a second start computes exactly what the first did not, and a third nothing."""
    settings = read_grid_text(tmp_path)[:20]
    first, second, third = Counting(7), Counting(100), Counting(0)
    with pytest.raises(CertifiedDPError, match="start again"):
        sweep(settings, log=tmp_path / "log", executor=first)
    seen: list[tuple[int, int]] = []
    rows = sweep(settings, log=tmp_path / "log", executor=second, progress=lambda *x: seen.append(x))
    assert (first.count, second.count) == (7, 13)
    assert (seen[0], seen[-1]) == ((7, 20), (20, 20))
    assert rows == sweep(settings, log=tmp_path / "log", executor=third)
    assert rows == [{**setting, **evaluate(setting)} for setting in settings]


def read_grid_text(folder: Path) -> list[Setting]:
    (folder / "grid.toml").write_text(GRID)
    return read_grid(folder / "grid.toml")


def test_any_cut_of_the_log_is_survived(tmp_path: Path) -> None:
    """Whatever byte the log ends at, reopening keeps every whole line and drops the rest."""
    path = tmp_path / "log"
    with RowLog(path, "w") as log:
        log.append([(0, {"upper": "1"}), (5, {"upper": "ε"})])
    whole = path.read_bytes()
    for length in range(len(whole) + 1):
        path.write_bytes(whole[:length])
        with RowLog(path, "w") as log:
            assert len(log.rows) == max(0, whole[:length].count(b"\n") - 1)
            log.append([(7, {})])
        with RowLog(path, "w") as log:
            assert 7 in log.rows


def test_logs_that_are_refused(tmp_path: Path) -> None:
    """Different work, damage before the end, a foreign file and a second writer are refused and left alone."""
    path = tmp_path / "log"
    with RowLog(path, "w") as log:
        log.append([(0, {"upper": "1"}), (1, {"upper": "2"})])
        with pytest.raises(LogRefusedError, match="another process"):
            RowLog(path, "w")
    with pytest.raises(LogRefusedError, match="different work"):
        RowLog(path, "v")
    for content, reason in [(path.read_bytes().replace(b"[0,", b"[0;"), "line 2"), (b"my notes", "different work")]:
        path.write_bytes(content)
        with pytest.raises(LogRefusedError, match=reason):
            RowLog(path, "w")
        assert path.read_bytes() == content


def test_killed_in_the_middle_and_restarted(undisturbed: Path, tmp_path: Path) -> None:
    """Kill -9 twice, a torn last line, a restart: the same file, every setting logged once, no process left over."""
    (tmp_path / "grid.toml").write_text(GRID)
    log = tmp_path / "results.csv.log"
    for finished in (20, 100):
        process = subprocess.Popen(command("grid.toml", "-o", "results.csv"), cwd=tmp_path)
        while not log.exists() or log.read_bytes().count(b"\n") <= finished:
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
        process.wait()
        assert not (tmp_path / "results.csv").exists()
        with log.open("ab") as file:
            file.write(b'[3, {"upp')
    before = [line for line in log.read_bytes().split(b"\n")[:-1] if not line.startswith(b'[3, {"upp[')]
    subprocess.run(command("grid.toml", "-o", "results.csv"), cwd=tmp_path, check=True, timeout=120)
    after = log.read_bytes().split(b"\n")[:-1]
    assert after[: len(before)] == before
    assert sorted(json.loads(line)[0] for line in after[1:]) == list(range(360))
    assert (tmp_path / "results.csv").read_bytes() == (undisturbed / "results.csv").read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["grid.toml", "results.csv", "results.csv.log"]


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="reads /proc")
def test_workers_end_with_their_parent(tmp_path: Path) -> None:
    """After kill -9 of the command, its worker processes are gone within seconds."""
    (tmp_path / "grid.toml").write_text(GRID)
    process = subprocess.Popen(command("grid.toml", "-o", "results.csv"), cwd=tmp_path)
    log = tmp_path / "results.csv.log"
    while not log.exists() or log.read_bytes().count(b"\n") < 5:
        time.sleep(0.01)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    process.kill()
    process.wait()
    assert len(children) >= 2
    deadline = time.monotonic() + 20
    while any(running(pid) for pid in children):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def running(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_dask_cluster_gives_the_same_bytes(undisturbed: Path, tmp_path: Path) -> None:
    """Two workers of a real Dask cluster, by its address: byte-identical results."""
    distributed = pytest.importorskip("distributed")
    (tmp_path / "grid.toml").write_text(GRID)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        arguments = ("grid.toml", "-o", "results.csv", "--dask", cluster.scheduler_address)
        subprocess.run(command(*arguments), cwd=tmp_path, check=True, timeout=120)
    assert (tmp_path / "results.csv").read_bytes() == (undisturbed / "results.csv").read_bytes()


def test_output_formats(undisturbed: Path, tmp_path: Path) -> None:
    """CSV and JSON hold the same rows, in the grid's order."""
    rows = list(csv.DictReader((undisturbed / "results.csv").read_text().splitlines()))
    assert [row["steps"] for row in rows] == [setting["steps"] for setting in read_grid_text(tmp_path)]
    assert as_csv(rows) == (undisturbed / "results.csv").read_text()
    write_rows(rows, tmp_path / "rows.json")
    assert json.loads((tmp_path / "rows.json").read_text()) == rows


@pytest.mark.slow
def test_two_thousand_settings_within_a_minute(tmp_path: Path) -> None:
    """2,000 settings by single_pair_renyi at real orders: under 60 s on two cores, and the same on Dask."""
    distributed = pytest.importorskip("distributed")
    grid = GRID.replace('"0.02", step = "0.005"', '"0.1", step = "0.005"').replace("25600", "51200")
    (tmp_path / "grid.toml").write_text(grid.replace('orders = "integer"', ""))
    start = time.monotonic()
    subprocess.run(command("grid.toml", "-o", "results.csv"), cwd=tmp_path, check=True)
    elapsed = time.monotonic() - start
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        arguments = ("grid.toml", "-o", "again.csv", "--dask", cluster.scheduler_address)
        subprocess.run(command(*arguments), cwd=tmp_path, check=True)
    assert (tmp_path / "results.csv").read_text().count("\n") == 2001
    assert (tmp_path / "results.csv").read_bytes() == (tmp_path / "again.csv").read_bytes()
    assert elapsed < 60
