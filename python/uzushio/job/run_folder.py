"""The folder of a run: what it holds, and that no run writes over another, or over other files.

A run puts a small file of its own, `MARK`, into its folder. What a run writes is removed or
replaced only where that mark says that a run wrote it.
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
    """Whether a restarted run goes on in the folder that it is restarted from."""
    return restart is not None and run_of(restart).resolve() == folder.resolve()


def check(
    folder: Path, restart: Path | None, overwrite: bool, case_file: Path | None = None
) -> None:
    """Raise `OutputError` if the folder holds a run, or files of others, or cannot hold a run.

    Args:
        folder: where the run is to write.
        restart: what the run is restarted from.
        overwrite: whether a run that the folder holds is to be removed.
        case_file: the file that the case was read from, which is not to be replaced.
    """
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} is a file; choose another folder with --out.")
    ours, goes_on = (folder / MARK).exists(), continues(folder, restart)
    if overwrite and goes_on:
        raise OutputError(
            f"--overwrite would remove the run in {folder} that --restart needs; leave it out to "
            "go on in that folder, or choose another folder with --out."
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
            f"{folder} holds another run ({', '.join(found)}); go on with it (--restart {folder}), "
            "choose another folder (--out DIR), or remove that run (--overwrite)."
        )
    raise OutputError(
        f"{folder} holds {', '.join(found)}, and no {MARK} that says that a run wrote it; choose "
        "another folder with --out, or move it away."
    )


@dataclass(frozen=True)
class Record:
    """What `MARK` says of the run that a folder holds.

    Attributes:
        overrides: of its case, "section.key=value" each.
        ranks: of its job; None if not known.
    """

    overrides: Sequence[str] = ()
    ranks: int | None = None

    def other_ranks(self, ranks: int) -> bool:
        """Whether the job was one of another number of ranks."""
        return self.ranks not in (None, ranks)


def read_record(folder: Path) -> Record:
    """Read what is known of the run that a folder holds; nothing of runs of earlier versions."""
    try:
        told = json.loads((folder / MARK).read_text(encoding="utf-8"))
        return Record([str(one) for one in told["set"]], int(told["ranks"]))
    except (OSError, ValueError, LookupError, TypeError):
        return Record()


def claim(
    folder: Path,
    case: CaseFile,
    restart: Path | None,
    overwrite: bool = False,
    case_file: Path | None = None,
    record: Record | None = None,
) -> None:
    """Make the folder this run's: remove an earlier run if asked to, and note the case.

    Only what a run writes is removed, and only where `MARK` is; other files in the folder stay.

    Args:
        folder: as in `check`.
        case: of the run.
        restart: as in `check`.
        overwrite: as in `check`.
        case_file: as in `check`.
        record: what a restart of the run will want to know.

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
    record = record or Record()
    told = {"uzushio": __version__, "set": list(record.overrides), "ranks": record.ranks}
    atomic_write(folder / MARK, json.dumps(told) + "\n")
    atomic_write(folder / CASE, case.to_yaml())


def check_for(folder: Path, options: Options) -> None:
    """Raise `OutputError` if the folder cannot be that of a run; or another job writes there."""
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
    """Lock the folder and make it this run's, which begins at `step` (collective).

    Checkpoints of later steps, which a restart leaves behind, are set aside.

    Args:
        folder: as in `check`.
        case: of the run.
        options: of the run.
        lock: that rank 0 holds from now on.
        step: that the run begins at.
        comm: its ranks.
        tell: is given a sentence for each checkpoint that was set aside (rank 0).

    Raises:
        OutputError: on all ranks, as `check`; or another job writes there.
    """
    with collective(comm):
        if comm.rank == 0:
            check(folder, options.restart, options.overwrite, options.case_file)
            folder.mkdir(parents=True, exist_ok=True)
            lock.take(folder)
            record = Record(options.overrides, comm.size)
            claim(folder, case, options.restart, options.overwrite, options.case_file, record)
            for path in set_aside(folder, step):
                tell(f"A later checkpoint was set aside as {path}.")


def _same(one: Path, other: Path | None) -> bool:
    """Whether both paths name one file that exists."""
    return other is not None and one.exists() and other.exists() and one.samefile(other)


def summary_head(
    case: CaseFile, solver: str, ranks: int, step: int, restored: Path | None, seconds: float | None
) -> dict[str, Any]:
    """What the summary of anything that was run begins with.

    Args:
        case: that was run.
        solver: or model, by its name in the case.
        ranks: of the job.
        step: or iteration, at the end.
        restored: checkpoint that it went on from.
        seconds: that it took; None if not known.
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
