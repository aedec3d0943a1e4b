"""Pipelines and functions inside the steps of the C, C++ and Fortran examples."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_instrument import SOLVERS, Example, finished

Start = Callable[..., subprocess.Popen[str]]
HEAT, ANNULUS, ADVECTION, WAVE = SOLVERS
FIELDS = {HEAT.name: "T", ADVECTION.name: "q"}
PIPELINE = """
views:
  field:
    size: [96, 64]
    camera: top
    layers: [{{kind: slice, field: {field}, normal: z, color: {{limits: [0, 2]}}}}]
actions:
  - {{picture: field, every: 100}}
"""


@pytest.fixture(autouse=True)
def environment(job_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The C++ example links a site's library, which is in no environment."""
    monkeypatch.setitem(job_environment, "UZUSHIO_ENVIRONMENT", sys.prefix)


def pictures(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "pictures").iterdir())}


@pytest.mark.parametrize("example", [HEAT, ADVECTION], ids=lambda example: example.folder)
def test_a_pipeline_draws_the_same_inside_the_steps_as_from_stored_steps(
    example: Example,
    executable: Callable[[Any], list[object]],
    on_ranks: Start,
    uzushio: Callable[..., subprocess.CompletedProcess[str]],
    tmp_path: Path,
) -> None:
    command = [*executable(example), *example.arguments]
    (tmp_path / "look.yaml").write_text(PIPELINE.format(field=FIELDS[example.name]))
    options = tmp_path / "staging.yaml"
    options.write_text("engine: file\npipeline: look.yaml\n")
    finished(on_ranks(2, *command))
    store = tmp_path / f"{example.name}.zarr"
    uzushio("render", "look.yaml", "--from", store, "--out", "later")
    later = pictures(tmp_path / "later")
    assert len(later) == example.steps // 100 + 1
    options.write_text("engine: inproc\npipeline: look.yaml\n")
    for ranks, output in ((1, ""), (2, "-2"), (3, "-3")):
        finished(on_ranks(ranks, *command))
        folder = tmp_path / f"{example.name}-output{output}"
        assert pictures(folder) == later, f"{ranks} ranks"
        assert (folder / "summary.json").is_file()


FUNCTION = """
import numpy as np

def on_step(step):
    (mine,) = (b for b in step.blocks if b.rank == RANK)
    view = mine.view("q")
    whole = step.read("q")
    assert np.array_equal(view, whole[mine.elements.slices()])
    print("strides", view.strides, flush=True)
    del view

from mpi4py import MPI
RANK = MPI.COMM_WORLD.rank
"""


def test_a_function_sees_the_arrays_of_a_fortran_code_themselves(
    executable: Callable[[Any], list[object]], on_ranks: Start, tmp_path: Path
) -> None:
    (tmp_path / "look.py").write_text(FUNCTION)
    (tmp_path / "staging.yaml").write_text("engine: inproc\npython: look.py\n")
    out = finished(on_ranks(2, *executable(ADVECTION), 16, 12, 10, 20, 10))
    # q(0:nx, 0:ny, 0:nz): the strides of the code's array, which has a ghost layer.
    assert out.count("strides (1768, 136, 8)") == 6, out


FAILURES = {
    "an existing store": ("engine: file\n", "zarr.json"),
    "a wrong pipeline": ("engine: inproc\npipeline: wrong.yaml\n", "wrong.yaml:1: acts"),
    "no pipeline file": ("engine: inproc\npipeline: none.yaml\n", "none.yaml"),
    "a failing function": ("engine: inproc\npython: fail.py\n", "ZeroDivisionError"),
}


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("example", SOLVERS, ids=lambda example: example.folder)
def test_a_code_continues_without_its_view(
    example: Example,
    failure: str,
    executable: Callable[[Any], list[object]],
    on_ranks: Start,
    tmp_path: Path,
) -> None:
    (tmp_path / "wrong.yaml").write_text("acts: []\n")
    (tmp_path / "fail.py").write_text("def on_step(step):\n    1 / (step.index < 100)\n")
    store = tmp_path / f"{example.name}.zarr"
    store.mkdir()
    (store / "zarr.json").write_text("{}")
    options, reason = FAILURES[failure]
    (tmp_path / "staging.yaml").write_text(options)
    job = on_ranks(2, *executable(example), *example.arguments)
    out, errors = job.communicate(timeout=60)
    assert job.returncode == 0, f"{out}\n{errors}"
    (line,) = (line for line in errors.splitlines() if line.startswith("uzushio: "))
    assert "the program continues" in line and reason in line


