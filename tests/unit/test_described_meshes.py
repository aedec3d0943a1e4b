"""Descriptions of meshes and fields, which readers receive as writers gave them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from uzushio import staging
from uzushio.domain.axes import bounds_of, reverse_axes
from uzushio.domain.box import Box
from uzushio.staging import Field, Mesh

LINES = tuple(np.array(line) for line in ([0.0, 1.0, 3.0], [-1.0, 0.5], [2.0, 2.5, 4.0, 8.0]))
PLANE = (np.array([5.0]), np.array([0.0, 0.5]), np.array([0.0, 1.0, 4.0]))
MESHES = [
    Mesh("uniform", Box((2, 0, 1), (3, 2, 4)), origin=(1.0, 2.0, 3.0), spacing=(0.5, 1.0, 2.0)),
    Mesh.rectilinear("lines", LINES, start=(0, 3, 5)),
    Mesh.rectilinear("plane", PLANE, dimension=2),
    Mesh("bent", Box((0, 0, 0), (2, 2, 2)), coordinate_field="bent/xyz"),
]
FIELDS = [
    Field("p", ("uniform",), attributes={"unit": "Pa", "description": "pressure"}),
    Field("u", ("lines",), "vertex", np.dtype(np.float32), 3, {"unit": "1"}),
]


def test_a_mesh_and_a_field_are_received_as_they_were_described(tmp_path: Path) -> None:
    store = tmp_path / "s.zarr"
    with staging.open("s", None, {"engine": "file", "file": {"folder": str(store)}}) as writer:
        for mesh in MESHES:
            writer.mesh(mesh)
        for f in FIELDS:
            writer.field(f.name, f.mesh, f.association, f.dtype, f.components, **f.attributes)
        writer.block(0, "uniform", MESHES[0].elements)
        with writer.step(0, 0.0):
            writer.put("p", np.zeros((3, 2, 4)))
    with staging.attach(store) as reader:
        step = reader.next(10.0)
        assert step is not None
        coordinates = Field("bent/xyz", ("bent",), "vertex", components=3)
        assert list(step.fields.values()) == [coordinates, *FIELDS]
        for given, mesh in zip(MESHES, step.meshes.values(), strict=True):
            for name in ("name", "kind", "dimension", "elements", "vertices", "origin", "spacing"):
                assert getattr(mesh, name) == getattr(given, name), name
            assert mesh.coordinate_field == given.coordinate_field
            line_pairs = zip(mesh.coordinates or (), given.coordinates or (), strict=True)
            assert all(np.array_equal(line, other) for line, other in line_pairs)


def test_vertices_and_centres_of_elements_have_their_boxes_and_coordinates() -> None:
    uniform, lines, plane, bent = MESHES
    assert uniform.vertices == Box((2, 0, 1), (4, 3, 5))
    assert uniform.coordinates is not None and uniform.coordinates[0].tolist() == [2, 2.5, 3, 3.5]
    assert lines.elements == Box((0, 3, 5), (2, 1, 3))
    assert plane.elements == Box((0, 0, 0), (1, 1, 2)), "an axis that is not in use has one"
    assert [line.tolist() for line in plane.lines("element") or ()] == [[5.0], [0.25], [0.5, 2.5]]
    assert bent.lines("vertex") is None and bent.vertices.count == (3, 3, 3)
    own = Mesh("m", Box((0, 0, 0), (4, 4, 4)), blocks=(Box((0, 0, 2), (4, 4, 2)),))
    assert own.box("element", own.blocks[0]) == Box((0, 0, 2), (3, 3, 1))


def test_a_field_of_several_meshes_is_a_field_on_each() -> None:
    field = Field("u", ("a", "b"), "vertex", attributes={"unit": "1"})
    assert [(part.name, part.mesh, part.grid) for part in field.parts] == [
        ("a/u", "a", "a"),
        ("b/u", "b", "b"),
    ]
    assert (field.unit, Field("p", ("a",)).grid) == ("", "a (elements)")


def test_axes_are_reversed_from_arrays_to_positions_and_back() -> None:
    assert bounds_of(LINES) == ((2.0, 8.0), (-1.0, 0.5), (0.0, 3.0))
    assert reverse_axes(reverse_axes("zyx")) == tuple("zyx")
