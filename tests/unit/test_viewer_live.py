"""Live view of a running stream, in one process: the page's thread publishes the steps too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI
from viewer_driver import Driver, RequestFailed, run_viewer

from uzushio import staging
from uzushio._job.run_attributes import RunPace
from uzushio.render.view import View
from uzushio.viewer.exchange import DrawRequest

SHAPE = (6, 7, 8)
BYTES = 8 * int(np.prod(SHAPE))
SLICE = {"kind": "slice", "field": "u", "normal": "z", "color": {"follow": "step"}}


def view(field: str = "u", **more: Any) -> dict[str, Any]:
    return {"layers": [{**SLICE, "field": field}], "size": (64, 48), **more}


class Solver:
    """Writer of u, from 0 to 1 plus the step's number, and of v, which is 100 more."""

    def __init__(self, contact: Path, first: int = 0) -> None:
        self.step = first
        self.writer = staging.open("flow", None, {"engine": "tcp", "contact": str(contact)})
        z, y, x = SHAPE
        self.writer.uniform_mesh("box", (z - 1, y - 1, x - 1))
        self.writer.field("u", "box", "vertex")
        self.writer.field("v", "box", "vertex")
        self.writer.block(0, "box", ((0, 0, 0), SHAPE), "vertex")

    def publish(self) -> int:
        u = np.linspace(0, 1, SHAPE[2]) * np.ones(SHAPE) + self.step
        with self.writer.step(self.step, 0.5 * self.step):
            self.writer.put("u", u, 0)
            self.writer.put("v", u + 100, 0)
        self.step += 1
        return self.step - 1

    def __enter__(self) -> Solver:
        return self

    def __exit__(self, *_: object) -> None:
        self.writer.close()


def on_stream(folder: Path, work: Callable[[Driver, Solver], None], **more: Any) -> None:
    contact = folder / "flow.contact"
    solver = Solver(contact)

    def work_and_close(page: Driver) -> None:
        try:
            work(page, solver)
        finally:
            solver.writer.close()

    run_viewer(str(contact), MPI.COMM_SELF, work_and_close, **more)


def shown(page: Driver, step: int) -> None:
    page.until(lambda: page.status is not None and page.status.step == step, f"step {step}")


def test_each_new_step_is_drawn_without_another_request(tmp_path: Path) -> None:
    def work(page: Driver, solver: Solver) -> None:
        solver.publish()
        assert page.picture(view()).limits["u"] == pytest.approx((0, 1))
        for step in (1, 2, 3):
            solver.publish()
            assert page.next_picture(step - 1).limits["u"] == pytest.approx((step, step + 1))
        assert page.description is not None and page.description.live
        assert [field.name for field in page.description.fields] == ["u", "v"]
        assert page.description.fields[0].range == pytest.approx((0, 1))
        assert page.status is not None and page.status.state == "live"
        assert page.status.dropped == 0 and page.status.rate is not None

    on_stream(tmp_path, work)


def test_the_link_states_the_pace_and_the_end_that_the_run_publishes(tmp_path: Path) -> None:
    def work(page: Driver, solver: Solver) -> None:
        shown(page, solver.publish())
        assert page.status is not None
        assert (page.status.wait, page.status.time_left, page.status.end_step) == (None,) * 3
        for name, value in RunPace(50, None, 2.0, 0.25, 96.0).attributes().items():
            solver.writer.attribute(name, value)
        shown(page, solver.publish())
        assert (page.status.wait, page.status.seconds_per_step) == (0.25, 2.0)
        assert page.status.end_step == 50
        assert page.status.time_left is not None and 90.0 < page.status.time_left <= 96.0

    on_stream(tmp_path, work)


def test_another_field_comes_with_the_next_step(tmp_path: Path) -> None:
    def work(page: Driver, solver: Solver) -> None:
        solver.publish()
        page.picture(view())
        with pytest.raises(RequestFailed, match="without v; the next step brings it"):
            page.picture(view("v"))
        solver.publish()
        assert page.next_picture(0).limits["v"] == pytest.approx((101, 102))

    on_stream(tmp_path, work)


