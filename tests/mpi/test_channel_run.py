"""`uzushio run` with the channel: results, restarts, messages of errors."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import zarr
from command_server import CommandServer
from conftest import SUPPORT, Run

CASE = """\
solver: channel
title: a small channel
grid: {nx: 16, ny: 16, nz: 18, lx: pi, ly: pi/2}
flow: {reynolds_tau: 100}
time: {steps: 12, cfl: 0.4}
statistics: {start: 0.0, every: 3, spectra_at: [0.1, 1.0]}
checkpoint: {every: 5, keep: 2}
output: {folder: run, figures: false}
"""


@pytest.fixture
def channel(tmp_path: Path) -> Path:
    path = tmp_path / "channel.yaml"
    path.write_text(CASE)
    return path


def state(run: Path, step: int) -> dict[str, np.ndarray]:
    root = zarr.open_group(run / f"checkpoints/step-{step:08d}", mode="r")
    arrays = {f"state/{name}": np.asarray(root[f"state/{name}"]) for name in "uvwp"}
    names = ("uu", "ww", "batch_means")
    statistics = {f"statistics/{name}": np.asarray(root[f"statistics/{name}"]) for name in names}
    return arrays | statistics


def test_a_run_writes_pictures_statistics_and_a_summary_and_names_them(
    uzushio: Run, channel: Path, tmp_path: Path
) -> None:
    drawn = ("--set", "output.figures=[png]")
    done = uzushio("run", channel, "--ranks", 2, *drawn, timeout=120)
    assert done.returncode == 0, done.stderr
    for name in ("cross_section", "near_wall", "mean_profile", "rms", "budget", "spectra"):
        picture = tmp_path / f"run/figures/{name}.png"
        assert picture.read_bytes().startswith(b"\x89PNG"), name
        assert picture.name in done.stdout
    with xr.open_zarr(tmp_path / "run/statistics.zarr") as statistics:
        assert statistics.attrs["samples"] == 4
        assert statistics.u.shape == (18,)
        assert statistics.spectrum_x.dims == ("height", "component", "kx")
        # Spectra are the variance, mode by mode: their sums over kx and over ky agree.
        np.testing.assert_allclose(
            statistics.spectrum_x.sum("kx").values,
            statistics.spectrum_y.sum("ky").values,
            rtol=1e-12,
        )
    summary = json.loads((tmp_path / "run/summary.json").read_text())
    assert "bulk_velocity" in json.dumps(summary)


ON_FOUR = ("--ranks", "4", "--set", "decomposition={py: 2, pz: 2}")


@pytest.fixture(scope="module")
def uninterrupted(
    command_server: CommandServer,
    job_environment: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """Uninterrupted runs with all their checkpoints: `one` on one rank, `four` on 2 x 2."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "channel.yaml").write_text(CASE)
    words = ["run", "channel.yaml", "--set", "checkpoint.keep=3", "--out"]
    for more in (["one"], ["four", *ON_FOUR]):
        status, _, errors = command_server.start([*words, *more], folder, job_environment).wait(120)
        assert status == 0, errors
    return folder


@pytest.mark.parametrize(("before", "more"), [("one", ()), ("four", ON_FOUR)])
def test_a_restart_on_the_same_ranks_repeats_the_run_bit_for_bit(
    uzushio: Run,
    channel: Path,
    uninterrupted: Path,
    tmp_path: Path,
    before: str,
    more: tuple[str, ...],
) -> None:
    at = uninterrupted / before / "checkpoints/step-00000005"
    done = uzushio("run", channel, *more, "--restart", at, timeout=120)
    assert done.returncode == 0, done.stderr
    uninterrupted, restarted = state(uninterrupted / before, 12), state(tmp_path / "run", 12)
    for name, values in uninterrupted.items():
        assert values.tobytes() == restarted[name].tobytes(), name


def test_a_restart_on_other_ranks_gives_the_same_fields(
    uzushio: Run, channel: Path, uninterrupted: Path, tmp_path: Path
) -> None:
    at = uninterrupted / "four/checkpoints/step-00000005"
    done = uzushio("run", channel, "--ranks", 3, "--restart", at, timeout=120)
    assert done.returncode == 0, done.stderr
    on_one, restarted = state(uninterrupted / "one", 12), state(tmp_path / "run", 12)
    for name, values in on_one.items():
        scale = abs(values).max()
        np.testing.assert_allclose(
            restarted[name], values, rtol=0, atol=1e-11 * scale, err_msg=name
        )


def test_a_restart_on_another_grid_needs_interpolate_and_is_the_same_on_any_ranks(
    uzushio: Run, channel: Path, uninterrupted: Path, tmp_path: Path
) -> None:
    at = uninterrupted / "four/checkpoints/step-00000005"
    finer = ("--set", "grid={nx: 24, ny: 20, nz: 26, lx: pi, ly: pi/2}", "--set", "time.steps=6")
    finer = (*finer, "--restart", at)
    refused = uzushio("run", channel, *finer, "--out", "refused", timeout=120)
    assert refused.returncode == 1
    assert "--interpolate" in refused.stderr
    for ranks in (1, 4):
        more = ("--ranks", ranks, "--interpolate", "--out", f"on-{ranks}")
        done = uzushio("run", channel, *finer, *more, timeout=120)
        assert done.returncode == 0, done.stderr
        assert "Averages of the earlier run are discarded" in done.stdout + done.stderr
    on_one, other = state(tmp_path / "on-1", 6), state(tmp_path / "on-4", 6)
    for name in ("state/u", "state/v", "state/w", "state/p"):
        scale = abs(on_one[name]).max()
        np.testing.assert_allclose(
            other[name], on_one[name], rtol=0, atol=1e-11 * scale, err_msg=name
        )
    with_averages = json.loads((tmp_path / "on-4/summary.json").read_text())
    assert with_averages["results"]["divergence"] < 1e-11


