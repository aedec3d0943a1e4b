"""Subjects for tests of the tuner, with a known optimum."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from uzushio.case.model import read_document
from uzushio.errors import UzushioError
from uzushio.tuning.runner import PointFailedError
from uzushio.tuning.subject import Machine, Parameter, Point, Rule, Subject, Value, Workload

if TYPE_CHECKING:
    from mpi4py import MPI

MACHINE = Machine("test", 2, (0, 0, 0), 1e-6, 1e9, 1e10)


class Waves(Subject):
    """Blocked sweeps with a cost model whose predictions differ from the true times.

    Args:
        ranks: number of ranks of the job.
        trouble: failure (dies, hangs, fails, alone) by number of steps.
        unit: seconds of a sweep of cost 1.
        groups_pay: speed-up by two groups.
    """

    room = "waves"
    trust = 1.6

    def __init__(
        self,
        ranks: int = 1,
        trouble: Mapping[str, list[int]] | None = None,
        unit: float = 1.0,
        groups_pay: float = 0.7,
        size: int = 64,
    ) -> None:
        self.ranks, self.size = ranks, {"points": size}
        self.trouble, self.unit, self._groups_pay = trouble or {}, unit, groups_pay
        steps = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
        blocked = {"blocking.scheme": ("slanted", "diamond")}
        self.parameters = (
            Parameter("blocking.scheme", ("plain", "slanted", "diamond"), "plain", "of blocks"),
            Parameter("blocking.steps", steps, 1, "of a block", "steps", blocked),
            Parameter("blocking.rows", (4, 8, 16, 32, 64, 128), 32, "of a tile", "rows"),
            Parameter("blocking.threads", (1, 2, 3, 4), 1, "of a rank"),
            Parameter("blocking.groups", (1, 2), 1, "of ranks", off=1),
        )
        self.rules = (
            Rule(
                ("blocking.steps", "blocking.rows"),
                lambda steps, rows: (
                    f"blocks of {steps} steps need tiles of {steps} rows, not {rows}"
                    if steps > rows
                    else None
                ),
            ),
        )

    def cost(self, point: Point) -> float:
        """Return the true seconds."""
        steps, rows = float(point["blocking.steps"]), float(point["blocking.rows"])
        redundant = {"plain": 0.0, "slanted": 0.03, "diamond": 0.015}[str(point["blocking.scheme"])]
        messages = 1.0 / steps * (1.0 if point["blocking.scheme"] != "diamond" else 1.5)
        tiles = 0.02 * (rows / 32 + 32 / rows)
        threads = {1: 1.0, 2: 0.6, 3: 0.7, 4: 0.75}[int(point["blocking.threads"])]
        groups = self._groups_pay if point["blocking.groups"] == 2 else 1.0
        return self.unit * (1.0 + redundant * steps + messages + tiles) * threads / groups

    def predict(self, point: Point, machine: Machine) -> float:
        """Return a prediction with an error factor of up to 1.5 to either side."""
        wrong = 1.5 if (int(point["blocking.steps"]) + int(point["blocking.rows"])) % 3 else 1 / 1.5
        return 7.0 * wrong * self.cost(point)

    def workload(self, comm: MPI.Intracomm) -> Workload:
        return _Sleeps(self, comm)


class _Sleeps(Workload):
    """Workload that sleeps for its time, so that times hardly depend on the load."""

    def __init__(self, subject: Waves, comm: MPI.Intracomm) -> None:
        self._subject, self._comm = subject, comm

    def ready(self, point: Point) -> Callable[[], object]:
        trouble = self._subject.trouble
        kind = next((kind for kind in trouble if point["blocking.steps"] in trouble[kind]), "")
        if kind == "fails":
            raise UzushioError("these steps cannot be run.")
        return lambda: self._run(point, kind)

    def _run(self, point: Point, kind: str) -> None:
        if kind == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        if kind == "hangs":
            time.sleep(1000)
        if kind == "alone" and self._comm.rank == self._comm.size - 1:
            raise UzushioError("the last rank has no memory left.")
        if kind == "alone":
            self._comm.Barrier()
        time.sleep(self._subject.cost(point))


def declare(file: Path, overrides: list[str], ranks: int) -> Waves:
    """Return the subject of a case with `solver: waves`."""
    values = read_document(file, overrides).values
    return Waves(ranks, values.get("trouble"), values.get("unit", 0.002), size=values["points"])


class Simulated:
    """Runner without a machine: times come from a function, and the clock is their sum.

    Args:
        subject: subject whose points are timed.
        seconds: function of a point and the clock that returns the true seconds.
        stop_after: number of runs after which it raises KeyboardInterrupt, to simulate a kill.
    """

    def __init__(
        self,
        subject: Waves,
        seconds: Callable[[Point, float, float], float] = lambda point, cost, clock: cost,
        stop_after: int | None = None,
    ) -> None:
        self._subject, self._seconds, self._stop_after = subject, seconds, stop_after
        self._ready: dict[int, Point] = {}
        self.clock = 0.0
        self.runs: list[dict[str, Value]] = []

    def ready(self, index: int, point: Point) -> None:
        self._ready[index] = point

    def run(self, index: int, limit: float) -> float:
        if len(self.runs) == self._stop_after:
            raise KeyboardInterrupt
        point = self._ready[index]
        self.runs.append(dict(point))
        if point["blocking.steps"] in self._subject.trouble.get("fails", []):
            raise PointFailedError("these steps cannot be run.")
        took = self._seconds(point, self._subject.cost(point), self.clock)
        self.clock += took
        return took

    def drop(self) -> None:
        self._ready.clear()
