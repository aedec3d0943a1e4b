"""A run from Python: load a case, run it, step it by hand, read its fields and checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from heat_solver import exact

import uzushio
from uzushio.case import registry
from uzushio.errors import CaseError, CheckpointError, OutputError, UzushioError

SHAPE = (10, 12, 8)
HEAT: dict[str, Any] = {
    "solver": "heat",
    "title": "a decaying wave",
    "time": {"steps": 12, "dt": 0.05},
    "statistics": {"start": 0.1, "every": 3},
    "checkpoint": {"every": 5, "keep": 2},
}
CHANNEL: dict[str, Any] = {
    "solver": "channel",
    "grid": {"nx": 8, "ny": 8, "nz": 8, "lx": "2 pi", "ly": "pi"},
    "flow": {"reynolds_tau": 180},
    "initial": {"field": "turbulent"},
    "time": {"steps": 3, "dt": 1e-4},
}


@pytest.fixture(autouse=True)
def heat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The heat solver by name, in the test's folder."""
    monkeypatch.chdir(tmp_path)
    registry.register("heat", "heat_solver:HeatSolver")
    yield
    del registry.SOLVERS["heat"]


def test_a_case_is_a_file_or_a_mapping_and_overrides_are_either_too(case: Path) -> None:
    wanted = uzushio.load_case(case, ["time.steps=7", "grid.nx=16"])
    for more in ({"grid.nx": np.int64(16)}, {"grid": {"nx": 16}}):
        assert uzushio.load_case(case, {"time.steps": 7, **more}) == wanted
    mapping = {**HEAT, "output": {"folder": Path("run")}}
    assert uzushio.load_case(mapping, {"time.steps": 7, "grid.nx": 16}) == wanted
    assert HEAT["time"]["steps"] == 12  # the argument is not changed


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"time.steps": -1}, r"override time\.steps: time\.steps: got -1"),
        ({"time.steps.more": 1}, r"override time\.steps\.more=1: time\.steps is a value"),
        ({"no": 1}, r"override no: no .*not"),
        ({"time.": 1}, "write it as section"),
        (["time.steps"], "--set time.steps: write it as section"),
    ],
)
def test_a_wrong_override_is_one_sentence(overrides: Any, message: str) -> None:
    with pytest.raises(CaseError, match=message):
        uzushio.load_case(HEAT, overrides)


def test_run_returns_the_results_of_the_run(capfd: pytest.CaptureFixture[str]) -> None:
    done = uzushio.run(HEAT, out="here", quiet=True)
    assert capfd.readouterr().out == ""
    assert done.folder == Path("here") and not done.stopped
    assert done.summary["step"] == 12
    assert [path.name for path in done.checkpoints] == ["step-00000010", "step-00000012"]
    assert [path.name for path in done.figures] == ["u.txt"]
    assert done.statistics is not None and done.statistics["square"].dims == ("z",)
    with pytest.raises(OutputError, match="--overwrite"):
        uzushio.run(HEAT, out="here")
    longer = uzushio.load_case(HEAT, {"time.steps": 14})
    more = uzushio.run(longer, out="here", restart="here")
    assert more.summary["steps_done"] == 2
    assert "Restarted from" in capfd.readouterr().out


def test_a_restart_without_a_case_uses_that_of_the_run(capfd: pytest.CaptureFixture[str]) -> None:
    with uzushio.Simulation(HEAT) as simulation:
        for _ in range(5):
            simulation.step()
        simulation.save("there")
    with uzushio.Simulation(restart="there") as again:
        assert (again.step_index, again.case) == (5, uzushio.load_case(HEAT))
    done = uzushio.run(restart="there", quiet=True)
    assert (done.folder, done.summary["steps_done"]) == (Path("there"), 7)
    assert uzushio.run(restart="there/checkpoints/step-00000012").summary["step"] == 12
    assert "Nothing is left to do" in capfd.readouterr().out
    for wrong in (uzushio.run, uzushio.Simulation, uzushio.assimilate):
        with pytest.raises(UzushioError, match="only restart=FOLDER needs none"):
            wrong()
    with pytest.raises(CheckpointError, match=r"nowhere holds no case\.yaml"):
        uzushio.run(restart="nowhere")


