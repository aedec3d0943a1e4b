"""The ray caster against its rules in NumPy, and fields in any layout."""

from __future__ import annotations

import numpy as np
import pytest
from raycast_cases import CAMERAS, HEIGHT, LAYERS, WIDTH, domain, draw, fields, whole_domain
from raycast_reference import reference_cast

from uzushio.raycast import Isosurface, Scene


@pytest.mark.parametrize("stretched", [False, True])
@pytest.mark.parametrize("layers", LAYERS)
@pytest.mark.parametrize("camera", ["perspective", "along an axis", "inside"])
def test_a_picture_is_that_of_the_reference(stretched: bool, layers: str, camera: str) -> None:
    points = domain(stretched)
    scene = Scene(LAYERS[layers], points)
    block = whole_domain(points, fields(points))
    result = draw(scene, CAMERAS[camera], block, depth=True)
    image, depth, _ = reference_cast(scene, CAMERAS[camera], WIDTH, HEIGHT, [block])
    errors = 255 * np.abs(result.image - image).max(axis=2)
    # Where a ray grazes a surface, rounding decides whether it meets it.
    assert np.quantile(errors, 0.998) < 1
    assert np.isfinite(result.depth).mean() == pytest.approx(np.isfinite(depth).mean(), abs=0.03)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("layout", ["C", "F", "backwards", "every other", "one of three"])
def test_values_are_read_in_any_layout(dtype: str, layout: str) -> None:
    points = domain(False)
    values = fields(points, dtype)
    scene = Scene(LAYERS["all"], points)
    expected = draw(scene, CAMERAS["perspective"], whole_domain(points, values)).image

    def lay(array: np.ndarray) -> np.ndarray:
        if layout == "F":
            return np.asfortranarray(array)
        if layout == "backwards":
            return array[::-1, ::-1, ::-1].copy()[::-1, ::-1, ::-1]
        if layout == "every other":
            wide = np.full([2 * n for n in array.shape], np.nan, dtype)
            wide[::2, ::2, ::2] = array
            return wide[::2, ::2, ::2]
        if layout == "one of three":
            wide = np.full((*array.shape, 3), np.nan, dtype)
            wide[..., 1] = array
            return wide[..., 1]
        return array

    laid = {name: lay(array) for name, array in values.items()}
    image = draw(scene, CAMERAS["perspective"], whole_domain(points, laid)).image
    np.testing.assert_allclose(image, expected, atol=1e-3)  # sums in another order


def test_small_differences_of_large_doubles_are_resolved() -> None:
    points = domain(False)
    small = fields(points)["r"].astype("f8")
    layers = [Isosurface("r", [1e6 + 0.5], color=(1, 0, 0))]
    block = whole_domain(points, {"r": small + 1e6})
    image = draw(Scene(layers, points), CAMERAS["perspective"], block).image
    plain = [Isosurface("r", [0.5], color=(1, 0, 0))]
    expected = draw(
        Scene(plain, points), CAMERAS["perspective"], whole_domain(points, {"r": small})
    ).image
    assert np.quantile(255 * np.abs(image - expected), 0.999) < 1
