"""Use of tuned values in runs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from uzushio._base.parallel.sync import on_root
from uzushio.case.model import read_document
from uzushio.errors import TuningError
from uzushio.tuning.declared import Declared, declare, is_tunable
from uzushio.tuning.result_cache import TuningResult, damaged, file_of, load_result
from uzushio.tuning.subject import Value

if TYPE_CHECKING:
    from mpi4py import MPI


@dataclass(frozen=True)
class TunedOverrides:
    """Overrides "section.key=value" of a case.

    Attributes:
        values: tuned values.
        resets: values that leave the same keys to the tuner again, where there are such values.
    """

    values: list[str] = field(default_factory=list)
    resets: list[str] = field(default_factory=list)


def tuned_overrides(
    file: Path,
    overrides: list[str],
    comm: MPI.Intracomm,
    say: Callable[[str], None],
) -> TunedOverrides:
    """Return the tuned values of a case as overrides (collective).

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
    tuned, text = on_root(comm, lambda: _on_root(file, overrides, comm.size))
    if text and comm.rank == 0:
        say(text)
    return tuned


def _on_root(file: Path, overrides: list[str], ranks: int) -> tuple[TunedOverrides, str]:
    """Return the tuned overrides, and a sentence for the user."""
    if not is_tunable(read_document(file, overrides)):
        return TunedOverrides(), ""
    declared = declare(file, overrides, ranks)
    if not declared.used:
        return TunedOverrides(), ""
    try:
        chosen, text = choose(declared, load_result(declared.subject))
    except TuningError as error:
        return TunedOverrides(), f"Tuned values are not used: {error}"
    unset = {
        parameter.name: parameter.unset
        for parameter in declared.subject.parameters
        if parameter.unset is not None
    }
    return TunedOverrides(
        [f"{name}={value}" for name, value in chosen.items()],
        [f"{name}={unset[name]}" for name in chosen if name in unset],
    ), text


def choose(declared: Declared, kept: TuningResult | None) -> tuple[dict[str, Value], str]:
    """Return the tuned values to use with those set in the case, and a sentence for the user.

    Raises:
        TuningError: the stored values are none that the parameters can have.
    """
    subject, given = declared.subject, declared.given
    open_names = [parameter.name for parameter in subject.parameters if parameter.name not in given]
    if not _has_choices(declared):
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
    if any(
        chosen.get(parameter.name, parameter.default) not in parameter.values
        for parameter in subject.parameters
    ):
        raise damaged(subject)
    source = ""
    with contextlib.suppress(OSError):
        source = f"; {file_of(subject)}"
    return chosen, (
        f"Tuned values are used: {words(chosen)} ({kept.speedup:.2f} x the default's rate when "
        f"tuned, {kept.created}{source}). --no-tuned disables them."
    )


def _has_choices(declared: Declared) -> bool:
    """Whether a parameter that the case does not set can have more than one value."""
    given, parameters = declared.given, declared.subject.parameters
    possible = {parameter.name: set(parameter.values) for parameter in parameters}
    possible |= {name: {value} for name, value in given.items()}
    return any(
        len(possible[parameter.name]) > 1
        and all(possible[name] & set(values) for name, values in parameter.only_if.items())
        for parameter in parameters
    )


def words(values: Mapping[str, Value], names: Mapping[str, Value] | None = None) -> str:
    """Format values, with the last part of each name."""
    return ", ".join(
        f"{name.rpartition('.')[2]} {values[name]}" for name in (values if names is None else names)
    )


def count(number: int, what: str) -> str:
    """Format a number with a noun in singular or plural."""
    return f"{number} {what}{'' if number == 1 else 's'}"
