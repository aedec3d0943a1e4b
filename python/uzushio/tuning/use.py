"""How a run comes to use what a tuning found."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from uzushio.case.model import read_document
from uzushio.tuning.declared import Declared, declare, is_tunable
from uzushio.tuning.kept import Kept, file_of, recall
from uzushio.tuning.subject import Value

if TYPE_CHECKING:
    from mpi4py import MPI


def tuned_overrides(
    file: Path,
    overrides: list[str],
    comm: MPI.Intracomm,
    say: Callable[[str], None],
) -> list[str]:
    """Overrides, as "section.key=value", that make a case use what was tuned (collective).

    Rank 0 looks into its cache folder, unless the case says `tuned: false`. Keys that the case says
    itself stay: where one of them differs from what was tuned beside it, nothing of that is used.

    Args:
        file: of the case.
        overrides: that were given with it.
        comm: the ranks of the run.
        say: prints a line on rank 0.

    Raises:
        CaseError: the case is wrong; on all ranks.
    """
    if not is_tunable(read_document(file, overrides)):
        return []
    declared = declare(file, overrides, comm.size)
    if not declared.used:
        return []
    kept: Kept | None = comm.bcast(recall(declared.subject) if comm.rank == 0 else None)
    chosen, text = choose(declared, kept)
    if text and comm.rank == 0:
        say(text)
    return [f"{name}={value}" for name, value in chosen.items()]


def choose(declared: Declared, kept: Kept | None) -> tuple[dict[str, Value], str]:
    """What is used of what was tuned, beside what the case says itself; and a sentence on it."""
    subject, given = declared.subject, declared.given
    open_names = [one.name for one in subject.parameters if one.name not in given]
    if not open_names:
        return {}, ""
    if kept is None:
        return {}, (
            f"Nothing is tuned for {count(subject.ranks, 'rank')} and this size on this machine; "
            f"`uzushio tune` with --ranks {subject.ranks} does that."
        )
    other = {name: value for name, value in given.items() if kept.values[name] != value}
    if other:
        return {}, (
            f"Tuned values are not used: they go with {words(kept.values, other)}, and the case "
            f"says {words(given, other)}."
        )
    chosen = {name: kept.values[name] for name in open_names}
    source = ""
    with contextlib.suppress(OSError):
        source = f"; {file_of(subject)}"
    return chosen, (
        f"Tuned values are used: {words(chosen)} ({kept.speedup:.2f} x the default's rate when "
        f"tuned, {kept.created}{source}). --no-tuned leaves them out."
    )


def words(values: Mapping[str, Value], names: Mapping[str, Value] | None = None) -> str:
    """Values in a row, with the last part of each name."""
    return ", ".join(
        f"{name.rpartition('.')[2]} {values[name]}" for name in (values if names is None else names)
    )


def count(number: int, what: str) -> str:
    """Write a number of things."""
    return f"{number} {what}{'' if number == 1 else 's'}"
