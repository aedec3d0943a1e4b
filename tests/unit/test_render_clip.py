"""Planes that clip a view: their settings, and their pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from uzushio.render import View, draw

BOUNDS = ((0.0, 4.0), (0.0, 2.0), (-1.0, 1.0))
LAYERS = [{"kind": "slice", "field": "u"}, {"kind": "volume", "field": "u", "clipped": False}]


def view(clip: Any) -> View:
    return View.model_validate({"layers": LAYERS, "clip": clip})


def test_a_plane_leaves_out_the_side_of_its_normal_or_the_other() -> None:
    clipped_view = view({"normal": "x", "at": 0.5})
    slice_, volume = clipped_view.layers
    assert clipped_view.half_spaces(slice_, BOUNDS) == (((0.5, 1.0, 0.0), (1.0, 0.0, 0.0)),)
    assert clipped_view.half_spaces(volume, BOUNDS) == ()
    other = view([{"normal": "x", "at": 0.5, "invert": True}, {"normal": [1, 1, 0]}])
    assert other.half_spaces(slice_, BOUNDS) == (
        ((0.5, 1.0, 0.0), (-1.0, 0.0, 0.0)),
        ((2.0, 1.0, 0.0), (1.0, 1.0, 0.0)),
    )
    assert View.model_validate({"layers": LAYERS}).half_spaces(slice_, BOUNDS) == ()


@pytest.mark.parametrize(
    ("clip", "message"),
    [
        ({"normal": "x", "at": 1, "origin": [0, 0, 0]}, "not both"),
        ({"normal": [0, 0, 0]}, "must not be zero"),
        ({"normal": [1, 1, 0], "at": 1}, "needs an axis"),
        ({"normal": "u"}, "normal"),
        ({"position": 1}, "position"),
        ([{"normal": "x"}] * 7, "at most 6"),
    ],
)
def test_mistakes_in_planes_are_named(clip: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        view(clip)


def test_a_picture_of_arrays_is_clipped() -> None:
    points = np.linspace(0, 1, 9)
    x = np.broadcast_to(points, (9, 9, 9)).copy()
    plain = {
        "layers": [{"kind": "slice", "field": "u", "normal": "y"}],
        "camera": "front",
        "size": (200, 160),
        **dict.fromkeys(("legend", "axes", "outline"), False),
        "time_stamp": "",
    }
    whole, half = (
        draw({"u": x}, {**plain, **more}, coordinates=[points] * 3).pixels
        for more in ({}, {"clip": {"normal": "x", "at": 0.5}})
    )
    drawn, left = ((picture[..., :3] != picture[0, 0, :3]).any(axis=2) for picture in (whole, half))
    columns = np.flatnonzero(drawn.any(axis=0))
    kept = np.arange(200) + 0.5 < (columns[0] + columns[-1] + 1) / 2
    assert (whole[:, kept] == half[:, kept]).all()
    assert drawn[:, ~kept].any() and not left[:, ~kept].any()
