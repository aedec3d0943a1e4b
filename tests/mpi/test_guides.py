"""Every example of the guides, as it is printed, on a small channel.

A comment stands before each block of sh, yaml or python: `<!-- run: NAME -->` for a block that the
test of that name here runs, or `<!-- parsed: REASON -->` for commands whose words are checked by
the command line's own parser, with the reason why they are not run. Output is a block of text.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import av
import numpy as np
import pytest
import typer
import xarray
import yaml
from command_server import CommandServer
from conftest import Run, wait
from PIL import Image

from uzushio._cli.app import application
from uzushio.staging.options import parse_options

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs/how-to").glob("*.md"))]
BLOCK = re.compile(
    r"^(?:<!-- (?P<mark>.*?) -->\n)?```(?P<kind>\w*)\n(?P<code>.*?)^```$", re.M | re.S
)
#: As small as the planes that the guides name allow.
CASE = """\
solver: channel
title: a small channel
grid: {nx: 8, ny: 8, nz: 36, lx: 2 pi, ly: pi}
flow: {reynolds_tau: 100}
time: {steps: 100, cfl: 0.4}
statistics: {start: 100.0}
checkpoint: {every: null}
output: {folder: runs/channel, figures: false}
"""
Start = Callable[..., subprocess.Popen[str]]


class Block(NamedTuple):
    page: str
    line: int
    mark: str
    kind: str
    code: str

    @property
    def names(self) -> list[str]:
        """Of the tests that run it."""
        text = self.mark.removeprefix("run: ")
        return re.findall(r"[a-z_]+_[a-z_]+|wave|plan", text) if text != self.mark else []


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    name = str(page.relative_to(ROOT))
    return [
        Block(
            name,
            text.count("\n", 0, match.start()) + 1,
            match["mark"] or "",
            match["kind"],
            match["code"],
        )
        for match in BLOCK.finditer(text)
    ]


BLOCKS = [block for page in PAGES for block in blocks_of(page)]


def blocks(name: str, kind: str) -> list[str]:
    """The code of blocks of a kind that a test runs, in the order of the pages."""
    codes = [block.code for block in BLOCKS if block.kind == kind and name in block.names]
    assert codes, f"no page has a block of {kind} that is marked 'run: {name}'"
    return codes


def words_of(code: str) -> list[list[str]]:
    """The commands of a block."""
    lines = (shlex.split(line.partition(" > ")[0], comments=True) for line in code.splitlines())
    return [words for words in lines if words]


def parse(words: list[str]) -> None:
    """Check a command without running it."""
    while words[0] == "mpiexec":
        words = words[3:]
    if words[0] == "make":
        targets = [word for word in words[1:] if "=" not in word]
        makefile = (ROOT / "Makefile").read_text()
        assert all(re.search(rf"^{target}:", makefile, re.M) for target in targets), words
    elif words[0] == ".":
        assert (ROOT / words[1]).is_file()
    else:
        assert words[0] == "uzushio", words
        group: Any = typer.main.get_command(application())
        if words[1].startswith("--"):
            assert words[1] in [name for option in group.params for name in option.opts], words
            return
        rest = words[1:]
        while hasattr(group, "commands"):
            group, rest = group.commands[rest[0]], rest[1:]
        group.make_context(words[1], rest)


def test_every_example_is_run_or_marked_with_a_reason() -> None:
    count = sum(page.read_text().count("\n```") for page in PAGES)
    assert count == 2 * len(BLOCKS), "a fence has an unusual form"
    for block in BLOCKS:
        where = f"{block.page}:{block.line}: {block.mark}"
        assert block.kind in ("sh", "yaml", "python", "text"), f"{where}: of which language?"
        if block.kind == "text":
            continue
        assert re.match(r"run: [a-z]|parsed: ....", block.mark), f"{where}: no mark before it"
        if block.mark.startswith("parsed"):
            assert block.kind == "sh", where
            continue
        assert block.names, where
        for name in block.names:
            assert f"test_{name}" in globals(), where


@pytest.mark.parametrize(
    "block", [b for b in BLOCKS if b.kind == "sh"], ids=lambda b: f"{b.page}:{b.line}"
)
def test_recommended_commands_are_valid(
    block: Block, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for name in ("channel.yaml", "case.yaml"):
        (tmp_path / name).write_text(CASE)
    (tmp_path / "tools").symlink_to(ROOT / "tools")
    monkeypatch.chdir(tmp_path)
    for words in words_of(block.code):
        parse(words)


@pytest.fixture(scope="module")
def stored(
    command_server: CommandServer,
    job_environment: Mapping[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """The stored steps of a channel."""
    folder = tmp_path_factory.mktemp("stored")
    (folder / "channel.yaml").write_text(CASE + "publish: {engine: file, every: 50}\n")
    started = command_server.start(["run", "channel.yaml"], folder, dict(job_environment), None)
    status, _, errors = started.wait(100)
    assert status == 0, errors
    return folder / "runs/channel/published/channel.zarr"


def rows(path: Path) -> dict[str, np.ndarray]:
    names = path.read_text().splitlines()[0].split(",")
    return dict(zip(names, np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2).T, strict=True))


def newest(table: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The rows of the last step."""
    here = table["step"] == table["step"][-1]
    return {name: column[here] for name, column in table.items()}


