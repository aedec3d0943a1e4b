"""Thermal flows against published data and linear theory, on small grids."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import yaml
from mpi4py import MPI

from uzushio.solvers.thermal import ThermalCase, ThermalSolver

sys.path.append(str(Path(__file__).parents[2] / "validation"))

import thermal

CASES = Path(__file__).parents[2] / "examples/cases"


def test_the_lid_driven_cavity_has_the_published_extremes() -> None:
    figures = {
        (figure.case, figure.quantity): figure for figure in thermal.lid(1, {100: [32]}, keep=False)
    }
    for name in ("u_min", "v_max", "v_min"):
        assert abs(figures["lid, Re = 100", name].deviation) < 0.02


def test_convection_in_a_cavity_has_the_published_extremes_and_nusselt_number() -> None:
    for figure in thermal.heated(1, {1e3: (0.0, (32,)), 1e4: (0.8, (32,))}, keep=False):
        assert abs(figure.deviation) < 0.01, f"{figure.case}, {figure.quantity}"


def test_rolls_grow_above_the_critical_rayleigh_number_and_decay_below() -> None:
    assert thermal.growth_rate(1690.0, 24) < 0
    assert thermal.growth_rate(1725.0, 24) > 0


def test_the_heated_channel_has_the_nusselt_number_of_developed_laminar_flow() -> None:
    sections = yaml.safe_load((CASES / "heated-channel.yaml").read_text(encoding="utf-8"))
    sections["grid"] = {"x": {"cells": 72, "length": 24}, "y": {"cells": 24}}
    solver = ThermalSolver(ThermalCase.model_validate(sections), MPI.COMM_SELF).begin()
    while solver.time < 40:  # the fluid has passed
        solver.step()
    solver.core.update_derived()
    u = solver.core.values("velocity", 0)[0][0, :, 54]
    temperature = solver.core.values("temperature", 0)[0][0, :, 54]
    bulk = (u * temperature).sum() / u.sum()
    wall = temperature[0] + 0.5 / 24  # the slope is 1
    assert 2 / (wall - bulk) == pytest.approx(140 / 17, rel=0.005)
