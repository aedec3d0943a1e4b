"""`uzushio assimilate` as users run it: on any ranks, stopped, killed, restarted, badly fed."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import zarr
from assimilation_twin import CASE, FIGURES, outcome, summary
from command_server import CommandServer
from conftest import Run, family, wait
from PIL import Image

from uzushio._base.store import checkpoint

Start = Callable[..., subprocess.Popen[str]]
#: Figures are drawn where they are tested; to draw them takes longer than this twin.
DRAWN = ("--set", "output.figures=[png, pdf, svg]")


@pytest.fixture
def twin(tmp_path: Path) -> Path:
    path = tmp_path / "case.yaml"
    path.write_text(CASE)
    return path


@pytest.fixture(scope="module")
def uninterrupted(
    command_server: CommandServer,
    job_environment: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """The uninterrupted run, on one rank."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "case.yaml").write_text(CASE)
    status, _, errors = command_server.start(
        ["assimilate", "case.yaml", *DRAWN], folder, job_environment
    ).wait(60)
    assert status == 0, errors
    return folder / "run"


def test_it_estimates_m_and_writes_all_results(uninterrupted: Path) -> None:
    summary = json.loads((uninterrupted / "summary.json").read_text())
    m = summary["results"]["parameters"]["m"]
    assert abs(m["estimate"] - 1.0) < 3.0 * m["sd"] < 0.2
    assert m["residual"] < 0.5 and m["first_guess"] == -0.5
    for name in FIGURES:
        with Image.open(uninterrupted / f"figures/{name}.png") as picture:
            assert picture.size[0] > 1000 and picture.info["Description"] == FIGURES[name]
        for kind, start in (("pdf", b"%PDF"), ("svg", b"<?xml")):
            assert (uninterrupted / f"figures/{name}.{kind}").read_bytes().startswith(start)
    assert summary["trajectory"]["window"] == 24 and summary["windows"] == [12, 24]
    estimate = zarr.open_group(uninterrupted / "estimate.zarr", mode="r")
    assert estimate.attrs["m"] == m["estimate"] and estimate.attrs["m_sd"] == m["sd"]
    fit = summary["results"]["fit"]
    rows = np.genfromtxt(uninterrupted / "fit.csv", delimiter=",", names=True)
    assert fit["verdict"] == "good" and list(rows["step"]) == list(range(1, 25))
    assert rows["values"].sum() == fit["values"] == 26 * 20 * 24
    assert rows["chi_square"].mean() == pytest.approx(2.0 * fit["J_o"] / fit["values"])
    assert summary["results"]["J"] == pytest.approx(fit["J_o"] + fit["J_b"], rel=1e-14)
    rms = np.asarray(estimate["residual_rms"][:])
    assert np.mean(rms**2) == pytest.approx(fit["chi_square"])
    assert all(Path(uninterrupted.parent / file).exists() for file in summary["files"])
    # The first of two candidates is usually accepted: its gradient needs no further forward run.
    history = np.genfromtxt(uninterrupted / "history.csv", delimiter=",", names=True)
    assert np.median(np.diff(history["forward"])) == 2


@pytest.mark.parametrize(
    ("ranks", "more"),
    [
        (2, ("--set", "blocking.oblt=2")),
        (4, ("--set", "blocking.scheme=plain", "--set", "blocking.fblt=1", "--set",
             "blocking.bblt=1", "--set", "trajectory.memory=8 kB")),
    ],
)  # fmt: skip
def test_ranks_groups_schemes_and_memory_change_nothing_but_the_time(
    uzushio: Run, twin: Path, uninterrupted: Path, tmp_path: Path, ranks: int, more: tuple[str, ...]
) -> None:
    done = uzushio("assimilate", twin, "--ranks", ranks, *more, timeout=240)
    assert done.returncode == 0, done.stderr
    assert outcome(tmp_path / "run") == outcome(uninterrupted)
    content = json.loads((tmp_path / "run/summary.json").read_text())
    if content["groups"] == 2:  # groups share one gradient for each backward sweep
        shared, runs = content["results"]["bytes_shared_between_groups"], content["results"]
        assert shared == runs["gradients"] * 8 * (26 * 20 + 1)
        assert runs["gradients"] < runs["backward_runs"] <= runs["forward_runs"]
    else:
        assert content["counts"]["forward_steps"] > 2 * content["counts"]["backward_steps"]