def test_pipeline_of_numbers(uzushio: Run, stored: Path, tmp_path: Path) -> None:
    """On stored steps, and inside the solver on two ranks, which each have a wall."""
    (text,), (own,) = blocks("pipeline_of_numbers", "yaml"), blocks("pipeline_of_numbers", "python")
    (tmp_path / "numbers.yaml").write_text(text)
    (tmp_path / "mine.py").write_text(own)
    (tmp_path / "channel.yaml").write_text(CASE)
    later = uzushio("render", "numbers.yaml", "--from", stored, "--out", "later", timeout=120)
    inside = "publish={engine: inproc, every: 50, pipeline: numbers.yaml}"
    within = uzushio("run", "channel.yaml", "--ranks", 2, "--set", inside, timeout=120)
    for done, ranks in ((later, 1), (within, 2)):
        assert done.returncode == 0, done.stderr
        assert "failed" not in done.stderr
        counted = set(re.findall(r"^100 \d+\.\d+ (\d [uvwp]) ", done.stdout, re.M))
        assert counted == {f"{rank} {name}" for rank in range(ranks) for name in "uvwp"}
    continued, other = tmp_path / "later", tmp_path / "runs/channel/pipeline"
    for folder in (continued, other):
        line, mean = (newest(rows(folder / f"{name}.csv")) for name in ("probe-up", "mean"))
        ends = [0, -1]
        np.testing.assert_array_equal(line["z"][ends], [0.0, 2.0])
        np.testing.assert_array_equal(line["u"][ends], 0.0)
        assert (line["u"][1:-1] > 0.0).all()
        np.testing.assert_array_equal(mean["z"][ends], [0.0, 2.0])
        np.testing.assert_array_equal(mean["u"][ends], 0.0)
        for name in ("mean", "spectra", "extremes", "probe", "probe-up"):
            assert Image.open(folder / f"{name}.png").size[0] > 300
        with xarray.open_zarr(folder / "statistics.zarr") as dataset:
            assert (dataset.variance_u.isel(z=ends) == 0.0).all() and dataset.z[-1] == 2.0
        with xarray.open_zarr(folder / "wall.zarr") as dataset:
            assert float(dataset.z) == pytest.approx(0.05, abs=0.02)
        assert (folder / "wall.vtkhdf").stat().st_size > 1000
    for name in ("mean", "spectra", "extremes", "probe", "probe-up"):
        table, expected = (rows(folder / f"{name}.csv") for folder in (continued, other))
        for column, values in expected.items():
            np.testing.assert_allclose(table[column], values, rtol=1e-8, atol=1e-9)


def test_pipeline_of_sound(python: Path, uzushio: Run, tmp_path: Path) -> None:
    """On stored steps: at right angles to a dipole in a wind there is no sound."""
    (text,), (script,) = blocks("pipeline_of_sound", "yaml"), blocks("pipeline_of_sound", "python")
    ((command,),) = map(words_of, blocks("pipeline_of_sound", "sh"))
    (tmp_path / "sound.yaml").write_text(text)
    (tmp_path / "dipole.py").write_text(script)
    subprocess.run([python, "dipole.py"], cwd=tmp_path, check=True, timeout=60)
    done = uzushio(*command[1:], timeout=120)
    assert done.returncode == 0, done.stderr
    assert "failed" not in done.stderr
    table = (tmp_path / "sound/acoustics-levels.csv").read_text().splitlines()
    levels = [float(line.split(",")[-1]) for line in table[1:]]
    assert len(levels) == 38 and max(levels[1:]) - levels[1] > 30.0
    for name in ("acoustics", "acoustics-spectra", "acoustics-levels"):
        assert Image.open(tmp_path / f"sound/{name}.png").size[0] > 300


