"""`uzushio tune`: from the case to what is kept."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from uzushio import __version__
from uzushio.config import user_cache
from uzushio.config.quantities import parse_time
from uzushio.errors import CaseError, LaunchError, OutputError
from uzushio.files import atomic_write
from uzushio.job.run_lock import FILE as LOCK
from uzushio.job.run_lock import RunLock
from uzushio.parallel import launch
from uzushio.parallel.collective import guarded, system_sentence
from uzushio.parallel.memory import node_memory
from uzushio.terminal import print_table, tell, warn
from uzushio.tuning import report
from uzushio.tuning.declared import Declared, declare
from uzushio.tuning.journal import FILE as JOURNAL
from uzushio.tuning.journal import open_storage, silence_optuna
from uzushio.tuning.result_cache import TuningResult, keep, recall
from uzushio.tuning.runner import JobPointRunner
from uzushio.tuning.search import Search, SearchBudget, SearchResult, SearchSettings
from uzushio.tuning.space import Space, check
from uzushio.tuning.subject import Machine
from uzushio.tuning.use import count

#: In the folder of a tuning: what is tuned there. What a tuning writes is removed only beside it.
MARK = ".uzushio-tuning"
RESULT = "tuning.json"
_OURS = {MARK, JOURNAL, RESULT, LOCK}
#: The share of the memory that is free, which points that are ready at a time may take.
_MEMORY_SHARE = 0.5


@dataclass(frozen=True)
class TuneOptions:
    """What the command line says.

    Attributes:
        case: file.
        overrides: of it.
        ranks: of the job that times points, and of the runs that it is for.
        budget: as text, "40" or "5 min".
        out: folder of the tuning; None: after the case and the ranks.
        overwrite: remove the tuning that the folder holds.
        repetitions: of each point.
        baseline: whether a random search goes on beside.
        limit: seconds for one repetition.
        seed: of what is drawn at random.
        keep: whether later runs are to use what is found.
        quiet: errors only.
    """

    case: Path
    overrides: list[str]
    ranks: int
    budget: str = "40"
    out: Path | None = None
    overwrite: bool = False
    repetitions: int = 4
    baseline: bool = True
    limit: float = 120.0
    seed: int = 0
    keep: bool = True
    quiet: bool = False


def tune(options: TuneOptions) -> int:
    """Tune a case, and return the exit status.

    Raises:
        UzushioError: a sentence that says what to do.
    """
    if launch.ranks_around() is not None:
        raise LaunchError(
            "uzushio tune starts MPI jobs itself; start it without mpiexec or srun, with --ranks."
        )
    budget = parse_budget(options.budget)
    declared = declare(options.case, options.overrides, options.ranks)
    check(declared.subject, declared.given)
    folder = options.out or Path("tuned") / f"{options.case.stem}-{options.ranks}"
    silence_optuna()
    try:
        with _claimed(folder, _identity(declared, options), options.overwrite):
            return _tune_in(folder, declared, budget, options)
    except OSError as error:
        raise OutputError(system_sentence(error)) from error


def parse_budget(text: str) -> SearchBudget:
    """A number of trials, or a time with its unit; raises `CaseError`."""
    try:
        if text.strip().isdigit() and int(text) > 0:
            return SearchBudget(trials=int(text))
        seconds = parse_time(text)
        if isinstance(seconds, float) and seconds > 0 and not text.strip()[-1].isdigit():
            return SearchBudget(seconds=seconds)
    except ValueError:
        pass
    raise CaseError(f"--budget {text}: give a number of trials, as 40, or a time, as '5 min'.")


def work_on_ranks(case: Path, overrides: list[str]) -> int:
    """What the ranks of the job do that times points."""
    launch.prepare_environment()
    from mpi4py import MPI

    from uzushio.tuning.worker import serve

    comm = launch.program_comm(MPI.COMM_WORLD)

    def work() -> int:
        launch.check_size(MPI.COMM_WORLD.size, MPI.Get_library_version())
        return serve(comm, lambda: declare(case, overrides, comm.size).subject)

    return guarded(comm, work)


def _tune_in(folder: Path, declared: Declared, budget: SearchBudget, options: TuneOptions) -> int:
    subject = declared.subject
    say = (lambda _: None) if options.quiet else tell
    ranks = count(subject.ranks, "rank")
    words = ["tuning-worker", str(options.case)]
    words += [word for one in options.overrides for word in ("--set", one)]
    with JobPointRunner(subject.ranks, words, warn) as runner:
        space = Space(subject, _machine(folder, runner), declared.given)
        earlier = recall(subject)
        settings = SearchSettings(
            budget,
            options.repetitions,
            options.baseline,
            options.seed,
            options.limit,
            _MEMORY_SHARE * node_memory().bytes,
        )
        say(
            f"Tuning {subject.room} on {ranks} of {user_cache.processor_name()}: "
            f"{len(space.all)} possible points, {len(space.remaining)} kept by the model; in "
            f"{folder}."
        )
        with report.ProgressReporter(space, options.quiet) as reporter:
            outcome = Search(
                space,
                runner,
                open_storage(folder),
                settings,
                space.key(earlier.values) if earlier else None,
                reporter.on_batch,
            ).run()
    _finish(folder, space, outcome, options)
    return 0


def _finish(folder: Path, space: Space, outcome: SearchResult, options: TuneOptions) -> None:
    """Say what was found, write it down, and keep it for later runs."""
    subject = space.subject
    content = {
        "room": subject.room,
        "ranks": subject.ranks,
        "size": dict(subject.size),
        "uzushio": __version__,
        **report.summary(space, outcome),
    }
    atomic_write(folder / RESULT, json.dumps(content, indent=1) + "\n")
    kept = None
    if options.keep:
        kept = keep(
            subject,
            TuningResult(
                space.point(outcome.chosen.key),
                outcome.chosen.best,
                outcome.default.best,
                outcome.chosen.by,
                time.strftime("%Y-%m-%d %H:%M"),
                str(options.case.absolute()),
                __version__,
            ),
        )
    if options.quiet:
        return
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 120
    print_table(report.table(space, outcome), console)
    for line in report.sentences(space, outcome):
        tell(line)
    tell(f"Wrote {folder / RESULT}.")
    if kept is not None:
        ranks = count(subject.ranks, "rank")
        tell(
            f"Stored in {kept}: runs on {ranks} of this machine at this size use it, "
            "unless they say --no-tuned."
        )
    elif options.keep:
        warn("the cache folder cannot be written, so later runs will not use it.")


def _machine(folder: Path, runner: JobPointRunner) -> Machine:
    """What the ranks can do: as it was measured when the tuning began, if that is so."""
    mark = folder / MARK
    content = json.loads(mark.read_text())
    if "machine" not in content:
        content["machine"] = asdict(runner.machine())
        atomic_write(mark, json.dumps(content, indent=1) + "\n")
    try:
        return Machine.from_json(content["machine"])
    except (TypeError, ValueError, KeyError) as error:
        raise _damaged(mark) from error


def _identity(declared: Declared, options: TuneOptions) -> dict[str, Any]:
    """What a tuning must have in common with the one that it goes on with."""
    subject = declared.subject
    content = {
        "room": subject.room,
        "ranks": subject.ranks,
        "size": dict(subject.size),
        "given": declared.given,
        "parameters": {one.name: list(one.values) for one in subject.parameters},
        "processor": user_cache.processor_name(),
        "repetitions": options.repetitions,
        "baseline": options.baseline,
        "seed": options.seed,
    }
    return dict(json.loads(json.dumps(content)))


@contextmanager
def _claimed(folder: Path, identity: dict[str, Any], overwrite: bool) -> Iterator[None]:
    """Hold the folder, which is new or holds a tuning of the same; raises `OutputError`."""
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} is a file; choose another folder with --out.")
    found = {entry.name for entry in folder.iterdir()} if folder.exists() else set()
    if found - {LOCK} and MARK not in found:
        raise OutputError(
            f"{folder} holds {', '.join(sorted(found)[:3])}, and no {MARK} that says that a tuning "
            "wrote it; choose another folder with --out."
        )
    folder.mkdir(parents=True, exist_ok=True)
    lock = RunLock()
    lock.take(folder)
    try:
        if overwrite:
            for name in _OURS - {LOCK}:
                with contextlib.suppress(FileNotFoundError):
                    (folder / name).unlink()
        mark = folder / MARK
        if mark.exists():
            _compare(folder, mark, identity)
        else:
            atomic_write(mark, json.dumps({"tuning": identity}, indent=1) + "\n")
        yield
    finally:
        lock.release()


def _compare(folder: Path, mark: Path, identity: dict[str, Any]) -> None:
    try:
        there = json.loads(mark.read_text())["tuning"]
        other = [name for name in identity if there.get(name) != identity[name]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damaged(mark) from error
    if other:
        raise OutputError(
            f"{folder} holds a tuning with other {', '.join(other)}; choose another folder with "
            "--out, or say --overwrite to remove it."
        )


def _damaged(mark: Path) -> OutputError:
    return OutputError(
        f"{mark} is damaged; choose another folder with --out, or say --overwrite to begin anew."
    )
