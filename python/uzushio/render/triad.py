"""Small arrows of the axes that show the orientation of the domain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from uzushio.raycast import Camera
from uzushio.render import marks
from uzushio.render.marks import Mark
from uzushio.render.typeface import Typeface, typeset

#: Colours of x, y and z, distinct also with colour blindness.
COLORS = ("#d55e00", "#009e73", "#2f7fd0")
LENGTH = 2.6  #: of an arrow, in heights of the letters
RADIUS = 4.2  #: distance from the middle to the farthest letter, in the same unit


def draw(
    camera: Camera, centre: tuple[float, float], names: Sequence[str], em: int, face: Typeface
) -> list[Mark]:
    """Draw arrows along x, y and z around a point of the picture, from back to front."""
    right, up, forward = camera.axes
    drawn: list[Mark] = []
    origin = np.array(centre)
    for axis in sorted(range(3), key=lambda a: -float(forward[a])):
        color = marks.shade(COLORS[axis])
        way = np.array([right[axis], -up[axis]])
        size = float(np.hypot(*way))
        if size > 0.08:
            tip = origin + way * LENGTH * em
            unit = way / size
            side = np.array([-unit[1], unit[0]])
            head = min(0.75 * em, 0.6 * size * LENGTH * em)
            base = tip - unit * head
            drawn.append(marks.line(origin, base, 0.16 * em, color))
            drawn.append(
                marks.polygon([tip, base + side * head / 2.6, base - side * head / 2.6], color)
            )
            place = tip + unit * 0.8 * em
        else:
            place = origin + np.array([-0.6, 0.8]) * em
        mask = face.mask(typeset(names[axis]), round(0.95 * em), len(names[axis]) == 1)
        drawn.append(marks.text(mask, place, color))
    return drawn
