"""The example in the guide on pictures."""

from __future__ import annotations

import re
from pathlib import Path

import av
import numpy as np
from conftest import Run
from PIL import Image

GUIDE = Path(__file__).parents[2] / "docs/how-to/pictures.md"


def test_the_example_in_the_guide_makes_its_pictures(mpi_run: Run, tmp_path: Path) -> None:
    code = re.search(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert code is not None
    # A smaller picture: the guide's is as large as a talk wants it.
    (tmp_path / "vortex.py").write_text(code[1].replace("samples=2", "size=(320, 180)"))
    done = mpi_run(2, tmp_path / "vortex.py", timeout=120)
    assert done.returncode == 0, done.stderr
    pixels = np.asarray(Image.open(tmp_path / "vortex0002.png"))
    assert pixels.shape == (180, 320, 3) and len(np.unique(pixels.reshape(-1, 3), axis=0)) > 500
    with av.open(str(tmp_path / "vortex.mp4")) as movie:
        assert sum(1 for _ in movie.decode(video=0)) == 3
