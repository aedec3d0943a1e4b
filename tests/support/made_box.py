"""Streams of one box, for the tests of staging from Python."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from uzushio import staging

ENGINES = [
    "shm",
    "tcp",
    "file",
    "bp5",
]  # SST accepts readers only when its writer begins a step
LIMITS = {"attach_limit": 60.0, "step_limit": 60.0}


def options(engine: str, folder: Path, **more: object) -> dict[str, Any]:
    """Return options of an engine with its files in `folder`."""
    chosen: dict[str, Any] = {"engine": engine, "contact": folder / "s.contact", **more}
    if engine in ("bp5", "sst"):
        chosen |= {"engine": "adios2", "adios2": {"kind": engine}}
    chosen["file"] = {"folder": folder / "s.zarr", "overwrite": True}
    return chosen


def contact(engine: str, folder: Path) -> Path:
    return folder / ("s.zarr" if engine == "file" else "s.contact")


def box_writer(chosen: Mapping[str, Any], shape: tuple[int, int, int] = (4, 5, 6)) -> Any:
    writer = staging.open("s", None, chosen)
    writer.uniform_mesh("box", shape, origin=(1, 2, 3), spacing=(0.1, 0.2, 0.5))
    return writer


def numbers(*shape: int, dtype: str = "float64") -> np.ndarray:
    return (np.arange(np.prod(shape)).reshape(shape) % 251).astype(dtype)


def u_writer(engine: str, folder: Path) -> Any:
    """Return a writer of one field on one block."""
    writer = box_writer(options(engine, folder))
    writer.field("u", "box")
    writer.block(0, "box", (4, 5, 6))
    return writer
