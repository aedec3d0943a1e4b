"""Free memory of a node is read from the kernel's files, and commands that need more refuse."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conftest import TESTS, Run, wait
from pipeline_case import Flow

from uzushio import staging
from uzushio._base.parallel.memory import node_memory, process_memory

GIB = 2**30
TWIN = """\
model: phasefield
grid: {nx: 26, ny: 20}
time: {steps: 48, dt: 0.1}
truth: {m: 1.0, side: 0.5}
first_guess: {m: -0.5, side: 0.4}
observations: {sigma: 0.1}
"""
CHANNEL = TESTS.parent / "examples/cases/channel.yaml"


@pytest.fixture
def twin(tmp_path: Path) -> Path:
    path = tmp_path / "case.yaml"
    path.write_text(TWIN)
    return path


def node(root: Path, groups: str, files: dict[str, str]) -> Path:
    """A node with 8 GiB free, the control groups of a process, and their files."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/meminfo").write_text(
        f"MemTotal: {16 * 2**20} kB\nMemFree: {2**20} kB\nMemAvailable: {8 * 2**20} kB\n"
    )
    (root / "proc/self/cgroup").write_text(groups)
    for name, text in files.items():
        file = root / "sys/fs/cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


def test_without_a_control_group_the_kernels_estimate_counts(tmp_path: Path) -> None:
    free = node_memory(node(tmp_path, "0::/\n", {}))
    assert (free.bytes, free.limit) == (8 * GIB, "free memory")


def test_the_innermost_limit_of_version_2_counts_without_the_file_cache(tmp_path: Path) -> None:
    free = node_memory(
        node(
            tmp_path,
            "0::/job/step\n",
            {
                "job/memory.max": f"{6 * GIB}\n",
                "job/memory.current": f"{5 * GIB}\n",
                "job/memory.stat": f"anon {2 * GIB}\ninactive_file {3 * GIB}\n",
                "job/step/memory.max": "max\n",
                "job/step/memory.current": f"{5 * GIB}\n",
                "job/step/memory.stat": "anon 0\n",
            },
        )
    )
    assert (free.bytes, free.limit) == (4 * GIB, "control group")


def test_a_limit_of_version_1_counts_also_where_the_path_is_the_hosts(tmp_path: Path) -> None:
    free = node_memory(
        node(
            tmp_path,
            "4:memory:/docker/0123\n1:cpu:/\n0::/\n",
            {
                "memory/memory.limit_in_bytes": f"{3 * GIB}",
                "memory/memory.usage_in_bytes": f"{GIB}",
                "memory/memory.stat": "total_inactive_file 0\n",
            },
        )
    )
    assert (free.bytes, free.limit) == (2 * GIB, "control group")