@pytest.mark.parametrize("example", SOLVERS, ids=lambda example: example.folder)
def test_on_error_fail_ends_a_code_with_the_sentence(
    example: Example, executable: Callable[[Any], list[object]], on_ranks: Start, tmp_path: Path
) -> None:
    (tmp_path / "staging.yaml").write_text("engine: inproc\npipeline: no.yaml\non_error: fail\n")
    job = on_ranks(2, *executable(example), *example.arguments)
    _, errors = job.communicate(timeout=60)
    assert job.returncode != 0
    assert "no.yaml" in errors and "continues" not in errors


def test_a_full_disk_ends_the_stored_steps_but_not_the_code(
    executable: Callable[[Any], list[object]], start: Start, tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    inside = f"mount -t tmpfs -o size=600k tmpfs {disk}"
    if subprocess.run(["unshare", "-rm", "sh", "-c", inside], capture_output=True).returncode:
        pytest.skip("a file system needs the right to mount one")
    (tmp_path / "staging.yaml").write_text(f"engine: file\nfile: {{folder: {disk}/a.zarr}}\n")
    command = " ".join(map(str, [*executable(ADVECTION), *ADVECTION.arguments]))
    look = f"ls {disk}/a.zarr >&2"
    job = start("unshare", "-rm", "sh", "-c", f"{inside} && {command} && {look}")
    errors = job.communicate(timeout=60)[1]
    assert job.returncode == 0, errors
    assert errors.count("the program continues") == 1 and "No space left on device" in errors
    assert "__new" not in errors.split("warn.)")[1], "the step that did not fit is removed"


def test_a_mistake_in_a_fortran_call_without_stat_costs_the_step_only(
    shell: Callable[..., str], start: Start, tmp_path: Path
) -> None:
    (tmp_path / "mistake.f90").write_text("""
program mistake
    use uzushio
    type(uz_writer) :: w
    integer(kind=8) :: number
    double precision, target :: a(4)
    a = 1
    call w%open("m", file="staging.yaml")
    call w%uniform_mesh("line", count=[4], origin=[0d0], spacing=[1d0])
    call w%field("a", "line", uz_element, uz_float64)
    call w%block(1, "line", start=[1], count=[4])
    do i = 1, 4
        call w%begin_step(i, 1d0 * i)
        call w%put(merge("b", "a", i == 2), 1, a)
        call w%end_step(sequence=number)
        print *, "step", i, number
    end do
    call w%close()
end program mistake
""")
    (tmp_path / "staging.yaml").write_text("engine: shm\n")
    source, *libraries = shell("uzushio", "config", "--fortran-source", "--libs").split()
    shell("gfortran", source, "mistake.f90", "-o", "mistake", *libraries, cwd=tmp_path)
    job = start(tmp_path / "mistake")
    out, errors = job.communicate(timeout=60)
    assert job.returncode == 0, errors
    numbers = [line.split()[1:] for line in out.splitlines()]
    assert numbers == [["1", "0"], ["2", "-1"], ["3", "1"], ["4", "2"]]
    assert errors.count("uzushio: ") == 1 and '"b"' in errors


def test_a_python_code_continues_without_an_engine_that_cannot_open(
    executable: Callable[[Any], list[object]], on_ranks: Start, tmp_path: Path
) -> None:
    pytest.importorskip("adios2")
    (tmp_path / "staging.yaml").write_text("engine: adios2\nchecksums: true\n")
    job = on_ranks(2, *executable(WAVE), *WAVE.arguments)
    out, errors = job.communicate(timeout=60)
    assert job.returncode == 0, f"{out}\n{errors}"
    assert errors.count("the program continues") == 1 and "checksums" in errors
