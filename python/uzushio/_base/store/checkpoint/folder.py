"""Folder of a run's checkpoints: complete and incomplete ones, the newest, removal."""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path

from uzushio._base.files import dangling
from uzushio._base.store.checkpoint import manifest
from uzushio.errors import CheckpointError

FOLDER = "checkpoints"
_NAME = re.compile(r"step-(\d{8,})")


def path_of(run: Path, step: int) -> Path:
    """Return the folder of the checkpoint of `step`."""
    return run / FOLDER / f"step-{step:08d}"


def step_of(path: Path) -> int | None:
    """Return the step of a checkpoint folder; None if it has another name."""
    match = _NAME.fullmatch(path.name)
    return int(match[1]) if match else None


def run_of(where: Path) -> Path:
    """Return the folder of a run; `where` is that folder or one of its checkpoints."""
    if step_of(where) is None:
        return where
    # A relative path that names all three folders stays relative, for messages.
    return (where if len(where.parts) > 2 else where.absolute()).parent.parent


def _all(run: Path) -> list[Path]:
    """Return all checkpoint folders of a run, oldest first."""
    try:
        checkpoints = [path for path in (run / FOLDER).iterdir() if step_of(path) is not None]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(checkpoints, key=lambda path: step_of(path) or 0)


def complete(run: Path) -> list[Path]:
    """Return the checkpoints of a run that have a manifest, oldest first."""
    return [path for path in _all(run) if (path / manifest.NAME).exists()]


def incomplete(run: Path) -> list[Path]:
    """Return the checkpoints of a run whose writing was interrupted."""
    return [path for path in _all(run) if not (path / manifest.NAME).exists()]


def candidates(where: Path) -> list[Path]:
    """Return the checkpoints to restart from at `where`, best first.

    Args:
        where: folder of a run, or of one checkpoint.

    Raises:
        CheckpointError: there is none.
    """
    if step_of(where) is not None:
        run = run_of(where)
        older = [path for path in complete(run) if (step_of(path) or 0) < (step_of(where) or 0)]
        if not where.is_dir():
            raise CheckpointError(f"checkpoint {where} does not exist; {_offer(run)}")
        return [where, *reversed(older)]
    checkpoints = complete(where)
    if not checkpoints:
        raise CheckpointError(f"{where} holds no complete checkpoint{_leftovers(where)}.")
    return checkpoints[::-1]


def _offer(run: Path) -> str:
    there = ", ".join(path.name for path in complete(run))
    return f"there are: {there}." if there else "name the folder of a run."


def _leftovers(run: Path) -> str:
    if not run.is_dir():
        return f": {dangling(run) or 'there is no such folder'}; name the folder of a run"
    left = ", ".join(path.name for path in incomplete(run))
    if left:
        return f" ({left} has no {manifest.NAME}: its writing was interrupted); start the run anew"
    return "; name the folder of a run, or one of its checkpoints"


def newest(run: Path) -> Path | None:
    """Return the newest complete checkpoint of a run; None if there is none."""
    return complete(run)[-1] if complete(run) else None


def remove(path: Path) -> None:
    """Remove a checkpoint, its manifest first, so that an interrupted removal leaves none."""
    (path / manifest.NAME).unlink(missing_ok=True)
    shutil.rmtree(path)


def discard(path: Path) -> None:
    """Remove a failed checkpoint, to which threads of Zarr may still add files."""
    for _ in range(40):
        shutil.rmtree(path, ignore_errors=True)
        time.sleep(0.05)
        if not path.exists():
            return


def prune(run: Path, keep: int) -> None:
    """Remove incomplete checkpoints, and all but the newest `keep` complete ones."""
    for path in [*incomplete(run), *complete(run)[:-keep]]:
        remove(path)


def set_aside(run: Path, after: int) -> list[Path]:
    """Rename the checkpoints of steps after `after`, and return the new names.

    Otherwise a later restart would use the newest of them instead of that of the restarted run.
    """
    renamed = []
    for path in complete(run):
        if (step_of(path) or 0) > after:
            number, target = 1, path.with_name(f"{path.name}.set-aside")
            while target.exists():
                number += 1
                target = path.with_name(f"{path.name}.set-aside-{number}")
            renamed.append(path.rename(target))
    return renamed
