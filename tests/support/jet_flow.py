"""Flows of the compiled jet solver, set up from functions of the position."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from mpi4py import MPI

from uzushio import _core

core = _core.jet

#: Function of x, y and z that returns mass fractions, u, v, w, pressure and temperature.
States = Callable[[np.ndarray, np.ndarray, np.ndarray], Sequence[np.ndarray | float]]


def one_gas(gamma: float = 1.4, **transport: float) -> Any:
    """Gas with the gas constant 1."""
    return core.Gas([core.Species("air", 1.0, 1.0 / (gamma - 1.0))], **transport)


class Flow:
    """Flow on all ranks of a communicator."""

    def __init__(
        self,
        mesh: Any,
        gas: Any,
        states: States,
        conditions: Mapping[str, Any] | None = None,
        *,
        comm: MPI.Comm = MPI.COMM_SELF,
        scheme: str = "keep",
        sponges: Sequence[Any] = (),
        acceleration: Sequence[float] = (0.0, 0.0, 0.0),
        reconstruction: str = "weno5",
        subgrid: str = "none",
    ) -> None:
        self.comm = comm
        self.core = core.JetSolver(
            core.JetParameters(
                mesh,
                gas,
                dict(conditions or {}),
                list(sponges),
                list(acceleration),
                scheme,
                reconstruction,
                subgrid,
            )
        )
        self.core.set_up(comm.handle)
        for block in range(len(self.core.blocks())):
            x, y, z = self.centres(block)
            values = np.stack(np.broadcast_arrays(*states(x, y, z), x)[:-1])
            self.core.set_states(block, np.ascontiguousarray(values))
        self.core.start(0.0)

    def run(self, end: float, cfl: float = 0.5) -> int:
        """Advance to a time; return the number of steps."""
        steps = 0
        while self.core.time < end - 1e-12 * end:
            self.core.step(float("inf"), cfl, end - self.core.time)
            assert self.core.finite, self.core.impossible_state()
            steps += 1
        return steps

    def step(self, cfl: float) -> None:
        """Take one step."""
        self.core.step(float("inf"), cfl, float("inf"))
        assert self.core.finite, self.core.impossible_state()

    def centres(self, block: int) -> np.ndarray:
        """Positions of the cells of a block, (3, k, j, i)."""
        return np.array(self.core.centres(block))

    def values(self, name: str) -> list[np.ndarray]:
        """Values of an output on this rank's blocks, (component, k, j, i)."""
        self.core.update_derived(True)
        return [np.array(self.core.values(name, b)) for b in range(len(self.core.blocks()))]

    def error(self, name: str, exact: Callable[..., np.ndarray | float], component: int = 0) -> Any:
        """Root of the mean square of the error of an output on this rank's cells."""
        differences = [
            (values[component] - exact(*self.centres(block))).ravel()
            for block, values in enumerate(self.values(name))
        ]
        return np.sqrt(np.mean(np.concatenate(differences) ** 2))