@pytest.mark.parametrize(("before", "after"), [(2, 1)])
def test_a_restart_gives_the_result_of_an_uninterrupted_run(
    uzushio: Run, twin: Path, uninterrupted: Path, tmp_path: Path, before: int, after: int
) -> None:
    first = uzushio(
        "assimilate",
        twin,
        "--ranks",
        before,
        "--set",
        "optimiser.iterations=7",
        "--set",
        "uncertainty.iterations=0",
    )
    assert first.returncode == 0, first.stderr
    # Overrides of the run apply to its restart too, except an end that it has reached.
    more = ("--set", "uncertainty.iterations=8")
    done = uzushio("assimilate", twin, "--ranks", after, "--restart", "run", *more)
    assert done.returncode == 0, done.stderr
    assert "Restarted from run/checkpoints/step-00000007 (iteration 7)." in done.stdout
    assert outcome(tmp_path / "run") == outcome(uninterrupted)


MEMBERS = "uncertainty={kind: ensemble, members: 5, iterations: 3}"


def members(run: Path) -> tuple[bytes, object]:
    """The table of members, and their scatter in the summary."""
    content = json.loads((run / "summary.json").read_text())
    return (run / "members.csv").read_bytes(), content["results"]["parameters"]["m"]["ensemble"]


#: Program `uzushio` that is killed when it has said that two members are done.
KILLED_AT_MEMBER_2 = """\
import os, runpy, signal
from uzushio._job.job import Job

def say(job, text, said=Job.say):
    said(job, text)
    if text.startswith("member 2 of"):
        os.kill(os.getpid(), signal.SIGKILL)

Job.say = say
runpy.run_module("uzushio", run_name="__main__")
"""


def test_members_are_the_same_on_any_ranks_and_groups_and_after_a_kill(
    start: Start, python: Path, uzushio: Run, twin: Path, tmp_path: Path
) -> None:
    few = ("--set", "optimiser.iterations=4", "--set", MEMBERS)
    results = []
    for ranks, groups in ((1, 1), (2, 1), (3, 3)):
        out = ("--out", f"{ranks}-{groups}", "--set", f"blocking.oblt={groups}")
        done = uzushio("assimilate", twin, "--ranks", ranks, *few, *out, timeout=240)
        assert done.returncode == 0, done.stderr
        assert "5 perturbed assimilations, known to within 35 %" in done.stdout
        results.append(members(tmp_path / f"{ranks}-{groups}"))
    assert all(result == results[0] for result in results)
    assert len(results[0][0].splitlines()) == 1 + 5

    job = start(python, "-c", KILLED_AT_MEMBER_2, "assimilate", twin, "--out", "killed", *few)
    assert wait(job, 60).returncode == -signal.SIGKILL
    left = {file: file.stat().st_mtime_ns for file in (tmp_path / "killed/members").iterdir()}
    assert len(left) == 2
    done = uzushio("assimilate", twin, "--restart", "killed", "--out", "killed", *few)
    assert done.returncode == 0, done.stderr
    assert members(tmp_path / "killed") == results[0]
    assert all(file.stat().st_mtime_ns == when for file, when in left.items())
    assert "member 1 of 5" not in done.stdout and "member 5 of 5" in done.stdout
    report = uzushio("report", "killed")
    assert report.returncode == 0
    assert (
        "the spread of 5 perturbed assimilations" in (tmp_path / "killed/report.html").read_text()
    )