def test_a_simulation_restarts_from_a_checkpoint_of_another_grid() -> None:
    with uzushio.Simulation(CHANNEL) as coarse:
        coarse.step()
        bulk = float(coarse.fields["u"].integrate("z").mean())
        coarse.save("coarse")
    fine = uzushio.load_case(CHANNEL, {"grid.nx": 16, "grid.ny": 12})
    with pytest.raises(CaseError, match="--interpolate"):
        uzushio.Simulation(fine, restart="coarse")
    with uzushio.Simulation(fine, restart="coarse", interpolate=True) as simulation:
        u = simulation.fields["u"]
        assert (simulation.step_index, u.shape[1:]) == (1, (12, 16))
        assert float(u.integrate("z").mean()) == pytest.approx(bulk, rel=1e-12)
    with pytest.raises(UzushioError, match="--interpolate is for a restart"):
        uzushio.Simulation(fine, interpolate=True)


TWIN: dict[str, Any] = {
    "model": "phasefield",
    "grid": {"nx": 32, "ny": 24},
    "time": {"steps": 16, "dt": 0.1},
    "truth": {"m": 1.0, "side": 0.5},
    "first_guess": {"m": 0.0, "side": 0.4},
    "controls": {"phi": {"sigma": 0.5}, "m": {"sigma": 2.0}},
    "optimiser": {"iterations": 60},
    "output": {"folder": "estimated"},
}


def test_an_assimilation_returns_estimate_deviations_and_history(
    capfd: pytest.CaptureFixture[str],
) -> None:
    done = uzushio.assimilate(TWIN, quiet=True, figures=False)
    assert capfd.readouterr().out == ""
    assert done.folder == Path("estimated") and not done.stopped and not done.figures
    m, estimate, history = done.parameters["m"], done.estimate, done.history
    assert estimate is not None and history is not None
    assert m.sd is not None and abs(m.value - 1.0) < 4.0 * m.sd < 1.0
    assert (m.first_guess, m.truth) == (0.0, 1.0)
    assert estimate["phi"].dims == ("y", "x") and estimate["phi"].shape == (24, 32)
    assert (estimate.attrs["m"], estimate.attrs["m_sd"]) == (m.value, m.sd)
    assert float(history["m"][-1]) == m.value and float(history["m"][0]) == 0.0
    assert float(history["J"][-1]) == done.summary["results"]["J"]
    assert history["J"].dims == ("iteration",) and int(history["iteration"][-1]) < 60
    more = uzushio.assimilate(restart="estimated", out="more", quiet=True)
    assert more.parameters == done.parameters and more.folder == Path("more")
    assert len(more.figures) == 9
    with pytest.raises(OutputError, match="--overwrite"):
        uzushio.assimilate(TWIN)
    with pytest.raises(CaseError, match="give it to uzushio assimilate"):
        uzushio.run(TWIN)


def test_a_simulation_is_stepped_by_hand_to_the_case_s_end() -> None:
    with uzushio.Simulation(HEAT) as simulation:
        assert simulation.step_index == 0 and "u" in simulation.fields
        seen = []
        for step in simulation:
            assert (step.index, step.time) == (simulation.step_index, simulation.time)
            u = simulation.fields["u"]
            np.testing.assert_allclose(u, exact(SHAPE, 0.05, step.index), rtol=0, atol=1e-15)
            seen.append(u)
            if step.index == 4:
                break
        for _ in simulation:  # goes on
            seen.append(simulation.fields["u"])
        assert [int(u["step"]) for u in seen] == list(range(1, 13))
        assert not np.shares_memory(seen[0].values, seen[1].values)
        assert simulation.is_over and float(simulation.readings()["max"].value) > 0
        with pytest.raises(UzushioError, match="end is reached"):
            simulation.step()
        statistics = simulation.statistics()
    run = uzushio.run(HEAT, out="run", quiet=True)
    assert statistics is not None and run.statistics is not None
    xr.testing.assert_equal(statistics["square"], run.statistics["square"])  # the same samples
    with pytest.raises(UzushioError, match="closed"):
        simulation.step()
    assert "closed" in repr(simulation)


def test_fields_have_coordinates_units_and_the_moment() -> None:
    with uzushio.Simulation(CHANNEL) as simulation:
        simulation.step()
        assert list(simulation.fields) == ["u", "v", "w", "p"]
        assert "streamwise velocity" in repr(simulation.fields)
        u, w = simulation.fields["u"], simulation.fields["w"]
        dataset = simulation.dataset()
        with pytest.raises(KeyError, match="'uu' is not known"):
            simulation.fields["uu"]
        with pytest.raises(UzushioError, match="not known"):
            simulation.dataset("uu")
    assert u.dims == ("z", "y", "x") and u.shape == (10, 8, 8)
    assert float(u.time) == pytest.approx(1e-4) and int(u.step) == 1
    np.testing.assert_allclose(u.x, np.arange(8) * 2 * np.pi / 8)
    assert u.attrs["long_name"] == "streamwise velocity" and "start" not in u.attrs
    assert w.dims == ("z_faces", "y", "x") and float(w.z_faces[-1]) == 2.0
    assert (
        set(dataset) == {"u", "v", "w", "p"}
        and dataset.sizes["z"] == dataset.sizes["z_faces"] + 1 == 10
    )
    assert dataset.attrs["reynolds_tau"] == 180
    np.testing.assert_allclose(w.isel(z_faces=-1), 0, atol=1e-12)  # the wall


