"""Steps whose values stay in memory after the stream released them: the rewind buffer."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from uzushio.domain.box import contains
from uzushio.pipeline.nodes import BoxValues

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio.pipeline.step_plan import StepPlan
    from uzushio.staging.step import Step


@dataclass(eq=False)
class HeldStep:
    """Step with the values that the views need, without those that they compute.

    Attributes:
        step: step of the reader. Its meshes, fields and attributes stay valid.
        values: this rank's boxes of its fields.
        seconds: time that reading took.
    """

    step: Step
    values: dict[str, BoxValues] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def index(self) -> int:
        """The solver's number of the step."""
        return self.step.index

    def missing(self, plan: StepPlan) -> list[str]:
        """Return the fields of which this rank's values do not contain the box of a plan."""
        return [
            name
            for name, box in plan.reads.items()
            if name not in self.values or not contains(self.values[name][0], box)
        ]

    @property
    def bytes(self) -> int:
        """Bytes of the values on this rank."""
        return sum(values.nbytes for _, values in self.values.values())


class RewindBuffer:
    """Last steps of a stream, bounded in bytes over all ranks.

    Args:
        comm: ranks that hold the steps.
        max_bytes: maximum of all ranks together. The newest step and those in use are kept beyond.
    """

    def __init__(self, comm: MPI.Comm, max_bytes: int) -> None:
        self._comm, self._max_bytes = comm, max_bytes
        self._steps: dict[int, HeldStep] = {}
        self._newest: int | None = None
        self.bytes = 0  #: of all ranks

    @property
    def numbers(self) -> tuple[int, ...]:
        """Numbers of the steps, in the order in which they came."""
        return tuple(self._steps)

    @property
    def newest(self) -> HeldStep | None:
        """The newest step; None before the first."""
        return None if self._newest is None else self._steps[self._newest]

    def get(self, index: int) -> HeldStep | None:
        """Return a step by its number; None if it is not kept."""
        return self._steps.get(index)

    def add(self, step: HeldStep, used: Collection[int] = (), newest: bool = True) -> None:
        """Keep a step, and drop those kept first while all have too many bytes (collective).

        Args:
            step: it replaces one of the same number, which a restarted run publishes again.
            used: numbers of steps that stay, because views show them.
            newest: whether it is the newest one of the stream.
        """
        self._steps.pop(step.index, None)
        self._steps[step.index] = step
        if newest:
            self._newest = step.index
        own = np.array([step.bytes for step in self._steps.values()], np.int64)
        self._comm.Allreduce(own.copy(), own)
        self.bytes = int(own.sum())
        for index, size in zip(list(self._steps), own.tolist(), strict=True):
            if self.bytes > self._max_bytes and index not in used and index != self._newest:
                self.bytes -= size
                del self._steps[index]

    def clear(self) -> None:
        """Drop all steps."""
        self._steps.clear()
        self._newest, self.bytes = None, 0
