"""States of flows in files, so that validation runs continue after an interruption."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from uzushio.solvers.contract import StoredState
from uzushio.solvers.thermal import ThermalSolver

KEPT = Path(__file__).parents[1] / "build" / "validation" / "thermal"
SAVE_EVERY = 60.0  # seconds


class KeptFlow:
    """State of a flow in a file, so that a run continues after an interruption."""

    def __init__(self, case: str, cells: int) -> None:
        """Name the file by the case and the number of cells along an axis."""
        name = "".join(c if c.isalnum() else "-" for c in case)
        self._path = KEPT / f"{name}-{cells}.npz"
        self._saved = time.monotonic()

    def save(self, solver: ThermalSolver, *, now: bool, **notes: Any) -> None:
        """Write state and notes, at most once in `SAVE_EVERY` seconds unless it must be `now`."""
        if not now and time.monotonic() - self._saved < SAVE_EVERY:
            return
        state = solver.state()
        notes = {**state.attributes, **notes}
        arrays: dict[str, Any] = {name: array.parts[0][1] for name, array in state.arrays.items()}
        KEPT.mkdir(parents=True, exist_ok=True)
        part = self._path.with_suffix(".part")
        with part.open("wb") as file:
            np.savez(file, notes=np.array(json.dumps(notes)), **arrays)
        os.replace(part, self._path)
        self._saved = time.monotonic()

    def stored(self) -> StoredState | None:
        """Return the state; None if there is none."""
        if not self._path.exists():
            return None
        with np.load(self._path) as file:
            arrays = {name: file[name] for name in file.files}
        notes = json.loads(str(arrays.pop("notes")))

        def read(name: str, start: Sequence[int], count: Sequence[int]) -> np.ndarray:
            box = tuple(slice(a, a + n) for a, n in zip(start, count, strict=True))
            return np.asarray(arrays[name][box])

        return StoredState({name: values.shape for name, values in arrays.items()}, notes, read)