def test_a_diverging_flow_reports_time_place_and_cause_and_keeps_the_last_checkpoint(
    uzushio: Run, channel: Path, uninterrupted: Path, tmp_path: Path
) -> None:
    at = "checkpoints/step-00000005"
    shutil.copytree(uninterrupted / "one" / at, tmp_path / "run" / at)
    done = uzushio(
        "run", channel, "--ranks", 2, "--restart", "run",
        "--set", "time={steps: 4000, cfl: null, dt: 0.05}", "--set", "checkpoint.every=100000",
        timeout=120,
    )  # fmt: skip
    assert done.returncode not in (0, 124)
    message = re.sub(r"\s+", " ", done.stderr)
    assert re.search(r"in step \d+, at time", message), done.stderr
    assert re.search(r"x = [\d.]+, y = [\d.]+, z = [\d.]+ \(cell \d+, \d+, \d+\)", message)
    assert "time step is too long" in message
    assert "step-00000005" in message  # the good checkpoint, by name
    assert message.count("Likely cause") == 1  # one message, not one a rank
    kept = sorted(path.name for path in (tmp_path / "run/checkpoints").iterdir())
    assert kept == ["step-00000005"]
    assert np.isfinite(state(tmp_path / "run", 5)["state/u"]).all()


@pytest.mark.parametrize(
    ("override", "ranks", "complaint"),
    [
        ("decomposition={py: 2, pz: 2}", 2, "does not have the 2 ranks"),
        ("grid={nx: 4, ny: 8, nz: 2, lx: 1, ly: 1}", 3, "3 ranks do not fit the grid"),
        ("grid.nx=17", 1, "grid.nx: got 17, must be a multiple of 2"),
        ("grid.nz=-4", 1, "grid.nz: got -4"),
        ("grid={nx: 8, ny: 8, nz: 3, lx: 1, ly: 1, faces: [0, 1, 1, 2]}", 1, "cell 1 between"),
        ("time.cfl=2", 1, "must be at most 0.55"),
        ("grid.nxx=8", 1, "did you mean 'nx'"),
        ("numerics.scheme=pipeline", 1, "pipelined"),
    ],
)
def test_bad_input_gets_one_message_and_a_failing_exit(
    uzushio: Run, channel: Path, override: str, ranks: int, complaint: str
) -> None:
    more = ("--ranks", ranks) if ranks > 1 else ()
    done = uzushio("run", channel, *more, "--set", override, timeout=120)
    assert done.returncode == 1
    message = re.sub(r"\s+", " ", done.stderr)
    assert complaint in message, done.stderr
    assert message.count(complaint) == 1
    assert "Traceback" not in message


def test_a_checkpoint_of_another_grid_is_refused(
    uzushio: Run, channel: Path, uninterrupted: Path
) -> None:
    done = uzushio(
        "run", channel, "--restart", uninterrupted / "one", "--set", "grid.nz=20", timeout=120
    )
    assert done.returncode != 0
    assert "another grid" in done.stderr


def test_check_predicts_the_memory_of_the_run(uzushio: Run, channel: Path, tmp_path: Path) -> None:
    given = ("--ranks", 2, "--set", "numerics.scheme=pipelined")
    given += ("--set", "decomposition={py: 1, pz: 2}")
    done = uzushio("check", channel, *given)
    assert done.returncode == 0, done.stderr
    assert "memory per rank" in done.stdout
    assert "pipeline z" in done.stdout
    assert "predicted time of a step" in done.stdout
    estimated = float(re.search(r"memory per rank: ([\d.]+) kB", done.stdout)[1])  # type: ignore[index]
    assert uzushio("run", channel, *given, "--set", "time.steps=2").returncode == 0
    text = (tmp_path / "run/summary.json").read_text()
    held = int(re.search(r'"bytes_per_rank": (\d+)', text)[1])  # type: ignore[index]
    assert estimated == pytest.approx(held / 1000, rel=0.01)


MEASURE = """\
import re, resource, sys
sys.path.insert(0, {support!r})
from pathlib import Path
from channel_cases import core, faces, make
import numpy as np

def status(key):
    return int(re.search(key + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024

make((16, 16, 16), viscosity=0.01).step(0.4, 1.0)  # MPI and FFTW take their own memory
before = status("VmRSS")
solver = make((96, 96, 96), viscosity=0.01, drive=1.0)
solver.step(0.4, 0.01)
first = status("VmHWM")
for _ in range(4):
    solver.step(0.4, 0.01)
print(first - before, status("VmHWM") - first, solver.bytes)
"""


def test_the_memory_is_as_estimated_and_does_not_grow(mpi_run: Run, tmp_path: Path) -> None:
    script = tmp_path / "measure.py"
    script.write_text(MEASURE.format(support=str(SUPPORT)))
    done = mpi_run(1, script)
    assert done.returncode == 0, done.stderr
    peak, growth, estimated = (int(word) for word in done.stdout.split())
    field = 8 * 96**3
    assert estimated < 14 * field
    assert peak == pytest.approx(estimated, rel=0.1)
    assert growth < 0.02 * field
