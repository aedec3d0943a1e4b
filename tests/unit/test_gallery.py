"""The gallery: its cases and pipelines run on small grids and draw the pictures of its page."""

from __future__ import annotations

from pathlib import Path

import gallery
import numpy as np
import pytest
from PIL import Image

PAGE = gallery.ROOT / "docs/gallery.md"
#: Mean difference, of 255: more than rounding and compression, less than any wrong picture.
TOLERANCE = 2.5


def stored(case: str) -> np.ndarray:
    return np.asarray(Image.open(gallery.PICTURES / f"{case}.jpg").convert("RGB"), float)


def difference(picture: np.ndarray, other: np.ndarray) -> float:
    return float(np.abs(picture - other).mean()) if picture.shape == other.shape else 255.0


@pytest.mark.parametrize("entry", gallery.ENTRIES, ids=lambda entry: entry.case)
def test_each_case_draws_its_picture(entry: gallery.Entry, tmp_path: Path) -> None:
    drawn = np.asarray(gallery.draw(entry, tmp_path / "run"), float)
    assert difference(drawn, stored(entry.case)) < TOLERANCE


def test_a_broken_picture_is_beyond_the_tolerance() -> None:
    """A blank one, that of another case, and one that is mirrored."""
    for entry in gallery.ENTRIES:
        right = stored(entry.case)
        wrong = [np.full_like(right, right[0, 0]), right[:, ::-1]]
        wrong += [stored(other.case) for other in gallery.ENTRIES if other.case != entry.case]
        assert min(difference(right, picture) for picture in wrong) > 2 * TOLERANCE, entry.case


def test_every_case_and_pipeline_is_on_the_page_and_each_picture_is_small() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for folder in ("cases", "pipelines"):
        for file in (gallery.ROOT / "examples" / folder).glob("*.yaml"):
            assert f"(../examples/{folder}/{file.name})" in page, file
    for entry in gallery.ENTRIES:
        assert f"publish={gallery.staging(entry)}" in page, "run tools/gallery.py"
        assert (gallery.PICTURES / f"{entry.case}.jpg").stat().st_size <= gallery.LARGEST
