"""Viewer on these ranks. Run as: mpiexec -n N python viewer_job.py same FOLDER, or live FOLDER.

same: pictures of stored steps by the pipeline and by the viewer, which must be equal, also after
  pictures that the last rank alone has given up.
live: draws each step of the stream FOLDER/u.contact, and logs the pictures.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI
from PIL import Image
from staging_peers import Log
from viewer_driver import Driver, RequestFailed, run_viewer

from uzushio import staging
from uzushio.pipeline.model import load
from uzushio.pipeline.pipeline import Pipeline
from uzushio.viewer.budget import Budget, GivenUpError

COMM = MPI.COMM_WORLD
#: Distinct views with all kinds of layers, of the file's sources.
VIEWS = ("cut", "mixed")


def same(folder: Path) -> None:
    loaded = load(folder / "pipeline.yaml")
    store = folder / "flow.zarr"
    pipeline = Pipeline(loaded, COMM, folder / f"out{COMM.size}", print)
    with staging.attach(store, COMM) as reader:
        for step in reader:
            pipeline.step(step, reader.release)
    pipeline.finish()
    pipeline.close()
    assert pipeline.failures == 0, pipeline.summary()

    late = folder / f"late{COMM.size}"

    def check(self: Budget) -> None:
        if COMM.rank == COMM.size - 1 and late.exists():
            raise GivenUpError("The picture was given up.")

    Budget.check = check  # type: ignore[method-assign]

    def work(page: Driver) -> None:
        sources = loaded.document.values["sources"]
        for step in range(3):
            for name in VIEWS:
                given = loaded.document.values["views"][name]
                drawn = page.picture(given, sources, name, step=step)
                file = folder / f"out{COMM.size}" / f"{name}-{step:06d}.png"
                batch = np.asarray(Image.open(file))
                assert np.ptp(batch) > 200
                np.testing.assert_array_equal(drawn.pixels, batch, err_msg=f"{name} {step}")
                late.touch()
                try:
                    page.picture({**given, "title": "late"}, sources, name, step=step)
                except RequestFailed as failed:
                    assert "given up" in str(failed)
                else:
                    raise AssertionError("the picture was drawn")
                finally:
                    late.unlink()

    run_viewer(str(store), COMM, work)


def live(folder: Path) -> None:
    log = Log(folder, "viewer", COMM.rank)

    def work(page: Driver) -> None:
        given = {"layers": [{"kind": "slice", "field": "u"}], "size": (64, 48)}
        stop = folder / "stop"
        log("picture", page.picture(given).step)
        while not stop.exists():
            before = page.drawn
            page.until(lambda b=before: page.drawn > b or stop.exists(), "another step")  # type: ignore[misc]
            log("picture", page.drawn)

    run_viewer(str(folder / "u.contact"), COMM, work)
    log("ended")


{"same": same, "live": live}[sys.argv[1]](Path(sys.argv[2]))
