"""`uzushio tune`: from the case to the stored result."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uzushio import __version__
from uzushio._base.config import user_cache
from uzushio._base.config.quantities import parse_time
from uzushio._base.error_text import system_sentence
from uzushio._base.files import atomic_write
from uzushio._base.parallel import launch
from uzushio._base.parallel.console import standard_console
from uzushio._base.parallel.memory import node_memory
from uzushio._base.terminal import print_table
from uzushio._cli.start import run_on_ranks
from uzushio._job.job import Job
from uzushio._job.job_folder import JobFolder
from uzushio.errors import CaseError, LaunchError, OutputError, TuningError
from uzushio.tuning import report
from uzushio.tuning.declared import Declared, declare
from uzushio.tuning.journal import FILE as JOURNAL
from uzushio.tuning.journal import open_storage, silence_optuna
from uzushio.tuning.result_cache import TuningResult, load_result, store_result
from uzushio.tuning.runner import JobPointRunner
from uzushio.tuning.search import Search
from uzushio.tuning.search_result import SearchBudget, SearchResult, SearchSettings
from uzushio.tuning.space import Space, check
from uzushio.tuning.subject import Machine, Subject
from uzushio.tuning.use import count

if TYPE_CHECKING:
    from uzushio._cli.tune import TuneOptions

#: Mark of the folder of a tuning, with the subject of the tuning.
MARK = ".uzushio-tuning"
RESULT = "tuning.json"
#: Maximum share of the free memory for points that are set up at a time.
_MEMORY_SHARE = 0.5


def tune_case(options: TuneOptions) -> int:
    """Tune a case, and return the exit status.

    Raises:
        UzushioError: a sentence that says what to do.
    """
    if launch.ranks_around() is not None:
        raise LaunchError(
            "uzushio tune starts MPI jobs itself; start it without mpiexec or srun, with --ranks."
        )
    budget = parse_budget(options.budget)
    declared = declare(options.case, options.overrides or [], options.ranks)
    check(declared.subject, declared.given)
    path = options.out or Path("tuned") / f"{options.case.stem}-{options.ranks}"
    folder = JobFolder(path, MARK, "a tuning", (JOURNAL, RESULT), shared=False)
    silence_optuna()
    try:
        with Job(None, folder, quiet=options.quiet, signals=False) as job:
            _claim(folder, _identity(declared, options), options.overwrite)
            return _tune_in(path, declared, budget, options, job)
    except OSError as error:
        raise OutputError(system_sentence(error)) from error


def parse_budget(text: str) -> SearchBudget:
    """Parse a number of trials, or a time with its unit; raises `CaseError`."""
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
    """Time points on the ranks of this MPI job, for `tune`."""
    from uzushio.tuning.worker import serve

    return run_on_ranks(
        lambda comm: serve(comm, lambda: declare(case, overrides, comm.size).subject)
    )


def _tune_in(
    folder: Path, declared: Declared, budget: SearchBudget, options: TuneOptions, job: Job
) -> int:
    subject = declared.subject
    ranks = count(subject.ranks, "rank")
    words = ["tuning-worker", str(options.case)]
    words += [word for override in options.overrides or [] for word in ("--set", override)]
    with JobPointRunner(subject.ranks, words, job.warn) as runner:
        space = Space(subject, _machine(folder, runner), declared.given)
        earlier = _earlier(subject)
        settings = SearchSettings(
            budget,
            options.repetitions,
            options.baseline,
            options.seed,
            options.limit,
            _MEMORY_SHARE * node_memory().bytes,
        )
        job.say(
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
    _finish(folder, space, outcome, options, job)
    return 0


def _finish(
    folder: Path, space: Space, outcome: SearchResult, options: TuneOptions, job: Job
) -> None:
    """Write the result, store it for later runs, and print it."""
    subject = space.subject
    content = {
        "room": subject.room,
        "ranks": subject.ranks,
        "size": dict(subject.size),
        "steps": subject.steps,
        "uzushio": __version__,
        **report.summary(space, outcome),
    }
    atomic_write(folder / RESULT, json.dumps(content, indent=1) + "\n")
    kept = None
    if options.keep:
        kept = store_result(
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
    console = standard_console(highlight=False)
    if not console.is_terminal:
        console.width = 120
    print_table(report.table(space, outcome), console)
    for line in report.sentences(space, outcome):
        job.say(line)
    job.say(f"Wrote {folder / RESULT}.")
    if kept is not None:
        ranks = count(subject.ranks, "rank")
        job.say(
            f"Stored in {kept}: runs on {ranks} of this machine at this size use it, "
            "unless they say --no-tuned."
        )
    elif options.keep:
        job.warn("the cache folder cannot be written, so later runs will not use it.")


def _earlier(subject: Subject) -> TuningResult | None:
    """Return the stored result of an earlier tuning; a damaged one will be replaced."""
    try:
        return load_result(subject)
    except TuningError:
        return None


def _machine(folder: Path, runner: JobPointRunner) -> Machine:
    """Return the rates of the machine, which are measured when a tuning begins."""
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
    """Return the properties that must be equal for a tuning to continue an earlier one."""
    subject = declared.subject
    content = {
        "room": subject.room,
        "ranks": subject.ranks,
        "size": dict(subject.size),
        "given": declared.given,
        "parameters": {parameter.name: list(parameter.values) for parameter in subject.parameters},
        "processor": user_cache.processor_name(),
        "repetitions": options.repetitions,
        "baseline": options.baseline,
        "seed": options.seed,
    }
    return dict(json.loads(json.dumps(content)))


def _claim(folder: JobFolder, identity: dict[str, Any], overwrite: bool) -> None:
    """Lock and mark the folder, which is new or holds the same tuning; raises `OutputError`."""
    folder.existing()
    folder.lock()
    if overwrite:
        folder.clear()
        folder.mark.unlink(missing_ok=True)
    if folder.marked:
        _compare(folder.path, folder.mark, identity)
    else:
        folder.write_mark({"tuning": identity})


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
