"""Small solver for tests of the framework: the heat equation in a periodic box.

Forward Euler and second-order central differences, decomposed over (z, y). A product of sines is an
eigenfunction of the discrete operator, so that after n steps it is (1 - dt lambda)^n of itself, to
rounding, on any number of ranks. The section `fault` causes failures for tests.
"""

from __future__ import annotations

import os
import signal
import time as clock
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from mpi4py import MPI

from uzushio._base.config.section import Section
from uzushio.case.model import Case
from uzushio.domain.box import Box
from uzushio.errors import CaseError
from uzushio.solvers.contract import (
    DistributedArray,
    Estimate,
    Field,
    Mesh,
    Offer,
    Reading,
    Sample,
    Solver,
    SolverDivergedError,
    State,
    StoredState,
    Traffic,
    next_step,
)

if TYPE_CHECKING:
    import xarray as xr


class Grid(Section):
    nx: int = 8
    ny: int = 12
    nz: int = 10


class Decomposition(Section):
    py: int | None = None
    pz: int | None = None


class Fault(Section):
    kind: Literal[
        "none",
        "diverge",
        "diverge-at-end",
        "raise",
        "kill",
        "memory",
        "set-up",
        "statistics",
        "figures",
        "slow-figures",
    ] = "none"
    step: int = 0
    rank: int | None = None
    pause: float = 0.0


class HeatCase(Case):
    grid: Grid = Grid()
    decomposition: Decomposition = Decomposition()
    fault: Fault = Fault()


def split(size: int, parts: int, index: int) -> tuple[int, int]:
    """Return start and extent of a part; the first parts are the longer ones."""
    short, longer = divmod(size, parts)
    return index * short + min(index, longer), short + (index < longer)


def ranks_of(case: HeatCase, ranks: int) -> tuple[int, int]:
    """Return the ranks along z and y."""
    wanted = case.decomposition
    pz, py = MPI.Compute_dims(ranks, [wanted.pz or 0, wanted.py or 0])
    if pz > case.grid.nz or py > case.grid.ny:
        raise CaseError(f"{pz} x {py} ranks do not fit the grid; use fewer ranks.")
    return pz, py


FIELD = Field("u", ("box",), "vertex", attributes={"unit": "K", "description": ""})


def mesh(shape: tuple[int, int, int], block: Box) -> Mesh:
    """Unit spacing."""
    z, y, x = (np.arange(n) * 1.0 for n in shape)
    return Mesh.rectilinear("box", (z, y, x), blocks=(block,))