def test_pipeline_of_pictures(uzushio: Run, stored: Path, tmp_path: Path) -> None:
    (text,) = blocks("pipeline_of_pictures", "yaml")
    (tmp_path / "pipeline.yaml").write_text(text)
    done = uzushio("render", "pipeline.yaml", "--from", stored, timeout=120)
    assert done.returncode == 0, done.stderr
    made = {path.name for path in (tmp_path / "rendered/pictures").iterdir()}
    assert {"vortices_00000100.png", "slice_p_00000050.png"} <= made
    with av.open(str(tmp_path / "rendered/vortices.mp4")) as movie:
        assert sum(1 for _ in movie.decode(video=0)) == 2
    assert rows(tmp_path / "rendered/plot.csv")["z"][-1] == 2.0


def test_beside_the_channel(start: Start, python: Path, uzushio: Run, tmp_path: Path) -> None:
    """All output of the guides about a run that publishes."""
    (section,) = blocks("beside_the_channel", "yaml")
    case = yaml.safe_load(CASE) | yaml.safe_load(section)
    case["time"]["steps"] = 20
    case["publish"] |= {"wait_for_readers": 3, "wait_limit": "100 s"}
    case["publish"] |= {"queue": {"policy": "block", "time_limit": "100 s"}}
    (tmp_path / "channel.yaml").write_text(yaml.safe_dump(case))
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    readers = []
    for number, code in enumerate(blocks("beside_the_channel", "python")):
        file = tmp_path / f"reader{number}.py"
        file.write_text(code.replace("wave.contact", "runs/channel/channel.contact"))
        readers.append(start(python, file))
    commands = (words_of(code) for code in blocks("beside_the_channel", "sh"))
    (drawing, reporting), (again,) = commands  # of the front page, of numbers.md
    readers.append(start(python, "-m", *drawing))
    solver = wait(start(python, "-m", "uzushio", "run", "channel.yaml"), 120)
    assert solver.returncode == 0, solver.stderr
    done = [wait(reader, 60) for reader in readers]
    assert [job.returncode for job in done] == [0, 0, 0], [job.stderr for job in done]
    plain, whole, drawn = (job.stdout for job in done)
    assert len(plain.splitlines()) == 2 and float(plain.split()[1]) > 0.0  # u
    assert re.findall(r"^\d+ .*'u', 'v', 'w', 'p'", whole, re.M), whole
    assert len(re.findall(r"^0 \d+\.\d+$", whole, re.M)) == 2  # of the block with u, not of w's
    assert "2 steps seen" in drawn
    assert uzushio(*reporting[1:]).returncode == 0
    shutil.move(tmp_path / "rendered", tmp_path / "viewer")
    assert uzushio(*again[1:]).returncode == 0
    assert "vortices" in (tmp_path / "runs/channel/report.html").read_text()


def test_steer_channel(start: Start, python: Path, tmp_path: Path) -> None:
    """The script that steers, beside a run that has no end of its own."""
    (script,) = blocks("steer_channel", "python")
    case = yaml.safe_load(CASE) | {"publish": {"engine": "shm"}}
    case["time"]["steps"] = 1_000_000
    (tmp_path / "channel.yaml").write_text(yaml.safe_dump(case))
    (tmp_path / "steer.py").write_text(script)
    job = start(python, "-m", "uzushio", "run", "channel.yaml")
    done = wait(start(python, "steer.py"), 100)
    job.terminate()
    assert done.returncode == 0, done.stderr
    assert re.search(r"applied after step \d+", done.stdout), done.stdout
    assert "cfl from 0.4 to 0.3" in wait(job, 60).stdout


WAVE = """\
import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
nz, ny, nx, dz, dy, dx, steps, dt = 20, 6, 8, 0.1, 0.1, 0.1, 3, 0.5
z0, end = (21 * rank // comm.size for rank in (comm.rank, comm.rank + 1))
mine = end - z0
u = np.full((mine + 2, ny + 1, nx + 1), float(comm.rank + 1))
"""


