"""The instrumented solvers of examples/instrument, compiled by their compilers and read from."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import uzushio
from uzushio import staging
from uzushio._cli.config import installation
from uzushio.staging import Reader, Step

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "instrument"
CODES = Path(__file__).parent / "codes"
BINARIES = Path(sys.executable).parent


@dataclass(frozen=True)
class Example:
    """A solver, its arguments, and its exact solution for readers."""

    name: str
    folder: str
    arguments: list[int]
    steps: int
    check: Callable[[Step], None]


def centres(n: int) -> np.ndarray:
    return (np.arange(n) + 0.5) / n


def check_heat(step: Step) -> None:
    ny, nx, kappa = 48, 64, step.attributes["kappa"]
    dt = 0.2 * (1 / nx) ** 2 / kappa
    assert step.time == pytest.approx(step.index * dt)
    g = 1 - 4 * kappa * dt * ((nx * np.sin(np.pi / nx)) ** 2 + (ny * np.sin(np.pi / ny)) ** 2)
    mode = np.outer(np.sin(2 * np.pi * centres(ny)), np.sin(2 * np.pi * centres(nx)))
    T = step.read("T")
    np.testing.assert_allclose(T[0], 1 + g**step.index * mode, atol=1e-12)
    assert step.fields["T"].attributes == {"units": "K"}
    assert step.meshes["plate"].spacing == pytest.approx((1, 1 / ny, 1 / nx))
    # Ghosts around a rank's block are its neighbours' values, or its own across a periodic edge.
    for block in step.blocks:
        (_, y0, x0), (_, y1, x1) = block.box("T", ghosts=True).pair[0], block.box("T", True).stop
        rows, columns = np.arange(y0, y1) % ny, np.arange(x0, x1) % nx
        stored = block.values("T", ghosts=True)[0]
        np.testing.assert_array_equal(stored, T[0][np.ix_(rows, columns)])


def check_annulus(step: Step) -> None:
    nr, around, courant = 16, 120, 0.4
    phase = 2 * 2 * np.pi / around
    g = 1 - courant**2 * (1 - np.cos(phase)) - 1j * courant * np.sin(phase)
    wave = g**step.index * np.exp(2j * 2 * np.pi * centres(around))
    exact = 1 + 0.5 * np.outer(np.sin(np.pi * centres(nr)), wave.real)
    whole = np.concatenate([step.read(f"zone{z}/c")[0] for z in range(3)], axis=1)
    np.testing.assert_allclose(whole, exact, atol=1e-12)
    assert [block.rank for block in step.blocks] == [0, 0, 1], "zones are dealt out unequally"

    # The dye is conserved, with areas from the published coordinates.
    dye = area = 0.0
    for z in range(3):
        mesh = step.meshes[f"zone{z}/mesh"]
        assert (mesh.kind, mesh.coordinate_field) == ("curvilinear", f"zone{z}/xyz")
        x, y = np.moveaxis(step.read(f"zone{z}/xyz")[0], -1, 0)[:2]
        r, theta = np.hypot(x, y), np.unwrap(np.arctan2(y, x))
        cells = (np.diff(r, axis=0) * (r[1:] + r[:-1]))[:, :-1] / 2 * np.diff(theta, axis=1)[:-1]
        dye += (cells * step.read(f"zone{z}/c")[0]).sum()
        area += cells.sum()
    assert area == pytest.approx(3 * np.pi, rel=1e-12)
    assert dye == pytest.approx(3 * np.pi, rel=1e-12)


def check_advection(step: Step) -> None:
    n, wind = np.array([16, 12, 10]), np.array([1, 0.7, 0.4])
    dt = 0.8 / (wind * n).sum()
    assert step.time == pytest.approx(step.index * dt)
    g = 1 - (wind * dt * n * (1 - np.exp(-2j * np.pi / n))).sum()
    z, y, x = np.meshgrid(*(centres(k) for k in n[::-1]), indexing="ij")
    exact = 1 + (g**step.index * np.exp(2j * np.pi * (x + y + z))).real / 2
    q = step.read("q")
    np.testing.assert_allclose(q, exact, atol=1e-12)
    flux = step.read("flux")
    assert flux.dtype == np.float32
    np.testing.assert_array_equal(flux, (q[..., np.newaxis] * wind).astype(np.float32))
    assert step.attributes["scheme"] == "donor cell"
    assert step.meshes["box"].spacing == pytest.approx(tuple(1 / n[::-1]))


def check_wave(step: Step) -> None:
    nx, ny = 64, 48
    dt = 0.5 / nx
    slope = np.hypot(nx * np.sin(np.pi / nx), ny * np.sin(np.pi / ny / 2))
    x, y = np.linspace(0, 1, nx + 1), np.linspace(0, 1, ny + 1)
    mode = np.outer(np.sin(np.pi * y), np.sin(2 * np.pi * x))
    u = step.read("u")
    exact = np.cos(2 * np.arcsin(dt * slope) * step.index) * mode
    np.testing.assert_allclose(u[0], exact, atol=1e-10)
    assert step.fields["u"].association == "vertex"


SOLVERS = [
    Example("heat", "c", [64, 48, 200, 10], 200, check_heat),
    Example("annulus", "cpp", [16, 120, 200, 10], 200, check_annulus),
    Example("advection", "fortran", [16, 12, 10, 100, 5], 100, check_advection),
    Example("wave", "python", [64, 48, 200, 10], 200, check_wave),
]


def steps_of(reader: Reader) -> Iterator[Step]:
    with reader:
        yield from reader


def finished(job: subprocess.Popen[str]) -> str:
    """Return the output of a job, which must have succeeded."""
    out, errors = job.communicate(timeout=60)
    assert job.returncode == 0, f"{out}\n{errors}"
    return out


def options(example: Example, **changed: str) -> str:
    """The example's staging.yaml with other values in some lines, which waits for a reader."""
    text = (EXAMPLES / example.folder / "staging.yaml").read_text()
    for key, value in changed.items():
        text, times = re.subn(rf"(?m)^( *{key}: *).*$", rf"\g<1>{value}", text)
        assert times == 1, f"{key} is a line of its own in staging.yaml"
    return text if changed.get("engine") == "file" else text + "wait_for_readers: 1\n"


