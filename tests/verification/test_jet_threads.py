"""Compressible flows on several threads: the bits of one thread."""

from __future__ import annotations

import numpy as np
import pytest
from mpi4py import MPI

from uzushio import _core
from uzushio.solvers.jet.case import JetCase
from uzushio.solvers.jet.solver import JetSolver


def conserved_after_steps(threads: int, scheme: str) -> np.ndarray:
    """Return the conserved variables after three steps of a viscous mixture in a box."""
    _core.parallel.set_threads(threads)
    sections = {
        "solver": "jet",
        "grid": {
            "box": {"cells": [40, 36, 34], "periodic": "xz", "mapping": "wavy", "amplitude": 0.02}
        },
        "gas": {
            "species": {"light": {"gas_constant": 2.0}, "heavy": {"gas_constant": 1.0}},
            "viscosity": 1e-3,
        },
        "states": {"rest": {"pressure": 1, "temperature": 1, "mass_fractions": {"light": 1}}},
        "boundaries": {
            "y-min": {"type": "isothermal_wall", "temperature": 1.1},
            "y-max": {"type": "far_field", "state": "rest"},
        },
        "sponges": {
            "top": {"state": "rest", "axis": "y", "begin": 0.8, "end": 1, "strength": 5},
            "side": {"state": "rest", "axis": "x", "begin": 0.8, "end": 1, "strength": 2},
        },
        "acceleration": [0.1, 0, 0],
        "initial": {"state": "rest", "noise": 0.05},
        "les": {"model": "vreman"},
        "numerics": {"scheme": scheme},
        "time": {"end": 1, "cfl": 0.5},
    }
    solver = JetSolver(JetCase.model_validate(sections), MPI.COMM_SELF).begin()
    for _ in range(3):
        solver.step()
    return np.array(solver.core.values("conserved", 0))


@pytest.mark.parametrize("scheme", ["keep", "hybrid"])
def test_a_step_has_the_same_bits_on_any_number_of_threads(scheme: str) -> None:
    try:
        one, several = (conserved_after_steps(threads, scheme) for threads in (1, 3))
    finally:
        _core.parallel.set_threads(1)
    assert np.isfinite(one).all()
    np.testing.assert_array_equal(one.view(np.uint64), several.view(np.uint64))
