"""The page: data for its templates, which define its parts and their order."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined, UndefinedError
from markupsafe import Markup

from uzushio import __version__
from uzushio._base.error_text import system_sentence
from uzushio._base.files import atomic_write
from uzushio._base.parallel.section_rows import HEAD
from uzushio._job import run_folder
from uzushio.errors import OutputError
from uzushio.render.typeface import html
from uzushio.report import assimilated, steered, tables, words
from uzushio.report.collect import SUMMARY, collect
from uzushio.report.page_files import PageFiles, media_type, size_of
from uzushio.report.results import Action, Collected, Run, description, other_formats

#: Maximum number of pictures of a view on the page.
_STRIP = 4
_STAGING = (
    "stream",
    "engine",
    "published",
    "delivered",
    "dropped",
    "seconds_waited",
    "peak_bytes",
    "seconds",
)
_JOB = ("contact", "ranks", "steps", "dropped", "steps_used", "bytes_read", "bytes_kept", "ending")


def write_report(
    folders: Sequence[Path],
    out: Path | None = None,
    title: str | None = None,
    most: int = 16_000_000,
    total: int = 64_000_000,
) -> Path:
    """Write one HTML page of a run and of its reader jobs.

    Files are embedded, except those of more than `most` bytes or beyond `total`: the page has
    relative links to these, so they must not be moved.

    Args:
        folders: folders of the run and of reader jobs, with their subfolders.
        out: file of the page; report.html in the first folder if not given.
        title: title of the page; the run's own if not given.
        most: maximum bytes of an embedded file.
        total: maximum bytes of all embedded files.

    Returns:
        The path of the page.

    Raises:
        OutputError: a folder has no results, a file cannot be read, or the page cannot be
            written.
    """
    path = out or folders[0] / "report.html"
    files = PageFiles(path, most, total)
    try:
        collected = collect(folders)
        text = _page(collected, files, title or _title(collected))
    except (AttributeError, LookupError, TypeError, ValueError, UndefinedError) as error:
        summaries = ", ".join(str(folder / SUMMARY) for folder in folders)
        raise OutputError(
            f"{summaries}: a summary does not have the form that uzushio writes ({error}); move it "
            "away, or write it again with uzushio figures."
        ) from error
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, text)
    except OSError as error:
        if error.errno == errno.EISDIR:
            raise OutputError(f"{path} is a folder; name a file with --out.") from error
        raise OutputError(system_sentence(error)) from error
    return path


def _title(collected: Collected) -> str:
    runs = [*collected.solvers, *collected.pipelines]
    titles = [str(run.summary.get("title")) for run in runs if run.summary.get("title")]
    if titles:
        return titles[0]
    return runs[0].folder.resolve().name if runs else "Relay"


def _page(collected: Collected, files: PageFiles, title: str) -> str:
    return (
        _environment(files)
        .get_template("page.html")
        .render(
            collected=collected,
            title=title,
            style=Markup((resources("uzushio.report") / "style.css").read_text(encoding="utf-8")),
            subtitle=_subtitle(collected),
            warnings=_warnings(collected),
            key_figures=_key_figures(collected),
            version=__version__,
            written=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        )
    )


def _environment(files: PageFiles) -> Environment:
    """Return the templates with the functions that they call."""
    environment = Environment(
        loader=PackageLoader("uzushio.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    functions = (
        *(action_rows, assimilated.estimates, assimilated.is_one, case_of, description, job_facts),
        *(media_type, movie_caption, other_formats, pipeline_name, plots_of, publishing_share),
        *(selected_pictures, size_of, staging_facts, steered.steered_rows, step_of, tables.bars),
        *(sections_note, tables.facts, tables.nested, tables.plain_facts, tables.sections),
        timing_note,
    )
    environment.filters["typeset"] = lambda text: Markup(html(str(text)))
    environment.globals |= {
        "files": files,
        "section_head": HEAD,
        "steered_head": steered.HEAD,
    } | {function.__name__: function for function in functions}
    return environment


def _subtitle(collected: Collected) -> list[str]:
    sentences = []
    for run in collected.solvers:
        if assimilated.is_one(run):
            sentences.append(assimilated.sentence(run))
            continue
        summary = run.summary
        ranks, step = summary.get("ranks"), words.value("", summary.get("step"))
        time = words.value("", summary.get("time"))
        if run.ended:
            where = f"on {ranks} {'rank' if ranks == 1 else 'ranks'}, to step {step}, t = {time}"
        elif summary.get("step") is not None:
            where = f"with a checkpoint of step {step}, t = {time}"
        else:
            where = "without a checkpoint"
        sentences.append(f"Solver {summary.get('solver')} {where}.")
    for run in collected.pipelines:
        if not run.ended:
            continue
        ranks, contact = run.summary.get("ranks", 1), run.summary.get("contact")
        where = f"read {contact}" if contact else "ran inside the solver's steps"
        sentences.append(
            f"Pipeline {pipeline_name(run)} {where} on {ranks} {'rank' if ranks == 1 else 'ranks'}."
        )
    return sentences


def _warnings(collected: Collected) -> list[str]:
    """Return the warnings at the top of the page."""
    sentences = [
        f"The {kind} in {run.folder} did not end: it was stopped or killed, had no space for its "
        "summary, or is still at work. The page shows what is there of it."
        for kind, runs in (("run", collected.solvers), ("pipeline", collected.pipelines))
        for run in runs
        if not run.ended
    ]
    for run in collected.solvers:
        published = run.summary.get("published") or {}
        if published.get("failed"):
            sentences.append(f"The stream ended before the run: {published['failed']}")
    for run in collected.pipelines:
        ending = str(run.summary.get("ending", ""))
        if ending.startswith("failed"):
            sentences.append(f"The job {ending}")
        for action in run.actions:
            if action.entry.get("failures"):
                sentences.append(
                    f"{action.name} failed at {action.entry['failures']} of "
                    f"{action.entry.get('runs')} steps: {action.entry.get('error')}"
                )
    return sentences


def _key_figures(collected: Collected) -> list[tuple[str, str]]:
    tiles: list[tuple[str, str]] = []
    for run in collected.solvers:
        if assimilated.is_one(run):
            tiles += assimilated.key_figures(run)
            continue
        summary = run.summary
        for key in ("steps_done", "seconds", "seconds_per_step"):
            if summary.get(key) is not None:
                tiles.append((words.name(key), words.value(key, summary[key])))
    for run in collected.pipelines:
        summary = run.summary
        pictures = sum(len(action.images) for action in run.actions if action.is_picture)
        if pictures:
            tiles.append(("pictures", words.number(pictures)))
        if run.ended:
            tiles.append(("steps seen", words.value("", summary.get("steps"))))
        if summary.get("dropped"):
            tiles.append(("steps missed", words.value("", summary["dropped"])))
        if summary.get("bytes_read"):
            tiles.append(("read from the stream", words.value("bytes", summary["bytes_read"])))
    return tiles


def plots_of(run: Run) -> list[Path]:
    """Return the plots of a pipeline's actions, each in one of its formats."""
    return [
        path
        for action in run.actions
        if not action.is_picture
        for path in {path.stem: path for path in action.images}.values()
    ]


