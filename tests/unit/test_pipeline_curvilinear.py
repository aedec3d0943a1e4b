"""Pictures of a curvilinear mesh in a pipeline."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from made_stream import Made
from PIL import Image

from uzushio.errors import PipelineError, RenderError

R, T, Z = np.linspace(1, 2, 9), np.linspace(0, 1.5 * np.pi, 41), np.linspace(0, 1, 6)


def annulus(cuts: tuple[int, int, int] = (1, 1, 1)) -> Made:
    """Axes z, angle, radius; the field is the radius."""
    z, angle, radius = np.meshgrid(Z, T, R, indexing="ij")
    corners = np.stack([radius * np.cos(angle), radius * np.sin(angle), z], axis=-1)
    formulas = {"radius": lambda time, z, t, r: r + time, "angle": lambda time, z, t, r: t}
    return Made((Z, T, R), formulas, cuts=cuts, curved=corners, units={"radius": "m"})


def picture(
    made: Made, folder: Path, layers: list[dict[str, object]], camera: str = "top"
) -> np.ndarray:
    view = {"layers": layers, "camera": camera, "size": [320, 200], "axes": False}
    action = made.action("picture", folder, view=view, file="{name}_{step}.png")
    made.run(action, [(3, 0.5)])
    return np.asarray(Image.open(folder / "it_3.png")).astype(int)


SLICE = {"kind": "slice", "field": "radius", "at": 0.5, "color": {"map": "viridis"}}
SURFACE = {"kind": "isosurface", "field": "radius", "values": 2.0, "color": {"field": "angle"}}
MESH = {"kind": "mesh", "mesh": "box", "color": {"field": "angle", "map": "magma"}, "edges": True}


@pytest.mark.parametrize("layers", [[SLICE], [SURFACE], [MESH], [SLICE, SURFACE]])
def test_parts_of_a_curvilinear_mesh_make_the_picture_of_the_whole(
    tmp_path: Path, layers: list[dict[str, object]]
) -> None:
    whole = picture(annulus(), tmp_path / "whole", layers, "isometric")
    parts = picture(annulus((1, 3, 2)), tmp_path / "parts", layers, "isometric")
    assert len(np.unique(whole.reshape(-1, 3), axis=0)) > 50
    # The normals of lit surfaces are one-sided at the borders of parts.
    assert (np.abs(whole - parts).max(axis=2) > 5).mean() < 2e-3


def test_a_slice_shows_the_ring_and_its_hole(tmp_path: Path) -> None:
    pixels = picture(annulus(), tmp_path, [SLICE | {"color": {"map": "viridis", "legend": False}}])
    colored = np.ptp(pixels, axis=2) > 40
    rows, columns = np.nonzero(colored)
    centre = (rows.min() + rows.max()) // 2, (columns.min() + columns.max()) // 2
    assert not colored[centre] and not colored[centre[0] + 40, centre[1] + 40]
    assert colored.mean() > 0.1


@pytest.mark.parametrize(
    ("layer", "sentence"),
    [
        ({"kind": "volume", "field": "radius"}, "needs a uniform or rectilinear mesh"),
        (SLICE | {"opacity": 0.5}, "are opaque"),
        (MESH | {"mesh": "pipe"}, "There is no mesh pipe; there is box"),
        (MESH | {"color": "red"}, "needs a layer that shows a field"),
        (SLICE | {"field": "w"}, "w"),
    ],
)
def test_impossible_pictures_are_reported_before_the_first_step(
    tmp_path: Path, layer: dict[str, object], sentence: str
) -> None:
    with pytest.raises((PipelineError, RenderError), match=sentence):
        annulus().action("picture", tmp_path, view={"layers": [layer]})
