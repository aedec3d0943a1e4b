"""Use of tuned values in runs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from uzushio._base.parallel.sync import on_root
from uzushio.case.model import read_document
from uzushio.tuning.declared import Declared, declare, is_tunable
from uzushio.tuning.result_cache import TuningResult, file_of, load_result
from uzushio.tuning.subject import Value

if TYPE_CHECKING:
    from mpi4py import MPI


def tuned_overrides(
    file: Path,
    overrides: list[str],
    comm: MPI.Intracomm,
    say: Callable[[str], None],
) -> list[str]:
    """Return overrides "section.key=value" with the tuned values of a case (collective).

    Rank 0 reads its cache folder, unless the case has `tuned: false`. Values set in the case have
    precedence: if one of them differs from the tuned value, no tuned value is used.

    Args:
        file: case file.
        overrides: overrides of the command line.
        comm: the ranks of the run.
        say: prints a line on rank 0.

    Raises:
        CaseError: on all ranks: the case is invalid.
    """
    if not is_tunable(read_document(file, overrides)):
        return []
    declared = declare(file, overrides, comm.size)
    if not declared.used:
        return []
    kept = on_root(comm, lambda: load_result(declared.subject))
    chosen, text = choose(declared, kept)
    if text and comm.rank == 0:
        say(text)
    return [f"{name}={value}" for name, value in chosen.items()]


def choose(declared: Declared, kept: TuningResult | None) -> tuple[dict[str, Value], str]:
    """Return the tuned values to use with those set in the case, and a sentence for the user."""
    subject, given = declared.subject, declared.given
    open_names = [one.name for one in subject.parameters if one.name not in given]
    if not open_names:
        return {}, ""
    if kept is None:
        return {}, (
            f"There are no tuned values for {count(subject.ranks, 'rank')} and this size on this "
            f"machine; `uzushio tune --ranks {subject.ranks}` finds them."
        )
    other = {name: value for name, value in given.items() if kept.values[name] != value}
    if other:
        return {}, (
            f"Tuned values are not used: they need {words(kept.values, other)}, and the case sets "
            f"{words(given, other)}."
        )
    chosen = {name: kept.values[name] for name in open_names}
    source = ""
    with contextlib.suppress(OSError):
        source = f"; {file_of(subject)}"
    return chosen, (
        f"Tuned values are used: {words(chosen)} ({kept.speedup:.2f} x the default's rate when "
        f"tuned, {kept.created}{source}). --no-tuned disables them."
    )


def words(values: Mapping[str, Value], names: Mapping[str, Value] | None = None) -> str:
    """Format values, with the last part of each name."""
    return ", ".join(
        f"{name.rpartition('.')[2]} {values[name]}" for name in (values if names is None else names)
    )


def count(number: int, what: str) -> str:
    """Format a number with a noun in singular or plural."""
    return f"{number} {what}{'' if number == 1 else 's'}"
