"""Readers and steering in C and Fortran."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from code_builds import BINARIES
from test_instrument import SOLVERS, Example, finished, options

from uzushio import staging

Start = Callable[..., subprocess.Popen[str]]
HEAT, _, ADVECTION, _ = SOLVERS


def look(executable: Callable[[Any], list[object]], example: Example) -> Path:
    (solver,) = executable(example)
    return Path(str(solver)).with_name("look")


@pytest.mark.parametrize("example", [HEAT, ADVECTION], ids=lambda example: example.folder)
@pytest.mark.parametrize(("engine", "ranks"), [("shm", 1), ("tcp", 3), ("file", 2)])
def test_a_reader_gets_all_values_of_each_step_on_any_number_of_ranks(
    example: Example,
    engine: str,
    ranks: int,
    executable: Callable[[Any], list[object]],
    on_ranks: Start,
    tmp_path: Path,
) -> None:
    text = options(example, engine=engine, policy="block")
    (tmp_path / "staging.yaml").write_text(text)
    job = on_ranks(2, *executable(example), *example.arguments)
    contact = f"{example.name}.{'zarr' if engine == 'file' else 'contact'}"
    reader = on_ranks(ranks, look(executable, example), contact)
    out = finished(reader)
    finished(job)
    lines = [line for line in out.splitlines() if "mean" in line]
    assert len(lines) == 21 and all("mean 1.000000000000" in line for line in lines), out
    assert f"step {example.steps}," in lines[-1]
    assert ("kg/m3" if example is ADVECTION else " K") in lines[-1]
    assert "look: correct" in out


@pytest.mark.parametrize("example", [HEAT, ADVECTION], ids=lambda example: example.folder)
def test_a_reader_may_be_a_program_of_the_solvers_launch(
    example: Example, executable: Callable[[Any], list[object]], start: Start, tmp_path: Path
) -> None:
    (tmp_path / "staging.yaml").write_text(options(example, engine="mpi"))
    launcher = [BINARIES / "mpiexec", "--oversubscribe", "--bind-to", "none"]
    solver = ["-n", 2, *executable(example), *example.arguments]
    reading = ["-n", 2, look(executable, example), f"mpi:{example.name}"]
    assert "look: correct" in finished(start(*launcher, *solver, ":", *reading))


def test_a_reader_that_is_killed_does_not_end_the_solver(
    executable: Callable[[Any], list[object]], on_ranks: Start, start: Start, tmp_path: Path
) -> None:
    (tmp_path / "staging.yaml").write_text(options(ADVECTION, engine="shm", policy="block"))
    job = on_ranks(2, *executable(ADVECTION), 16, 12, 10, 4000, 1)
    reader = start(look(executable, ADVECTION))
    assert reader.stdout is not None and "step" in reader.stdout.readline()
    reader.kill()
    finished(job)


STEERED = """
program steered
    use uzushio
    implicit none
    type(uz_writer) :: w
    type(uz_command) :: command
    type(uz_reader) :: r
    double precision, target :: a(4), b(2)
    double precision, allocatable :: x(:)
    integer :: i, stat, value
    integer(8) :: gaps
    character(200) :: message
    character(:), allocatable :: text, units
    a = 1
    value = 0
    call w%open("s", file="staging.yaml")
    call w%uniform_mesh("line", count=[4], origin=[2d0], spacing=[0.5d0])
    call w%field("a", "line", uz_element, uz_float64, units="m")
    call w%block(1, "line", start=[1], count=[4])
    call w%attribute("Re", 180)
    call w%attribute("title", "a line")
    i = 0
    do
        i = i + 1
        do while (w%take_command(command))
            if (command%left) cycle
            read (command%text, *, iostat=stat) value
            call w%reply(command, merge("set  ", "wrong", stat == 0))
        end do
        a = [1, 2, 3, 4] * 10 + value
        call w%begin_step(i, 1d0 * i)
        call w%put("a", 1, a)
        call w%end_step()
        if (value < 0) exit
        call execute_command_line("sleep 0.01")
    end do
    call w%close()

    call w%open("t", file="stored.yaml")
    call w%uniform_mesh("line", count=[4], origin=[2d0], spacing=[0.5d0])
    call w%field("a", "line", uz_element, uz_float64, units="m")
    call w%block(1, "line", start=[1], count=[4])
    call w%attribute("Re", 180)
    call w%attribute("title", "a line")
    call w%begin_step(7, 0.25d0)
    call w%put("a", 1, a)
    call w%end_step()
    call w%close()
    call r%attach("t.zarr")
    if (.not. r%next()) error stop "no step"
    call r%step(index=i)
    if (i /= 7 .or. r%field_count() /= 1 .or. r%field_name(1) /= "a") error stop "step"
    if (r%number("Re") /= 180 .or. r%text("title") /= "a line") error stop "attributes"
    call r%field("a", mesh=text, units=units)
    x = r%coordinates(text, 1)
    if (units /= "m" .or. any(x /= [2d0, 2.5d0, 3d0, 3.5d0, 4d0])) error stop "coordinates"
    call r%read("a", b, start=[2])
    if (any(b /= a(2:3))) error stop "a box"
    call r%read("c", b, stat=stat, errmsg=message)
    if (stat /= uz_error_staging .or. index(message, '"c"') == 0) error stop "an unknown field"
    b = -1
    call r%read("a", b, start=[4], missing=gaps)
    if (gaps /= 1 .or. any(b /= [a(4), -1d0])) error stop "a box beyond the mesh"
    if (r%next()) error stop "a second step"
    call r%detach()
    print *, "correct"
end program steered
"""


def test_readers_steer_a_fortran_code(
    shell: Callable[..., str], start: Start, tmp_path: Path
) -> None:
    (tmp_path / "steered.f90").write_text(STEERED)
    (tmp_path / "staging.yaml").write_text("engine: shm\n")
    (tmp_path / "stored.yaml").write_text("engine: file\n")
    source, *libraries = shell("uzushio", "config", "--fortran-source", "--libs").split()
    flags = ["-std=f2008", "-fcheck=all", "-Wall", "-Wextra", "-Werror", "-Wno-compare-reals"]
    flags.append("-Wno-maybe-uninitialized")  # wrong about arrays that functions return
    shell("gfortran", *flags, source, "steered.f90", "-o", "steered", *libraries, cwd=tmp_path)
    job = start(tmp_path / "steered")
    with staging.attach(tmp_path / "s.contact", attach_limit=60, step_limit=60) as reader:
        replies: list[str] = []
        reader.send("five")
        reader.send("5")
        for step in reader:
            replies += reader.take_replies().values()
            if step.read("a")[0, 0, 0] == 15 and len(replies) == 2:
                reader.send("-1")
                break
        assert replies == ["wrong", "set"]
        for step in reader:
            last = step.read("a")[0, 0]
        assert list(last) == [9, 19, 29, 39]
    assert "correct" in finished(job)
