"""Cost of time-blocked sweeps: updated points, memory traffic and messages of the busiest rank.

Points that two ranks update count twice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from uzushio.tuning.subject import Machine, Point

#: Memory traffic of a point in bytes: a stored state, an observation.
STATE_BYTES = OBSERVED_BYTES = 8.0
#: Of one pass over the field, which reads one buffer and writes the other.
PASS_BYTES = 24.0
#: Of a block of recomputed states: its first state, and the adjoint read and written.
REPLAY_BYTES = 32.0
#: Columns by which a tile in the cache shifts to the left per step.
COLUMN_SHIFT = 8
#: Maximum share of the L2 cache for a tile.
CACHE_SHARE = 0.5


@dataclass(frozen=True)
class Window:
    """Properties of a case that determine the cost.

    Attributes:
        shape: points of the grid, (ny, nx).
        steps: number of steps of a forward run.
        every: steps between observations.
        periodic: whether the grid is.
    """

    shape: tuple[int, int]
    steps: int
    every: int = 1
    periodic: bool = False


class SweepCost:
    """Cost of a step of a sweep in one direction, on the most loaded rank."""

    def __init__(
        self, window: Window, point: Point, scheme: str, block: int, every: int = 1
    ) -> None:
        ny, nx = window.shape
        x_tile, y_tile = int(point["blocking.x_tile"]), int(point["blocking.y_tile"])
        self.width, self.height = math.ceil(nx / x_tile), math.ceil(ny / y_tile)
        self.tile_points = self.width * self.height
        self.block, self._scheme, self._window, self._point = block, scheme, window, point
        self._every = every
        # Sides with a neighbour; both sides of a periodic axis, also of a single tile.
        self._x = 2 if window.periodic else min(2, x_tile - 1)
        self._y = 2 if window.periodic else min(2, y_tile - 1)

    @property
    def border(self) -> float:
        """Points along the sides that have a neighbour."""
        return self._x * self.height + self._y * self.width

    @property
    def redundant(self) -> float:
        """Redundant points of a block: equation (7) of Ikeda et al., for any number of sides."""
        b = self.block
        share = {"pa1": 1.0, "pa2": 0.5}.get(self._scheme, 0.0)
        corners = self._x * self._y * b * (b - 1) * (b - 2) / 6
        return share * (self.border * b * (b - 1) / 2 + corners)

    def seconds(self, machine: Machine, direction: str) -> float:
        """Return the time of a step: computation, memory and messages.

        These are added: a core does not compute at its full rate during memory transfers.
        """
        if direction == "backward" and self._every > 1:
            return self._replay_seconds(machine)
        points = self.tile_points + self.redundant / self.block
        per_row, per_point = (machine.rates[f"{direction} {what}"] for what in ("row", "point"))
        # Points that depend on messages along x are computed in short rows.
        rows = points / self._row_length() + 2 * self._x * self.height
        work = rows * per_row + points * per_point
        memory = STATE_BYTES / self._every + self._field_bytes(machine)
        if self._every == 1:
            memory += OBSERVED_BYTES / self._window.every
        threads = int(self._point["blocking.threads"])
        return (
            work / threads + points * memory / machine.memory + self._messages(machine) / self.block
        )

    def _replay_seconds(self, machine: Machine) -> float:
        """Return the time of a backward step and the recomputed forward step."""
        b = self._every
        forward, backward = (
            machine.rates[f"{direction} row"] / self._row_length()
            + machine.rates[f"{direction} point"]
            for direction in ("forward", "backward")
        )
        # Mean halo widths: 1.5 (b - 1) points of a state, b / 2 of an adjoint.
        recomputed = (self.tile_points + 1.5 * (b - 1) * self.border) * (1.0 - 1.0 / b)
        back = self.tile_points + 0.5 * b * self.border
        work = recomputed * forward + back * backward
        memory = self.tile_points * (OBSERVED_BYTES / self._window.every + REPLAY_BYTES / b)
        threads = int(self._point["blocking.threads"])
        return work / threads + memory / machine.memory + self._messages(machine) / b

    def _cache_tile(self) -> tuple[int, int, int]:
        """Return rows, columns and steps of a tile in the cache."""
        rows, columns, steps = (
            int(self._point[f"blocking.cache_{side}"]) or default
            for side, default in (("rows", 8), ("columns", 1000), ("steps", 32))
        )
        return rows, columns, min(self.block, steps)

    def _row_length(self) -> float:
        """Return the mean number of columns of an updated row."""
        _, columns, steps = self._cache_tile()
        if self.width <= columns:
            return self.width
        return self.width / math.ceil((self.width + COLUMN_SHIFT * (steps - 1)) / columns)

    def _field_bytes(self, machine: Machine) -> float:
        """Return the memory traffic of the field per point: one pass for many steps."""
        rows, columns, steps = self._cache_tile()
        tile = 2 * 8 * (rows + steps) * (min(columns, self.width) + COLUMN_SHIFT * steps)
        fits = tile <= CACHE_SHARE * (machine.caches[1] or 1 << 20)
        return PASS_BYTES / (steps if fits else min(2, steps))

    def _messages(self, machine: Machine) -> float:
        """Return the time of an exchange with all neighbours for a block."""
        if not self.border:
            return 0.0
        count = 3 if self._scheme == "diamond" else self._x + self._y
        values = self.block * (self.border + 2 * self.block * min(self._x, self._y))
        return count * machine.latency + 8.0 * values / machine.bandwidth
