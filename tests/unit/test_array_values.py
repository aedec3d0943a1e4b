"""Values under the mask of a masked array never count, and imaginary parts are not dropped."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from mpi4py import MPI

from uzushio import staging
from uzushio._base.observations import Observations
from uzushio._base.store.array import DistributedArray
from uzushio.compositing import Compositor
from uzushio.errors import ModelError, RenderError, StagingError
from uzushio.linalg import PoissonSolver
from uzushio.raycast import Block, ColorTable, cell_centres
from uzushio.render import Movie, SliceLayer, View, draw, save_png
from uzushio.solvers.contract import Sample
from uzushio.solvers.phasefield import Model, Parameters
from uzushio.solvers.statistics.averages import TimeAverage

SHAPE = (4, 5, 6)
PLAIN = np.arange(120.0).reshape(SHAPE)
FILL = 1e20
LINE = np.linspace(0.0, 1.0, 9)


def masked(values: np.ndarray) -> np.ma.MaskedArray:
    """Mask one value in the middle, with a fill value below the mask."""
    array = np.ma.array(values, copy=True, mask=False)
    middle = tuple(n // 2 for n in array.shape)
    array.data[middle] = FILL if array.dtype.kind in "fc" else 200
    array.mask[middle] = True
    return array


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
def test_a_picture_of_masked_values_is_that_of_nan(dtype: type) -> None:
    field = masked(PLAIN.astype(dtype))
    view = View(layers=(SliceLayer(field="u", normal="z", at=2.0),), size=(240, 200))
    picture = draw({"u": field}, view)
    expected = draw({"u": field.astype(np.float64).filled(np.nan)}, view)
    assert expected.nan_count > 0 and expected.limits["u"] == (60.0, 89.0)
    assert (picture.limits, picture.nan_count) == (expected.limits, expected.nan_count)
    np.testing.assert_array_equal(picture.pixels, expected.pixels)


def test_a_published_masked_value_is_nan_and_masked_integers_are_refused() -> None:
    read_values: list[np.ndarray] = []
    with staging.open("s", options={"engine": "inproc"}) as writer:
        writer.uniform_mesh("m", SHAPE)
        writer.field("u", "m", "element", np.float64)
        writer.field("n", "m", "element", np.int32)
        writer.block(0, "m", SHAPE)
        writer.on_step(lambda step: read_values.append(np.array(step.read("u"))))
        with writer.step(0, 0.0):
            writer.put("u", masked(PLAIN))
            with pytest.raises(StagingError, match=r"masked values, and its type int32 has no NaN"):
                writer.put("n", masked(PLAIN.astype(np.int32)))
            writer.put("n", np.ma.array(PLAIN.astype(np.int32)))
        with pytest.raises(StagingError, match="An axis of mesh r has masked values"):
            writer.rectilinear_mesh("r", [masked(LINE), LINE, LINE])
    np.testing.assert_array_equal(read_values[0], masked(PLAIN).filled(np.nan))


def test_an_average_of_masked_samples_is_nan_there() -> None:
    average = TimeAverage()
    for time in range(3):
        average.add({"u": Sample(("z",), masked(LINE))}, float(time))
    np.testing.assert_array_equal(average.mean()["u"].values, masked(LINE).filled(np.nan))


def poisson(**more: object) -> PoissonSolver:
    arguments = {"cells": (8, 8, 8), "lengths": (1.0, 1.0, 1.0), "conditions": ["dirichlet"] * 3}
    return PoissonSolver(MPI.COMM_SELF, **(arguments | more))  # type: ignore[arg-type]


def solve(f: np.ndarray, x: np.ndarray | None = None) -> None:
    poisson().solve(f, x)


CUBE = np.ones((8, 8, 8))
FACES = [np.ones(shape) for shape in ((8, 8, 9), (8, 9, 8), (9, 8, 8))]
Change = Callable[[np.ndarray], np.ndarray]
REFUSED: dict[str, tuple[type[Exception], Callable[[Change], object]]] = {
    "right-hand side": (ValueError, lambda bad: solve(bad(CUBE))),
    "faces": (
        ValueError,
        lambda bad: poisson(cells=None, lengths=None, faces=[bad(LINE), LINE, LINE]),
    ),
    "coefficient": (
        ValueError,
        lambda bad: poisson(b=lambda box: [bad(FACES[0]), *FACES[1:]]),
    ),
    "coordinates of draw": (
        RenderError,
        lambda bad: draw(np.ones((9, 9, 9)), coordinates=(bad(LINE), LINE, LINE)),
    ),
    "coordinates of a block": (
        ValueError,
        lambda bad: Block((bad(LINE), LINE, LINE), (0, 0, 0), ((0, 0, 0), (8, 8, 8)), {}),
    ),
    "cell centres": (ValueError, lambda bad: cell_centres(bad(LINE))),
    "colours": (ValueError, lambda bad: ColorTable(bad(np.ones((8, 4))), 0.0, 1.0)),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize(("bad", "why"), [(masked, "masked"), (lambda a: a + 0j, "complex")])
def test_masked_and_complex_values_are_refused_where_nan_has_no_meaning(
    name: str, bad: Change, why: str
) -> None:
    kind, use = REFUSED[name]
    use(lambda values: values)
    use(np.ma.asarray)
    with pytest.raises(kind, match=why):
        use(bad)


def test_masked_values_are_refused_by_models_stores_images_and_first_estimates(
    tmp_path: Path,
) -> None:
    with pytest.raises(ValueError, match="x has masked values"):
        solve(CUBE, masked(np.zeros((8, 8, 8))))
    with pytest.raises(ValueError, match="the array of observations has masked values"):
        Observations([0], masked(np.zeros((1, 8, 8))), 1.0)
    with pytest.raises(ValueError, match="the weight of observations has masked values"):
        Observations([0], np.zeros((1, 8, 8)), masked(np.ones((8, 8))))
    model = Model(MPI.COMM_SELF, (8, 8), Parameters(0.01, 1.0))
    with pytest.raises(ModelError, match="state has masked values"):
        model.forward(masked(np.zeros((8, 8))), [1.0], 0, 1)
    with pytest.raises(ValueError, match="masked"):
        DistributedArray(SHAPE, np.dtype(float), [((0, 0, 0), masked(PLAIN))])
    pixels = masked(np.zeros((16, 16, 3), np.uint8))
    with pytest.raises(ValueError, match="masked"):
        save_png(pixels, tmp_path / "a.png")
    with Movie(tmp_path / "a.mp4") as movie, pytest.raises(ValueError, match="masked"):
        movie.write(pixels)
    with Compositor(MPI.COMM_SELF, 8, 8) as compositor, pytest.raises(ValueError, match="masked"):
        compositor.submit(masked(np.zeros((8, 8, 4), np.uint8)))


def test_complex_fields_are_refused_by_draw() -> None:
    with pytest.raises(RenderError, match="complex128; a picture needs real numbers"):
        draw(PLAIN + 0j)