@pytest.mark.parametrize("engine", ["shm", "printed"])
def test_wave(start: Start, python: Path, mpi_run: Run, tmp_path: Path, engine: str) -> None:
    code = blocks("wave", "python")
    (writing,) = (block for block in code if "staging.open" in block)
    (reading,) = (block for block in code if "staging.attach" in block)
    (printed,) = blocks("wave", "yaml")
    options = {"engine": "shm", "queue": {"policy": "block"}}
    if engine == "printed":
        options = yaml.safe_load(printed)
        assert parse_options(options).engine == "tcp"
        reading = reading.replace("block.view(", "block.values(")  # by TCP there are copies only
    options |= {"wait_for_readers": 1, "wait_limit": "60 s"}
    (tmp_path / "staging.yaml").write_text(yaml.safe_dump(options))
    (tmp_path / "wave.py").write_text(WAVE + writing)
    (tmp_path / "read.py").write_text(reading)
    reader = start(python, "read.py")
    ranks = 2 if engine == "shm" else 1
    written, read = mpi_run(ranks, "wave.py"), wait(reader, 60)
    assert (written.returncode, read.returncode) == (0, 0), written.stderr + read.stderr
    assert "2 1.0 ['u']" in read.stdout  # the newest step; earlier ones may have been dropped
    assert {f"{rank} {rank + 1}.0" for rank in range(ranks)} <= set(read.stdout.splitlines())


PART = """
from vtkmodules.util.numpy_support import numpy_to_vtk
from vtkmodules.vtkCommonDataModel import vtkImageData

part = None
if comm.rank == 0:
    part = vtkImageData()
    part.SetDimensions(9, 9, 9)
    part.SetSpacing(0.2, 0.2, 0.2)
    array = numpy_to_vtk(np.tile(np.linspace(0, 1.5, 9), 81), deep=True)
    array.SetName("u")
    part.GetPointData().AddArray(array)
"""
SAVE = """
if picture is not None:
    picture.save("mesh.png")
"""


STRIP = """
import numpy as np
from mpi4py import MPI

import uzushio

with uzushio.Simulation("strip.yaml") as simulation:
    for _ in simulation:
        pass
    error = 0.0
    solver = simulation.solver
    found = simulation.fields.blocks("u")
    for number, values in enumerate(found):
        nk, nj, ni = values.shape
        vertices = np.empty((nk + 1, nj + 1, ni + 1, 3))
        zone, box = solver._blocks[number]
        solver.core.write_vertices(zone, box.start, vertices)
        x, y = (
            0.25 * (p[:-1, :-1, :-1] + p[:-1, :-1, 1:] + p[:-1, 1:, :-1] + p[:-1, 1:, 1:])
            for p in (vertices[..., 0], vertices[..., 1])
        )
        t = simulation.time
        exact = np.exp(-2 * np.pi**2 * 0.01 * t) * np.sin(np.pi * (x - t)) * np.sin(np.pi * y)
        error = max(error, float(np.abs(values.values - exact).max()))
    error = simulation.comm.allreduce(error, MPI.MAX)
    if simulation.comm.rank == 0:
        print(simulation.time, error)
"""


def test_own_solver_files() -> None:
    files = [
        file.read_text(encoding="utf-8")
        for file in (ROOT / "examples/own_solver").rglob("*")
        if file.suffix in (".cpp", ".py", ".toml", ".txt")
    ]
    for kind in ("python", "text"):
        for code in blocks("own_solver_files", kind):
            assert any(code in text for text in files), f"not in examples/own_solver:\n{code}"


def test_own_model_files() -> None:
    folder = ROOT / "examples/own_model"
    for kind, file in (("python", "advection.py"), ("yaml", "advection.yaml")):
        text = (folder / file).read_text(encoding="utf-8")
        for code in blocks("own_model_files", kind):
            assert code in text, f"not in {file}:\n{code}"


def test_solver_python(mpi_run: Run, tmp_path: Path) -> None:
    strip, registration = blocks("solver_python", "python")
    (case,) = blocks("solver_python", "yaml")
    (tmp_path / "strip.py").write_text(strip)
    (tmp_path / "job.py").write_text(registration + STRIP)
    errors = []
    for ranks, cells in ((1, 16), (3, 32)):
        (tmp_path / "strip.yaml").write_text(case.replace("cells: 32", f"cells: {cells}"))
        done = mpi_run(ranks, "job.py")
        assert done.returncode == 0, done.stderr
        time, error = map(float, done.stdout.split())
        assert time == 0.5
        errors.append(error)
    assert 1e-4 < errors[1] < 0.27 * errors[0] < 0.02  # second order