def test_a_signal_in_the_ensemble_keeps_the_members_that_are_done(
    start_uzushio: Start, uzushio: Run, twin: Path, tmp_path: Path
) -> None:
    many = MEMBERS.replace("members: 5", "members: 5000")
    few = ("--set", "optimiser.iterations=3", "--set", many)
    job = start_uzushio("assimilate", twin, "--ranks", 2, *few)
    assert job.stdout is not None
    while "member 2 of 5000" not in (line := job.stdout.readline()):
        assert line, job.communicate()
    job.send_signal(signal.SIGTERM)
    done = wait(job, 60)
    assert done.returncode == 128 + signal.SIGTERM, done.stderr
    assert re.search(
        r"Stopped after iteration 3, with \d+ of 5000 members, as requested", done.stdout
    )
    assert done.stderr == "" and len(list((tmp_path / "run/members").iterdir())) >= 2


def test_a_killed_run_continues_from_the_last_checkpoint(
    start: Start, uzushio: Run, twin: Path, uninterrupted: Path, tmp_path: Path
) -> None:
    every = ("--set", "checkpoint.every=1")
    job = start(sys.executable, "-m", "uzushio", "assimilate", twin, *every)
    assert job.stdout is not None
    while "step-00000003" not in (line := job.stdout.readline()):
        assert line, job.communicate()
    for pid in family(job.pid):
        os.kill(pid, signal.SIGKILL)
    job.communicate()
    time.sleep(0.2)
    newest = checkpoint.newest(tmp_path / "run")
    assert newest is not None and (checkpoint.step_of(newest) or 0) >= 3
    # Arrays that do not change between iterations are written once.
    shared = [file for file in newest.glob("state/*/c.*") if file.stat().st_nlink > 1]
    assert {file.parent.name for file in shared} >= {"step1", "change1"}
    # Its last checkpoint is read during the run; results of the end are missing.
    looked = uzushio("figures", "run", "--ranks", 2)
    assert (looked.returncode, looked.stderr) == (0, "")
    step = checkpoint.step_of(newest)
    assert f"Ended: not yet, after iteration {step} of at most 16" in looked.stdout
    content = summary(tmp_path / "run")
    m = content["results"]["parameters"]["m"]
    assert (content["step"], content["seconds"], m["sd"]) == (step, None, None)
    assert "uzushio assimilate --restart run finds it" in m["note"]
    assert len((tmp_path / "run/history.csv").read_text().splitlines()) > 3
    assert {f"run/figures/{name}.{kind}" for name in FIGURES for kind in ("png", "pdf", "svg")} <= {
        *content["files"]
    }
    report = uzushio("report", "run")
    assert report.returncode == 0
    page = (tmp_path / "run/report.html").read_text()
    assert all(f"<figcaption>{words}" in page for words in FIGURES.values())
    done = uzushio("assimilate", twin, "--restart", "run")
    assert done.returncode == 0, done.stderr
    assert outcome(tmp_path / "run") == outcome(uninterrupted)


def block_results(run: Path, what: str) -> None:
    """Put something where a result is to be, so that it cannot be written."""
    if what == "the figures":
        (run / "figures/progress.png").mkdir(parents=True)
    else:
        shutil.rmtree(run / "estimate.zarr")
        (run / "estimate.zarr").write_text("in the way")


def unblock_results(run: Path) -> None:
    """Take it away again."""
    if (run / "estimate.zarr").is_file():
        (run / "estimate.zarr").unlink()
    if (run / "figures/progress.png").is_dir():
        (run / "figures/progress.png").rmdir()


