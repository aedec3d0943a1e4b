"""The velocity of a checkpoint on another grid: Fourier modes as they are, cubic pieces along z."""

from __future__ import annotations

import numpy as np

from uzushio.solver import DistributedArray, StoredState

#: Points of a piece along z; it is of fourth order, the solver's scheme of second.
_POINTS = 4


class Interpolation:
    """Interpolates a stored component to the modes and planes of a rank, plane by plane.

    Modes that both grids have are kept, further ones of the new grid are 0, further ones of the
    stored grid are left out. Few stored planes are in memory at a time.
    """

    def __init__(self, stored: StoredState, faces: np.ndarray, new_faces: np.ndarray) -> None:
        """Take the faces of both grids along z, from wall to wall."""
        self._stored = stored
        self._faces, self._new_faces = faces, new_faces

    def fill(self, name: str, target: DistributedArray) -> None:
        """Fill a rank's part of u, v or w.

        Args:
            name: of the component; w is at the upper faces of cells, the others at centres.
            target: modes (z, re/im, y, x) of the new grid.
        """
        at_faces = name == "w"
        nodes = self._faces if at_faces else _with_walls(_centres(self._faces))
        places = self._new_faces[1:] if at_faces else _centres(self._new_faces)
        first, count = target.start[0], target.data.shape[0]
        begin, weights = lagrange(nodes, places[first : first + count])
        planes: dict[int, np.ndarray] = {}
        for k in range(count):
            needed = range(begin[k], begin[k] + weights.shape[1])
            planes = {j: planes[j] if j in planes else self._plane(name, j, target) for j in needed}
            target.data[k] = sum(
                weight * planes[j] for j, weight in zip(needed, weights[k], strict=True)
            )

    def bulk_velocity(self, first: float, last: float) -> float:
        """Return the share of the stored bulk velocity that cells centred in [first, last) have."""
        total = 0.0
        for cell in np.flatnonzero(
            (_centres(self._faces) >= first) & (_centres(self._faces) < last)
        ):
            mean = self._stored.read("u", (int(cell), 0, 0, 0), (1, 1, 1, 1))
            total += 0.5 * (self._faces[cell + 1] - self._faces[cell]) * float(mean[0, 0, 0, 0])
        return float(total)

    def _plane(self, name: str, node: int, target: DistributedArray) -> np.ndarray:
        """The stored modes at a node along z in the layout of the target; 0 at the walls."""
        plane = np.zeros(target.data.shape[1:])
        cells = len(self._faces) - 1
        # Nodes begin with the lower wall; the last plane of w is the upper wall.
        if node == 0 or node == cells + (name != "w"):
            return plane
        shape = self._stored.shapes[name]
        x, columns = target.start[3], target.data.shape[3]
        known = max(0, min(x + columns, shape[3]) - x)
        if known == 0:
            return plane
        box = (1, shape[1], shape[2], known)
        values = self._stored.read(name, (node - 1, 0, 0, x), box)[0]
        kept = (min(shape[2], target.data.shape[2]) + 1) // 2
        plane[:, :kept, :known] = values[:, :kept]
        if kept > 1:
            plane[:, 1 - kept :, :known] = values[:, 1 - kept :]
        return plane


def lagrange(nodes: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first node and the weights of a piece of nodes for each position.

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
    """The nodes of what vanishes at the walls."""
    return np.concatenate([[0.0], centres, [2.0]])
