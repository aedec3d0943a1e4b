"""Runs of compressible flows: the same bits on all ranks and after restarts; clear messages."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from conftest import Run
from mpi4py import MPI

from uzushio._base.store import checkpoint
from uzushio.case.model import load_case
from uzushio.solvers.jet.solver import JetSolver

CASE = """\
solver: jet
title: two gases flow around turned zones
grid:
  box:
    cells: [12, 10, 8]
    zones: [2, 2, 1]
    periodic: z
    mapping: wavy
    amplitude: 0.02
    orientations: any
gas:
  species:
    light: {gas_constant: 2.0, gamma: 1.6}
    heavy: {gas_constant: 1.0, formation_energy: 0.5}
  viscosity: 0.01
  sutherland: 0.4
states:
  rest: {pressure: 1, temperature: 1, mass_fractions: {heavy: 1}}
  jet: {velocity: [0.8, 0, 0], pressure: 1.1, temperature: 1.2, mass_fractions: {light: 1}}
boundaries:
  x-min:
    type: inflow
    state: jet
    profile: {centre: [0, 0.5, 0.5], radius: 0.2, thickness: 0.04, surroundings: rest}
  x-max: {type: far_field, state: rest}
  y-min: {type: isothermal_wall, temperature: 0.9}
  y-max: {type: slip_wall}
sponges:
  end: {state: rest, begin: 0.7, end: 1, strength: 5}
initial: {state: rest, noise: 0.05}
les: {model: sigma}
time: {steps: 8, cfl: 0.5}
checkpoint: {every: 4, keep: 3}
output: {folder: run}
"""
Arrays = dict[str, np.ndarray]


def checkpointed(run: Path, step: int) -> Arrays:
    folder = run / f"checkpoints/step-{step:08d}"
    state = checkpoint.open_checkpoint(folder, MPI.COMM_SELF).state()
    return {
        name: state.read(name, (0,) * len(shape), shape) for name, shape in state.shapes.items()
    }


def write(folder: Path, text: str = CASE) -> Path:
    path = folder / "jet.yaml"
    path.write_text(text)
    return path


#: The same in SI units with heat capacities by NASA's polynomials.
HOT = (
    CASE.replace("light: {gas_constant: 2.0, gamma: 1.6}", "H2: {}")
    .replace("heavy: {gas_constant: 1.0, formation_energy: 0.5}", "H2O: {}")
    .replace("  viscosity: 0.01\n", "  data: built-in\n  transport: kinetic-theory\n")
    .replace("  sutherland: 0.4", "  lewis: 1.1")
    .replace("pressure: 1, temperature: 1,", "pressure: 1e5, temperature: 900,")
    .replace("pressure: 1.1, temperature: 1.2,", "pressure: 1.1e5, temperature: 2500,")
    .replace("{heavy: 1}", "{H2O: 1}").replace("{light: 1}", "{H2: 1}")
    .replace("[0.8, 0, 0]", "[900, 0, 0]").replace("noise: 0.05", "noise: 5")
    .replace("type: inflow", "type: characteristic_inflow\n    length: 1")
    .replace("type: far_field", "type: characteristic_outflow, length: 1")
    .replace("isothermal_wall, ", "isothermal_wall_model, ")
    .replace("temperature: 0.9", "temperature: 700").replace("strength: 5", "strength: 5000")
)  # fmt: skip


@pytest.fixture(scope="module")
def on_one_rank(tmp_path_factory: pytest.TempPathFactory) -> Arrays:
    return computed(write(tmp_path_factory.mktemp("jet")))


def computed(path: Path) -> Arrays:
    """Conserved variables of each zone after 8 steps on one rank, from the solver's memory."""
    solver = JetSolver(load_case(path), MPI.COMM_SELF).begin()
    for _ in range(8):
        solver.step()
    fields = {}
    for name, array in solver.state().arrays.items():
        if not name.endswith("/conserved"):  # the series of flows through boundaries
            continue
        fields[name] = np.full(array.shape, np.nan)
        for start, values in array.parts:
            box = tuple(slice(s, s + n) for s, n in zip(start, values.shape, strict=True))
            fields[name][box] = values
    assert len(fields) == 4 and all(np.isfinite(values).all() for values in fields.values())
    return fields


@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_a_run_has_the_same_bits_on_any_number_of_ranks_and_restarts(
    uzushio: Run, tmp_path: Path, on_one_rank: Arrays, ranks: int
) -> None:
    case = write(tmp_path)
    done = uzushio("run", case, "--ranks", ranks, "--set", "time.steps=4", timeout=240)
    assert done.returncode == 0, done.stderr
    done = uzushio("run", "--restart", "run", "--ranks", 1, "--set", "time.steps=8", timeout=240)
    assert done.returncode == 0, done.stderr
    fields = checkpointed(tmp_path / "run", 8)
    assert set(fields) - {"series"} == set(on_one_rank)
    for name, values in on_one_rank.items():
        np.testing.assert_array_equal(fields[name], values, err_msg=name)


def test_hot_gases_at_modelled_walls_and_open_ends_have_the_same_bits_after_restarts(
    uzushio: Run, tmp_path: Path
) -> None:
    case = write(tmp_path, HOT)
    expected = computed(case)
    done = uzushio("run", case, "--ranks", 3, "--set", "time.steps=4", timeout=240)
    assert done.returncode == 0, done.stderr
    done = uzushio("run", "--restart", "run", "--ranks", 2, "--set", "time.steps=8", timeout=240)
    assert done.returncode == 0, done.stderr
    found = checkpointed(tmp_path / "run", 8)
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)


