"""A damaged checkpoint ends all ranks with one message, or the previous one is used."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from command_server import CommandServer
from conftest import CASE, Run


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[100] ^= 1
    file.write_bytes(data)


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:50])


@pytest.fixture(scope="module")
def stored_run(
    command_server: CommandServer,
    job_environment: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A run of 4 ranks with checkpoints of steps 10 and 12."""
    folder = tmp_path_factory.mktemp("stored")
    (folder / "case.yaml").write_text(CASE)
    words = ["run", "case.yaml", "--ranks", "4"]
    status, _, errors = command_server.start(words, folder, job_environment).wait(60)
    assert status == 0, errors
    return folder / "run"


@pytest.mark.parametrize(
    ("harm", "file", "sentence"),
    [
        (
            flip,
            "state/u/c.9.0.0",
            "([9:10, 0:12, 0:8] of 'u') has a wrong checksum",
        ),
        (truncate, "state/u/c.4.0.0", "state/u/c.4.0.0 is truncated or altered (50 bytes"),
        (Path.unlink, "state/u/c.0.0.0", "state/u/c.0.0.0: No such file"),
        (Path.unlink, "manifest.json", "is incomplete: it has no manifest.json"),
    ],
)
def test_damage_ends_all_ranks_with_one_message_and_the_fallback_works(
    uzushio: Run,
    case: Path,
    stored_run: Path,
    tmp_path: Path,
    harm: Callable[[Path], None],
    file: str,
    sentence: str,
) -> None:
    shutil.copytree(stored_run, tmp_path / "run")
    newest = Path("run/checkpoints/step-00000012")
    harm(tmp_path / newest / file)
    restart = ("run", case, "--ranks", 2, "--restart", newest)
    failed = uzushio(*restart)
    assert failed.returncode == 1
    assert failed.stderr.count(sentence) == 1
    assert len(failed.stderr.strip().splitlines()) == 1
    assert "With --restart-fallback, step-00000010 is used instead" in failed.stderr
    done = uzushio(*restart, "--restart-fallback")
    assert done.returncode == 0, done.stderr
    assert sentence in done.stderr
    assert "Restarted from run/checkpoints/step-00000010 (step 10)." in done.stdout
    assert (tmp_path / newest / "manifest.json").exists()
