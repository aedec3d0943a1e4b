"""Results of a pipeline do not depend on the decomposition of the flow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import Run
from PIL import Image

JOB = Path(__file__).with_name("pipeline_job.py")
SIZE = 23 * 18 * 14


def made(mpi_run: Run, folder: Path, cuts: str, kind: str) -> dict[str, np.ndarray]:
    file = folder / cuts / "found.npz"
    ranks = int(np.prod([int(n) for n in cuts.split("x")]))
    done = mpi_run(ranks, [JOB, cuts, kind, file], timeout=120)
    assert done.returncode == 0, done.stderr
    with np.load(file) as stored:
        picture = np.asarray(Image.open(file.parent / "out/p.png")).astype(int)
        return dict(stored) | {"picture": picture}


@pytest.mark.parametrize(
    ("kind", "cuts"),
    [("points", "3x1x1"), ("elements", "2x2x1"), ("periodic", "1x2x1"), ("periodic", "1x2x2")],
)
def test_fields_and_pictures_are_those_of_one_rank(
    mpi_run: Run, tmp_path: Path, kind: str, cuts: str
) -> None:
    single = made(mpi_run, tmp_path, "1x1x1", kind)
    many = made(mpi_run, tmp_path, cuts, kind)
    for name in ("u", "w", "omega", "q", "dq", "chain", "mixed"):
        np.testing.assert_array_equal(many[name], single[name], err_msg=name)
    assert np.ptp(single["picture"]) > 200
    assert np.abs(many["picture"] - single["picture"]).max() <= 2
    # One rank views all of u and w (two fields, two steps) in place, and reads nothing; several
    # view the interior of their blocks.
    # Along periodic axes each has further layers at the ends.
    assert single["read"] == 0
    assert single["looked"] == 4 * SIZE or kind == "periodic"
    assert 0 < many["looked"] < single["looked"] and many["read"] > 0
