"""Folder of a run or an assimilation: its files, and the record for restarts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from uzushio import __version__
from uzushio._base.files import PIPELINE, SUMMARY, atomic_write
from uzushio._base.parallel.sync import collective
from uzushio._base.store.checkpoint.folder import FOLDER as CHECKPOINTS
from uzushio._base.store.checkpoint.folder import run_of, set_aside
from uzushio._job.job_folder import JobFolder
from uzushio._job.options import JobOptions
from uzushio.case.model import CaseFile
from uzushio.errors import OutputError
from uzushio.solvers.statistics.averages import FILE as STATISTICS

if TYPE_CHECKING:
    from mpi4py import MPI

MARK = ".uzushio-run"
CASE = "case.yaml"
FIGURES = "figures"
PUBLISHED = "published"
ESTIMATE = "estimate.zarr"
OBSERVATIONS = "observations.zarr"
HISTORY = "history.csv"
FIT = "fit.csv"
MEMBERS = "members"
MEMBERS_TABLE = "members.csv"
STEERING = "steering.jsonl"
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
    FIT,
    MEMBERS,
    MEMBERS_TABLE,
    STEERING,
)


def continues(folder: Path, restart: Path | None) -> bool:
    """Return whether a restarted run continues in the folder of its checkpoint."""
    return restart is not None and run_of(restart).resolve() == folder.resolve()


class RunFolder(JobFolder):
    """Folder of a run.

    Args:
        path: path of the folder.
        options: restart, case file, and whether an earlier run is removed.
    """

    def __init__(self, path: Path, options: JobOptions) -> None:
        super().__init__(path, MARK, "a run", _WRITTEN, shared=True)
        self._options = options
        self._continues = continues(path, options.restart)

    def check(self) -> None:
        """Raise `OutputError` if the folder cannot be used, or holds another run."""
        self.require_folder()
        path, options = self.path, self._options
        if options.overwrite and self._continues:
            raise OutputError(
                f"--overwrite would remove the run in {path} that --restart needs; leave it out to "
                "continue in that folder, or choose another folder with --out."
            )
        if not (self.marked and self._continues) and _same(path / CASE, options.case_file):
            raise OutputError(
                f"{options.case_file} would be replaced by the run's own copy of the case; choose "
                "another folder with --out, or give the case file another name."
            )
        existing = [] if self._continues or (options.overwrite and self.marked) else self.existing()
        if existing:
            raise OutputError(
                f"{path} holds another run ({', '.join(existing)}); continue it "
                f"(--restart {path}), choose another folder (--out DIR), or remove that run "
                "(--overwrite)."
            )

    def claim(self, case: CaseFile, ranks: int | None = None) -> None:
        """Prepare the folder: remove an earlier run if requested, and write mark and case.

        Args:
            case: case of the run.
            ranks: number of ranks of the job, for a restart.

        Raises:
            OutputError: as `check`.
        """
        self.check()
        if not self._continues and self.marked:
            self.clear()
        self.path.mkdir(parents=True, exist_ok=True)
        overrides = [_with_absolute_paths(override, case) for override in self._options.overrides]
        tuned = list(self._options.tuned_resets)
        mark = {"uzushio": __version__, "set": overrides, "ranks": ranks, "tuned": tuned}
        self.write_mark(mark)
        atomic_write(self.path / CASE, case.to_yaml())

    def occupy(
        self,
        case: CaseFile,
        step: int,
        comm: MPI.Comm,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        """Lock and prepare the folder for a run that begins at `step` (collective).

        Args:
            case: case of the run.
            step: first step of the run; checkpoints of later steps are set aside.
            comm: ranks of the run.
            say: called with a sentence for each checkpoint that was set aside (rank 0).

        Raises:
            OutputError: on all ranks, as `check`; or another job works in the folder.
        """
        with collective(comm):
            if comm.rank == 0:
                self.check()
                self.lock()
                self.claim(case, comm.size)
                for path in set_aside(self.path, step):
                    say(f"A later checkpoint was set aside as {path}.")


@dataclass(frozen=True)
class RunRecord:
    """Content of `MARK`: facts about the run in a folder.

    Attributes:
        overrides: overrides of the case, "section.key=value" each.
        ranks: number of ranks of the job; None if not known.
        tuned: overrides that leave the tuned values to the tuner again.
    """

    overrides: Sequence[str] = ()
    ranks: int | None = None
    tuned: Sequence[str] = ()

    def other_ranks(self, ranks: int) -> bool:
        """Return whether the job had another number of ranks."""
        return self.ranks not in (None, ranks)


def read_record(folder: Path) -> RunRecord:
    """Read `MARK` of a folder; the record is empty for runs of earlier versions."""
    try:
        content = json.loads((folder / MARK).read_text(encoding="utf-8"))
        overrides, tuned = (list(map(str, content.get(key, []))) for key in ("set", "tuned"))
        return RunRecord(overrides, int(content["ranks"]), tuple(tuned))
    except (OSError, ValueError, LookupError, TypeError):
        return RunRecord()


def _with_absolute_paths(override: str, case: CaseFile) -> str:
    """Return an override that means the same in any current folder."""
    key = override.partition("=")[0].strip()
    given: Any = case.model_dump()
    stored: Any = case.model_dump(mode="json")
    try:
        for part in key.split("."):
            given, stored = given[part], stored[part]
    except (LookupError, TypeError):  # a short form that the model replaces
        return override
    if not _holds_path(given):
        return override
    text = yaml.safe_dump(stored, default_flow_style=True, width=10**6, allow_unicode=True)
    return f"{key}={text.removesuffix('...' + chr(10)).strip()}"


def _holds_path(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_holds_path, value.values()))
    return isinstance(value, Path)


def _same(path: Path, other: Path | None) -> bool:
    """Return whether both paths name the same existing file."""
    return other is not None and path.exists() and other.exists() and path.samefile(other)
