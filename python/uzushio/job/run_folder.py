"""Folder of a run: its files, and protection of other runs and of files of others.

A run writes a small file, `MARK`, into its folder. Files are removed or replaced only in a folder
with that file.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uzushio import __version__
from uzushio.case.model import CaseFile
from uzushio.checkpoint.folder import FOLDER as CHECKPOINTS
from uzushio.checkpoint.folder import run_of, set_aside
from uzushio.errors import OutputError
from uzushio.files import PIPELINE, SUMMARY, atomic_write
from uzushio.job.options import Options
from uzushio.job.run_lock import RunLock, check_free
from uzushio.parallel import machine
from uzushio.parallel.collective import collective
from uzushio.statistics.averages import FILE as STATISTICS

if TYPE_CHECKING:
    from mpi4py import MPI

MARK = ".uzushio-run"
CASE = "case.yaml"
FIGURES = "figures"
PUBLISHED = "published"
ESTIMATE = "estimate.zarr"
OBSERVATIONS = "observations.zarr"
HISTORY = "history.csv"
MEMBERS = "members"
MEMBERS_TABLE = "members.csv"
_WRITTEN = (
    CASE,
    CHECKPOINTS,
    SUMMARY,
    STATISTICS,
    FIGURES,
    PUBLISHED,
    PIPELINE,
    ESTIMATE,
    OBSERVATIONS,
    HISTORY,
    MEMBERS,
    MEMBERS_TABLE,
)


def continues(folder: Path, restart: Path | None) -> bool:
    """Return whether a restarted run continues in the folder of its checkpoint."""
    return restart is not None and run_of(restart).resolve() == folder.resolve()


def check(
    folder: Path, restart: Path | None, overwrite: bool, case_file: Path | None = None
) -> None:
    """Raise `OutputError` if the folder holds a run, or files of others, or cannot hold a run.

    Args:
        folder: of the run.
        restart: folder of a run or checkpoint that the run is restarted from.
        overwrite: whether an existing run in the folder is removed.
        case_file: file of the case, which must not be replaced.
    """
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} is a file; choose another folder with --out.")
    ours, goes_on = (folder / MARK).exists(), continues(folder, restart)
    if overwrite and goes_on:
        raise OutputError(
            f"--overwrite would remove the run in {folder} that --restart needs; leave it out to "
            "continue in that folder, or choose another folder with --out."
        )
    if not (ours and goes_on) and _same(folder / CASE, case_file):
        raise OutputError(
            f"{case_file} would be replaced by the run's own copy of the case; choose another "
            "folder with --out, or give the case file another name."
        )
    found = [name for name in _WRITTEN if (folder / name).exists()]
    if goes_on or not found or (ours and overwrite):
        return
    if ours:
        raise OutputError(
            f"{folder} holds another run ({', '.join(found)}); continue it (--restart {folder}), "
            "choose another folder (--out DIR), or remove that run (--overwrite)."
        )
    raise OutputError(
        f"{folder} holds {', '.join(found)}, and no {MARK} that says that a run wrote it; choose "
        "another folder with --out, or move it away."
    )


@dataclass(frozen=True)
class RunRecord:
    """Content of `MARK`: facts about the run in a folder.

    Attributes:
        overrides: of its case, "section.key=value" each.
        ranks: of its job; None if not known.
    """

    overrides: Sequence[str] = ()
    ranks: int | None = None

    def other_ranks(self, ranks: int) -> bool:
        """Return whether the job had another number of ranks."""
        return self.ranks not in (None, ranks)


def read_record(folder: Path) -> RunRecord:
    """Read `MARK` of a folder; the record is empty for runs of earlier versions."""
    try:
        told = json.loads((folder / MARK).read_text(encoding="utf-8"))
        return RunRecord([str(one) for one in told["set"]], int(told["ranks"]))
    except (OSError, ValueError, LookupError, TypeError):
        return RunRecord()


def claim(
    folder: Path,
    case: CaseFile,
    restart: Path | None,
    overwrite: bool = False,
    case_file: Path | None = None,
    record: RunRecord | None = None,
) -> None:
    """Prepare the folder for this run: remove an earlier run if requested, and write the case.

    Only files of a run are removed, and only in a folder with `MARK`; other files stay.

    Args:
        folder: as in `check`.
        case: of the run.
        restart: as in `check`.
        overwrite: as in `check`.
        case_file: as in `check`.
        record: facts for a restart of the run.

    Raises:
        OutputError: as `check`.
    """
    check(folder, restart, overwrite, case_file)
    if not continues(folder, restart) and (folder / MARK).exists():
        for name in _WRITTEN:
            path = folder / name
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    record = record or RunRecord()
    told = {"uzushio": __version__, "set": list(record.overrides), "ranks": record.ranks}
    atomic_write(folder / MARK, json.dumps(told) + "\n")
    atomic_write(folder / CASE, case.to_yaml())


def check_for(folder: Path, options: Options) -> None:
    """Raise `OutputError` if a run cannot use the folder, or another job writes there."""
    check_free(folder)
    check(folder, options.restart, options.overwrite, options.case_file)


def occupy(
    folder: Path,
    case: CaseFile,
    options: Options,
    lock: RunLock,
    step: int,
    comm: MPI.Comm,
    tell: Callable[[str], None] = lambda text: None,
) -> None:
    """Lock and prepare the folder for a run that begins at `step` (collective).

    Checkpoints of later steps are set aside.

    Args:
        folder: as in `check`.
        case: of the run.
        options: of the run.
        lock: taken by rank 0.
        step: first step of the run.
        comm: its ranks.
        tell: called with a sentence for each checkpoint that was set aside (rank 0).

    Raises:
        OutputError: on all ranks, as `check`; or another job writes there.
    """
    with collective(comm):
        if comm.rank == 0:
            check(folder, options.restart, options.overwrite, options.case_file)
            folder.mkdir(parents=True, exist_ok=True)
            lock.take(folder)
            record = RunRecord(options.overrides, comm.size)
            claim(folder, case, options.restart, options.overwrite, options.case_file, record)
            for path in set_aside(folder, step):
                tell(f"A later checkpoint was set aside as {path}.")


def _same(one: Path, other: Path | None) -> bool:
    """Return whether both paths name the same existing file."""
    return other is not None and one.exists() and other.exists() and one.samefile(other)


def summary_head(
    case: CaseFile, solver: str, ranks: int, step: int, restored: Path | None, seconds: float | None
) -> dict[str, Any]:
    """Return the first entries of the summary of a run.

    Args:
        case: that was run.
        solver: or model, by its name in the case.
        ranks: of the job.
        step: or iteration, at the end.
        restored: checkpoint of the restart.
        seconds: wall time; None if not known.
    """
    return {
        "title": case.title,
        "solver": solver,
        "version": __version__,
        "case": case.digest(),
        "ranks": ranks,
        "machine": machine.describe(),
        "step": step,
        "restarted_from": str(restored) if restored else None,
        "seconds": seconds,
    }
