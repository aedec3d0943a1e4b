"""Vertices in files: arrays that are mapped into memory, of which only what is used is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np


@dataclass(frozen=True, eq=False)
class MappedVertices:
    """Vertices of a zone whose x, y and z are three arrays (k, j, i), as a file has them.

    It is indexed as an array (k, j, i, 3), along the first three axes, and then read.
    """

    components: tuple[np.ndarray, np.ndarray, np.ndarray]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array that it stands for."""
        return (*self.components[0].shape, 3)

    def __getitem__(self, index: Any) -> np.ndarray:
        return np.stack([values[index] for values in self.components], axis=-1).astype(np.float64)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self[...], dtype=dtype)


Vertices: TypeAlias = np.ndarray | MappedVertices


def components_of(vertices: Vertices) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return x, y and z of all vertices, (k, j, i) each, without a copy."""
    if isinstance(vertices, MappedVertices):
        return vertices.components
    return vertices[..., 0], vertices[..., 1], vertices[..., 2]