CASES = [(example, engine) for example in SOLVERS for engine in ("shm", "tcp", "file")]
CASES += [(SOLVERS[3], "adios2")]
READER = Path(__file__).with_name("instrument_reader.py")


@pytest.mark.parametrize(
    ("example", "engine"),
    CASES,
    ids=lambda case: case.folder if isinstance(case, Example) else case,
)
def test_a_reader_sees_the_exact_solution_of_each_solver(
    example: Example,
    engine: str,
    executable: Callable[[Example], list[object]],
    on_ranks: Callable[..., subprocess.Popen[str]],
    tmp_path: Path,
) -> None:
    # SST keeps no newest step for late readers.
    every = {"policy": "block"} if engine == "adios2" else {}
    (tmp_path / "staging.yaml").write_text(options(example, engine=engine, **every))
    job = on_ranks(2, *executable(example), *example.arguments)
    contact = tmp_path / f"{example.name}.{'zarr' if engine == 'file' else 'contact'}"
    seen = []
    for step in steps_of(staging.attach(contact, attach_limit=60, step_limit=60)):
        example.check(step)
        seen.append(step.index)
    finished(job)
    assert seen == sorted(set(seen))
    assert seen[-1] == example.steps, "the last step is read by all readers"


@pytest.mark.parametrize("example", SOLVERS, ids=lambda example: example.folder)
def test_a_reader_of_the_same_launch_gets_the_solution(
    example: Example,
    executable: Callable[[Example], list[object]],
    start: Callable[..., subprocess.Popen[str]],
    python: Path,
    tmp_path: Path,
) -> None:
    (tmp_path / "staging.yaml").write_text(options(example, engine="mpi"))
    mpiexec = BINARIES / "mpiexec"
    launcher = [mpiexec if mpiexec.exists() else "mpiexec", "--oversubscribe", "--bind-to", "none"]
    solver = ["-n", 2, *executable(example), *example.arguments]
    job = start(*launcher, *solver, ":", "-n", 1, python, READER, example.name)
    assert "correct steps" in finished(job)


