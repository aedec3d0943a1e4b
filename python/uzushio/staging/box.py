"""Selections of boxes, and ghost widths, in the forms of users and of the core."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, TypeAlias

from uzushio.domain.box import Box, Triple
from uzushio.errors import StagingError

#: Widths of ghost layers: one for all sides, one for each axis, or (lower, upper) for each axis.
GhostWidths: TypeAlias = int | Sequence[int | Sequence[int]]


#: A `Box`, (start, count), or counts alone, which begin at 0.
Extents: TypeAlias = Box | Sequence[int] | Sequence[Sequence[int]]
#: A `Box`, or an index expression such as `np.s_[4, :, 10:20]`. Indices are global; negative ones
#: are ghosts below 0 and do not count from the end.
Selection: TypeAlias = Box | slice | int | tuple["slice | int", ...]


def triple(values: Sequence[int], what: str) -> Triple:
    """Convert to three integers along z, y, x; raises `StagingError`."""
    try:
        z, y, x = (operator.index(value) for value in values)
    except (TypeError, ValueError):
        raise StagingError(
            f"{what} must be three integers along z, y, x, not {values!r}."
        ) from None
    return z, y, x


def make_box(box: Extents, what: str) -> Box:
    """Convert to a box; raises `StagingError`."""
    if isinstance(box, Box):
        return box
    if len(box) == 2:
        start, count = box
        return Box(triple(start, f"the start of {what}"), triple(count, f"the count of {what}"))  # type: ignore[arg-type]
    return Box((0, 0, 0), triple(box, f"the counts of {what}"))  # type: ignore[arg-type]


def _index(value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise StagingError(
            f"A box is selected by integers and slices along z, y, x, not by {value!r}."
        ) from None


def select(selection: Selection | None, whole: Box) -> tuple[Box, tuple[int, ...]]:
    """Return the box of a selection, and the axes that single indices drop.

    Args:
        selection: None for all; missing axes are whole.
        whole: all indices of the field.

    Raises:
        StagingError: a stride, too many axes, or an empty box.
    """
    if selection is None:
        return whole, ()
    dropped: tuple[int, ...] = ()
    if isinstance(selection, Box):
        box = selection
    else:
        given = selection if isinstance(selection, tuple) else (selection,)
        if len(given) > 3:
            raise StagingError(f"A box has three axes, z, y and x, not {len(given)}.")
        start, stop = list(whole.start), list(whole.stop)
        for axis, part in enumerate(given):
            if isinstance(part, slice):
                if part.step not in (None, 1):
                    raise StagingError("A box has no stride; apply the stride to the array read.")
                start[axis] = start[axis] if part.start is None else _index(part.start)
                stop[axis] = stop[axis] if part.stop is None else _index(part.stop)
            else:
                start[axis] = _index(part)
                stop[axis] = start[axis] + 1
                dropped += (axis,)
        box = Box.between(start, stop)
    if min(box.count) < 1:
        raise StagingError(f"The box {box} is empty; the field has the indices {whole}.")
    return box, dropped


def ghost_pair(ghosts: GhostWidths, dimension: int) -> tuple[Triple, Triple]:
    """Return the widths below and above along z, y, x.

    Args:
        ghosts: as `GhostWidths`; a single number applies to the axes in use.
        dimension: number of axes in use, counted from x.
    """
    if isinstance(ghosts, int):
        if ghosts == 0:
            return (0, 0, 0), (0, 0, 0)
        z, y, x = (ghosts if axis >= 3 - dimension else 0 for axis in range(3))
        return (z, y, x), (z, y, x)
    pairs = [(width, width) if isinstance(width, int) else tuple(width) for width in ghosts]
    if len(pairs) != 3 or any(len(pair) != 2 for pair in pairs):
        raise StagingError(
            "Ghost widths are one number, or one for each of z, y, x, or (lower, upper) for each, "
            f"not {ghosts!r}."
        )
    if any(not 0 <= width <= 65535 for pair in pairs for width in pair):
        raise StagingError(f"Ghost widths must be between 0 and 65535, not {ghosts!r}.")
    (z0, z1), (y0, y1), (x0, x1) = pairs
    return (z0, y0, x0), (z1, y1, x1)