def test_script_of_pictures(mpi_run: Run, tmp_path: Path) -> None:
    script, more = blocks("script_of_pictures", "python")
    # Smaller pictures than the guide's.
    script = script.replace("samples=2", "size=(320, 180)")
    more = more.replace("layers=[SliceLayer", "size=(320, 180), layers=[SliceLayer")
    (tmp_path / "vortex.py").write_text(script + PART + more + SAVE)
    done = mpi_run(2, tmp_path / "vortex.py", timeout=120)
    assert done.returncode == 0, done.stderr
    for name in ("vortex0002", "mesh"):
        pixels = np.asarray(Image.open(tmp_path / f"{name}.png"))
        assert pixels.shape == (180, 320, 3)
        assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 200, name
    with av.open(str(tmp_path / "vortex.mp4")) as movie:
        assert sum(1 for _ in movie.decode(video=0)) == 3


def test_cells_of_notebook(mpi_run: Run, tmp_path: Path) -> None:
    cells = blocks("cells_of_notebook", "python")
    shown = (
        "\nimport PIL.Image, io\nassert PIL.Image.open(io.BytesIO({}._repr_png_())).size[0] > 600"
    )
    assert cells[1].splitlines()[-1].startswith("draw(") and cells[2].count("draw(") == 1
    cells[1] = cells[1].replace("\ndraw(", "\npicture = draw(") + shown.format("picture")
    (tmp_path / "notebook.py").write_text("\n".join(cells))
    done = mpi_run(1, tmp_path / "notebook.py", timeout=120)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "kept/case.yaml").exists()


def test_assimilation_in_python(mpi_run: Run, tmp_path: Path) -> None:
    """On two ranks."""
    (code,) = blocks("assimilation_in_python", "python")
    shutil.copy(ROOT / "examples/cases/phasefield.yaml", tmp_path)
    (tmp_path / "estimate.py").write_text(code)
    done = mpi_run(2, tmp_path / "estimate.py", timeout=120)
    assert done.returncode == 0, done.stderr
    matches = re.findall(r"^m = (\S+) ± (\S+), truth 1.0$", done.stdout, re.M)
    assert len(matches) == 2 and matches[0] == matches[1], done.stdout
    assert abs(float(matches[0][0]) - 1.0) < 5.0 * float(matches[0][1]) < 0.5
    assert (tmp_path / "runs/small/figures/states.svg").exists()


def test_past_a_body(mpi_run: Run, tmp_path: Path) -> None:
    """On a coarse grid of a small box, whose sides confine the flow."""
    (code,) = blocks("past_a_body", "python")
    name = "examples/cases/cylinder.yaml"
    case = yaml.safe_load((ROOT / name).read_text())
    case["grid"]["x"] |= {"cells": 72, "start": -8, "length": 28, "stretching": 4.8}
    case["grid"]["y"] |= {"cells": 48, "start": -8, "length": 16, "stretching": 5}
    case["initial"]["noise"]["velocity"] = 0.1
    case["time"]["end"] = 66
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text(yaml.safe_dump(case))
    (tmp_path / "body.py").write_text(code)
    done = mpi_run(1, tmp_path / "body.py", timeout=120)
    assert done.returncode == 0, done.stderr
    (match,) = re.findall(r"^C_d = (\S+), C_l = ±(\S+), St = (\S+)$", done.stdout, re.M)
    drag, lift, strouhal = map(float, match)
    # Linnick and Fasel (2005); the lift grows with the number of cells.
    assert drag == pytest.approx(1.34, rel=0.1)
    assert 0.2 < lift < 0.4
    assert strouhal == pytest.approx(0.166, rel=0.06)


