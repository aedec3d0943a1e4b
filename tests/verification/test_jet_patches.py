"""Forces on the patches of compressible flows, beside exact ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

from uzushio.solvers.jet.case import JetCase
from uzushio.solvers.jet.solver import JetSolver


def solver(box: dict[str, Any], boundaries: dict[str, Any], viscosity: float = 0.0) -> JetSolver:
    """Return a solver of a gas at rest, at pressure 2, in a box."""
    sections = {
        "solver": "jet",
        "grid": {"box": box},
        "gas": {"species": {"gas": {"gas_constant": 1.0}}, "viscosity": viscosity},
        "states": {"rest": {"pressure": 2, "temperature": 1}},
        "boundaries": boundaries,
        "initial": {"state": "rest"},
        "numerics": {"scheme": "keep"},
        "time": {"end": 1, "cfl": 0.1},
    }
    return JetSolver(JetCase.model_validate(sections), MPI.COMM_SELF).begin()


def force(flows: dict[str, float]) -> np.ndarray:
    return np.array([flows[f"momentum_{axis}"] for axis in "xyz"])


def test_a_uniform_pressure_has_no_force_on_a_closed_surface() -> None:
    sides = [f"{axis}-{end}" for axis in "xyz" for end in ("min", "max")]
    flow = solver(
        {"cells": [6, 5, 4], "mapping": "wavy", "amplitude": 0.02},
        {side: {"type": "slip_wall"} for side in sides},
    )
    for _ in range(4):
        flow.step()
    flows = flow.patch_flows()
    np.testing.assert_allclose(sum(force(flows[side]) for side in sides), 0, atol=1e-13)
    assert all(flows[side]["mass"] == 0 for side in sides)
    # The wall's projection on its plane is a unit square.
    np.testing.assert_allclose(force(flows["x-max"])[0], 2.0, rtol=1e-12)
    times, values = flow._series.table()
    assert times[-1] == flow.time
    assert values["momentum_x/x-max"][-1] == flows["x-max"]["momentum_x"]


def test_a_plate_is_pulled_by_the_shear_of_a_couette_flow() -> None:
    viscosity, speed = 0.05, 0.3
    flow = solver(
        {"cells": [4, 8, 2], "lengths": [1.5, 0.5, 2.0], "periodic": "xz"},
        {
            "y-min": {"type": "adiabatic_wall"},
            "y-max": {"type": "adiabatic_wall", "velocity": [speed, 0, 0]},
        },
        viscosity,
    )
    y = np.array(flow.core.centres(0))[1]
    values = np.broadcast_arrays(1.0, speed * y / 0.5, 0.0, 0.0, 2.0, 1.0, y)[:-1]
    flow.core.set_states(0, np.ascontiguousarray(np.stack(values)))
    flow.core.start(0.0)
    flow.core.step(1e-9)  # friction heats the gas later on
    shear = viscosity * speed / 0.5 * 1.5 * 2.0
    flows = flow.patch_flows()
    assert flows["y-min"]["momentum_x"] == pytest.approx(shear, rel=1e-7)
    assert flows["y-max"]["momentum_x"] == pytest.approx(-shear, rel=1e-7)
    assert flows["y-max"]["energy"] == pytest.approx(-shear * speed, rel=1e-7)  # work of the plate