@pytest.mark.parametrize(("what", "ranks"), [("the figures", 2), ("the estimate", 1)])
def test_each_result_is_written_if_another_one_fails(
    uzushio: Run, twin: Path, tmp_path: Path, what: str, ranks: int
) -> None:
    run, few = tmp_path / "run", ("--set", MEMBERS.replace("5", "2"))
    formats = ["png", "svg"] if what == "the figures" else ["svg"]
    begun = ("--set", "optimiser.iterations=1", "--set", "uncertainty.iterations=0")
    assert uzushio("assimilate", twin, *begun).returncode == 0
    block_results(run, what)
    drawn = ("--set", f"output.figures=[{', '.join(formats)}]")
    last = ("--set", "optimiser.iterations=5", *few, *drawn)
    done = uzushio("assimilate", "--restart", "run", "--ranks", ranks, *last)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert f"uzushio: error: {what} could not be written, see above." in done.stderr
    assert (
        "The assimilation is complete, its last checkpoint is run/checkpoints/step-00000005. With "
        f"the cause mended, {what} can be written with: uzushio figures run" in done.stderr
    )
    assert "Drawing figures; Ctrl-C leaves them out." in done.stdout
    results = ["estimate.zarr/phi", "history.csv", "members.csv", "figures/progress.svg"]
    there = [name for name in results if (run / name).exists()]
    assert there == (results[:3] if what == "the figures" else results[1:])
    before = summary(run)
    m = before["results"]["parameters"]["m"]
    assert before["step"] == 5 and m["ensemble"]["members"] == 2 and m["products"] > 0
    unblock_results(run)
    for name in ("members.csv", "history.csv"):
        (run / name).unlink()
    again = uzushio("figures", "run/checkpoints/step-00000005")
    assert (again.returncode, again.stderr) == (0, "")
    after = summary(run)
    assert after | {"files": None} == before | {"files": None}
    files = {"run/estimate.zarr", *(f"run/{name}" for name in results[1:])}
    assert files <= set(after["files"])
    names = {f"{name}.{kind}" for name in FIGURES for kind in formats}
    assert {path.name for path in (run / "figures").iterdir()} == names
    stored = zarr.open_group(run / "estimate.zarr", mode="r")
    assert (stored.attrs["m"], stored.attrs["m_sd"]) == (m["estimate"], m["sd"])
    assert stored.attrs["m_sd_ensemble"] == m["ensemble"]["sd"]


def test_a_signal_ends_the_drawing(start_uzushio: Start, twin: Path, tmp_path: Path) -> None:
    job = start_uzushio("assimilate", twin, "--ranks", 2, *DRAWN)
    assert job.stdout is not None
    while "Drawing figures" not in (line := job.stdout.readline()):
        assert line, job.communicate()
    job.send_signal(signal.SIGINT)
    done = wait(job, 30)
    assert (done.returncode, done.stderr) == (128 + signal.SIGINT, "")
    assert (
        "Stopped while figures were drawn, as requested; draw them with: uzushio figures run"
        in done.stdout
    )
    drawn = {f"run/figures/{path.name}" for path in (tmp_path / "run/figures").iterdir()}
    assert len(drawn) < 6 and drawn < set(summary(tmp_path / "run")["files"])