def test_a_limit_on_the_address_space_leaves_what_is_not_mapped() -> None:
    code = (
        "import resource; from uzushio._base.parallel.memory import process_memory;"
        f"resource.setrlimit(resource.RLIMIT_AS, ({4 * GIB}, {4 * GIB}));"
        "print(process_memory().bytes)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 2 * GIB < float(done.stdout) < 4 * GIB
    assert process_memory() is None or resource.getrlimit(resource.RLIMIT_AS)[0] > 0


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_run_larger_than_the_node_is_refused_with_both_sizes(
    uzushio: Run, tmp_path: Path, ranks: int
) -> None:
    size = ["grid.nx=8192", "grid.ny=8192", "grid.nz=60", "numerics.dealiasing=none"]
    changes = [word for change in size for word in ("--set", change)]
    done = uzushio("run", CHANNEL, *changes, "--ranks", ranks, "--out", tmp_path / "run")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    count = "1 rank" if ranks == 1 else "2 ranks"
    assert re.search(
        rf"the run needs 3[\d.]+ GB of memory on \S+ \({count}\), and [\d.]+ \wB are free",
        done.stderr,
    ), done.stderr
    assert not (tmp_path / "run").exists()


LIMITED = """
import resource
from mpi4py import MPI
from uzushio._base.parallel import memory
from uzushio.errors import MemoryShortageError

comm = MPI.COMM_WORLD
memory.require(comm, 1e6, "the first")
if comm.rank == 1:
    used = memory._table(memory._ROOT / "proc/self/status")["VmSize"] * 1024
    resource.setrlimit(resource.RLIMIT_AS, (int(used + 100e6),) * 2)
try:
    memory.require(comm, 200e6, "the second")
except MemoryShortageError as error:
    print(error, flush=True)
"""


def test_a_limit_of_one_rank_is_reported_on_all(mpi_run: Run) -> None:
    done = mpi_run(2, ["-c", LIMITED])
    sentence = "the second needs 200 MB of memory on rank 1 of "
    assert done.stdout.count(sentence) == 2, done.stdout + done.stderr
    assert done.stdout.count("are free for it (ulimit -v)") == 2


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_relay_with_a_larger_budget_than_the_node_is_refused(uzushio: Run, ranks: int) -> None:
    words = ["relay", "--from", "a.contact", "--to", "b.contact", "--memory", "900 TB"]
    done = uzushio(*words, "--ranks", ranks)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert re.search(r"the relay needs 9\d\d TB|the relay needs 1.8 PB", done.stderr), done.stderr
    assert re.search(r"[\d.]+ \wB are free", done.stderr)


RENDER = """
import sys
from pathlib import Path
import numpy as np
from mpi4py import MPI
from uzushio import staging
from uzushio._base.parallel import launch
from uzushio._base.parallel import memory

comm = MPI.COMM_WORLD
if comm.rank == 0:
    with staging.open("box", options={"engine": "file"}) as writer:
        writer.rectilinear_mesh("box", [np.arange(9.0)] * 3)
        writer.field("u", "box")
        writer.block(0, "box", (8, 8, 8))
        with writer.step(0, 0.0):
            writer.put("u", np.ones((8, 8, 8)), block=0)
    Path("p.yaml").write_text("actions:\\n- {plot: {series: {fields: [u], reduce: [mean]}}}\\n")
comm.Barrier()
memory.node_memory = lambda: memory.FreeMemory(1000.0, "free memory")
from uzushio._cli.render import RenderOptions
from uzushio._cli.rendering import render_stream
from uzushio._cli.start import run_on_ranks
from uzushio.staging.contact import Contact
options = RenderOptions(Path("p.yaml"), "box.zarr", Path("out"))
sys.exit(run_on_ranks(lambda comm: render_stream(options, Contact("box.zarr"), comm), None, False))
"""


def test_a_step_that_a_reader_job_has_no_memory_for_is_refused(mpi_run: Run) -> None:
    done = mpi_run(2, ["-c", RENDER])
    assert done.returncode != 0 and "Traceback" not in done.stderr, done.stderr
    sentence = r"a step of this pipeline needs [\d.]+ kB of memory on \S+ \(2 ranks\), and 1 kB are"
    assert len(re.findall(sentence, done.stderr)) == 1, done.stderr


LARGE = """\
views:
  v: {size: [SIDE, SIDE], layers: [{kind: slice, field: u, normal: z}]}
sources:
  twice: 2 * u
actions:
- {picture: {view: v, file: p.png}}
"""


def stored_box(folder: Path, side: int) -> None:
    """A stored step of 9 points along each axis, and a pipeline of a picture of so many pixels."""
    with staging.open(str(folder / "box"), options={"engine": "file"}) as writer:
        writer.rectilinear_mesh("box", [np.arange(9.0)] * 3)
        writer.field("u", "box")
        writer.block(0, "box", (8, 8, 8))
        with writer.step(0, 0.0):
            writer.put("u", np.ones((8, 8, 8)), block=0)
    (folder / "p.yaml").write_text(LARGE.replace("SIDE", str(side)))


def test_a_picture_larger_than_the_memory_is_refused(uzushio: Run, tmp_path: Path) -> None:
    stored_box(tmp_path, 16384)
    text = (tmp_path / "p.yaml").read_text().replace("layers:", "samples: 4, layers:")
    (tmp_path / "p.yaml").write_text(text)
    done = uzushio("render", "p.yaml", "--from", "box.zarr", "--out", "out")
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    assert re.search(r"a step of this pipeline needs 1\d\d[\d.]* GB of memory on", done.stderr)
    assert "smaller pictures" in done.stderr


def test_derived_fields_count_among_the_memory_of_a_step(tmp_path: Path) -> None:
    lines = (np.linspace(0, 1, 17), np.linspace(0, 1, 9), np.linspace(0, 1, 9))
    made = Flow({"m": lines}, {"u": ("m", lambda x, y, z, n: x * y)})
    text = "sources: {a: 2 * u, b: a + u}\nactions:\n- {count: {fields: [b]}}\n"
    needed: list[float] = []

    def note(comm: object, size: float, *_: str) -> None:
        needed.append(size)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("uzushio.pipeline.step_plan.memory.require", note)
        made.inside(text, tmp_path, 1)
    assert needed[0] == 2 * 17 * 9 * 9 * 8  # a and b; u is the solver's own


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_tuning_larger_than_the_node_is_refused(
    uzushio: Run, twin: Path, ranks: int, tmp_path: Path
) -> None:
    huge = ("--set", "grid={nx: 1000000, ny: 1000000}", "--budget", 2, "--no-keep")
    done = uzushio("tune", twin, *huge, "--ranks", ranks)
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert re.search(r"tuning needs [\d.]+ TB of memory on \S+ \(\d rank", done.stderr), done.stderr


@pytest.mark.parametrize(
    ("words", "limit", "message"),
    [
        ("render p.yaml --from box.zarr", 9e8, "a step of this pipeline needs .* smaller pictures"),
        ("relay --from a --to b --memory 2GB", 9e8, r"the relay needs 2 GB of .* with --memory, "),
        (
            "relay --from a --to b --memory 2GB --ranks 2",
            16e8,
            r"the relay needs 2 GB of .* with --memory, ",
        ),
        (
            "tune case.yaml --budget 2 --no-keep --set grid.nx=2500 --set grid.ny=2500",
            13e8,
            "out of memory: .* smaller grid",
        ),
    ],
)
def test_a_limit_of_the_process_is_one_sentence(
    start: Callable[..., subprocess.Popen[str]],
    twin: Path,
    tmp_path: Path,
    words: str,
    limit: float,
    message: str,
) -> None:
    stored_box(tmp_path, 8192)
    command = f"ulimit -v {limit / 1024:.0f}; exec {sys.executable} -m uzushio {words}"
    done = wait(start("bash", "-c", command), 60)
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    (line,) = (line for line in done.stderr.splitlines() if "uzushio: error:" in line)
    assert re.search(message, line), done.stderr


def test_an_allocation_that_fails_is_one_sentence(uzushio: Run, case: Path) -> None:
    done = uzushio("run", case, "--set", "fault.kind=memory", "--set", "fault.step=3", "--ranks", 2)
    assert done.returncode == 1
    assert done.stderr.count("uzushio: error: out of memory: no memory for a test.") == 1
    assert "Traceback" not in done.stderr


def test_a_grid_with_more_modes_than_can_be_counted_is_refused(uzushio: Run) -> None:
    changes = [word for n in "xyz" for word in ("--set", f"grid.n{n}=1048576")]
    done = uzushio("check", CHANNEL, *changes)
    assert (done.returncode, done.stdout) == (1, "")
    assert "more than 2^31 modes of a plane; use more ranks" in done.stderr


def test_check_predicts_time_and_disk_space_of_the_run(uzushio: Run, tmp_path: Path) -> None:
    size = ["grid.nx=32", "grid.ny=32", "grid.nz=32", "time.steps=20", "statistics.every=100"]
    changes = [word for change in size for word in ("--set", change)]
    output = uzushio("check", CHANNEL, *changes).stdout
    steps = re.search(r"time: .* 20 steps of ([\d.]+) (m?s) a step", output)
    disk = re.search(r"3 checkpoints of ([\d.]+) (k|M)B", output)
    assert steps and disk, output
    done = uzushio("run", CHANNEL, *changes, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    summary = json.loads((tmp_path / "run/summary.json").read_text())
    took = summary["seconds_per_step"]
    # Other work on the machine may slow down one of the two measurements.
    predicted = float(steps[1]) * {"s": 1.0, "ms": 1e-3}[steps[2]]
    assert took / 8 < predicted < 8 * took
    (checkpoint,) = (tmp_path / "run/checkpoints").iterdir()
    stored = sum(file.stat().st_size for file in checkpoint.rglob("*") if file.is_file())
    assert stored == pytest.approx(float(disk[1]) * {"k": 1e3, "M": 1e6}[disk[2]], rel=0.3)
