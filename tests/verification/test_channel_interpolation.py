"""A flow on another grid: the same modes, along z the same profile, and no divergence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

from uzushio.errors import CaseError
from uzushio.solvers.channel.case import ChannelCase
from uzushio.solvers.channel.interpolation import lagrange
from uzushio.solvers.channel.solver import ChannelSolver
from uzushio.solvers.contract import StoredState

GRID = {"nx": 16, "ny": 12, "nz": 24, "lx": "pi", "ly": "pi/2", "stretching": 1.8}


def solver(flow: Mapping[str, float] | None = None, **grid: Any) -> ChannelSolver:
    case = {
        "solver": "channel",
        "grid": GRID | grid,
        "flow": flow or {"reynolds_tau": 100},
        "time": {"steps": 10, "cfl": 0.4},
    }
    return ChannelSolver(ChannelCase.model_validate(case), MPI.COMM_SELF).begin()


def stored(channel: ChannelSolver) -> StoredState:
    """The checkpoint of a solver, in memory."""
    state = channel.state()
    arrays = {name: np.array(array.values[0]) for name, array in state.arrays.items()}

    def read(name: str, start: tuple[int, ...], shape: tuple[int, ...]) -> np.ndarray:
        box = tuple(slice(s, s + e) for s, e in zip(start, shape, strict=True))
        assert all(s + e <= n for s, e, n in zip(start, shape, arrays[name].shape, strict=True))
        return arrays[name][box]

    shapes = {name: array.shape for name, array in state.arrays.items()}
    return StoredState(shapes, state.attributes, read)


def modes(channel: ChannelSolver, name: str, kx: int, ky: int) -> np.ndarray:
    """Complex amplitudes of some modes, (z, y from -ky + 1 to ky - 1, x below kx)."""
    values = np.asarray(channel.core.spectral(name))
    rows = np.arange(1 - ky, ky)
    low_modes = values[:, :, rows][..., :kx]
    return np.asarray(low_modes[:, 0] + 1j * low_modes[:, 1])


@pytest.fixture(scope="module")
def before() -> ChannelSolver:
    channel = solver()
    for _ in range(5):
        channel.step()
    return channel


@pytest.mark.parametrize(
    "grid", [{}, {"nx": 24, "ny": 20}, {"nx": 10, "ny": 8}, {"nx": 24, "ny": 8}]
)
def test_on_the_same_heights_modes_are_kept_and_others_are_zero_or_left_out(
    before: ChannelSolver, grid: dict[str, int]
) -> None:
    after = solver(**grid)
    after.interpolate(stored(before))
    kx, ky = (min(getattr(s.core, f"modes_{a}") for s in (before, after)) for a in "xy")
    for name in "uvw":
        there, here = modes(before, name, kx, ky), modes(after, name, kx, ky)
        np.testing.assert_allclose(here, there, rtol=0, atol=1e-13 * abs(there).max())
        energy = (np.asarray(after.core.spectral(name)) ** 2).sum()
        kept = (abs(here) ** 2).sum()
        assert energy == pytest.approx(kept, rel=1e-12)
    assert (after.step_index, after.time) == (before.step_index, before.time)


@pytest.mark.parametrize(
    "grid",
    [
        {"nz": 36},
        {"nz": 11, "stretching": 0.0},
        {"nx": 24, "ny": 20, "nz": 40, "stretching": 1.2},
        {"nx": 8, "ny": 8, "nz": 2, "stretching": 0.0},
    ],
)
@pytest.mark.parametrize("flow", [{"reynolds_tau": 100}, {"reynolds_bulk": 1500}])
def test_no_divergence_is_left_and_the_bulk_velocity_is_kept(
    before: ChannelSolver, flow: dict[str, float], grid: dict[str, float]
) -> None:
    source = before if "reynolds_tau" in flow else solver(flow)
    after = solver(flow, **grid)
    after.interpolate(stored(source))
    # Rounding errors of differences over the shortest distance.
    speed = max(abs(after.physical(name)).max() for name in "uvw")
    assert after.core.divergence() < 1e-13 * speed / np.diff(after.case.grid.wall_faces()).min()
    assert after.core.bulk_velocity() == pytest.approx(source.core.bulk_velocity(), rel=1e-13)


def test_a_run_continues_from_the_interpolated_flow(before: ChannelSolver) -> None:
    """On more modes and the same heights, the flow is the same until the modes matter."""
    after = solver(nx=32, ny=24)
    after.interpolate(stored(before))
    again = solver()
    again.restore(stored(before))
    energies = []
    for channel in (again, after):
        channel.step(1e-4)
        energies.append(channel.core.kinetic_energy())
    assert energies[1] == pytest.approx(energies[0], rel=1e-6)


def test_an_analytic_field_is_met_with_second_order() -> None:
    errors = []
    for nz in (16, 32, 64):
        coarse, fine = solver(nz=nz), solver(nz=3 * nz // 2, stretching=1.3)
        faces = coarse.case.grid.wall_faces()
        fields = dict(zip("uvw", analytic(coarse.centres, faces[1:]), strict=True))
        state = coarse.state().arrays
        for name in "uvw":
            state[name].values[0][...] = 0.0
            state[name].values[0][:, :, 1, 1] = np.stack(
                [fields[name].real, fields[name].imag], axis=1
            )
        fine.interpolate(stored(coarse))
        new = fine.case.grid.wall_faces()
        expected = dict(zip("uvw", analytic(fine.centres, new[1:]), strict=True))
        wrong = [abs(modes(fine, name, 2, 2)[:, 2, 1] - expected[name]).max() for name in "uvw"]
        errors.append(max(wrong))
    rates = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert (rates > 1.8).all(), errors


def analytic(centres: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, ...]:
    """A mode kx = 1, ky = 1 without divergence that vanishes at the walls."""
    kx, ky = 2.0, 4.0  # of lx = pi, ly = pi / 2
    w = 1.0 - np.cos(np.pi * faces)
    slope = np.pi * np.sin(np.pi * centres)
    v = (1.0 - np.cos(2 * np.pi * centres)) * (1 + 1j)
    return (1j * slope - ky * v) / kx, v, w.astype(complex)


def test_another_box_is_refused(before: ChannelSolver) -> None:
    with pytest.raises(CaseError, match="same box"):
        solver(lx="2 pi").interpolate(stored(before))
    with pytest.raises(CaseError, match="--interpolate"):
        solver(nx=24).restore(stored(before))


def test_pieces_meet_cubics_exactly_and_values_at_nodes() -> None:
    nodes = np.sort(np.random.default_rng(0).random(9))
    at = np.concatenate([nodes, np.linspace(nodes[0], nodes[-1], 50)])
    begin, weights = lagrange(nodes, at)
    values = (nodes**3 - nodes)[begin[:, np.newaxis] + np.arange(4)]
    np.testing.assert_allclose((weights * values).sum(axis=1), at**3 - at, rtol=0, atol=1e-13)
    assert ((weights[:9] == 0.0).sum(axis=1) == 3).all()