def test_modules_for_results_are_imported_before_the_first_step(
    start: Start, twin: Path, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['matplotlib'] = None\n")
    words = (sys.executable, "-m", "uzushio", "assimilate", twin, *DRAWN)
    job = start("env", f"PYTHONPATH={tmp_path}", *words)
    done = wait(job, 60)
    assert done.returncode == 1
    assert "error: the module uzushio.assimilation.figures, which the results" in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_signal_finishes_the_iteration_and_writes_a_checkpoint(
    start_uzushio: Start, uzushio: Run, twin: Path, tmp_path: Path, ranks: int
) -> None:
    more = ("--set", "optimiser={iterations: 100000, method: gradient}", "--set", "grid.nx=96")
    slow = ("--set", "output.monitor_every=0.01", "--set", "checkpoint={every: null, share: 0}")
    words = ("assimilate", twin, "--ranks", ranks, *more, *slow, *DRAWN)
    job = start_uzushio(*words)
    assert job.stdout is not None
    while "iteration" not in (line := job.stdout.readline()):
        assert line, job.communicate()
    job.send_signal(signal.SIGINT)
    done = wait(job, 30)
    assert done.returncode == 128 + signal.SIGINT, done.stderr
    newest = checkpoint.newest(tmp_path / "run")
    assert newest is not None
    step = checkpoint.step_of(newest)
    again = f"continue with: uzushio assimilate --ranks {ranks} --restart run\n"
    assert f"Stopped after iteration {step}, as requested; {again}" in done.stdout
    assert done.stderr == "" and not (tmp_path / "run/summary.json").exists()
    # That command has the case of the run; new overrides come last.
    last = ("--set", f"optimiser.iterations={step or 0}")
    done = uzushio("assimilate", "--ranks", ranks, "--restart", "run", *last, "--no-figures")
    assert done.returncode == 0, done.stderr
    content = json.loads((tmp_path / "run/summary.json").read_text())
    assert content["iterations"] == step
    assert not (tmp_path / "run/figures").exists()


def test_a_full_disk_is_one_sentence_and_keeps_the_last_checkpoint(
    uzushio: Run, twin: Path, tmp_path: Path
) -> None:
    wide = ("--set", "grid={nx: 80, ny: 40}", "--set", "observations.keep=false")
    more = (*wide, "--set", "uncertainty.iterations=0")
    few = ("--set", "optimiser.iterations=2")
    assert uzushio("assimilate", twin, *more, *few).returncode == 0
    limit = 20_000  # bytes of a file: less than a vector has
    done = uzushio("assimilate", twin, "--restart", "run", *more, largest_file=limit)
    assert done.returncode == 1
    assert "File too large; raise the limit" in done.stderr
    assert "The checkpoints before it are kept." in done.stderr and "Trace" not in done.stderr
    assert checkpoint.newest(tmp_path / "run") == tmp_path / "run/checkpoints/step-00000002"
    again = uzushio("assimilate", twin, "--restart", "run", *more)
    assert again.returncode == 0, again.stderr


def test_a_restart_of_another_problem_is_refused(
    uzushio: Run, twin: Path, uninterrupted: Path
) -> None:
    done = uzushio(
        "assimilate", twin, "--restart", uninterrupted, "--set", "observations.sigma=0.2"
    )
    assert done.returncode == 1
    assert "is of another problem: observations.sigma changed" in done.stderr


def test_observations_of_a_twin_can_be_read(
    uzushio: Run, twin: Path, uninterrupted: Path, tmp_path: Path
) -> None:
    shutil.copytree(uninterrupted / "observations.zarr", tmp_path / "seen.zarr")
    done = uzushio(
        "assimilate", twin, "--ranks", 2, "--set", "observations.store=seen.zarr",
        "--set", "truth=null",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    results, same = outcome(tmp_path / "run"), outcome(uninterrupted)
    assert results[:2] == same[:2]
    assert not (tmp_path / "run/observations.zarr").exists()
    values = zarr.open_array(tmp_path / "seen.zarr/values", mode="r+")
    values[-1, 0, 0] = 1.5  # between the run and its restart
    again = uzushio("assimilate", "--restart", "run")
    assert again.returncode == 1
    assert "is of another problem: J is" in again.stderr


def test_masked_values_in_one_rank_s_part_alone_are_counted(
    uzushio: Run, twin: Path, uninterrupted: Path, tmp_path: Path
) -> None:
    """The other rank's part is observed completely; both take weights of the same form."""
    shutil.copytree(uninterrupted / "observations.zarr", tmp_path / "seen.zarr")
    values = zarr.open_array(tmp_path / "seen.zarr/values", mode="r+")
    values[:, :4, :10] = np.nan
    outcomes = []
    for ranks in (1, 2):
        done = uzushio(
            "assimilate", twin, "--ranks", ranks, "--set", "observations.store=seen.zarr",
            "--set", "truth=null", "--out", f"run{ranks}",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "11520 values at 24 times; 960 of 12480 are masked" in done.stdout
        outcomes.append(outcome(tmp_path / f"run{ranks}"))
    assert outcomes[0] == outcomes[1]
    content = summary(tmp_path / "run2")
    assert content["observations"] == {"times": 24, "values": 11520, "masked": 960, "rejected": 0}
    for name in ("messages", "bytes", "points"):
        counter = content["counters"][name]
        assert 0 < counter["min"] <= counter["mean"] <= counter["max"]
        assert counter["mean"] == (counter["min"] + counter["max"]) / 2


def test_bad_observations_are_one_message_on_all_ranks(
    uzushio: Run, twin: Path, uninterrupted: Path, tmp_path: Path
) -> None:
    shutil.copytree(uninterrupted / "observations.zarr", tmp_path / "seen.zarr")
    times = zarr.open_array(tmp_path / "seen.zarr/time", mode="r+")
    times[-1] = 7.0
    more = ("--set", "observations.store=seen.zarr")
    done = uzushio("assimilate", twin, "--ranks", 2, *more)
    assert done.returncode == 1
    assert done.stderr.strip().splitlines() == [
        "uzushio: error: observations.store: seen.zarr: 1 of 24 times lie outside the run, the "
        "first at 7; it goes from 0 to 2.4 (24 steps of 0.1)."
    ]
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("ranks", "more", "sentence"),
    [
        (
            3,
            "blocking.oblt=2",
            "blocking.oblt: 2 groups do not divide 3 ranks evenly; use one of 1, 3",
        ),
        (1, "trajectory.memory=100", "trajectory.memory: a rank needs"),
        (3, "blocking.fblt=25", "scheme 'pa1' is 8."),
        (1, "blocking.threads=100000", "must be less than or equal to 1024"),
        (1, "blocking.x_tile=1000000", "error: blocking: x_tile x y_tile is 1000000 x 0"),
        (1, "optimiser.candidates=100000", "must be less than or equal to 1024"),
        (1, "observations.sigma=1e-300", "got 1e-300, must be from 1e-100 to 1e+100"),
        (1, "controls.m.sigma=1e300", "got 1e+300, must be from 1e-100 to 1e+100"),
        (1, "phase.epsilon=1e300", "got 1e+300, must be from 1e-100 to 1e+100"),
    ],
)
def test_a_mismatch_is_one_message(
    uzushio: Run, twin: Path, ranks: int, more: str, sentence: str
) -> None:
    on = ("--ranks", ranks) if ranks > 1 else ()
    done = uzushio("assimilate", twin, *on, "--set", more)
    assert done.returncode == 1
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


def test_needs_beyond_the_memory_are_refused_before_allocation(
    uzushio: Run, twin: Path, tmp_path: Path
) -> None:
    huge = ("--set", "grid={nx: 1000000, ny: 1000000}")
    for ranks in (1, 2):
        done = uzushio("assimilate", twin, "--ranks", ranks, *huge)
        assert done.returncode == 1
        (line,) = done.stderr.strip().splitlines()
        assert re.search(r"needs [\d.]+ [TP]B of memory on .* are free", line)
    assert not (tmp_path / "run").exists()
    done = uzushio("check", twin, *huge)
    assert done.returncode == 0 and "does not have the memory for it" in done.stdout


def test_check_prints_the_number_of_stored_states(uzushio: Run, twin: Path) -> None:
    more = ("--set", "trajectory.memory=20 kB", "--set", "blocking.oblt=2")
    done = uzushio("check", twin, "--ranks", 4, *more)
    assert done.returncode == 0, done.stderr
    assert "2 groups of 2 ranks try candidates at the same time" in done.stdout
    assert "snapshots and a window of" in done.stdout
    assert uzushio("run", twin).stderr.count("give it to uzushio assimilate") == 1


@pytest.mark.alone
def test_check_prints_the_time_of_an_iteration(uzushio: Run, twin: Path) -> None:
    changes = ("grid={nx: 320, ny: 256}", "optimiser.iterations=30", "optimiser.first_window=null")
    changes += ("uncertainty.iterations=1", "checkpoint.every=1000")
    more = [word for change in changes for word in ("--set", change)]
    ratios = []
    for _ in range(3):  # other work on the machine may slow down one of the two measurements
        output = uzushio("check", twin, *more).stdout
        each = re.search(r"time: ([\d.]+) (ms|s) an iteration over all 24 steps", output)
        assert (
            each and "for all 30 iterations" in output and "1 Hessian-vector product" in output
        ), output
        done = uzushio("assimilate", twin, *more, "--overwrite")
        assert done.returncode == 0, done.stderr
        result = summary(twin.parent / "run")
        took = result["seconds_in"]["search"] / result["iterations"]
        ratios.append(took / (float(each[1]) * {"s": 1.0, "ms": 1e-3}[each[2]]))
        if 1 / 3 < ratios[-1] < 3:
            return
    pytest.fail(f"measured over predicted: {ratios}")
