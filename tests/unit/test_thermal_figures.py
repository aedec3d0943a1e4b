"""Figures of thermal flows: what they show of a flow, and their labels."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch
from mpi4py import MPI

from uzushio.solvers.block_solver.series import CAPACITY, FIRST_INTERVAL, NAME, Series
from uzushio.solvers.contract import StoredState
from uzushio.solvers.thermal import ThermalCase, ThermalSolver
from uzushio.solvers.thermal.figures import averages, history, pictures, profiles
from uzushio.solvers.thermal.nusselt import nusselt_factors
from uzushio.solvers.thermal.slices import Plane, focus, lines, planes, window

WALL = {"type": "wall"}
SLOPES = [0.5, -2.0, 3.0]


def case_of(**changes: Any) -> ThermalCase:
    """A box of 2 x 1 x 3 between walls at rest, a temperature with a gradient."""
    values: dict[str, Any] = {
        "solver": "thermal",
        "grid": {
            "x": {"cells": 6, "length": 2},
            "y": {"cells": 5, "stretching": 1.0},
            "z": {"cells": 8, "length": 3, "stretching": 0.7, "fine_at": "lower"},
        },
        "fluid": {"viscosity": 0.1},
        "scalars": {"temperature": {"diffusivity": 0.2, "unit": "K"}},
        "boundaries": {
            f"{axis}-{side}": {"type": "wall", "velocity": [0, 0, 0]}
            for axis in "xyz"
            for side in ("min", "max")
        },
        "initial": {"values": {"temperature": 4}, "gradients": {"temperature": SLOPES}},
        "units": {"length": "m", "time": "s"},
        "time": {"end": 1, "cfl": 0.5},
        "output": {"folder": "."},
    }
    return ThermalCase.model_validate(values | changes)


def planes_of(case: ThermalCase) -> list[Plane]:
    """The planes of the initial fields, on one rank."""
    solver = ThermalSolver(case, MPI.COMM_SELF).begin()
    solver._update_derived()
    declared = [array for array in solver._arrays(False, output=True)]
    arrays = [
        array
        for name in ("velocity", "temperature", "fluid")
        for array in declared
        if array.name == name
    ]
    return planes(case, arrays, MPI.COMM_SELF)


def temperature(x: Any, y: Any, z: Any) -> Any:
    return 4.0 + SLOPES[0] * x + SLOPES[1] * y + SLOPES[2] * z


def labels(figure: Figure) -> set[str]:
    shown = [shown_axes for axes in figure.axes for shown_axes in (axes, *axes.child_axes)]
    return {text for axes in shown for text in (axes.get_xlabel(), axes.get_ylabel())}


def test_planes_go_through_the_middle_of_the_box_between_cell_centres() -> None:
    case = case_of()
    assert focus(case) == [1.0, 0.5, 1.5]
    for plane in planes_of(case):
        assert plane.normal is not None
        point: list[Any] = focus(case)
        point[plane.axes[0]] = plane.centres(0)[np.newaxis, :]
        point[plane.axes[1]] = plane.centres(1)[:, np.newaxis]
        np.testing.assert_allclose(plane.scalars["temperature"], temperature(*point), rtol=1e-12)


def test_lines_end_with_the_values_of_the_boundaries() -> None:
    sides: dict[str, Any] = {name: dict(WALL) for name in ("y-min", "y-max")}
    sides["x-min"] = WALL | {"values": {"temperature": 4 - 2.0 * 0.5 + 3 * 1.5}}
    sides["x-max"] = WALL | {"fluxes": {"temperature": SLOPES[0] * 0.2}}
    sides["z-min"] = {"type": "symmetry"}
    sides["z-max"] = WALL | {"velocity": [0.3, 0, 0]}
    case = case_of(boundaries=sides)
    along_x, along_y, along_z = lines(case, planes_of(case))
    exact = temperature(along_x.positions, 0.5, 1.5)
    np.testing.assert_allclose(along_x.scalars["temperature"], exact, rtol=1e-12)
    # Without flux through a wall the end has the value of the next cell.
    assert along_y.scalars["temperature"][0] == along_y.scalars["temperature"][1]
    assert along_z.velocity[0][-1] == 0.3
    assert along_z.velocity[2][0] == 0.0


def test_lines_and_pictures_leave_out_bodies() -> None:
    ball = {"shape": "sphere", "centre": [1.0, 0.6, 1.5], "radius": 0.3}
    case = case_of(bodies={"ball": ball})
    slices = planes_of(case)
    for plane in slices:
        assert plane.fluid is not None
        assert 0 < (~plane.fluid).sum() < plane.fluid.size / 2
    assert focus(case) == pytest.approx([1.0, 0.6, 1.5])
    for line in lines(case, slices):
        at = focus(case)[line.axis]
        hidden = np.isnan(line.velocity[0])
        assert hidden[np.argmin(np.abs(line.positions - at))]
        assert not hidden[np.abs(line.positions - at) > 0.5].any()
        np.testing.assert_array_equal(np.isnan(line.scalars["temperature"]), hidden)
    metal = ball | {"conduction": {"temperature": {"conductivity": 3}}}
    case = case_of(bodies={"ball": metal})
    assert all(
        np.isfinite(line.scalars["temperature"]).all() for line in lines(case, planes_of(case))
    )


def test_arrows_of_a_parallel_stream_are_spread_over_the_picture() -> None:
    case = case_of()
    plane = next(slice_plane for slice_plane in planes_of(case) if slice_plane.axes == (0, 2))
    assert plane.velocity is not None
    stream = np.zeros_like(plane.velocity)
    stream[0] = 1.0
    axes = pictures.plane(case, replace(plane, velocity=stream), "title").axes[0]
    arrows = [patch for patch in axes.patches if isinstance(patch, FancyArrowPatch)]
    # In lengths of the box, along the stream: uniform over 0.2 to 0.8 of each line.
    places = np.sort([arrow._posA_posB[0][0] for arrow in arrows]) / 2.0
    assert len(places) > 10
    assert np.diff(places, prepend=0.2, append=0.8).max() < 0.2


def test_streams_name_the_mask_of_bodies_and_what_they_conduct() -> None:
    ball = {"shape": "sphere", "centre": [1.0, 0.6, 1.5], "radius": 0.3}
    for body, conducted in ((ball, None), (ball | {"conduction": {"temperature": {}}}, True)):
        solver = ThermalSolver(case_of(bodies={"ball": body}), MPI.COMM_SELF).begin()
        attributes = solver.attributes()
        assert attributes["body_mask"] in solver.fields()
        assert attributes.get("conducted") == (conducted and "temperature")
    assert "body_mask" not in ThermalSolver(case_of(), MPI.COMM_SELF).attributes()


def test_pictures_show_the_surroundings_of_small_bodies() -> None:
    small = {"shape": "sphere", "centre": [0.4, 0.6, 1.5], "radius": 0.1}
    grid = {"x": {"cells": 20, "length": 2}, "y": {"cells": 10}, "z": {"cells": 30, "length": 3}}
    case = case_of(bodies={"ball": small}, grid=grid)
    plane = next(slice_plane for slice_plane in planes_of(case) if slice_plane.axes == (0, 2))
    (left, right), (bottom, top) = window(case, plane)
    assert (left, right) == pytest.approx((0.0, 1.3))
    assert (bottom, top) == pytest.approx((0.6, 2.4))
    stream = {"type": "inflow", "velocity": [1, 0, 0]}
    sides = case.model_dump()["boundaries"] | {"x-min": stream, "x-max": {"type": "outflow"}}
    wake = case_of(bodies={"ball": small}, grid=grid, boundaries=sides)
    assert window(wake, plane)[0] == pytest.approx((0.0, 2.0))  # to the end of the wake


def test_a_start_without_disturbances_is_noted_where_a_wake_would_shed() -> None:
    def notes(centre: float = 0.5, viscosity: float = 0.002, **initial: Any) -> str:
        stream = {"type": "inflow", "velocity": [1, 0, 0]}
        sides = {"x-min": stream, "x-max": {"type": "outflow"}, "y-min": WALL, "y-max": WALL}
        body = {"shape": "cylinder", "centre": [0.5, centre, 0], "radius": 0.1, "axis": "z"}
        case = case_of(
            grid={"x": {"cells": 20, "length": 2}, "y": {"cells": 20}},
            fluid={"viscosity": viscosity},
            boundaries=sides,
            bodies={"cylinder": body},
            initial={"velocity": [1, 0, 0], **initial},
        )
        return " ".join(ThermalSolver.estimate(case, 1).result_notes)

    assert "'initial.noise'" in notes()
    assert "noise" not in notes(noise={"velocity": 0.01})
    assert "noise" not in notes(centre=0.51)
    assert "noise" not in notes(viscosity=0.01)  # Re = 20: the wake is steady


def test_axes_and_legends_name_fields_and_units() -> None:
    case = case_of()
    slices = planes_of(case)
    picture = pictures.plane(case, slices[0], "title")
    assert {"$x$ [m]", "$z$ [m]", "temperature [K]", "speed [m/s]"} <= labels(picture)
    assert {"$x$ [m]", "$y$ [m]", "velocity [m/s]", "temperature [K]"} <= labels(
        profiles.profiles(case, lines(case, slices), "title")
    )
    times = np.linspace(0, 1, 9)
    values = {"energy": times, "flux/temperature/x-min": times, "force/ball/x": times}
    assert labels(history.history(case, times, values, "title")) >= {
        "time $t$ [s]",
        "kinetic energy [m$^5$/s$^2$]",
        "flux of temperature [K m/s]",
        "force / density [m$^4$/s$^2$]",
    }
    plain = case_of(units={})
    assert labels(pictures.plane(plain, slices[0], "title")) >= {"$x$", "speed", "temperature [K]"}


def test_the_nusselt_number_of_conduction_is_one() -> None:
    sides = {name: dict(WALL) for name in ("y-min", "y-max", "z-min", "z-max")}
    walls = {
        "x-min": WALL | {"values": {"temperature": 5}},
        "x-max": WALL | {"values": {"temperature": 1}},
    }
    case = case_of(
        boundaries=sides | walls,
        initial={"values": {"temperature": 5}, "gradients": {"temperature": [-2, 0, 0]}},
    )
    solver = ThermalSolver(case, MPI.COMM_SELF).begin()
    fluxes = solver.fluxes("temperature")
    factors = nusselt_factors(case, "temperature")
    assert [*factors] == ["x-min", "x-max"]
    assert [fluxes[side] * factors[side] for side in factors] == pytest.approx([1.0, 1.0])
    equal = WALL | {"values": {"temperature": 5}}
    assert not nusselt_factors(
        case_of(boundaries=sides | {"x-min": equal, "x-max": equal}), "temperature"
    )


def _read(rows: np.ndarray, *_: object) -> np.ndarray:
    return rows


def test_a_series_is_bounded_and_does_not_depend_on_restarts() -> None:
    whole, first = Series(["energy"]), Series(["energy"])
    last, rows = 20 * CAPACITY, np.empty(0)
    stored = StoredState({}, {}, partial(_read, rows))
    for step in range(1, last + 1):
        for series in (whole, first):
            if series.is_due(step):
                series.add(step, 0.1 * step, [float(step) ** 2])
        if step == last // 3:
            arrays, notes = first.stored(0)
            rows = arrays[NAME].parts[0][1]
            stored = StoredState({NAME: rows.shape}, {NAME: notes}, partial(_read, rows))
            first = Series(["energy"])
            first.restore(stored)
    times, values = whole.table()
    assert CAPACITY / 2 < len(times) <= CAPACITY
    assert np.ptp(np.diff(times)) < 1e-9 * last
    np.testing.assert_allclose(values["energy"], (10 * times) ** 2)
    np.testing.assert_array_equal(times, first.table()[0])
    other = Series(["energy", "force/ball/x"])
    other.restore(stored)
    assert not len(other.table()[0])
    assert other.is_due(FIRST_INTERVAL)


def test_averages_are_profiles_or_planes() -> None:
    case = case_of()
    cells = [axis.cells for axis in reversed(case.grid.axes)]
    centres = {
        name: 0.5 * (faces[1:] + faces[:-1])
        for name, faces in zip("xyz", (axis.positions() for axis in case.grid.axes), strict=True)
    }

    def dataset(dims: str) -> xr.Dataset:
        shape = [n for n, name in zip(cells, "zyx", strict=True) if name in dims]
        data = {
            name: ([*dims, *more], np.ones([*shape, *(3 for _ in more)]))
            for name, more in (("velocity", ["component"]), ("temperature", []))
        }
        data |= {f"{name}_rms": values for name, values in data.items()}
        coords = {name: centres[name] for name in dims}
        return xr.Dataset(data, coords, {"samples": 5})

    (only,) = averages.figures(case, dataset("z"), "title")
    assert only[0] == "mean_profiles"
    assert {"$z$ [m]", "mean velocity [m/s]", "r.m.s. temperature [K]"} <= labels(only[1])
    names = [name for name, _ in averages.figures(case, dataset("zyx"), "title")]
    assert names == ["mean_plane_xz", "mean_plane_yz", "mean_plane_xy"]


def test_the_history_is_a_table(tmp_path: Path) -> None:
    times = np.array([0.25, 0.5])
    path = history.write(tmp_path / "history.csv", times, {"energy": times**2})
    assert path.read_text() == "time,energy\n0.25,0.0625\n0.5,0.25\n"
