"""Pictures do not depend on the decomposition of the domain."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from raycast_cases import (
    BLUE_RED,
    CAMERAS,
    CUTS,
    LAYERS,
    block_of,
    boxes,
    domain,
    draw,
    fields,
    whole_domain,
)

from uzushio.raycast import Camera, Isosurface, Scene, Slice, Volume, visibility_order


def over(images: list[np.ndarray]) -> np.ndarray:
    """Composite front to back in double precision, of floats, or of bytes in units of 1/255."""
    total = np.zeros(images[0].shape)
    for image in images:
        scale = 255 if image.dtype == np.uint8 else 1
        total += (1 - total[..., 3:]) * (image / scale)
    return 255 * total


@pytest.mark.parametrize("stretched", [False, True])
@pytest.mark.parametrize("layers", LAYERS)
@pytest.mark.parametrize("count", CUTS)
def test_a_picture_does_not_depend_on_the_decomposition(
    stretched: bool, layers: str, count: int
) -> None:
    points = domain(stretched)
    scene = Scene(LAYERS[layers], points, bounding_box=(1, 1, 1))
    values = fields(points)
    for cuts in CUTS[count]:
        parts = boxes(points, cuts)
        assert len(parts) == count
        blocks = [block_of(scene, box, values) for box in parts]
        for camera in CAMERAS.values():
            order = visibility_order(parts, points, camera)
            expected = 255 * draw(scene, camera, whole_domain(points, values)).image
            images = [draw(scene, camera, blocks[i]).image for i in order]
            assert np.abs(over(images) - expected).max() < 0.5
            together = draw(scene, camera, *(blocks[i] for i in order)).image
            assert np.abs(255 * together - expected).max() < 0.5
            if count <= 3:
                bytes_ = [draw(scene, camera, blocks[i], format="rgba8").image for i in order]
                whole = draw(scene, camera, whole_domain(points, values), format="rgba8").image
                assert np.abs(np.round(over(bytes_)) - whole).max() <= 2


@settings(max_examples=25)
@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(1, 11), max_size=3, unique=True),
    st.lists(st.integers(1, 11), max_size=2, unique=True),
    st.lists(st.integers(1, 11), max_size=2, unique=True),
    st.tuples(*[st.floats(-4, 4)] * 3).filter(lambda p: np.hypot(p[0], p[1]) > 0.3),
    st.floats(0.03, 0.8),
    st.booleans(),
)
def test_noise_on_a_random_mesh_and_decomposition_gives_the_same_picture(
    seed: int,
    z: list[int],
    y: list[int],
    x: list[int],
    eye: tuple[float, float, float],
    step: float,
    parallel: bool,
) -> None:
    rng = np.random.default_rng(seed)
    points = tuple(np.concatenate([[0], np.cumsum(rng.uniform(0.02, 1, 12))]) for _ in range(3))
    points = tuple(2 * c / c[-1] - 1 for c in points)
    values = {"r": rng.normal(size=(13, 13, 13)).astype("f4")}
    layers = [
        Volume("r", np.array([[0, 1, 0, 0, 0], [0.5, 1, 1, 0, 0.2], [0.6, 0, 1, 0, 0]])),
        Isosurface("r", [1.0], color=(0.2, 0.5, 1), opacity=0.6),
        Slice("r", (0.1, 0.2, 0), (1, 2, 3), BLUE_RED, opacity=0.5),
    ]
    scene = Scene(layers, points, step=step)
    camera = Camera(eye, (0, 0, 0), parallel_height=3.0 if parallel else None, view_angle=50)
    expected = 255 * draw(scene, camera, whole_domain(points, values)).image
    parts = boxes(points, (sorted(z), sorted(y), sorted(x)))
    order = visibility_order(parts, points, camera)
    images = [draw(scene, camera, block_of(scene, parts[i], values)).image for i in order]
    assert np.abs(over(images) - expected).max() < 1