def test_a_run_continues_from_a_state_saved_by_hand() -> None:
    with uzushio.Simulation(HEAT) as simulation:
        for step in simulation:
            if step.index in (3, 6):
                path = simulation.save("saved")
        whole = simulation.fields["u"]
        with pytest.raises(OutputError, match="another run"):
            uzushio.Simulation(HEAT).save("saved")
    assert path.name == "step-00000006"
    with uzushio.Simulation(HEAT, restart="saved") as again:
        assert again.step_index == 6
        for _ in again:
            pass
        xr.testing.assert_identical(again.fields["u"], whole)
    done = uzushio.run("saved/case.yaml", out="saved", restart="saved", quiet=True)
    assert done.summary["steps_done"] == 6
    xr.testing.assert_equal(uzushio.open_checkpoint("saved")["u"], whole)
    with pytest.raises(CheckpointError, match="no complete checkpoint"):
        uzushio.Simulation(HEAT, restart="nowhere")


def test_open_checkpoint_returns_a_channels_fields_in_physical_space() -> None:
    with uzushio.Simulation(CHANNEL) as simulation:
        for _ in simulation:
            pass
        wanted = simulation.dataset()
        path = simulation.save("saved")
    for where in ("saved", path):
        xr.testing.assert_allclose(uzushio.open_checkpoint(where), wanted, atol=1e-13)
    assert set(uzushio.open_checkpoint(path, "w")) == {"w"}


def test_steering_by_hand() -> None:
    with uzushio.Simulation(CHANNEL) as simulation:
        assert simulation.parameters()["dt"].value == 1e-4
        simulation.steer("dt", 5e-5)
        assert simulation.step().time == pytest.approx(5e-5)
        with pytest.raises(UzushioError, match="'tt' is not known"):
            simulation.steer("tt", 1.0)
        with pytest.raises(UzushioError, match="is outside"):
            simulation.steer("dt", 1e9)


def test_a_diverged_solution_is_an_error_of_uzushio() -> None:
    fault = {**HEAT, "fault": {"kind": "diverge", "step": 2}}
    with uzushio.Simulation(fault) as simulation, pytest.raises(UzushioError, match="NaN"):
        for _ in simulation:
            pass
    assert uzushio.errors.SolverDivergedError is uzushio.solvers.contract.SolverDivergedError


def test_xarray_opens_a_checkpoint_whose_modes_are_the_fields(
    recwarn: pytest.WarningsRecorder,
) -> None:
    with uzushio.Simulation(CHANNEL) as simulation:
        for _ in simulation:
            pass
        fields = simulation.dataset("u", "w")
        path = simulation.save("saved")
    state = xr.open_zarr(path, group="state")
    assert state["u"].dims == ("z", "part", "ky", "kx") and state["w"].dims[0] == "z_faces"
    # The sum of all modes, of which those with kx < 0 are the conjugates of the others.
    wave = state["kx"] * fields["x"] + state["ky"] * fields["y"]
    weight = xr.where(state["kx"] > 0, 2.0, 1.0)
    for name, inside in (("u", slice(1, -1)), ("w", slice(1, None))):
        re, im = (state[name].isel(part=part) for part in (0, 1))
        values = (weight * (re * np.cos(wave) - im * np.sin(wave))).sum(("kx", "ky"))
        wanted = fields[name].isel({state[name].dims[0]: inside})
        xr.testing.assert_allclose(values.transpose(*wanted.dims), wanted, atol=1e-10)
    empty = xr.open_zarr(path)  # which describes itself
    assert not empty.variables and "group='state'" in empty.attrs["description"]
    assert "uzushio.open_checkpoint(PATH)" in empty.attrs["description"]
    tree = xr.open_datatree(path, engine="zarr")
    xr.testing.assert_identical(tree["state"].to_dataset(), state)
    run = uzushio.run(HEAT, out="run", quiet=True)
    means = xr.open_zarr(run.checkpoints[-1], group="statistics")
    assert means["square"].dims == ("z",)
    assert not [warning for warning in recwarn if "consolidated" in str(warning.message)]
