"""Nodes of CGNS files: the mapping of the CGNS tree to HDF5 (SIDS-to-HDF5).

A node is a group with the attributes `name`, `label`, `type` and `flags`; its data are a dataset
" data", whose dimensions are those of Fortran in reverse.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import h5py
import numpy as np

_TYPES = {"int32": "I4", "int64": "I8", "float32": "R4", "float64": "R8", "int8": "C1"}
_NAME = 32  #: maximum length of the name of a node
#: Version of the library whose files this module writes; earlier ones do not read later ones.
_VERSION = 3.4


def create_file(path: str) -> h5py.File:
    """Create a CGNS file without bases."""
    file = h5py.File(path, "w", track_order=True)
    _attributes(file, "HDF5 MotherNode", "Root Node of HDF5 File", "MT")
    _characters(file, " format", "IEEE_BIG_32" if _is_big_endian() else "IEEE_LITTLE_32", 15)
    _characters(file, " hdf5version", f"HDF5 Version {h5py.version.hdf5_version}", 33)
    add(file, "CGNSLibraryVersion", "CGNSLibraryVersion_t", np.array([_VERSION], dtype=np.float32))
    return file


def add(parent: h5py.Group, name: str, label: str, data: Any = None) -> h5py.Group:
    """Add a node to a node.

    Args:
        parent: the node above.
        name: name, at most 32 letters.
        label: type of the node in the SIDS, as "Zone_t".
        data: an array, its axes in the order of C; a text; or None.

    Raises:
        ValueError: the name cannot be that of a node.
    """
    if not name or len(name.encode()) > _NAME or "/" in name or name in (".", ".."):
        raise ValueError(f"'{name}' cannot be a name in CGNS: 1 to {_NAME} letters without /")
    group = parent.create_group(name, track_order=True)
    if isinstance(data, str):
        data = np.frombuffer(data.encode(), dtype=np.int8)
    array = None if data is None else np.asarray(data)
    _attributes(group, name, label, "MT" if array is None else _TYPES[array.dtype.name])
    group.attrs.create("flags", np.array([1], dtype=np.int32))
    if array is not None:
        group.create_dataset(" data", data=array)
    return group


def children(group: h5py.Group, *labels: str) -> Iterator[tuple[str, h5py.Group]]:
    """Yield names and nodes below a node that have one of the labels, links followed."""
    for name, child in group.items():
        if isinstance(child, h5py.Group):
            node = child[" link"] if _text(child, "type") == "LK" else child
            if _text(node, "label") in labels:
                yield str(name), node


def child(group: h5py.Group, *labels: str) -> h5py.Group | None:
    """Return the first node below a node with one of the labels; None if there is none."""
    return next((node for _, node in children(group, *labels)), None)


def label(group: h5py.Group) -> str:
    """Return the label of a node."""
    return _text(group, "label")


def array(group: h5py.Group) -> np.ndarray:
    """Return the data of a node."""
    return np.asarray(group[" data"][()])


def text(group: h5py.Group | None) -> str:
    """Return the data of a node as a text; "" if there is no node."""
    if group is None or " data" not in group:
        return ""
    return array(group).astype(np.uint8).tobytes().decode("utf-8", "replace").strip(" \0")


def _text(group: h5py.Group, attribute: str) -> str:
    value = group.attrs.get(attribute, b"")
    raw = value if isinstance(value, bytes) else str(value).encode()
    return raw.decode("utf-8", "replace").rstrip(" \0")


def _attributes(group: h5py.Group, name: str, label: str, kind: str) -> None:
    for attribute, value, size in (("name", name, 33), ("label", label, 33), ("type", kind, 3)):
        of_c = h5py.h5t.C_S1.copy()  # fixed length, ended by zero
        of_c.set_size(size)
        space = h5py.h5s.create(h5py.h5s.SCALAR)
        created = h5py.h5a.create(group.id, attribute.encode(), of_c, space)
        created.write(np.array(value.encode(), dtype=f"S{size}"), mtype=of_c)


def _characters(group: h5py.Group, name: str, value: str, size: int) -> None:
    data = np.zeros(size, dtype=np.int8)
    data[: len(value)] = np.frombuffer(value.encode(), dtype=np.int8)
    group.create_dataset(name, data=data)


def _is_big_endian() -> bool:
    return np.dtype(np.int32) == np.dtype(">i4")
