"""The page: which parts it has, and in which order."""

from __future__ import annotations

import errno
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from html import escape
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

import yaml

from uzushio import __version__
from uzushio.errors import OutputError
from uzushio.files import atomic_write
from uzushio.job import run_folder
from uzushio.parallel.collective import system_sentence
from uzushio.report import assimilated, words
from uzushio.report import elements as e
from uzushio.report.collect import collect
from uzushio.report.results import Action, Collected, Run, description, other_formats

#: Pictures of a view that are shown.
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
    """Write one HTML page of a run and of the jobs that looked at it.

    Everything is in the page but files of more than `most` bytes, or those beyond `total`: these
    are linked relative to it, and have to lie where they do.

    Args:
        folders: of the run and of reader jobs; those below are looked through too.
        out: file of the page; report.html in the first folder if not given.
        title: above it; the run's own if not given.
        most: bytes of a file that is put into the page.
        total: bytes of all of them.

    Returns:
        The path of the page.

    Raises:
        OutputError: a folder holds nothing of a run, a file cannot be read, the page not be
            written.
    """
    found = collect(folders)
    path = out or folders[0] / "report.html"
    files = e.Files(path, most, total)
    text = _page(found, files, title or _title(found))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, text)
    except OSError as error:
        if error.errno == errno.EISDIR:
            raise OutputError(f"{path} is a folder; name a file with --out.") from error
        raise OutputError(system_sentence(error)) from error
    return path


def _title(found: Collected) -> str:
    runs = [*found.solvers, *found.pipelines]
    titles = [str(run.summary.get("title")) for run in runs if run.summary.get("title")]
    if titles:
        return titles[0]
    return runs[0].folder.resolve().name if runs else "Relay"


def _page(found: Collected, files: e.Files, title: str) -> str:
    style = (resources("uzushio.report") / "style.css").read_text(encoding="utf-8")
    body = [
        f"<header><h1>{escape(title)}</h1>{_subtitle(found)}</header>",
        *(e.warning(text) for text in _warnings(found)),
        e.tiles(_key_figures(found)),
        *(_seen(run, files) for run in found.pipelines),
        *(assimilated.estimates(run) for run in found.solvers),
        *(_figures(run, files) for run in found.solvers),
        *(_solver(run, len(found.solvers) > 1) for run in found.solvers),
        *(_case(run) for run in found.solvers),
        *(_staging(run) for run in found.solvers),
        *(_timings(run) for run in found.pipelines),
        *(e.section(f"Relay: {path.stem}", e.facts(told)) for path, told in found.relays),
        *(_files(run, files) for run in found.pipelines),
    ]
    when = datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z")
    foot = f"<footer>uzushio {escape(__version__)} · {escape(when)}</footer>"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title><style>{style}</style></head>\n"
        f"<body><main>{''.join(body)}</main>{foot}</body></html>\n"
    )


def _subtitle(found: Collected) -> str:
    said = []
    for run in found.solvers:
        if assimilated.is_one(run):
            said.append(assimilated.sentence(run))
            continue
        told = run.summary
        ranks, step = told.get("ranks"), words.value("", told.get("step"))
        time = words.value("", told.get("time"))
        if run.ended:
            where = f"on {ranks} {'rank' if ranks == 1 else 'ranks'}, to step {step}, t = {time}"
        elif told.get("step") is not None:
            where = f"with a checkpoint of step {step}, t = {time}"
        else:
            where = "without a checkpoint"
        said.append(f"Solver {told.get('solver')} {where}.")
    for run in found.pipelines:
        if not run.ended:
            continue
        ranks, contact = run.summary.get("ranks", 1), run.summary.get("contact")
        where = f"read {contact}" if contact else "ran inside the solver's steps"
        said.append(
            f"Pipeline {Path(str(run.summary.get('pipeline'))).name} {where} on {ranks} "
            f"{'rank' if ranks == 1 else 'ranks'}."
        )
    return "".join(f"<p>{escape(one)}</p>" for one in said)