def test_without_work_inside_its_steps_the_engine_inproc_costs_a_solver_nothing(
    executable: Callable[[Example], list[object]],
    on_ranks: Callable[..., subprocess.Popen[str]],
    tmp_path: Path,
) -> None:
    wave = SOLVERS[3]
    (tmp_path / "staging.yaml").write_text("engine: inproc\n")
    assert "correct" in finished(on_ranks(2, *executable(wave), *wave.arguments))
    assert [path.name for path in tmp_path.iterdir()] == ["staging.yaml"]


def test_the_options_file_of_the_environment_replaces_the_examples(
    executable: Callable[[Example], list[object]],
    on_ranks: Callable[..., subprocess.Popen[str]],
    tmp_path: Path,
    job_environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heat = SOLVERS[0]
    (tmp_path / "staging.yaml").write_text("engine: pigeon\n")
    (tmp_path / "other.yaml").write_text(options(heat, policy="block", contact="other.contact"))
    monkeypatch.setitem(job_environment, "UZUSHIO_STAGING", str(tmp_path / "other.yaml"))
    job = on_ranks(2, *executable(heat), *heat.arguments)
    reader = staging.attach(tmp_path / "other.contact", attach_limit=60, step_limit=60)
    assert [step.index for step in steps_of(reader)] == list(range(0, 201, 10))
    finished(job)


def test_a_wrong_engine_ends_the_solver_with_a_sentence(
    executable: Callable[[Example], list[object]],
    on_ranks: Callable[..., subprocess.Popen[str]],
    tmp_path: Path,
) -> None:
    heat = SOLVERS[0]
    (tmp_path / "staging.yaml").write_text(options(heat, engine="smh"))
    job = on_ranks(2, *executable(heat), *heat.arguments)
    _, errors = job.communicate(timeout=60)
    assert job.returncode != 0
    assert "did you mean 'shm'?" in errors


@pytest.fixture(scope="session")
def module_test(shell: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The test program of the Fortran module, compiled strictly, with all checks at run time."""
    folder = tmp_path_factory.mktemp("module")
    flags = ["-std=f2008", "-Wall", "-Wextra", "-Werror", "-fcheck=all", "-g"]
    source = shell("uzushio", "config", "--fortran-source").strip()
    libraries = shell("uzushio", "config", "--libs").split()
    program = folder / "module"
    shell("gfortran", *flags, source, CODES / "module.f90", "-o", program, *libraries, cwd=folder)
    return program


def test_the_fortran_module_puts_values_of_all_kinds_where_they_belong(
    module_test: Path, start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    (tmp_path / "staging.yaml").write_text(
        "engine: shm\nwait_for_readers: 1\nqueue: {policy: block, depth: 1, time_limit: 20 ms}\n"
    )
    job = start(module_test)
    with staging.attach(tmp_path / "module.contact", attach_limit=60, step_limit=60) as reader:
        step = next(iter(reader))
        assert (step.index, step.time) == (7, 0.25)
        assert step.attributes == {"Re": 180, "nu": 0.5, "title": "all kinds"}
        assert step.fields["wide"].attributes == {"units": "m/s"}
        box, line = step.meshes["box"], step.meshes["line"]
        assert box.origin == (3, 2, 1), "axes are z, y, x"
        assert box.spacing == pytest.approx((0.3, 0.2, 0.1))
        assert line.coordinates is not None
        assert list(line.coordinates[2]) == [0, 1, 3, 7, 15, 31, 63]
        assert line.dimension == 1

        by_id = {block.id: block for block in step.blocks}
        owned = by_id[1].elements
        assert (owned.start, owned.count) == ((0, 1, 2), (2, 3, 4)), "indices count from 0"

        def numbers(low: tuple[int, ...], count: tuple[int, ...]) -> np.ndarray:
            z, y, x = np.indices(count) + np.reshape(low, (3, 1, 1, 1))
            return 100 * z + 10 * y + x

        exact = numbers((0, 1, 2), (2, 3, 4))
        components = exact[..., np.newaxis] + [0, 1000, 2000]
        for name, wanted in {
            "wide": exact,
            "plane": exact,
            "mask": exact % 256,
            "scalar": exact,
            "first": components,
            "last": components,
            "vector": components,
        }.items():
            np.testing.assert_array_equal(by_id[1].values(name), wanted, err_msg=name)
        stored = by_id[1].values("wide", ghosts=True)
        np.testing.assert_array_equal(stored, numbers((-1, 1, 0), (4, 3, 7)))
        assert step.fields["mask"].dtype == np.uint8

        np.testing.assert_array_equal(step.read("row")[0, 0], np.arange(6))
        flat = step.read("flat")
        np.testing.assert_array_equal(flat, numbers((0, 0, 0), (1, 4, 6)))
        np.testing.assert_array_equal(step.read("pair"), flat[..., np.newaxis] + [0, 1000])
        x, y, z = np.moveaxis(step.read("xyz")[0], -1, 0)
        assert np.array_equal(x, np.broadcast_to(np.arange(7), (5, 7)))
        assert np.array_equal(y, np.broadcast_to(2 * np.arange(5)[:, np.newaxis], (5, 7)))
        assert (z == 0.5).all()
        time.sleep(0.5)  # while the program publishes a step that does not fit into the queue
    assert "correct" in finished(job)


def test_a_mistake_in_fortran_without_stat_stops_the_program_with_the_sentence(
    module_test: Path, start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    (tmp_path / "staging.yaml").write_text("engine: inproc\n")
    job = start(module_test, "and then a mistake")
    out, errors = job.communicate(timeout=60)
    assert "uzushio: error: The stream is not open" in errors, out
    assert job.returncode == 1


def test_the_library_shows_its_interface_and_nothing_else() -> None:
    library = installation() / "lib" / "libuzushio.so.0"
    listed = subprocess.run(
        ["nm", "-DC", "--defined-only", library], capture_output=True, text=True, check=True
    )
    names = [line.split(maxsplit=2)[2] for line in listed.stdout.splitlines()]
    headers = (installation() / "include" / "uzushio").glob("*.h")
    declared = [
        name
        for header in headers
        for name in re.findall(r"^UZ_API .*?\b(uz_\w+)\(", header.read_text(), re.MULTILINE)
    ]
    assert sorted(name for name in names if name.startswith("uz_")) == sorted(declared)
    others = [name for name in names if not name.startswith("uz_")]
    assert all("uzushio::staging::" in name for name in others)
    assert any(name.startswith("uzushio::staging::Reader::next") for name in others)


def test_pkg_config_finds_an_installation(shell: Callable[..., str], site: Path) -> None:
    if shutil.which("pkg-config") is None:
        pytest.skip("pkg-config is not installed")
    folder = next(site.glob("lib*/**/pkgconfig"))
    file = folder / "uzushio.pc"
    assert shell("pkg-config", "--modversion", file).strip() == uzushio.__version__
    (include,) = re.findall(r"-I(\S+)", shell("pkg-config", "--cflags", file))
    (lib,) = re.findall(r"-L(\S+)", shell("pkg-config", "--libs", file))
    assert (Path(include) / "uzushio" / "uzushio.h").is_file()
    assert (Path(lib) / "libuzushio.so").exists()
