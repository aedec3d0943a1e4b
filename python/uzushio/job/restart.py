"""The case of a restart: that of the run before, unless the user says otherwise.

Without a case file it is the run's own, as it stands in its folder. A case file that goes on in the
folder of the run is taken with the overrides (`--set`) of the run. In another folder it begins
another run, and is taken as it stands. What `--set` says at the restart comes last.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uzushio.case.model import Output, load_case, read_document
from uzushio.checkpoint import newest, run_of, step_of
from uzushio.checkpoint.manifest import read_manifest
from uzushio.config.paths import expanded
from uzushio.errors import CheckpointError, UzushioError
from uzushio.job import run_folder
from uzushio.job.options import Options
from uzushio.parallel.collective import collective
from uzushio.terminal import tell

if TYPE_CHECKING:
    from mpi4py import MPI

#: Sections that belong to a job and its number of ranks, and not to what is computed.
OF_THE_JOB = ("decomposition", "blocking")


@dataclass(frozen=True)
class Source:
    """Where the case of a run is read from.

    Attributes:
        file: of the case.
        overrides: "section.key=value" each.
        options: of the run, which take the run's folder if none was named.
    """

    file: Path
    overrides: list[str]
    options: Options


def source_of_case(
    file: Path | None, overrides: list[str], options: Options, comm: MPI.Comm
) -> Source:
    """Find out from what the case of a run is read (collective).

    Args:
        file: of the case; None for that of the run which is restarted.
        overrides: of the command line.
        options: of the command line.
        comm: the ranks of the job.

    Raises:
        CheckpointError: there is no case where `options.restart` is.
        CaseError: an override cannot be applied.
    """
    if options.restart is None:
        assert file is not None, "only a restart does without a case file"
        return _source(file, overrides, overrides, options)
    found: Source | None = None
    with collective(comm):
        if comm.rank == 0:
            found = _of_restart(file, overrides, options, comm.size)
    source: Source = comm.bcast(found)
    return source


def source_of_restart(options: Options, comm: MPI.Comm) -> Source:
    """Find out from what the case of a restart without a case is read (collective).

    Raises:
        UzushioError: there is no restart; or as `source_of_case`.
    """
    if options.restart is None:
        raise UzushioError("Name the case; only restart=FOLDER does without one.")
    return source_of_case(None, [], options, comm)


def _source(file: Path, read: list[str], noted: list[str], options: Options) -> Source:
    return Source(file, read, replace(options, case_file=file, overrides=tuple(noted)))


def _of_restart(file: Path | None, overrides: list[str], options: Options, ranks: int) -> Source:
    assert options.restart is not None
    run = run_of(options.restart)
    record = run_folder.read_record(run)
    kept = _kept(record, options.restart, ranks)
    if file is None:
        file = run / run_folder.CASE
        if not file.is_file():
            raise CheckpointError(
                f"{run} holds no {run_folder.CASE}, which a restart without a case file takes; "
                f"name the case: CASE.yaml --restart {options.restart}."
            )
        reset = without_job(file) if record.other_ranks(ranks) else []
        options = replace(options, out=options.out or run)
        return _source(file, [*reset, *overrides], _latest(kept, overrides), options)
    if not kept:
        return _source(file, overrides, overrides, options)
    both = _latest(kept, overrides)
    if not run_folder.continues(_folder(file, both, options), options.restart):
        return _source(file, overrides, overrides, options)
    taken = [one for one in kept if one in both]
    if taken and not options.quiet:
        words = " ".join(f"--set {shlex.quote(one)}" for one in taken)
        tell(f"As the run before: {words}")
    return _source(file, both, both, options)


def _kept(record: run_folder.Record, where: Path, ranks: int) -> list[str]:
    """The overrides of a run that its restart takes."""
    left_out: set[str] = set()
    if record.other_ranks(ranks):
        left_out |= set(OF_THE_JOB)
    if record.overrides:  # a run that has ended goes on to the end that the case file gives
        left_out |= _reached_ends(where)
    return [
        one for one in record.overrides if not {_key(one), _key(one).partition(".")[0]} & left_out
    ]


def _key(override: str) -> str:
    return override.partition("=")[0].strip()


def _latest(kept: list[str], overrides: list[str]) -> list[str]:
    """Overrides of before and now, without those that are given anew."""
    anew = {_key(one) for one in overrides}
    return [*(one for one in kept if _key(one) not in anew), *overrides]


def _folder(file: Path, overrides: list[str], options: Options) -> Path:
    """The folder that a run of a case would have; what is wrong in the case is found later."""
    if options.out is not None:
        return options.out
    output: Any = read_document(file, overrides).values.get("output")
    folder = output.get("folder") if isinstance(output, dict) else None
    return expanded(folder) if isinstance(folder, str) else Output().folder


def without_job(file: Path) -> list[str]:
    """Overrides that take a case's sections of the job back to their defaults."""
    values = read_document(file).values
    return [f"{name}={{}}" for name in OF_THE_JOB if values.get(name)]


def _reached_ends(where: Path) -> set[str]:
    """The keys of the case that say where a run ends, if it is there at the checkpoint `where`."""
    run = run_of(where)
    path, file = newest(run) if step_of(where) is None else where, run / run_folder.CASE
    if path is None:
        return set()
    try:
        manifest = read_manifest(path)
        if "model" in (values := read_document(file).values):
            ended = manifest.step >= values["optimiser"]["iterations"]
            return {"optimiser.iterations"} if ended else set()
        limits = load_case(file, ["publish=null"]).time
    except (UzushioError, LookupError, TypeError):  # what is wrong is said where it is needed
        return set()
    ended = limits.reached(manifest.step, manifest.time)
    return {"time.steps", "time.end"} if ended else set()
