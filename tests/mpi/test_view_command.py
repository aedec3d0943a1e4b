"""`uzushio view`: its addresses, its end, its list of streams and its errors."""

from __future__ import annotations

import os
import platform
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Peers, Run, wait

from uzushio._cli.view import title_of

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def stream(peers: Peers, tmp_path: Path) -> Path:
    """Contact file of a running stream, in the folder of a run."""
    contact = tmp_path / "run/u.contact"
    contact.parent.mkdir()
    options = {"u": {"engine": "tcp", "contact": str(contact)}}
    solver = peers.process("write", "solver", streams=options, stop=str(tmp_path / "stop"))
    solver.wait_for("step")
    return contact


def lines_until(job: subprocess.Popen[str], text: str) -> list[str]:
    """Return the lines that a command prints up to the one with a text."""
    assert job.stdout is not None
    lines_read: list[str] = []
    for line in job.stdout:
        lines_read.append(line)
        if text in line:
            return lines_read
    pytest.fail(f"{text!r} is missing in {lines_read}; {job.stderr and job.stderr.read()}")


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_live_view_of_a_run_prints_its_address_and_ends_with_ctrl_c(
    start_uzushio: Start, stream: Path, ranks: int
) -> None:
    more = ["--ranks", ranks] if ranks > 1 else []
    job = start_uzushio("view", stream.parent, *more)
    told = "".join(lines_until(job, "A further address"))
    assert f"Attached to {stream}." in told
    port = re.search(r"^    http://127\.0\.0\.1:(\d+)/#token=[0-9a-f]{64}$", told, re.M)
    assert port is not None, told
    assert f"ssh -N -L {port[1]}:127.0.0.1:{port[1]} " in told
    listed = wait(start_uzushio("view", "--list"), 60)
    assert listed.returncode == 0
    assert "run/u.contact  (u)" in listed.stdout
    assert f"http://127.0.0.1:{port[1]}/#token=" in listed.stdout
    time.sleep(0.2)
    job.send_signal(signal.SIGINT)
    done = wait(job, 30)
    assert done.returncode == 0, done.stderr
    assert "The live view has ended" in done.stdout
    assert stream.exists(), "the solver goes on"


def test_the_token_file_of_a_killed_view_is_removed(
    uzushio: Run,
    job_environment: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(job_environment, "XDG_RUNTIME_DIR", str(tmp_path))
    folder = tmp_path / "uzushio/views"
    folder.mkdir(parents=True)
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait(60)
    dead = folder / f"{platform.node()}-{ended.pid}.json"
    others = [folder / f"{platform.node()}-{os.getpid()}.json", folder / "another-node-1.json"]
    for path in (dead, *others):
        path.write_text("{}")
    assert uzushio("view", "--list").returncode == 0
    assert not dead.exists()
    assert all(path.exists() for path in others)


def test_the_title_of_a_view_is_a_short_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "a/b/c/runs/channel"
    run.mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a/b/c")
    assert title_of(str(run)) == "runs/channel" == title_of("./runs/channel/")
    monkeypatch.chdir(run)
    assert title_of(".") == "channel"
    monkeypatch.chdir("/")
    assert title_of(str(run)) == "…/c/runs/channel"
    assert title_of("node7:4711") == "node7:4711"


def test_what_cannot_be_viewed_is_said_in_one_sentence(uzushio: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "no.yaml").write_text("views: {a: {layers: []}}\nactions: []\n")
    for words, message in (
        ([], "name what to look at"),
        (["empty"], "empty holds no contact file and no stored steps"),
        (["no.contact", "--wait", "0.1"], "no.contact does not exist"),
        (["no.contact", "--rewind", "much"], "--rewind much"),
        (["no.contact", "--socket", "s"], "A Unix socket needs the port"),
        (["no.contact", "--pipeline", "no.yaml"], "actions"),
    ):
        done = uzushio("view", *words)
        assert done.returncode == 1, words
        assert done.stderr.startswith("uzushio: error: "), done.stderr
        assert message in done.stderr
        assert "Traceback" not in done.stderr


def test_a_list_without_streams_says_where_it_searched(uzushio: Run, tmp_path: Path) -> None:
    done = uzushio("view", "--list")
    assert done.returncode == 0
    assert os.fspath(tmp_path) in done.stdout
