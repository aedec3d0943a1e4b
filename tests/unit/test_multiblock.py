"""Meshes and declarations of solvers of blocks, made in Python."""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest
from mpi4py import MPI

from uzushio import _core
from uzushio._base.parallel.section_monitor import SectionMonitor
from uzushio.domain.multiblock import (
    Block,
    BoundaryGhosts,
    Coordinates,
    Declaration,
    Field,
    Mesh,
    Zone,
    connect_periodic,
    fixed_value,
    zero_gradient,
)

UNIFORM = Coordinates.uniform((0, 0, 0), (1, 1, 1))


def box() -> Zone:
    """Zone of 4 x 3 x 2 cells, periodic along j and k."""
    zone = Zone("box", (4, 3, 2), UNIFORM)
    connect_periodic(zone, "j", (0, 3, 0))
    connect_periodic(zone, "k", (0, 0, 2))
    return zone


def test_a_face_may_have_a_condition_for_each_of_its_parts() -> None:
    zone = box()
    zone.set_boundary("i-min", "cold", range=((0, 1), (0, 2)))
    zone.set_boundary("i-min", "warm", range=((1, 3), (0, 2)))
    with pytest.raises(RuntimeError, match="zone 'box', face i-max"):
        Mesh([zone])
    zone.set_boundary("i-max", "warm")
    Mesh([zone])
    with pytest.raises(ValueError, match="no face 'left'"):
        zone.set_boundary("left", "warm")


def test_coordinates_in_arrays_are_not_copied_and_have_one_shape_and_type() -> None:
    z, y, x = np.meshgrid(np.arange(3.0), np.arange(4.0), np.arange(5.0), indexing="ij")
    single = np.asfortranarray(y, dtype=np.float32)
    zone = Zone("bent", (4, 3, 2), Coordinates.arrays(x, single, z[:, :, :]))
    x += 1.0
    np.testing.assert_array_equal(zone.vertices(), np.stack([x, y, z], axis=-1))
    with pytest.raises(ValueError, match="different shapes"):
        Coordinates.arrays(x, y[1:], z)
    with pytest.raises(ValueError, match="float32 or float64"):
        Coordinates.arrays(x, y.astype(int), z)
    with pytest.raises(RuntimeError, match="coordinates of another number of vertices"):
        Mesh([Zone("bent", (4, 3, 3), Coordinates.arrays(x, y, z))])


def test_curvilinear_coordinates_are_arrays_of_all_vertices() -> None:
    k, j, i = np.meshgrid(np.arange(3.0), np.arange(4.0), np.arange(5.0), indexing="ij")
    vertices = np.stack([i + 0.1 * j, j, k], axis=-1)

    def made(coordinates: Coordinates) -> _core.domain.BlockSolver:
        zone = Zone("bent", (4, 3, 2), coordinates)
        for face in ("i-min", "i-max", "j-min", "j-max", "k-min", "k-max"):
            zone.set_boundary(face, "wall")
        return solver(Declaration(Mesh([zone]), [Field("u", boundaries={"wall": zero_gradient()})]))

    bent, out = made(Coordinates.curvilinear(vertices)), np.empty((3, 2, 2, 3))
    bent.write_vertices(0, (0, 2, 3), out)
    np.testing.assert_array_equal(out, vertices[:3, 2:4, 3:5])
    for ranks in (1, 2):  # each rank has all vertices
        more = bent.estimate(ranks)["bytes"] - made(UNIFORM).estimate(ranks)["bytes"]
        assert more == vertices.nbytes


def solver(declaration: Declaration, derive: object = None) -> _core.domain.BlockSolver:
    """Solver of u_t = 1 from u = x."""

    def initial(block: Block) -> None:
        block.field("u")[0] = block.centres[0]

    def rhs(block: Block, time: float) -> None:
        block.derivative("u")[...] = 1.0

    made = _core.domain.BlockSolver(declaration, initial, rhs, lambda block: 0.5, derive or rhs)
    return made


