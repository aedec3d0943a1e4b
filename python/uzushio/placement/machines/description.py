"""Machines by a short text, and the nodes of a job by a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from pathlib import Path

import numpy as np

from uzushio.errors import PlacementError
from uzushio.placement.machines.dragonfly import Dragonfly
from uzushio.placement.machines.fat_tree import FatTree
from uzushio.placement.machines.machine import Indices, Machine
from uzushio.placement.machines.switch_tree import read_slurm
from uzushio.placement.machines.tofu import TofuD
from uzushio.placement.machines.torus import Torus

FORMS = (
    "tofu-d:8x8x8 (units), torus:16x16x8, mesh:16x16, fat-tree:16x8x4 or fat-tree:16x8x4/1x4x2 "
    "(children / parents at each level), dragonfly:33x8x4 or dragonfly:33x8x4x4 (groups, routers, "
    "nodes, global links of a router), slurm:FILE (topology.conf or scontrol show topology)"
)


def read_machine(text: str, meshes: Collection[str] = ()) -> Machine:
    """Return the machine of a text such as `tofu-d:8x8x8`; `FORMS` lists all.

    Args:
        text: kind and sizes.
        meshes: names of the axes of a torus or Tofu-D that are meshes.

    Raises:
        PlacementError: no such kind, sizes that do not belong to it, or a file that is unreadable.
    """
    kind, _, sizes = text.partition(":")
    if kind == "slurm":
        return read_slurm(read_text(Path(sizes)))
    makers: dict[str, Callable[[], Machine]] = {
        "tofu-d": lambda: TofuD(_sizes(text, sizes), _around("xyz", meshes)),
        "torus": lambda: _torus(_sizes(text, sizes), meshes),
        "mesh": lambda: Torus(_sizes(text, sizes), periodic=False),
        "fat-tree": lambda: FatTree(*(_sizes(text, part) for part in sizes.split("/", 1) if part)),
        "dragonfly": lambda: _dragonfly(text, _sizes(text, sizes)),
    }
    if kind not in makers:
        raise PlacementError(f"the machine {text!r} is not known; there are {FORMS}.")
    if meshes and kind not in ("tofu-d", "torus"):
        raise PlacementError(f"axes that are meshes belong to tofu-d and torus, not to {text!r}.")
    return makers[kind]()


def read_nodes(path: Path, machine: Machine) -> Indices:
    """Return the nodes of a job from a file, in the launcher's order.

    Args:
        path: file with a line for each node: its coordinates, as `2 1 6 0 2 1` or `(2,1,6,0,2,1)`,
            or its name. `#` begins a comment.
        machine: the machine.

    Raises:
        PlacementError: a node that the machine does not have, or has twice.
    """
    lines = [line.partition("#")[0].strip() for line in read_text(path).splitlines()]
    lines = [line for line in lines if line]
    if not lines:
        raise PlacementError(f"{path} names no nodes.")
    if machine.node_names is not None:
        numbers = {name: number for number, name in enumerate(machine.node_names)}
        if unknown := next((line for line in lines if line not in numbers), None):
            raise PlacementError(f"{path}: {machine} has no node {unknown!r}.")
        nodes = np.array([numbers[line] for line in lines])
    else:
        rows = [re.findall(r"-?\d+", line) for line in lines]
        count = len(machine.axes)
        if wrong := next(
            (line for line, row in zip(lines, rows, strict=True) if len(row) != count), None
        ):
            raise PlacementError(
                f"{path}: {wrong!r} is not a node of {machine}, which has {count} coordinates "
                f"({', '.join(machine.axes)})."
            )
        nodes = machine.node_at(np.array(rows, dtype=np.int64))
    values, counts = np.unique(nodes, return_counts=True)
    if (counts > 1).any():
        twice = lines[int(np.argmax(nodes == values[np.argmax(counts > 1)]))]
        raise PlacementError(f"{path} names the node {twice!r} twice.")
    return nodes


def read_text(path: Path) -> str:
    """Return the text of a file; raises `PlacementError` if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise PlacementError(f"{path} cannot be read ({reason}).") from error


def _sizes(text: str, sizes: str) -> list[int]:
    if not re.fullmatch(r"\d{1,7}(x\d{1,7})*", sizes):
        raise PlacementError(
            f"the machine {text!r} needs sizes with x between them, as in {FORMS}."
        )
    return [int(size) for size in sizes.split("x")]


def _around(axes: str, meshes: Collection[str]) -> list[bool]:
    if unknown := sorted(set(meshes) - set(axes)):
        raise PlacementError(f"there is no axis {unknown[0]!r}; the axes are {', '.join(axes)}.")
    return [axis not in meshes for axis in axes]


def _torus(sizes: list[int], meshes: Collection[str]) -> Torus:
    return Torus(sizes, _around("xyzuvw"[: len(sizes)], meshes))


def _dragonfly(text: str, sizes: list[int]) -> Dragonfly:
    if len(sizes) not in (3, 4):
        raise PlacementError(f"the machine {text!r} needs three or four sizes, as in {FORMS}.")
    return Dragonfly(*sizes)
