"""Options of a job besides its case, for the command line and calls from Python alike.

A field of `JobOptions` or `RunOptions` with `Help` is an option: its name, type, default and
description are those of the command's option and of the function's argument. A boolean field that
is true by default is the option `--no-NAME`, whose description is that of false.
"""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent, wrap
from typing import Annotated, Any, ParamSpec, TypeVar, get_args

from uzushio._base.config.paths import expanded
from uzushio._base.parallel.affinity import Policy
from uzushio.errors import UzushioError

P = ParamSpec("P")
T = TypeVar("T")
AnyOptions = TypeVar("AnyOptions", bound="JobOptions")


@dataclass(frozen=True)
class Help:
    """Description of an option: sentences, and the name of its value in the help of a command."""

    text: str
    metavar: str | None = None


Affinity = Annotated[
    Policy,
    Help(
        "Bind ranks and threads to cores; none leaves the launcher's binding. "
        "docs/how-to/affinity.md"
    ),
]
Fallback = Annotated[bool, Help("If that checkpoint is damaged, restart from the one before.")]
Quiet = Annotated[bool, Help("Print errors only.")]


@dataclass(frozen=True, kw_only=True)
class JobOptions:
    """Options of a job that computes a case, and facts for its restart.

    Attributes:
        case_file: the file that the case was read from.
        overrides: overrides of the case, "section.key=value" each.
        tuned_resets: overrides that leave the run's tuned values to the tuner again, for a restart
            on another number of ranks.
        command: command that continues such a job.
        ranks: number of ranks to start.
    """

    restart: Annotated[
        Path | None,
        Help(
            "Continue from the newest checkpoint of a run's folder, or from one checkpoint's "
            "folder, on any number of ranks.",
            "DIR",
        ),
    ] = None
    restart_fallback: Fallback = False
    out: Annotated[Path | None, Help("Folder of the run. Default: output.folder.", "DIR")] = None
    overwrite: Annotated[bool, Help("Remove the run that the folder holds.")] = False
    figures: Annotated[bool, Help("Draw no figures, as with output.figures: false.")] = True
    tuned: Annotated[
        bool, Help("Ignore the values that `uzushio tune` found for this machine.")
    ] = True
    affinity: Affinity = Policy.NONE
    quiet: Quiet = False
    case_file: Path | None = None
    overrides: tuple[str, ...] = ()
    tuned_resets: tuple[str, ...] = ()
    command: str = "run"
    ranks: int | None = None

    def check(self) -> None:
        """Raise `UzushioError` if an option lacks another one."""
        self._need_restart("restart_fallback")

    def _need_restart(self, *names: str) -> None:
        for name in names:
            if getattr(self, name) and self.restart is None:
                raise UzushioError(
                    f"--{name.replace('_', '-')} is for a restart: add --restart DIR, or leave it "
                    "out."
                )

    def continuation(self, run: Path) -> str:
        """Return the command that continues a run, with its case, in its folder."""
        ranks = "" if self.ranks is None else f" --ranks {self.ranks}"
        bound = "" if self.affinity is Policy.NONE else f" --affinity {self.affinity}"
        options = f"{ranks}{bound} --restart {shlex.quote(str(run))}"
        return f"continue with: uzushio {self.command}{options}"


@dataclass(frozen=True, kw_only=True)
class RunOptions(JobOptions):
    """Options of a run."""

    reset_statistics: Annotated[bool, Help("At a restart, discard the averages over time.")] = False
    interpolate: Annotated[
        bool, Help("At a restart, interpolate a checkpoint of another grid in the same box.")
    ] = False
    trace: Annotated[
        Path | None, Help("Write a trace of all ranks for ui.perfetto.dev (JSON).", "FILE")
    ] = None

    def check(self) -> None:
        """Raise `UzushioError` if an option lacks another one, or the trace a folder."""
        self._need_restart("reset_statistics", "interpolate", "restart_fallback")
        if self.trace is not None and not self.trace.absolute().parent.is_dir():
            raise UzushioError(
                f"--trace {self.trace}: there is no folder {self.trace.absolute().parent}; make it "
                "before the run, or name a file in another one."
            )


def declared_options(kind: type) -> dict[str, tuple[inspect.Parameter, Any, Help]]:
    """Return parameter, type and description of each field of a dataclass that is an option."""
    return {
        name: (parameter, get_args(parameter.annotation)[0], notes[0])
        for name, parameter in inspect.signature(kind, eval_str=True).parameters.items()
        if (notes := [note for note in get_args(parameter.annotation) if isinstance(note, Help)])
    }


def options_of_call(kind: type[AnyOptions], case: object, given: dict[str, Any]) -> AnyOptions:
    """Return the options of a call from Python; `case` may be the path of its file."""
    declared = declared_options(kind)
    for name in given.keys() - declared.keys():
        raise TypeError(f"there is no option {name!r}; there are: {', '.join(declared)}")
    for name, (_, value_type, _) in declared.items():
        if given.get(name) is not None and value_type == Path | None:
            given[name] = expanded(given[name])
        elif name in given and value_type is Policy:
            given[name] = Policy.of(given[name])
    file = Path(case) if isinstance(case, str | Path) else None
    return kind(case_file=file, **given)


def with_options(kind: type[JobOptions]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator that states options in signature and docstring, in place of `options`."""

    def decorated(function: Callable[P, T]) -> Callable[P, T]:
        signature = inspect.signature(function)
        own = [*signature.parameters.values()]
        stated, lines = [], []
        for name, (parameter, value_type, note) in declared_options(kind).items():
            default, text = parameter.default, note.text
            if value_type == Path | None:
                value_type = Path | str | None
            elif value_type is Policy:
                value_type, default = str, default.value
                text = f"{', '.join(Policy)}. {text}"
            elif default is True:
                text = f"False: {text[0].lower()}{text[1:]}"
            stated.append(parameter.replace(annotation=value_type, default=default))
            lines += wrap(f"{name}: {text}", 88, subsequent_indent="    ")
        function.__signature__ = signature.replace(parameters=[*own[:-1], *stated])  # type: ignore[attr-defined]
        function.__doc__ = (function.__doc__ or "").replace(
            "options: see below.", indent("\n".join(lines), " " * 8).lstrip()
        )
        return function

    return decorated
