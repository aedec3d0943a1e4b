"""Sources of fields on several curvilinear zones, with values at cells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

from uzushio.domain.box import Box
from uzushio.errors import PipelineError
from uzushio.pipeline.graph import Graph
from uzushio.pipeline.sources import SourceSettings
from uzushio.pipeline.stream import Stream
from uzushio.solvers.jet.case import JetCase
from uzushio.solvers.jet.solver import JetSolver


@pytest.fixture(scope="module")
def solver() -> JetSolver:
    case = JetCase.model_validate(
        {
            "solver": "jet",
            "grid": {
                "box": {
                    "cells": [8, 7, 6],
                    "zones": [2, 1, 1],
                    "periodic": "xyz",
                    "mapping": "warped",
                    "orientations": "any",
                }
            },
            "gas": {"species": {"air": {"gas_constant": 1}}},
            "states": {"rest": {"pressure": 1, "temperature": 1}},
            "initial": {"state": "rest"},
            "time": {"steps": 1, "cfl": 0.5},
        }
    )
    return JetSolver(case, MPI.COMM_SELF)


def graph_of(solver: JetSolver, **sources: Any) -> Graph:
    stream = Stream.of_solver(solver.meshes(), solver.fields(), {"time": 0.0})
    return Graph(stream, {name: SourceSettings.model_validate(s) for name, s in sources.items()})


def computed(graph: Graph, name: str, inputs: dict[str, np.ndarray], box: Box) -> np.ndarray:
    """Value of a source on a box, from values of whole meshes."""
    boxes = graph.boxes([(name, box)])
    values = {
        field: (part, inputs[field][part.slices((0, 0, 0))])
        for field, part in boxes.items()
        if field in inputs
    }
    for node_name in graph.nodes:
        if node_name in boxes and node_name not in values:
            node = graph.nodes[node_name]
            part = boxes[node_name]
            values[node_name] = part, node.compute(part, values, np.empty)
    return values[name][1]


def test_a_source_of_a_field_of_several_zones_is_one_field_of_each(solver: JetSolver) -> None:
    graph = graph_of(solver, fluctuation="pressure / 2 - 1", twice="2 * fluctuation")
    for zone in ("box_1", "box_2"):
        assert graph.stream.parts("fluctuation")[0] == "box_1/fluctuation"
        pressure = np.random.default_rng(1).random(
            graph.stream.grid_of(f"{zone}/pressure").points.count
        )
        box = Box((1, 0, 2), (3, 4, 2))
        values = computed(graph, f"{zone}/twice", {f"{zone}/pressure": pressure}, box)
        np.testing.assert_array_equal(values, 2 * (pressure / 2 - 1)[1:4, 0:4, 2:4])
    assert graph.stream.quantities["box_2/fluctuation"].description == "fluctuation"


def test_gradients_at_cells_of_warped_zones_are_exact_for_linear_fields(
    solver: JetSolver,
) -> None:
    graph = graph_of(solver, slope={"kind": "gradient", "of": "density"})
    slope = np.array([1.5, -2.0, 0.5])
    for number, zone in enumerate(("box_1", "box_2")):
        grid = graph.stream.grid_of(f"{zone}/density")
        corners = np.empty((*grid.mesh.vertices.count, 3))
        solver.core.write_vertices(number, (0, 0, 0), corners)
        centres = corners
        for axis in range(3):
            n = centres.shape[axis]
            centres = 0.5 * (centres.take(range(n - 1), axis) + centres.take(range(1, n), axis))
        inputs = {f"{zone}/density": centres @ slope, f"{zone}/xyz": corners}
        for box in (grid.points, Box((1, 2, 0), (2, 1, 3))):
            values = computed(graph, f"{zone}/slope", inputs, box)
            np.testing.assert_allclose(values, np.broadcast_to(slope, values.shape), atol=1e-12)


def test_names_of_one_zone_and_of_all_do_not_mix_by_accident(solver: JetSolver) -> None:
    graph = graph_of(solver, one="`box_1/pressure` - 1")
    assert graph.stream.parts("one") == ["one"]
    with pytest.raises(PipelineError, match="did you mean 'pressure'"):
        graph_of(solver, wrong="presure - 1")