def _warnings(found: Collected) -> list[str]:
    """What a reader must not miss."""
    said = [
        f"The {kind} in {run.folder} did not end: it was stopped or killed, had no space for its "
        "summary, or is still at work. The page shows what is there of it."
        for kind, runs in (("run", found.solvers), ("pipeline", found.pipelines))
        for run in runs
        if not run.ended
    ]
    for run in found.solvers:
        published = run.summary.get("published") or {}
        if published.get("failed"):
            said.append(f"The stream ended before the run: {published['failed']}")
    for run in found.pipelines:
        ending = str(run.summary.get("ending", ""))
        if ending.startswith("failed"):
            said.append(f"The job {ending}")
        for action in run.actions:
            if action.told.get("failures"):
                said.append(
                    f"{action.name} failed at {action.told['failures']} of "
                    f"{action.told.get('runs')} steps: {action.told.get('error')}"
                )
    return said


def _key_figures(found: Collected) -> list[tuple[str, str]]:
    tiles: list[tuple[str, str]] = []
    for run in found.solvers:
        if assimilated.is_one(run):
            tiles += assimilated.key_figures(run)
            continue
        told = run.summary
        for key in ("steps_done", "seconds", "seconds_per_step"):
            if told.get(key) is not None:
                tiles.append((words.name(key), words.value(key, told[key])))
    for run in found.pipelines:
        told = run.summary
        pictures = sum(len(one.images) for one in run.actions if one.is_picture)
        if pictures:
            tiles.append(("pictures", words.number(pictures)))
        if run.ended:
            tiles.append(("steps seen", words.value("", told.get("steps"))))
        if told.get("dropped"):
            tiles.append(("steps missed", words.value("", told["dropped"])))
        if told.get("bytes_read"):
            tiles.append(("read from the stream", words.value("bytes", told["bytes_read"])))
    return tiles


def _seen(run: Run, files: e.Files) -> str:
    """Movies, pictures and plots of a pipeline."""
    shown, plots = [], []
    for action in run.actions:
        for path in action.movies:
            shown.append(e.movie(files, path, _caption(action, path)))
        if action.is_picture:
            shown.append(_views(action, files, bool(action.movies)))
        else:
            once = {path.stem: path for path in action.images}  # in several formats, perhaps
            plots += [e.picture(files, path, path.stem, "plot") for path in once.values()]
    title = str(run.summary.get("title") or "What was seen")
    return e.section(title, *shown) + e.section(
        "Plots", f'<div class="grid">{"".join(plots)}</div>' if plots else ""
    )


def _caption(action: Action, path: Path) -> str:
    count = action.told.get("pictures") or action.told.get("frames") or action.told.get("runs")
    return f"{action.told.get('view') or action.name}: {count} pictures" if count else path.stem


def _views(action: Action, files: e.Files, with_movie: bool) -> str:
    """The newest picture of a view, and some of those before it."""
    images = action.images
    if not images:
        return ""
    places = [round(i * (len(images) - 1) / (_STRIP - 1)) for i in range(_STRIP)]
    chosen = [images[i] for i in dict.fromkeys(places)]
    newest = "" if with_movie else e.picture(files, chosen.pop(), _step(images[-1]))
    strip = "".join(e.picture(files, one, _step(one)) for one in chosen)
    return newest + (f'<div class="strip">{strip}</div>' if strip else "")


def _step(path: Path) -> str:
    """What a picture's file name says of the step."""
    found = re.fullmatch(r"(.*?)[_-]?(\d+)", path.stem)
    return f"{found[1]}, step {int(found[2])}" if found and found[1] else path.stem


def _figures(run: Run, files: e.Files) -> str:
    shown = "".join(
        e.picture(files, path, description(path), "plot", other_formats(path))
        for path in run.figures
    )
    title = f"Figures of the {'assimilation' if assimilated.is_one(run) else 'solver'}"
    return e.section(title, f'<div class="grid">{shown}</div>' if shown else "")


def _solver(run: Run, several: bool) -> str:
    """What the solver says of its results."""
    title = f"Results: {run.folder.name}" if several else "Results"
    told = run.summary.get("results") or {}
    plain = {key: one for key, one in told.items() if not isinstance(one, Mapping)}
    nested = [
        _nested(words.name(key), key, one) for key, one in told.items() if isinstance(one, Mapping)
    ]
    return e.section(title, e.facts(plain), *nested)


