"""Case of a restart.

Without a case file it is the case in the run's folder. A case file that continues the run in its
folder is read with the overrides (`--set`) of the run; in another folder it begins another run,
without them. Overrides of the restart come last.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from uzushio._base.config.paths import expanded
from uzushio._base.parallel.sync import on_root
from uzushio._base.store.checkpoint import newest, run_of, step_of
from uzushio._base.store.checkpoint.manifest import read_manifest
from uzushio._base.terminal import tell
from uzushio._job import run_folder
from uzushio._job.options import AnyOptions, JobOptions
from uzushio.case.model import Output, load_case, read_document
from uzushio.errors import CheckpointError, UzushioError
from uzushio.tuning.use import tuned_overrides

if TYPE_CHECKING:
    from mpi4py import MPI

Loaded = TypeVar("Loaded")

#: Sections on the job and its number of ranks, which do not change the results.
OF_THE_JOB = ("decomposition", "blocking")


@dataclass(frozen=True)
class CaseSource(Generic[AnyOptions]):
    """File, overrides and options of a run's case.

    Attributes:
        file: file of the case.
        overrides: "section.key=value" each.
        options: options of the run; `out` is the run's folder if none was given.
    """

    file: Path
    overrides: list[str]
    options: AnyOptions


def source_of_case(
    file: Path | None, overrides: list[str], options: AnyOptions, comm: MPI.Comm
) -> CaseSource[AnyOptions]:
    """Return the source of the case of a run (collective).

    Args:
        file: file of the case; None: the case of the restarted run.
        overrides: overrides of the command line.
        options: options of the command line.
        comm: the ranks of the job.

    Raises:
        CheckpointError: the folder of `options.restart` has no case.
        CaseError: an override cannot be applied.
    """
    if options.restart is None:
        assert file is not None, "only a restart needs no case file"
        return _source(file, overrides, overrides, options)
    return on_root(comm, lambda: _of_restart(file, overrides, options, comm.size))


def source_of_restart(options: AnyOptions, comm: MPI.Comm) -> CaseSource[AnyOptions]:
    """Return the source of the case of a restart without a case file (collective).

    Raises:
        UzushioError: there is no restart; or as `source_of_case`.
    """
    if options.restart is None:
        raise UzushioError("Name the case; only restart=FOLDER needs none.")
    return source_of_case(None, [], options, comm)


def case_of_call(
    case: object,
    kind: type[Loaded],
    load: Callable[..., Loaded],
    options: AnyOptions,
    comm: MPI.Intracomm,
) -> tuple[Loaded, AnyOptions]:
    """Return the case of a call from Python, and the options of a restart (collective).

    Args:
        case: validated case, mapping or file; None: the case of the restarted run.
        kind: type of a validated case.
        load: validates a mapping, or a file with overrides.
        options: options of the call.
        comm: the ranks of the job.

    Raises:
        UzushioError: as `source_of_restart` and `with_tuned`; or the case is invalid.
    """
    if isinstance(case, kind):
        return case, options
    if isinstance(case, Mapping):
        return load(case), options
    file = options.case_file
    source = source_of_restart(options, comm) if file is None else CaseSource(file, [], options)
    source = with_tuned(source, comm)
    return load(source.file, source.overrides), source.options


def with_tuned(source: CaseSource[AnyOptions], comm: MPI.Intracomm) -> CaseSource[AnyOptions]:
    """Return the source with the values that `uzushio tune` found for the case (collective).

    Without them if the options say so.

    Raises:
        CaseError: on all ranks: the case is invalid.
    """
    if not source.options.tuned:
        return source
    say = (lambda _: None) if source.options.quiet else tell
    tuned = tuned_overrides(source.file, source.overrides, comm, say)
    if not tuned.values:
        return source
    options = replace(source.options, tuned_resets=tuple(tuned.resets))
    return CaseSource(source.file, [*source.overrides, *tuned.values], options)


def _source(
    file: Path, read: list[str], noted: list[str], options: AnyOptions
) -> CaseSource[AnyOptions]:
    return CaseSource(file, read, replace(options, case_file=file, overrides=tuple(noted)))


def _of_restart(
    file: Path | None, overrides: list[str], options: AnyOptions, ranks: int
) -> CaseSource[AnyOptions]:
    assert options.restart is not None
    run = run_of(options.restart)
    record = run_folder.read_record(run)
    kept = _kept(record, options.restart, ranks)
    if file is None:
        file = run / run_folder.CASE
        if not file.is_file():
            raise CheckpointError(
                f"{run} holds no {run_folder.CASE}, which a restart without a case file reads; "
                f"name the case: CASE.yaml --restart {options.restart}."
            )
        reset, tuned = list[str](), tuple(record.tuned)
        if record.other_ranks(ranks):
            reset, tuned = [*without_job(file), *tuned], ()
        options = replace(options, out=options.out or run, tuned_resets=tuned)
        return _source(file, [*reset, *overrides], _latest(kept, overrides), options)
    if not kept:
        return _source(file, overrides, overrides, options)
    merged = _latest(kept, overrides)
    if not run_folder.continues(_folder(file, merged, options), options.restart):
        return _source(file, overrides, overrides, options)
    taken = [override for override in kept if override in merged]
    if taken and not options.quiet:
        words = " ".join(f"--set {shlex.quote(override)}" for override in taken)
        tell(f"As the earlier run: {words}")
    return _source(file, merged, merged, options)


def _kept(record: run_folder.RunRecord, where: Path, ranks: int) -> list[str]:
    """Return the overrides of a run that apply to its restart."""
    left_out: set[str] = set()
    if record.other_ranks(ranks):
        left_out |= set(OF_THE_JOB)
    if record.overrides:  # a run that has ended continues to the end that the case file gives
        left_out |= _reached_ends(where)
    return [
        override
        for override in record.overrides
        if not {_key(override), _key(override).partition(".")[0]} & left_out
    ]


def _key(override: str) -> str:
    return override.partition("=")[0].strip()


def _latest(kept: list[str], overrides: list[str]) -> list[str]:
    """Return earlier and new overrides; of one key only the new one."""
    anew = {_key(override) for override in overrides}
    return [*(override for override in kept if _key(override) not in anew), *overrides]


def _folder(file: Path, overrides: list[str], options: JobOptions) -> Path:
    """Return the folder of a run of a case, which is validated later."""
    if options.out is not None:
        return options.out
    output: Any = read_document(file, overrides).values.get("output")
    folder = output.get("folder") if isinstance(output, dict) else None
    return expanded(folder) if isinstance(folder, str) else Output().folder


def without_job(file: Path) -> list[str]:
    """Return overrides that reset a case's sections of the job to their defaults."""
    values = read_document(file).values
    return [f"{name}={{}}" for name in OF_THE_JOB if values.get(name)]


def _reached_ends(where: Path) -> set[str]:
    """Return the case keys of the run's end, if the checkpoint `where` has reached it."""
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
    except (UzushioError, LookupError, TypeError):  # reported where the file is used
        return set()
    ended = limits.reached(manifest.step, manifest.time)
    return {"time.steps", "time.end"} if ended else set()