def test_steps_before_the_first_page_hold_the_fields_of_the_view_that_is_opened(
    tmp_path: Path,
) -> None:
    def work(page: Driver, solver: Solver) -> None:
        shown(page, solver.publish())
        shown(page, solver.publish())
        assert page.picture(view("v"), step=0).limits["v"] == pytest.approx((100, 101))
        with pytest.raises(RequestFailed, match="Step 0 was kept without u"):
            page.picture(view("u"), step=0)

    on_stream(tmp_path, work, first=DrawRequest("a", 0, {}, View.model_validate(view("v"))))


def test_a_paused_step_stays_while_the_solver_goes_on(tmp_path: Path) -> None:
    def work(page: Driver, solver: Solver) -> None:
        shown(page, solver.publish())
        first = page.picture(view(), step=0)
        for _ in range(6):
            shown(page, solver.publish())
        again = page.picture(view(), step=0)
        np.testing.assert_array_equal(again.pixels, first.pixels)
        assert page.status is not None and 0 in page.status.kept
        assert len(page.status.kept) <= 3  # of the bytes of two and the one in use
        with pytest.raises(RequestFailed, match="Step 2 is no longer kept"):
            page.picture(view(), step=2)
        assert page.picture(view()).step == 6
        solver.publish()
        shown(page, 7)  # the step is not in use any more
        assert page.status is not None and page.status.kept == (6, 7)

    on_stream(tmp_path, work, rewind=2 * BYTES)


def test_a_stream_that_ends_is_kept_and_the_next_writer_is_found(tmp_path: Path) -> None:
    def work(page: Driver, solver: Solver) -> None:
        solver.publish()
        page.picture(view())
        solver.writer.close()
        page.until(lambda: page.status is not None and page.status.state == "ended", "end")
        assert page.picture(view(camera={"azimuth": 20.0})).step == 0
        with Solver(tmp_path / "flow.contact", first=10) as other:
            other.publish()
            assert page.next_picture(0).limits["u"] == pytest.approx((10, 11))
            assert page.status is not None and page.status.state == "live"

    on_stream(tmp_path, work)


@pytest.mark.parametrize("first", [2, 20])
def test_the_steps_of_another_writer_replace_those_of_the_one_before(
    tmp_path: Path, first: int
) -> None:
    def work(page: Driver, solver: Solver) -> None:
        for _ in range(6):
            shown(page, solver.publish())
        page.picture(view())
        solver.writer.close()
        page.until(lambda: page.status is not None and page.status.state == "ended", "end")
        with Solver(tmp_path / "flow.contact", first=first) as other:
            shown(page, other.publish())
            shown(page, other.publish())
            assert page.status is not None and page.status.kept == (first, first + 1)
            with pytest.raises(RequestFailed, match="Step 5 is no longer kept"):
                page.picture(view(), step=5)
            assert page.picture(view(), step=first).step == first

    on_stream(tmp_path, work)


def test_a_stream_with_other_meshes_is_described_and_drawn_again(tmp_path: Path) -> None:
    def work(page: Driver, solver: Solver) -> None:
        solver.publish()
        page.picture(view())
        solver.writer.close()
        path = tmp_path / "flow.contact"
        with staging.open("flow", None, {"engine": "tcp", "contact": str(path)}) as writer:
            writer.uniform_mesh("large", (9, 9, 9), spacing=(2.0, 2.0, 2.0))
            writer.field("u", "large", "element", unit="m")
            writer.block(0, "large", ((0, 0, 0), (9, 9, 9)))
            with writer.step(20, 1.0):
                writer.put("u", np.linspace(5, 6, 729).reshape(9, 9, 9), 0)
            assert page.next_picture(0).step == 20
            assert page.description is not None
            (mesh,) = page.description.meshes
            assert (mesh.name, mesh.bounds[0]) == ("large", (1.0, 17.0))
            assert page.description.fields[0].unit == "m"

    on_stream(tmp_path, work)


def test_a_field_that_was_not_kept_is_said_to_be_missing_after_the_end(tmp_path: Path) -> None:
    def work(page: Driver, solver: Solver) -> None:
        solver.publish()
        page.picture(view())
        solver.writer.close()
        page.until(lambda: page.status is not None and page.status.state == "ended", "end")
        with pytest.raises(RequestFailed, match="without v; show a newer step"):
            page.picture(view("v"))

    on_stream(tmp_path, work)