def test_a_function_of_the_ghosts_is_a_boundary_condition() -> None:
    zone, called = box(), []
    zone.set_boundary("i-min", "moving")
    zone.set_boundary("i-max", "fixed")

    def moving(ghosts: BoundaryGhosts, time: float) -> None:
        ghosts.values[...] = 2 * time - ghosts.mirrored
        called.append(time)

    def derive(block: Block, name: str, time: float) -> None:
        u = block.field("u")[0]
        block.field(name)[...] = 0.5 * (u[1:-1, 1:-1, 2:] - u[1:-1, 1:-1, :-2])

    u = Field("u", ghosts=1, boundaries={"moving": moving, "fixed": fixed_value(10.0)})
    slope = Field("slope", ghosts=0, kind="derived")
    made = solver(Declaration(Mesh([zone]), [u, slope]), derive)
    made.set_up(MPI.COMM_SELF.handle)
    made.begin()
    assert made.step(1.0) == 0.5 and made.time == 0.5
    made.update_derived()
    assert called[0] == 0.0 and called[-1] == 0.5
    values, slope_values = made.values("u", 0)[0], made.values("slope", 0)[0]
    np.testing.assert_allclose(values, np.broadcast_to([1.0, 2.0, 3.0, 4.0], (2, 3, 4)))
    left, right = 2 * 0.5 - 1.0, 2 * 10.0 - 4.0  # ghosts
    expected = [0.5 * (2.0 - left), 1.0, 1.0, 0.5 * (right - 3.0)]
    np.testing.assert_allclose(slope_values, np.broadcast_to(expected, (2, 3, 4)))


def test_a_core_keeps_the_monitor_of_its_sections() -> None:
    zone = box()
    zone.set_boundary("i-min", "wall")
    zone.set_boundary("i-max", "wall")
    field = Field("u", boundaries={"wall": zero_gradient()})
    made, monitor = solver(Declaration(Mesh([zone]), [field])), SectionMonitor().core
    alone = sys.getrefcount(monitor)
    made.set_up(MPI.COMM_SELF.handle, monitor)
    made.begin()
    assert sys.getrefcount(monitor) == alone + 1
    made.step(0.1)
    assert monitor.sections()
    del made
    gc.collect()
    assert sys.getrefcount(monitor) == alone


def test_mistakes_in_a_declaration_are_named() -> None:
    zone = box()
    zone.set_boundary("i-min", "wall")
    zone.set_boundary("i-max", "wall")
    mesh = Mesh([zone])
    with pytest.raises(RuntimeError, match="field 'u' has no boundary condition 'wall'"):
        solver(Declaration(mesh, [Field("u")])).fields()
    with pytest.raises(ValueError, match="not at 'middle'"):
        Field("u", centring="middle")
    with pytest.raises(ValueError, match="'euler'"):
        Declaration(mesh, [], scheme="euler")


def test_hooks_are_called_in_the_order_of_a_step() -> None:
    calls: list[tuple[str, float]] = []
    zone = box()
    connect_periodic(zone, "i", (4, 0, 0))
    made = _core.domain.BlockSolver(
        Declaration(Mesh([zone]), [Field("u")]),
        lambda block: calls.append(("initial", block.number)),
        lambda block, time: calls.append(("rhs", time)),
        lambda block: 0.5,
        lambda block, name, time: None,
        prepare=lambda block: calls.append(("prepare", block.number)),
        before_rhs=lambda time: calls.append(("before_rhs", time)),
        project=lambda time, dt: calls.append(("project", dt)),
    )
    made.set_up(MPI.COMM_SELF.handle)
    made.begin()
    assert calls == [("prepare", 0), ("initial", 0), ("project", 0)]
    made.step(0.5)
    assert [name for name, _ in calls[3:]] == ["before_rhs", "rhs", "project"] * 3
    assert sum(length for name, length in calls[3:] if name == "project") == pytest.approx(0.5)
