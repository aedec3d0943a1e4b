"""`uzushio relay` between a writer and readers."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Run, wait

from uzushio import staging

Start = Callable[..., subprocess.Popen[str]]
SHAPE = (6, 7, 8)


def relay(start_uzushio: Start, *more: object) -> subprocess.Popen[str]:
    """A relay from near.contact to far.contact that has begun."""
    job = start_uzushio("relay", "--from", "near.contact", "--to", "far.contact", *more)
    assert job.stdout is not None
    assert "far.contact" in job.stdout.readline()
    return job


def writer(folder: Path, **more: object) -> Any:
    """Writer of one block that does not wait for readers."""
    chosen = {"engine": "tcp", "contact": str(folder / "near.contact"), **more}
    opened = staging.open("flow", None, chosen)
    opened.uniform_mesh("box", SHAPE)
    opened.field("u", "box")
    opened.block(0, "box", ((0, 0, 0), SHAPE))
    return opened


def publish(to: Any, step: int) -> np.ndarray:
    u = np.arange(np.prod(SHAPE), dtype=float).reshape(SHAPE) + 1000 * step
    with to.step(step, 0.1 * step):
        to.put("u", u)
    return u


def test_a_relay_forwards_steps_and_waits_for_the_next_writer(
    start_uzushio: Start, tmp_path: Path
) -> None:
    job = relay(start_uzushio, "--tls", "--verbose", "0.2")
    for run in range(2):
        with writer(tmp_path) as to:
            u = publish(to, run)
            with staging.attach(tmp_path / "far.contact", attach_limit=60.0) as reader:
                step = reader.next(60.0)
                assert step is not None
                assert step.index == run
                np.testing.assert_array_equal(step.read("u"), u)
            time.sleep(0.5)
    job.send_signal(signal.SIGTERM)
    done = wait(job, 30)
    assert done.returncode == 0
    assert re.search(r"passed on \d", done.stdout)
    assert 'stream "flow"' in done.stderr
    assert not (tmp_path / "far.contact").exists()


def test_a_relay_ends_with_the_writer_if_configured(start_uzushio: Start, tmp_path: Path) -> None:
    job = relay(start_uzushio, "--once")
    with writer(tmp_path) as to:
        publish(to, 0)
        time.sleep(0.5)
        assert job.poll() is None
    assert wait(job, 30).returncode == 0


@pytest.mark.parametrize("ranks", [1, 2])
def test_detaching_readers_do_not_end_a_relay_with_once(
    start_uzushio: Start, tmp_path: Path, ranks: int
) -> None:
    job = relay(start_uzushio, "--once", *(("--ranks", ranks) if ranks > 1 else ()))
    with writer(tmp_path, queue={"policy": "latest_only"}) as to:
        for index in range(12):
            publish(to, index)
            with staging.attach(tmp_path / "far.contact", attach_limit=60.0) as reader:
                assert reader.next(60.0) is not None
        time.sleep(1.0)
        assert job.poll() is None
    assert wait(job, 30).returncode == 0


def test_without_a_writer_it_prints_a_notice_and_ends_after_its_limit(
    start_uzushio: Start, tmp_path: Path
) -> None:
    job = relay(start_uzushio, "--once", "--wait", 3)
    done = wait(job, 30)
    assert done.returncode == 1
    waits, error = done.stderr.splitlines()
    missing = "There is no contact file near.contact."
    assert waits == f"uzushio: The relay waits for the writer, for up to 3 s. {missing}"
    assert error == (
        f"uzushio: error: No writer was found within 3 s. {missing} Start the writer, or raise "
        "--wait."
    )


def test_a_killed_writer_is_reported_at_once_and_ends_a_relay_with_once(
    start: Start, start_uzushio: Start, tmp_path: Path
) -> None:
    script = (
        "import os, time\n"
        "from uzushio import staging\n"
        "w = staging.open('flow', None, {'engine': 'tcp', 'contact': 'near.contact'})\n"
        "time.sleep(60)\n"
    )
    victim = start(sys.executable, "-c", script)
    job = relay(start_uzushio, "--once")
    while not (tmp_path / "near.contact").exists():
        time.sleep(0.01)
    time.sleep(0.5)
    assert job.poll() is None
    victim.kill()
    victim.wait()
    assert wait(job, 10).returncode == 0
    assert (tmp_path / "near.contact").exists(), "what a killed writer leaves behind"
    late = relay(start_uzushio, "--once", "--wait", 1)
    done = wait(late, 10)
    assert done.returncode == 1
    assert "No process listens at" in done.stderr.splitlines()[0]
    assert "a writer that has probably ended" in done.stderr


def test_a_job_of_several_ranks_passes_a_stream_on_too(
    start_uzushio: Start, tmp_path: Path
) -> None:
    job = relay(start_uzushio, "--ranks", 2, "--memory", "8 MiB")
    with writer(tmp_path) as to:
        u = publish(to, 0)
        with staging.attach(tmp_path / "far.contact", attach_limit=60.0) as reader:
            step = reader.next(60.0)
            assert step is not None
            np.testing.assert_array_equal(step.read("u"), u)
    job.send_signal(signal.SIGINT)
    assert wait(job, 60).returncode == 0


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (("--from", "host:47000", "--to", "x"), "secret"),
        (("--from", "a", "--to", "x", "--memory", "12 apples"), "the unit 'apples' is not known"),
        (("--from", "a", "--to", "x", "--memory", "1 kB"), "at least 1 MiB"),
        (("--from", "a", "--to", "nowhere/x"), "nowhere"),
    ],
)
def test_invalid_options_are_one_sentence(
    uzushio: Run, wrong: tuple[str, ...], sentence: str
) -> None:
    done = uzushio("relay", *wrong)
    assert done.returncode == 1
    assert done.stderr.startswith("uzushio: error:")
    assert sentence in done.stderr
