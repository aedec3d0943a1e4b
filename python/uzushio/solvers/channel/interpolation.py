"""Interpolation of a checkpoint's velocity to another grid: by modes in x and y, cubic along z."""

from __future__ import annotations

import numpy as np

from uzushio.solvers.contract import StoredState

#: Points of a polynomial along z: fourth order, while the solver's scheme is of second order.
_POINTS = 4


class Interpolation:
    """Interpolation of a stored component to the modes and planes of a rank, plane by plane.

    Modes of both grids are kept. Other modes of the new grid are 0, and other modes of the stored
    grid are dropped. Only the stored planes that a new plane needs are in memory.
    """

    def __init__(self, stored: StoredState, faces: np.ndarray, new_faces: np.ndarray) -> None:
        """Prepare, for the positions of both grids' faces along z, walls included."""
        self._stored = stored
        self._faces, self._new_faces = faces, new_faces

    def fill(self, name: str, target: np.ndarray, first: int, wave: int) -> None:
        """Fill a rank's part of u, v or w.

        Args:
            name: name of the component; w is at the upper faces of cells, the others at centres.
            target: modes (z, re/im, y, x) of the new grid.
            first: global index of the first plane.
            wave: global index of the first mode along x.
        """
        at_faces = name == "w"
        nodes = self._faces if at_faces else _with_walls(_centres(self._faces))
        places = self._new_faces[1:] if at_faces else _centres(self._new_faces)
        begin, weights = lagrange(nodes, places[first : first + len(target)])
        planes: dict[int, np.ndarray] = {}
        for k, plane in enumerate(target):
            needed = range(begin[k], begin[k] + weights.shape[1])
            planes = {
                j: planes[j] if j in planes else self._plane(name, j, plane.shape, wave)
                for j in needed
            }
            plane[...] = sum(
                weight * planes[j] for j, weight in zip(needed, weights[k], strict=True)
            )

    def bulk_velocity(self, first: float, last: float) -> float:
        """Return the part of the stored bulk velocity from cells with centres in [first, last)."""
        total = 0.0
        for cell in np.flatnonzero(
            (_centres(self._faces) >= first) & (_centres(self._faces) < last)
        ):
            mean = self._stored.read("u", (int(cell), 0, 0, 0), (1, 1, 1, 1))
            total += 0.5 * (self._faces[cell + 1] - self._faces[cell]) * float(mean[0, 0, 0, 0])
        return float(total)

    def _plane(self, name: str, node: int, extent: tuple[int, ...], wave: int) -> np.ndarray:
        """Return the stored modes at a node along z, in a plane of the target; 0 at the walls."""
        plane = np.zeros(extent)
        cells = len(self._faces) - 1
        # Node 0 is the lower wall. The last stored plane of w is the upper wall; centres have a
        # node more.
        if node == 0 or node == cells + (name != "w"):
            return plane
        shape = self._stored.shapes[name]
        known = max(0, min(wave + extent[2], shape[3]) - wave)
        if known == 0:
            return plane
        box = (1, shape[1], shape[2], known)
        values = self._stored.read(name, (node - 1, 0, 0, wave), box)[0]
        kept = (min(shape[2], extent[1]) + 1) // 2
        plane[:, :kept, :known] = values[:, :kept]
        if kept > 1:
            plane[:, 1 - kept :, :known] = values[:, 1 - kept :]
        return plane


def lagrange(nodes: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first node and the weights of Lagrange interpolation for each position.

    Args:
        nodes: increasing positions, shape (n,), at least three.
        at: positions, shape (m,).

    Returns:
        Shapes (m,) and (m, min(4, n)). At a node, its weight is 1 and the others are 0.
    """
    points = min(_POINTS, len(nodes))
    begin = np.clip(np.searchsorted(nodes, at) - points // 2, 0, len(nodes) - points)
    x = nodes[begin[:, np.newaxis] + np.arange(points)]
    weights = np.ones(x.shape)
    for j in range(points):
        for m in range(points):
            if m != j:
                weights[:, j] *= (at - x[:, m]) / (x[:, j] - x[:, m])
    return begin, weights


def _centres(faces: np.ndarray) -> np.ndarray:
    return np.asarray(0.5 * (faces[1:] + faces[:-1]))


def _with_walls(centres: np.ndarray) -> np.ndarray:
    """Return centres and walls: the nodes of profiles at centres that are zero at the walls."""
    return np.concatenate([[0.0], centres, [2.0]])
