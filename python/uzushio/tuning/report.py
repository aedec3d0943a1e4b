"""Output of a tuning: progress, a table of the finals, a summary for programs."""

from __future__ import annotations

import time
from statistics import median_high
from typing import Any

from rich.table import Table

from uzushio._base.parallel.console import standard_console
from uzushio._base.terminal import ProgressOutput
from uzushio.tuning.journal import TrialRecord
from uzushio.tuning.search_result import SearchResult, SearchState
from uzushio.tuning.space import Key, Space


class ProgressReporter(ProgressOutput):
    """Progress of a search: a bar on a terminal, else one line for each batch.

    Args:
        space: search space.
        quiet: print nothing.
    """

    def __init__(self, space: Space, quiet: bool) -> None:
        console = standard_console()
        columns = console.width if console.is_terminal else 0
        super().__init__(columns, not quiet, "measuring the first points")
        self._space = space
        self._began = time.monotonic()
        self._first: float | None = None

    def on_batch(self, state: SearchState) -> None:
        """Show the state of the search after a batch."""
        text = f"{state.trials} trials"
        if state.best is not None:
            key, faster = state.best
            text += f", best {faster:.2f} x the default: {changed(self._space, key)}"
        if state.random is not None:
            text += f"; random search {state.random:.2f} x"
        self.show(state.fraction, text + self._left(state.fraction))

    def _left(self, fraction: float) -> str:
        """Estimate the time left from the progress since this process started."""
        if self._first is None:
            self._first, self._began = fraction, time.monotonic()
            return ""
        done = fraction - self._first
        if done <= 0:
            return ""
        seconds = round((time.monotonic() - self._began) / done * (1 - fraction))
        return f"; {seconds // 60}:{seconds % 60:02} left"


def changed(space: Space, key: Key) -> str:
    """Return the values of a point that differ from the default's."""
    default = space.default().key
    parts = [
        f"{parameter.name.rpartition('.')[2]} {value}"
        for parameter, value, default_value in zip(space.parameters, key, default, strict=True)
        if value != default_value
    ]
    return ", ".join(parts) or "the default"


def table(space: Space, outcome: SearchResult) -> Table:
    """Make a table of the finalists, fastest first, with the default and the choice."""
    result = Table(
        title="finals: minimum of interleaved repetitions in random order", title_justify="left"
    )
    result.add_column("")
    result.add_column("found by")
    for name in ("seconds", "median", "x default"):
        result.add_column(name, justify="right")
    result.add_column("values, where they are not the default's")
    for finalist in outcome.finalists:
        result.add_row(
            "chosen" if finalist == outcome.chosen else "",
            _found_by(finalist, outcome),
            f"{finalist.best:.4g}",
            f"{median_high(finalist.seconds):.4g}",
            f"{outcome.default.best / finalist.best:.2f}",
            "" if finalist == outcome.default else changed(space, finalist.key),
            style="bold" if finalist == outcome.chosen else "",
        )
    return result


def sentences(space: Space, outcome: SearchResult) -> list[str]:
    """Describe the result in sentences, one a line."""
    lines = []
    guided = [record for record in outcome.guided if not record.failure]
    gain = outcome.default.best / outcome.chosen.best
    lines.append(f"Chosen: {changed(space, outcome.chosen.key)}; {gain:.2f} x the default.")
    if outcome.reason:
        lines.append(f"The fastest point was not chosen: {outcome.reason}")
    if outcome.best_random is not None:
        beside = outcome.best_random.best / outcome.chosen.best
        lines.append(
            f"Random search with as many trials ({len(outcome.random)}): its best takes "
            f"{beside:.2f} x the time of the chosen point."
        )
    lines.append(
        f"Of {len(space.all)} possible points the model kept {len(space.remaining)}; "
        f"{len(guided)} were timed. The ratio of measured to predicted times scatters by a factor "
        f"{outcome.model_error:.2f} to either side (the room declares {space.subject.trust:g})."
    )
    if outcome.model_error > space.subject.trust:
        lines.append(
            "That is more than the room declares, so later batches pruned less; the best point may "
            "have been pruned before."
        )
    if outcome.noise > 1.1:
        lines.append(
            f"The machine was not quiet: the default's median time is {outcome.noise:.2f} x its "
            "minimum."
        )
    failed = [record for record in (*outcome.guided, *outcome.random) if record.failure]
    if failed:
        lines.append(f"{len(failed)} points could not be timed; the first: {failed[0].failure}")
    return lines


def summary(space: Space, outcome: SearchResult) -> dict[str, Any]:
    """Return all measurements as plain JSON values."""

    def finalist(record: TrialRecord | None) -> dict[str, Any] | None:
        if record is None:
            return None
        values = space.point(record.key)
        return {"values": values, "found_by": _found_by(record, outcome), "seconds": record.seconds}

    def trial(record: TrialRecord) -> dict[str, Any]:
        predicted = space.find(record.key)
        return {
            "values": space.point(record.key),
            "found_by": record.by,
            "batch": record.batch,
            "seconds": record.seconds,
            "predicted": predicted.predicted if predicted else None,
            "failure": record.failure or None,
        }

    return {
        "parameters": [
            {
                "name": parameter.name,
                "values": parameter.values,
                "unit": parameter.unit,
                "meaning": parameter.meaning,
            }
            for parameter in space.parameters
        ],
        "chosen": finalist(outcome.chosen),
        "default": finalist(outcome.default),
        "random": finalist(outcome.best_random),
        "finalists": [finalist(record) for record in outcome.finalists],
        "reason": outcome.reason or None,
        "speedup": outcome.default.best / outcome.chosen.best,
        "possible": len(space.all),
        "kept_by_model": len(space.remaining),
        "model_error": outcome.model_error,
        "noise": outcome.noise,
        "trials": [trial(record) for record in outcome.guided],
        "random_trials": [trial(record) for record in outcome.random],
    }


def _found_by(record: TrialRecord, outcome: SearchResult) -> str:
    also = record.by != "random" and outcome.best_random is not None
    return f"{record.by}, random" if also and record.key == outcome.best_random.key else record.by  # type: ignore[union-attr]