def test_the_summary_has_integrals_and_outflows(uzushio: Run, tmp_path: Path) -> None:
    done = uzushio("run", write(tmp_path), "--ranks", 1, timeout=240)
    assert done.returncode == 0, done.stderr
    summary = json.loads((tmp_path / "run/summary.json").read_text())
    integrals, outflows = (summary["results"][key] for key in ("integrals", "outflows"))
    assert integrals["heavy"] > 0 and integrals["kinetic_energy"] > 0
    assert "entropy" not in integrals  # of a mixture: not known
    assert outflows["x-min"]["light"] < -0.01 and abs(outflows["x-max"]["light"]) < 0.01
    assert outflows["y-max"]["light"] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  x-max: {type: far_field, state: rest}\n", "", "the patch 'x-max'"),
        ("y-max:", "top:", "no patch 'top'"),
        ("state: jet", "state: jot", "did you mean 'jet'"),
        ("{heavy: 1}", "{heavy: 0.9}", "their sum is 0.9; it must be 1"),
        ("{light: 1}", "{hydrogen: 1}", "the species 'hydrogen'"),
        ("amplitude: 0.02", "amplitude: 0.4", "volume"),
        ("  viscosity: 0.01", "  data: built-in", "'gamma' has no effect with gas.data"),
        ("  viscosity: 0.01\n", "  transport: kinetic-theory\n", "kinetic-theory needs gas.data"),
        ("type: far_field", "type: characteristic_outflow", "'length' is that of"),
        ("  sutherland: 0.4", "  schmidt: 1\n  lewis: 1", "either 'schmidt' or 'lewis'"),
        ("gas_constant: 2.0, ", "", "give either 'molar_mass' or 'gas_constant'"),
        ("temperature: 0.9}", "}", "isothermal_wall"),
        ("    mapping: wavy", "    maping: wavy", "did you mean 'mapping'"),
    ],
)
def test_mistakes_are_named(uzushio: Run, tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in CASE
    done = uzushio("check", write(tmp_path, CASE.replace(old, new)), timeout=240)
    assert done.returncode != 0 and "Traceback" not in done.stderr
    assert message in done.stderr


@pytest.mark.parametrize(
    ("name", "result", "message"),
    [
        ("u", "np.zeros((3, 5))", "jet.py"),
        ("Y_light", "0.5", "the mass fractions must sum to 1, not 1.5"),
    ],
)
def test_wrong_results_of_the_initial_script_are_named(
    uzushio: Run, tmp_path: Path, name: str, result: str, message: str
) -> None:
    (tmp_path / "jet.py").write_text(
        f"import numpy as np\ndef initial(name, x, y, z):\n"
        f"    return {result} if name == '{name}' else None\n"
    )
    case = write(tmp_path, CASE.replace("noise: 0.05", "script: jet.py"))
    done = uzushio("run", case, "--ranks", 1, timeout=240)
    assert done.returncode != 0 and "Traceback" not in done.stderr
    assert message in done.stderr


def test_a_flow_that_cannot_be_ends_with_its_place_on_all_ranks(
    uzushio: Run, tmp_path: Path
) -> None:
    wild = CASE.replace("[0.8, 0, 0], pressure: 1.1", "[90, 0, 0], pressure: 1.1").replace(
        "cfl: 0.5", "cfl: 1.0"
    )
    wild = wild.replace("type: inflow", "type: supersonic_inflow").replace(
        "les:", "numerics: {scheme: keep}\nles:"
    )
    done = uzushio(
        "run", write(tmp_path, wild), "--ranks", 2, "--set", "time.steps=400", timeout=240
    )
    assert done.returncode != 0 and "Traceback" not in done.stderr
    assert "zone 'box_" in done.stderr and "density" in done.stderr


@pytest.mark.parametrize("subgrid", ["none", "vreman"])
def test_the_estimate_counts_all_messages_of_a_step(mpi_run: Run, subgrid: str) -> None:
    """Ghosts, fluxes at connections, and ghosts for the eddy viscosity in the next step."""
    done = mpi_run(3, [Path(__file__).with_name("jet_traffic_job.py"), subgrid], timeout=120)
    assert done.returncode == 0, done.stderr
    messages, sent, *estimate = map(int, done.stdout.split())
    assert estimate == [messages, sent]


def test_a_step_that_collapses_ends_with_its_place_and_the_last_good_state(
    uzushio: Run, tmp_path: Path
) -> None:
    """A sponge heats a gas at rest: sound becomes a million times as fast."""
    text = """\
solver: jet
grid: {box: {cells: [8, 8, 1], zones: [2, 1, 1], periodic: xyz}}
gas: {species: {air: {gas_constant: 1}}}
states:
  rest: {pressure: 1, temperature: 1}
  hot: {pressure: 1e12, temperature: 1e12}
sponges:
  all: {state: hot, begin: -3, end: -2, strength: 1}
initial: {state: rest}
time: {steps: 4000, cfl: 0.5}
checkpoint: {every: 1000}
output: {folder: run}
"""
    done = uzushio("run", write(tmp_path, text), "--ranks", 2, timeout=240)
    assert done.returncode != 0 and "Traceback" not in done.stderr
    assert "the stable step has fallen from" in done.stderr and "zone 'box_" in done.stderr
    assert "The last good checkpoint is kept" in done.stderr
    (kept,) = (tmp_path / "run/checkpoints").glob("step-*")
    step = int(kept.name.removeprefix("step-"))
    assert f"After step {step}," in done.stderr
    assert all(
        np.isfinite(values).all() for values in checkpointed(tmp_path / "run", step).values()
    )