def test_poisson_solver(mpi_run: Run, uzushio: Run, tmp_path: Path) -> None:
    (code,) = blocks("poisson_solver", "python")
    (tmp_path / "solve.py").write_text(code)
    done = mpi_run(2, tmp_path / "solve.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("SolveReport(solver='fft', iterations=0") == 2
    for words in words_of(*blocks("poisson_solver", "sh")):
        words[words.index("--cells") + 1] = "16"
        done = uzushio(*words[1:])
        assert done.returncode == 0, done.stderr
        assert "16 x 16 x 16 cells" in done.stdout


def test_first_case(uzushio: Run, tmp_path: Path) -> None:
    first, schemas = (words_of(code) for code in blocks("first_case", "sh"))
    for words in first[:2]:
        done = uzushio(*words[1:])
        assert done.returncode == 0, done.stderr
    assert "memory" in done.stdout
    done = uzushio(*schemas[1][1:])
    assert {"grid", "flow", "time"} <= json.loads(done.stdout)["properties"].keys()
    (hint,) = blocks("first_case", "yaml")
    assert f"> {hint.strip().partition('=')[2]}" in blocks("first_case", "sh")[1]


def test_plan(uzushio: Run, tmp_path: Path) -> None:
    """The tables equal those of the guide."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (commands,), (part,) = blocks("plan", "sh"), blocks("plan", "yaml")
    done, as_json = (uzushio(*words[1:]) for words in words_of(commands))
    (printed,) = (
        block.code for block in blocks_of(ROOT / "docs/how-to/plan.md") if block.kind == "text"
    )
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    assert printed.rstrip() in "\n".join(lines)
    assert '"keeps_up": true' in as_json.stdout
    whole = yaml.safe_load((ROOT / "examples/plans/jss2.yaml").read_text())
    assert yaml.safe_load(part)["hops"][0] in whole["hops"]


def test_ranks_of_a_placed_run(uzushio: Run, tmp_path: Path) -> None:
    (own,) = blocks("ranks_of_a_placed_run", "python")
    names: dict[str, Any] = {}
    exec(own, names)
    assert names["placed"].after[1].max_hops == 1
    (section,) = blocks("ranks_of_a_placed_run", "yaml")
    (tmp_path / "channel.yaml").write_text(CASE + section)
    machine = ("--machine", "mesh:2", "--pencils", "1x2", "--method", "default")
    done = uzushio("place", *machine, "--out", "placed", "--no-pictures")
    assert done.returncode == 0, done.stderr
    done = uzushio("run", "channel.yaml", "--ranks", 2, "--set", "time.steps=2", timeout=120)
    assert done.returncode == 0, done.stderr


def test_helium_jet(uzushio: Run, tmp_path: Path) -> None:
    (code,) = blocks("helium_jet", "yaml")
    (tmp_path / "jet.yaml").write_text(code)
    coarse = {"core_cells": 3, "inner_cells": 3, "outer_cells": 6, "axial_cells": 12}
    coarse |= {"lip_spacing": 0.1, "exit_spacing": 0.3, "length": 10, "far": 4}
    short = [f"grid.jet={json.dumps(coarse)}", "time.steps=5"]
    done = uzushio("run", "jet.yaml", "--ranks", 2, *(x for s in short for x in ("--set", s)))
    assert done.returncode == 0, done.stderr
    results = json.loads(next(tmp_path.rglob("summary.json")).read_text())["results"]
    assert results["outflows"]["inflow"]["helium"] < 0 < results["integrals"]["helium"]


def test_hot_gases(uzushio: Run, tmp_path: Path) -> None:
    (code,) = blocks("hot_gases", "yaml")
    case = yaml.safe_load(blocks("helium_jet", "yaml")[0]) | yaml.safe_load(code)
    for name, species in (("rest", "N2"), ("jet", "H2O")):
        case["states"][name]["mass_fractions"] = {species: 1}
    (tmp_path / "hot.yaml").write_text(yaml.safe_dump(case))
    done = uzushio("check", "hot.yaml")
    assert done.returncode == 0, done.stderr


def test_grid_commands(uzushio: Run, tmp_path: Path) -> None:
    (code,) = blocks("grid_commands", "sh")
    for words in words_of(code):
        done = uzushio(*words[1:])
        assert done.returncode == 0, done.stderr
    assert {path.name for path in tmp_path.iterdir()} >= {"jet.cgns", "jet.png", "wavy.nmf"}


def test_grid_script(start: Start, python: Path, tmp_path: Path) -> None:
    (script,) = blocks("grid_script", "python")
    (tmp_path / "script.py").write_text(script)
    done = wait(start(python, "script.py"), 60)
    assert done.returncode == 0, done.stderr
    volume, names = done.stdout.split(maxsplit=1)
    assert float(volume) == pytest.approx(12 * 3 * 4, rel=1e-12)
    assert names == "['inflow', 'wall', 'outflow']\n"