class HeatSolver(Solver):
    case_model = HeatCase

    @classmethod
    def estimate(cls, case: HeatCase, ranks: int) -> Estimate:
        pz, py = ranks_of(case, ranks)
        grid = case.grid
        plane = 8 * grid.nx
        box = plane * -(-grid.ny // py) * -(-grid.nz // pz)
        halo = Traffic(4, 2 * plane * (-(-grid.ny // py) + -(-grid.nz // pz)))
        text = f"{grid.nx} x {grid.ny} x {grid.nz} points on {pz} x {py} ranks"
        return Estimate(text, 2 * box, 2.0, {"halo": halo}, ("the box is periodic",))

    def __init__(self, case: HeatCase, comm: MPI.Comm) -> None:
        self.case, self.step_index, self.time = case, 0, 0.0
        pz, py = ranks_of(case, comm.size)
        self.comm = comm.Create_cart([pz, py], periods=[True, True])
        self.shape = (case.grid.nz, case.grid.ny, case.grid.nx)
        at = self.comm.coords
        parts = [split(self.shape[0], pz, at[0]), split(self.shape[1], py, at[1])]
        self.start = (parts[0][0], parts[1][0], 0)
        self.extent = (parts[0][1], parts[1][1], self.shape[2])
        self.dt = case.time.dt or 0.1 * (case.time.cfl or 1.0)
        self.u = np.zeros((self.extent[0] + 2, self.extent[1] + 2, self.extent[2]))
        self.inside[...] = initial(self.shape)[self._box()]
        self._fault("set-up")

    @classmethod
    def offer(cls, case: HeatCase) -> Offer:
        shape = (case.grid.nz, case.grid.ny, case.grid.nx)
        return Offer({"box": mesh(shape, Box((0, 0, 0), shape))}, {"u": FIELD}, {})

    def _box(self) -> tuple[slice, ...]:
        return tuple(slice(s, s + e) for s, e in zip(self.start, self.extent, strict=True))

    @property
    def inside(self) -> np.ndarray:
        return self.u[1:-1, 1:-1]

    def _fault(self, *kinds: str) -> None:
        fault = self.case.fault
        mine = fault.rank in (None, self.comm.rank)
        if fault.kind not in kinds or fault.step != self.step_index or not mine:
            return
        if fault.kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if fault.kind == "memory":
            raise MemoryError("no memory for a test")
        raise ValueError(f"a mistake on rank {self.comm.rank}")

    def step(self, longest: float = float("inf")) -> None:
        clock.sleep(self.case.fault.pause)
        self._exchange(axis=0)
        self._exchange(axis=1)
        u, inside = self.u, self.inside
        change = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 6.0 * inside
        change += np.roll(inside, 1, axis=2) + np.roll(inside, -1, axis=2)
        dt = next_step(self.dt, longest)
        inside += dt * change
        self.step_index += 1
        self.time += dt
        self._fault("raise", "kill", "memory")
        if self.case.fault.kind == "diverge" and self.step_index == self.case.fault.step:
            raise SolverDivergedError(
                f"step {self.step_index}: NaN at (0, 0, 0), use a smaller dt."
            )

    def _exchange(self, axis: int) -> None:
        low, high = self.comm.Shift(axis, 1)
        u = self.u if axis == 0 else self.u.swapaxes(0, 1)
        for send, receive, to, source in ((-2, 0, high, low), (1, -1, low, high)):
            ghost = np.empty_like(u[receive])
            self.comm.Sendrecv(np.ascontiguousarray(u[send]), to, 0, ghost, source, 0)
            u[receive] = ghost

    def monitor(self) -> Mapping[str, Reading]:
        return {"max": Reading(self.comm.allreduce(float(self.inside.max()), MPI.MAX), "K")}

    def meshes(self) -> Mapping[str, Mesh]:
        return {"box": mesh(self.shape, Box(self.start, self.extent))}

    def fields(self) -> Mapping[str, Field]:
        return {"u": FIELD}

    def write_field(self, name: str, out: Sequence[np.ndarray]) -> None:
        out[0][...] = self.inside

    def state(self) -> State:
        if self.case.fault.kind == "diverge-at-end" and self.step_index == self.case.time.steps:
            raise SolverDivergedError(f"step {self.step_index}: NaN in the state to be stored.")
        # A second array with another shape and type, of which some ranks have no part.
        planes = np.arange(self.start[0], self.start[0] + self.extent[0])
        edge = [(self.start[:1], planes.astype(np.complex64))] if self.comm.coords[1] == 0 else []
        arrays = {
            "u": DistributedArray(self.shape, self.u.dtype, [(self.start, self.inside)]),
            "edge": DistributedArray(self.shape[:1], np.dtype(np.complex64), edge),
        }
        return State(arrays, {"step": self.step_index, "time": self.time, "third": 1.0 / 3.0})

    def restore(self, stored: StoredState) -> None:
        if stored.shapes["u"] != self.shape:
            raise CaseError(
                f"the checkpoint is of a grid {stored.shapes['u']}, the case of {self.shape}; "
                "restart with the same grid."
            )
        assert stored.attributes["third"] == 1.0 / 3.0
        self.inside[...] = stored.read("u", self.start, self.extent)
        self.step_index = stored.attributes["step"]
        self.time = stored.attributes["time"]

    def sample(self) -> Mapping[str, Sample]:
        profile = np.zeros(self.shape[0])
        mine = slice(self.start[0], self.start[0] + self.extent[0])
        profile[mine] = (self.inside**2).sum(axis=(1, 2))
        total = np.zeros_like(profile)
        self.comm.Reduce(profile, total)
        return {"square": Sample(("z",), total)}

    def statistics(self, mean: Mapping[str, Sample], samples: int) -> xr.Dataset:
        import xarray as xr

        if self.case.fault.kind == "statistics":
            raise ValueError("no statistics for a test")
        variables = {name: (quantity.dims, quantity.values) for name, quantity in mean.items()}
        return xr.Dataset(variables, {"z": np.arange(self.shape[0])}, {"samples": samples})

    def figures(self, folder: Path, statistics: xr.Dataset | None) -> Iterator[Path]:
        fault = self.case.fault
        if fault.kind == "figures" and fault.rank in (None, self.comm.rank):
            raise ValueError(f"no figure on rank {self.comm.rank}")
        names = ["u", *(f"u{n}" for n in range(100 if fault.kind == "slow-figures" else 0))]
        for name in names if self.comm.rank == 0 else ():
            clock.sleep(0.1 if fault.kind == "slow-figures" else 0.0)
            (folder / f"{name}.txt").write_text("a figure")
            yield folder / f"{name}.txt"

    def summary(self) -> Mapping[str, Any]:
        return {"max": self.comm.allreduce(float(self.inside.max()), MPI.MAX)}


def initial(shape: tuple[int, ...]) -> np.ndarray:
    """Return a product of sines, one wave in each direction."""
    waves = [np.sin(2.0 * np.pi * (np.arange(n) + 0.25) / n) for n in shape]
    return waves[0][:, None, None] * waves[1][None, :, None] * waves[2][None, None, :]


def exact(shape: tuple[int, ...], dt: float, steps: int) -> np.ndarray:
    """Return the discrete solution after some steps."""
    decay = sum(2.0 - 2.0 * np.cos(2.0 * np.pi / n) for n in shape)
    return (1.0 - dt * decay) ** steps * initial(shape)