def movie_caption(action: Action, path: Path) -> str:
    """Return the view and the number of pictures of a movie."""
    count = action.entry.get("pictures") or action.entry.get("frames") or action.entry.get("runs")
    return f"{action.entry.get('view') or action.name}: {count} pictures" if count else path.stem


def selected_pictures(images: Sequence[Path]) -> list[Path]:
    """Return some pictures of a view, with the first and the newest."""
    places = [round(i * (len(images) - 1) / (_STRIP - 1)) for i in range(_STRIP)]
    return [images[i] for i in dict.fromkeys(places)]


def step_of(path: Path) -> str:
    """Return the view and the step from a picture's file name."""
    match = re.fullmatch(r"(.*?)[_-]?(\d+)", path.stem)
    return f"{match[1]}, step {int(match[2])}" if match and match[1] else path.stem


def case_of(run: Run) -> dict[str, Any]:
    """Return the text of a run's case file, and the given values of its grid."""
    try:
        text = (run.folder / run_folder.CASE).read_text(encoding="utf-8")
        case = yaml.safe_load(text)
    except (OSError, ValueError, yaml.YAMLError):
        text, case = "", None
    grid = case.get("grid") if isinstance(case, dict) else None
    if not isinstance(grid, Mapping):
        return {"text": text, "grid": {}}
    return {"text": text, "grid": dict(_flat(grid))}


def _flat(section: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the given values of a section, those of sections inside under both names."""
    for name, value in section.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{name} ")
        elif value is not None:
            long = isinstance(value, list) and len(value) > 4
            yield f"{above}{name}", f"{len(value)} values" if long else value


def staging_facts(run: Run) -> list[tuple[str, str]]:
    """Return the rows of the counters of published steps."""
    summary = dict(run.summary["published"])
    return tables.facts(
        {"seconds_waited": 0.0, **summary} if "published" in summary else summary, _STAGING
    )


def publishing_share(run: Run) -> str:
    """Return a sentence on the cost of publishing, as a share of the solver's time."""
    whole, spent = run.summary.get("seconds"), run.summary["published"].get("seconds")
    if not whole or spent is None:
        return ""
    return f"Publishing took {100.0 * spent / whole:.2g} % of the solver's wall time."


def pipeline_name(run: Run) -> str:
    """Return the name of the pipeline's file."""
    return Path(str(run.summary.get("pipeline"))).name


def job_facts(run: Run) -> list[tuple[str, str]]:
    """Return the rows of a job that ran a pipeline."""
    return tables.facts(run.summary, [key for key in _JOB if run.summary.get(key) is not None])


def action_rows(run: Run) -> list[tuple[str, str, str, str]]:
    """Return the rows of a pipeline's actions."""
    return [
        (
            action.name,
            words.value("", action.entry.get("runs")),
            words.value("", action.entry.get("failures")),
            words.value("seconds", action.entry.get("seconds")),
        )
        for action in run.actions
    ]


def sections_note(run: Run) -> str:
    """Return sentences on the columns of the sections."""
    note = (
        "Calls and seconds are means of the ranks, max/mean is the time of the slowest rank over "
        "that mean. Rates are those of all ranks; a dash: not known."
    )
    bound = run.summary["sections"].get("roofline")
    if not bound:
        return note
    rates = (bound[name] / 1e9 for name in ("bytes_per_second", "flops_per_second"))
    return "{} The roofline: {:.3g} GB/s and {:.3g} Gflop/s.".format(note, *rates)


def timing_note(run: Run) -> str:
    """Return sentences on the seconds of the stages and of waiting."""
    note = "Seconds of a stage are those of the slowest rank."
    whole, waiting = run.summary.get("seconds_total"), run.summary.get("seconds_waiting")
    if not whole or waiting is None:
        return note
    share = f"{100.0 * waiting / whole:.0f} % of its {words.duration(whole)}"
    return f"{note} The job waited for steps {share}."
