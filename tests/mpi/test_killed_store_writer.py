"""The writer of stored steps is killed: its readers end with the steps that are complete."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Run

from uzushio import staging

WRITER = """\
import json, sys
import numpy as np
from uzushio import staging

with staging.open("s", None, json.loads(sys.argv[1])) as writer:
    writer.uniform_mesh("box", (2, 3, 4))
    writer.field("u", "box")
    writer.block(0, "box", ((0, 0, 0), (2, 3, 4)))
    for n in range(3):
        with writer.step(n, 0.5 * n):
            writer.put("u", np.full((2, 3, 4), float(n)))
    print("stored", flush=True)
    sys.stdin.read()  # killed here
"""
OPTIONS = {
    "s.zarr": '{"engine": "file", "file": {"folder": "s.zarr"}}',
    "s.contact": '{"engine": "adios2", "adios2": {"kind": "bp5"}, "contact": "s.contact"}',
}


@pytest.fixture(params=list(OPTIONS))
def contact(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Path, Any]]:
    """Contact of a store, and its writer, which has stored three steps and still runs."""
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, OPTIONS[request.param]],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert writer.stdout is not None and writer.stdout.readline() == "stored\n"
    yield tmp_path / request.param, writer
    writer.kill()
    writer.communicate(timeout=60)


def test_a_reader_waits_for_a_living_writer_and_ends_with_a_killed_one(
    contact: tuple[Path, Any], uzushio: Run, capfd: pytest.CaptureFixture[str]
) -> None:
    where, writer = contact
    with staging.attach(where) as reader:
        for n in range(3):
            step = reader.next(60.0)
            assert step is not None and step.index == n
            np.testing.assert_array_equal(step.read("u"), np.full((2, 3, 4), float(n)))
        assert reader.next(0.6) is None and not reader.ended
        writer.send_signal(signal.SIGKILL)
        indices: list[int] = []
        # Without a limit of its own, a reader would wait for ever.
        waiting = threading.Thread(
            target=lambda: indices.extend(s.index for s in reader), daemon=True
        )
        waiting.start()
        waiting.join(60.0)
        assert not waiting.is_alive() and reader.ended and indices == []
    assert "has ended without closing" in capfd.readouterr().err

    (where.parent / "p.yaml").write_text("actions:\n- {count: {fields: [u]}}\n")
    done = uzushio("render", "p.yaml", "--from", where.name)
    assert done.returncode == 0, done.stderr
    assert "has ended without closing" in done.stderr and "The stream ended: step 2" in done.stdout
    assert len((where.parent / "rendered/count.jsonl").read_text().splitlines()) == 3
