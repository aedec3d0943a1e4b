"""Pictures of blocks and meshes on many ranks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import Run

JOB = Path(__file__).with_name("pictures_job.py")
VIEWS = ("all", "back", "oblique", "inside")


#: Parts of the job, and by how many of its ranks each is done.
JOB_PARTS = ("slabs:1", "slabs:2", "slabs:3", "slabs:4", "apart:3", "empty:2")
JOB_PARTS += ("several:2", "notes:3", "errors:3", "meshes:1", "meshes:3", "no_screen:2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures saved by the job."""
    return tmp_path_factory.mktemp("pictures")


@pytest.fixture
def made(mpi_run: Run, folder: Path) -> Path:
    """All pictures: one job makes them before the first test."""
    if not list(folder.iterdir()):
        done = mpi_run(4, [JOB, folder, *JOB_PARTS], timeout=280)
        assert done.returncode == 0, done.stderr
    return folder


def loaded(folder: Path, part: str, ranks: int, name: str) -> np.ndarray:
    return np.load(folder / f"{part}.{ranks}.{name}.npy").astype(int)


@pytest.mark.parametrize(
    ("part", "ranks"), [("slabs", 2), ("slabs", 3), ("slabs", 4), ("apart", 3), ("empty", 2)]
)
def test_pictures_do_not_depend_on_the_decomposition(made: Path, part: str, ranks: int) -> None:
    for pixels, bound in (("rgba_float", 1), ("rgba8", 2)):
        for view in VIEWS:
            name = f"{pixels}.{view}"
            single, many = loaded(made, "slabs", 1, name), loaded(made, part, ranks, name)
            assert len(np.unique(single.reshape(-1, 3), axis=0)) > 50, "there is something to see"
            assert np.abs(single - many).max() <= bound, name
    smooth, sharp = (loaded(made, part, ranks, f"{kind}.back") for kind in ("smooth", "rgba8"))
    assert np.abs(smooth - loaded(made, "slabs", 1, "smooth.back")).max() <= 2
    assert (smooth != sharp).any() and np.abs(smooth - sharp).mean() < 3


def test_pictures_in_flight_equal_those_made_one_by_one(made: Path) -> None:
    late, once = (
        [loaded(made, "several", 2, f"{kind}{n}") for n in range(4)] for kind in ("late", "once")
    )
    for n in range(4):
        assert (late[n] == once[n]).all()
        assert n == 0 or (once[n] != once[n - 1]).any()


def test_layers_that_are_not_visible_have_notes(made: Path) -> None:
    text = (made / "notes.3.txt").read_text()
    assert "There is no surface of q = 10⁶, 2·10⁶: it lies between" in text
    assert "the legend is plain\nthe legend is pointed" in text
    assert "NaN is seen and counted" in text


def test_errors_are_one_sentence_on_all_ranks(made: Path) -> None:
    text = (made / "errors.3.txt").read_text().splitlines()
    expected = (
        "The picture needs the field q; a block has only u.",
        "needs MeshRenderer",
        "The camera looks along its own upward axis",
        "overlap",
        "The font /nowhere/font.ttf cannot be used",
    )
    for line, sentence in zip(text, expected, strict=True):
        assert sentence in line and line.endswith(".")
    after, before = (loaded(made, "errors", 3, "after"), loaded(made, "slabs", 1, "rgba8.back"))
    assert np.abs(after - before).max() <= 2


def test_without_graphics_libraries_all_ranks_raise_an_error_with_advice(made: Path) -> None:
    text = (made / "no_screen.2.txt").read_text()
    assert "libegl1 libgl1-mesa-dri" in text and text.count("\n") == 1


def test_parts_of_a_mesh_make_the_picture_of_the_whole(made: Path) -> None:
    """Except for a pixel in a thousand, along the rims of parts, by one sample of four."""
    for ranks in (1, 3):
        text = (made / f"meshes.{ranks}.txt").read_text()
        assert "There is no mesh annulus; there is pipe." in text
        assert "The mesh has no field w; it has u, p." in text
        assert "A layer of kind volume needs a uniform or rectilinear mesh" in text
    for kind in ("surface", "filters"):
        for camera in ("isometric", "top"):
            single, on_three = (loaded(made, "meshes", n, f"{kind}.{camera}") for n in (1, 3))
            assert len(np.unique(single.reshape(-1, 3), axis=0)) > 200
            off = np.abs(single - on_three).max(axis=2)
            assert (off > 2).mean() < 1e-3 and off.max() <= 64, (kind, camera)
    part, nothing = (loaded(made, "meshes", 3, name) for name in ("nothing0", "nothing"))
    full = loaded(made, "meshes", 3, "filters.top")
    assert (part != full).any() and (nothing != part).any()