def _case(run: Run) -> str:
    """The grid, the machine, the version and the whole case."""
    try:
        text = (run.folder / run_folder.CASE).read_text(encoding="utf-8")
        case = yaml.safe_load(text)
    except (OSError, ValueError, yaml.YAMLError):
        text, case = "", None
    grid = case.get("grid") if isinstance(case, dict) else None
    machine, version = run.summary.get("machine"), run.summary.get("version")
    return e.section(
        "Case and machine",
        e.facts({"Uzushio": version}) if version else "",
        f"<h3>Grid</h3>{e.facts(_short(grid))}" if isinstance(grid, Mapping) else "",
        f"<h3>Machine</h3>{e.facts(machine)}" if isinstance(machine, Mapping) else "",
        e.folded("Case file", e.text(text)),
    )


def _short(told: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what is not given, and count what is a long list."""
    return {
        name: f"{len(one)} values" if isinstance(one, list) and len(one) > 4 else one
        for name, one in told.items()
        if one is not None
    }


def _nested(title: str, key: str, told: Mapping[str, Any]) -> str:
    """Entries of a summary that belong together: bars of seconds, a table of all else."""
    if told and all(isinstance(one, Mapping) for one in told.values()):
        columns = [
            name
            for name in dict.fromkeys(name for one in told.values() for name in one)
            if not any(isinstance(one.get(name), Mapping) for one in told.values())
        ]
        rows = [
            (words.name(name), *(words.value(column, one.get(column)) for column in columns))
            for name, one in told.items()
        ]
        return e.folded(title, e.table(rows, ("", *map(words.name, columns)), len(columns)))
    numbers = {name: one for name, one in told.items() if isinstance(one, (int, float))}
    if key.startswith("seconds") and len(numbers) == len(told):
        return f"<h3>{escape(title)}</h3>{e.bars(numbers)}"
    return e.folded(title, e.facts(told))


def _staging(run: Run) -> str:
    published = run.summary.get("published")
    if not published:
        return ""
    told = dict(published)
    return e.section(
        "Staging",
        e.facts({"seconds_waited": 0.0, **told} if "published" in told else told, _STAGING),
        note=_wait_note(run.summary, told),
    )


def _wait_note(summary: Mapping[str, Any], told: Mapping[str, Any]) -> str:
    """What the stream cost the solver, as a share of its time."""
    whole, spent = summary.get("seconds"), told.get("seconds")
    if not whole or spent is None:
        return ""
    return f"Publishing took {100.0 * spent / whole:.2g} % of the solver's wall time."


def _timings(run: Run) -> str:
    if not run.ended:
        return ""
    told = run.summary
    stages = {name: float(value) for name, value in (told.get("seconds") or {}).items()}
    rows = [
        (
            action.name,
            words.value("", action.told.get("runs")),
            words.value("", action.told.get("failures")),
            words.value("seconds", action.told.get("seconds")),
        )
        for action in run.actions
    ]
    job = e.facts(told, [key for key in _JOB if told.get(key) is not None])
    share = _shares(told)
    return e.section(
        f"Pipeline: {Path(str(told.get('pipeline'))).name}",
        job,
        "<h3>Stages</h3>" if stages else "",
        e.bars(stages),
        "<h3>Actions</h3>" if rows else "",
        e.table(rows, ("action", "runs", "failures", "time"), 3),
        note=f"Seconds of a stage are those of the slowest rank. {share}".strip(),
    )


def _shares(told: Mapping[str, Any]) -> str:
    whole, waiting = told.get("seconds_total"), told.get("seconds_waiting")
    if not whole or waiting is None:
        return ""
    return (
        f"The job waited for steps {100.0 * waiting / whole:.0f} % of its {words.duration(whole)}."
    )


def _files(run: Run, files: e.Files) -> str:
    """Tables and stores, as links."""
    paths = [path for action in run.actions for path in action.others]
    return e.section("Files", e.links(files, paths), note=str(run.folder))
