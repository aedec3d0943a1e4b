"""Blocking of the phase field's sweeps over ranks, steps and caches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from uzushio import _core
from uzushio.errors import ModelError


@dataclass(frozen=True)
class Blocking:
    """Blocking of sweeps over ranks, steps and caches. Results are independent of it.

    Attributes:
        x_tile: ranks along x; 0: automatic.
        y_tile: ranks along y; 0: automatic.
        fblt: steps between two exchanges of forward sweeps.
        bblt: steps between two exchanges of backward sweeps.
        scheme: ``plain``, ``pa1``, ``pa2`` or ``diamond``; see docs/theory/time-blocking.md.
        threads: threads of a rank.
        cache_rows: rows of a tile in the cache; 0: automatic.
        cache_columns: columns of such a tile; 0: automatic.
        cache_steps: steps computed on such a tile at once; 0: automatic.
        overlap: overlap exchanges with independent computation.
        replay: adjoint sweeps store the first state of each block of bblt steps and recompute the
            others in the cache; see docs/theory/time-blocking.md. Not with diamond.
    """

    x_tile: int = 0
    y_tile: int = 0
    fblt: int = 1
    bblt: int = 1
    scheme: str = "plain"
    threads: int = 1
    cache_rows: int = 0
    cache_columns: int = 0
    cache_steps: int = 0
    overlap: bool = True
    replay: bool = True

    def tiles(self, ranks: int, shape: tuple[int, int]) -> tuple[int, int]:
        """Return the ranks along x and y: the given ones, or those with the shortest borders.

        Raises:
            ModelError: their product is not the number of ranks.
        """
        x, y = self.x_tile, self.y_tile
        if x < 0 or y < 0:
            raise ModelError(f"blocking: x_tile {x} and y_tile {y} must not be negative.")
        if x and y:
            choices = [(x, y)]
        elif x or y:
            other = ranks // (x or y)
            choices = [(x, other) if x else (other, y)]
        else:
            choices = [(n, ranks // n) for n in range(1, ranks + 1) if ranks % n == 0]
        fitting = [(x, y) for x, y in choices if x * y == ranks]
        if not fitting:
            raise ModelError(
                f"blocking: x_tile x y_tile is {self.x_tile} x {self.y_tile}; it must be the "
                f"{ranks} ranks of the job (0 lets the model choose)."
            )
        # Long rows are faster: of borders of equal length, prefer cuts along y.
        return min(fitting, key=lambda n: ((n[0] - 1) * shape[0] + (n[1] - 1) * shape[1], n[0]))

    def every(self, ranks: int, shape: tuple[int, int], periodic: bool) -> int:
        """Return the interval, in steps, of the states that `Model.checkpoints` stores."""
        if not self.replay or self.scheme == "diamond":
            return 1
        x, y = self.tiles(ranks, shape)
        ny, nx = shape
        cut = [nx // x] * (x > 1 or periodic) + [ny // y] * (y > 1 or periodic)
        # The halo of a replay is nearly two blocks wide and must fit a tile.
        most = int(_core.phasefield.max_replay_steps)
        return max(1, min([self.bblt, most, *(side // 2 + 1 for side in cut)]))

    def core(self, tiles: tuple[int, int], every: int) -> Any:
        """Return the options of the compiled model."""
        options = _core.phasefield.Blocking()
        options.x_tile, options.y_tile = tiles
        options.forward_steps, options.backward_steps = self.fblt, self.bblt
        options.scheme, options.threads, options.overlap = self.scheme, self.threads, self.overlap
        options.replay_steps = every
        for name in ("rows", "columns", "steps"):
            if value := getattr(self, f"cache_{name}"):
                setattr(options.cache, name, value)
        return options


def schemes() -> list[str]:
    """Return the valid values of `Blocking.scheme`."""
    names: list[str] = _core.phasefield.schemes()
    return names
