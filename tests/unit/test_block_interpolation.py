"""Interpolation of a zone's values to another number of cells."""

from __future__ import annotations

import numpy as np
import pytest

from uzushio.solvers.block_solver.interpolation import interpolated

VERTICES = [(False, False), (True, False), (True, True)]


def positions(cells: int, vertices: bool) -> np.ndarray:
    return np.arange(cells + 1) / cells if vertices else (np.arange(cells) + 0.5) / cells


def wave(cells: tuple[int, int], at_vertices: tuple[bool, bool]) -> np.ndarray:
    y, x = (positions(n, at_vertex) for n, at_vertex in zip(cells, at_vertices, strict=True))
    return np.sin(3 * x + 1) * np.cos(2 * y)[:, np.newaxis]


def moved(
    values: np.ndarray,
    cells: tuple[int, ...],
    at_vertices: tuple[bool, ...],
    box: tuple[tuple[int, ...], tuple[int, ...]] | None = None,
) -> np.ndarray:
    """Return values on so many cells; `box`: start and extents of a part of them."""
    shape = tuple(n + at_vertex for n, at_vertex in zip(cells, at_vertices, strict=True))
    start, count = box or ((0,) * len(shape), shape)

    def read(start: tuple[int, ...], count: tuple[int, ...]) -> np.ndarray:
        part = values[tuple(slice(a, a + n) for a, n in zip(start, count, strict=True))]
        assert part.shape[: len(count)] == count, "it reads inside of the zone"
        return part

    return interpolated(read, values.shape[: len(shape)], shape, at_vertices, start, count)


@pytest.mark.parametrize("at_vertices", VERTICES)
@pytest.mark.parametrize("ratio", [2, 1.5, 0.75])
def test_it_is_of_second_order(at_vertices: tuple[bool, bool], ratio: float) -> None:
    errors = []
    for n in (16, 32, 64):
        new = (int(ratio * n), int(1.25 * n))
        values = moved(wave((n, 2 * n), at_vertices), new, at_vertices)
        errors.append(np.abs(values - wave(new, at_vertices)).mean())
    assert errors[0] > 3.5 * errors[1] > 3.5**2 * errors[2] > 0


@pytest.mark.parametrize("new", [24, 31, 9, 16])
def test_sums_are_conserved_and_density_stays_positive_at_a_shock(new: int) -> None:
    density = np.where(np.arange(16) < 7, 1.0, 1e-4)[:, np.newaxis]
    values = moved(density, (new, 1), (False, False))
    assert values.mean() == pytest.approx(density.mean(), rel=1e-14)
    assert values.min() >= 1e-4 * (1 - 1e-12) and values.max() <= 1 + 1e-12


@pytest.mark.parametrize("at_vertices", VERTICES)
def test_the_same_grid_keeps_its_bits(at_vertices: tuple[bool, bool]) -> None:
    values = wave((12, 10), at_vertices)
    np.testing.assert_array_equal(moved(values, (12, 10), at_vertices), values)


@pytest.mark.parametrize("new", [(25, 18), (7, 10)])
@pytest.mark.parametrize("at_vertices", VERTICES)
def test_parts_of_ranks_have_the_bits_of_the_whole(
    at_vertices: tuple[bool, bool], new: tuple[int, int]
) -> None:
    values = np.random.default_rng(1).random((*wave((12, 14), at_vertices).shape, 3))
    whole = moved(values, new, at_vertices)
    assert whole.shape[2] == 3, "components"
    for start, count in (((0, 0), (3, 4)), ((3, 5), (4, 5)), ((new[0] - 2, 1), (2, 2))):
        part = moved(values, new, at_vertices, (start, count))
        expected = whole[tuple(slice(a, a + n) for a, n in zip(start, count, strict=True))]
        np.testing.assert_array_equal(part, expected)
