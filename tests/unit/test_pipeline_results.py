"""Files of actions that grow by steps: order of steps, number of files, cost of another step."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import xarray
from made_stream import Made
from mpi4py import MPI

from uzushio import staging
from uzushio._base.store.distribution import Distribution
from uzushio._base.store.schema import StoreSchema
from uzushio._base.store.series import ZarrSeries
from uzushio.domain.box import Box
from uzushio.domain.fields import Field
from uzushio.pipeline.actions.plot import Plot
from uzushio.pipeline.model import load
from uzushio.pipeline.pipeline import Pipeline
from uzushio.pipeline.table import Table

ACTIONS = """\
actions:
- {count: {fields: [u]}}
- {plot: {series: {fields: [u], reduce: max}}, name: s}
- probe:
    fields: [u]
    points: {p: [0.5, 0.5, 0.5]}
    lines: {l: {from: [0, 0, 0], to: [1, 1, 1], points: 2}}
- {extract: {fields: [u], to: [e.zarr, e.vtkhdf]}}
"""
LINE = np.linspace(0.0, 1.0, 3)
ALONE = MPI.COMM_SELF


def test_all_steps_of_a_stream_are_kept_if_their_numbers_do_not_increase(tmp_path: Path) -> None:
    """The fields of the stream change before the third step, so actions are prepared again."""
    indices, messages = [0, 10, 5, -3, 5], []
    (tmp_path / "p.yaml").write_text(ACTIONS)
    out = tmp_path / "out"
    pipeline = Pipeline(load(tmp_path / "p.yaml"), ALONE, out, messages.append, in_situ=True)
    with staging.open("made", ALONE, {"engine": "inproc"}) as writer:
        writer.on_step(pipeline.step)
        writer.rectilinear_mesh("m", [LINE, LINE, LINE])
        writer.block(0, "m", Box((0, 0, 0), (3, 3, 3)), "vertex")
        writer.field("u", "m", "vertex")
        for n, index in enumerate(indices):
            if n == 2:
                writer.field("w", "m", "vertex")
            with writer.step(index, 0.5 * n):
                writer.put("u", np.full((3, 3, 3), float(n)))
                if n >= 2:
                    writer.put("w", np.zeros((3, 3, 3)))
    pipeline.finish()
    pipeline.close()
    assert pipeline.failures == 0, messages
    lines = [json.loads(line) for line in (out / "count.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == indices
    for name, repeats, column in (("s", 1, "max(u)"), ("probe", 1, "u at p"), ("probe-l", 2, "u")):
        with (out / f"{name}.csv").open() as file:
            rows = list(csv.DictReader(file))[::repeats]
        assert [int(row["step"]) for row in rows] == indices
        assert [float(row[column]) for row in rows] == [0, 1, 2, 3, 4]
    with xarray.open_zarr(out / "e.zarr") as stored:
        np.testing.assert_array_equal(stored.step, indices)
        np.testing.assert_array_equal(stored.u[:, 1, 1, 1], np.arange(5.0))
    with h5py.File(out / "e.vtkhdf") as file:
        np.testing.assert_array_equal(file["VTKHDF/PointData/u"][:, 1, 1, 1], np.arange(5.0))
    said = [text for text in messages if "do not increase" in text]
    assert len(said) == 1 and said[0].startswith("Step 5 follows step 10:")


def test_rows_are_read_for_a_figure_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table keeps the rows of one step: no step takes longer for those before it."""
    reads = []
    whole = Table.values.fget
    assert whole is not None
    read = property(lambda table: (reads.append(len(whole(table))), whole(table))[1])
    monkeypatch.setattr(Table, "values", read)
    made = Made((LINE, LINE, LINE), {"f": lambda t, z, y, x: z + t})
    settings: Any = {"series": {"fields": ["f"], "reduce": "max"}}
    action = made.action("plot", tmp_path, **settings)
    assert isinstance(action, Plot)
    for index in range(200):
        made.run(action, [(index, 0.1 * index)], close=False)
    table = action._table
    assert table is not None and len(table.last) == 1
    assert len(reads) == action.summary()["drawn"] < 200
    action.close()
    assert reads[-1] == 200
    np.testing.assert_allclose(table.values[:, 2], 1.0 + 0.1 * np.arange(200), rtol=1e-14)


def test_small_steps_share_files_which_can_be_read_after_each_step(tmp_path: Path) -> None:
    described = StoreSchema((1, 24, 24), {"u": Field("u")}, (LINE[:1], *2 * (np.arange(24.0),)))
    distribution = Distribution(ALONE, [described.whole])

    def append(store: ZarrSeries, steps: range) -> None:
        for step in steps:
            store.append(step, 0.5 * step, distribution, {"u": [np.full((1, 24, 24), 1.0 * step)]})
            if step % 25 == 24:
                check(store.path, step + 1)

    def check(path: Path, steps: int) -> None:
        with xarray.open_zarr(path) as stored:
            np.testing.assert_array_equal(stored.step, np.arange(steps))
            np.testing.assert_array_equal(stored.u[:, 0, 3, 4], np.arange(steps))

    store = ZarrSeries(tmp_path / "a.zarr", described)
    append(store, range(75))
    # 28 steps of 4608 bytes are below 128 KiB.
    assert len(list((store.path / "u/c").rglob("*/*/*/*"))) == 3
    assert sum(path.is_file() for path in store.path.rglob("*")) < 20
    store.truncate(37)
    check(store.path, 38)
    append(ZarrSeries(store.path, described), range(25, 50))
    check(store.path, 50)
    ZarrSeries(store.path, described).truncate(-1)
    assert not store.path.exists()

    each = ZarrSeries(tmp_path / "b.zarr", described, steps_per_chunk=2)
    append(each, range(10))
    check(each.path, 10)
    assert len(list((each.path / "u/c").iterdir())) == 5
