"""Case files: sections common to all solvers, and functions that read a file as a validated `Case`.

A solver adds its own sections by subclassing `Case`, each a `Section`. Times and lengths are in the
solver's units; a `Length` may be written as "2 pi".
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeVar

import yaml
from pydantic import ConfigDict, Field, model_validator

from uzushio._base.config.lengths import Length
from uzushio._base.config.overrides import Overrides, apply
from uzushio._base.config.paths import NamedFile, UserPath
from uzushio._base.config.section import Count, Positive, Section, unit
from uzushio._base.config.yaml_document import Document
from uzushio.case import registry
from uzushio.errors import CaseError, SettingsError, StagingError

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["Case", "CaseFile", "Length", "Section", "load_case", "model_of", "read_document"]

#: Relative tolerance of the end time.
_CLOSE = 1e-12


class Time(Section):
    """Length of the run and of its steps. The run ends at `steps` or `end`, whichever is first."""

    steps: Count | None = Field(default=None, description="number of the last step, counted from 0")
    end: Positive | None = Field(
        default=None,
        description="time at which to stop; the last steps to it are equal, or up to 1 % longer",
        json_schema_extra=unit("time"),
    )
    cfl: Positive | None = Field(default=None, description="CFL number that sets each time step")
    dt: Positive | None = Field(
        default=None, description="fixed time step", json_schema_extra=unit("time")
    )
    max_dt: Positive | None = Field(
        default=None,
        description="longest time step that `cfl` sets, for flows that begin at rest",
        json_schema_extra=unit("time"),
    )

    @model_validator(mode="after")
    def _one_of_each(self) -> Self:
        if self.steps is None and self.end is None:
            raise ValueError("needs 'steps' or 'end' (or both)")
        if (self.cfl is None) == (self.dt is None):
            raise ValueError("needs exactly one of 'cfl' and 'dt' (set the other to null)")
        if self.max_dt is not None and self.cfl is None:
            raise ValueError("has 'max_dt', which limits the steps that 'cfl' sets, but no 'cfl'")
        return self

    @property
    def step_limit(self) -> float:
        """`dt` or `max_dt`; without them infinity."""
        return self.dt or self.max_dt or inf

    def reached(self, step: int, time: float) -> bool:
        """Return whether a step at a time is the last one, or after it."""
        if self.steps is not None and step >= self.steps:
            return True
        return self.end is not None and self.end - time <= _CLOSE * self.end

    def passed(self, step: int, time: float) -> bool:
        """Return whether a step at a time is after the last one."""
        if self.steps is not None and step > self.steps:
            return True
        return self.end is not None and time - self.end > _CLOSE * self.end


class Statistics(Section):
    """Times of the samples for averages."""

    start: float = Field(
        default=0.0, description="time from which samples are taken", json_schema_extra=unit("time")
    )
    every: Count = Field(default=10, description="number of steps between samples")


class Checkpoint(Section):
    """Checkpoints during the run; one more is written at its end."""

    every: Count | None = Field(
        default=500, description="number of steps between checkpoints; null: none"
    )
    minutes: Positive | None = Field(
        default=None,
        description="wall-clock time between checkpoints",
        json_schema_extra=unit("min"),
    )
    keep: Count = Field(default=2, description="number of checkpoints kept")
    compression: Literal["lz4", "zstd"] | None = Field(
        default=None,
        description="lossless compression of checkpoints: lz4 is faster, zstd smaller; null: none",
    )


class Output(Section):
    """Folder of results, interval of progress lines, and figures."""

    folder: UserPath = Field(default=Path("run"), description="folder of the run")
    monitor_every: Positive = Field(
        default=5.0, description="time between progress lines", json_schema_extra=unit("s")
    )
    figures: list[Literal["png", "pdf", "svg"]] | Literal[False] = Field(
        default=["png", "pdf", "svg"],
        description="formats of each figure; false: none is drawn at the end",
    )


class Publish(Section):
    """Publishing of steps to readers while the run continues.

    Further keys (`engine`, `queue`, `contact`, …) are options of staging, as in an options file.
    """

    model_config = ConfigDict(extra="allow", frozen=True, allow_inf_nan=False)

    name: str | None = Field(
        default=None, description="name of the stream; null: the solver's name"
    )
    every: Count = Field(default=1, description="number of steps between published ones")
    fields: Annotated[list[str], Field(min_length=1)] | None = Field(
        default=None, description="names of the published fields; null: all"
    )
    steering: bool = Field(
        default=True,
        description="whether viewers may change parameters, write checkpoints and stop the run",
    )
    python: NamedFile | None = Field(
        default=None,
        description="file with a function on_step(step) that engine inproc calls in each step",
    )
    pipeline: NamedFile | None = Field(
        default=None, description="pipeline file that engine inproc runs in each step"
    )

    def options(self) -> Any:
        """Return the options of staging; raise `StagingError` with the key if one is invalid."""
        from uzushio.staging.options import parse_options

        return parse_options(self.model_extra or {})

    @model_validator(mode="after")
    def _valid(self) -> Self:
        try:
            engine = self.options().engine
        except StagingError as error:
            raise ValueError(error) from error
        if "output" in (self.model_extra or {}):
            raise SettingsError(
                "is a key of other codes; a run's results are in its folder", ("output",)
            )
        inside = self.python is not None or self.pipeline is not None
        if (engine == "inproc") != inside:
            raise ValueError(
                "needs 'pipeline' or 'python' with the engine inproc, and neither with another"
            )
        for key, file in (("python", self.python), ("pipeline", self.pipeline)):
            if file is not None and not file.is_file():
                raise SettingsError(f"there is no file {file}", (key,))
        return self


class Parallel(Section):
    """Ranks of the run."""

    placement: NamedFile | None = Field(
        default=None,
        description="file of `uzushio place` with the rank in the run of each rank of the launcher",
    )


class CaseFile(Section):
    """Sections of every case file, of runs and of assimilations."""

    #: Values of a small case that is ready to run, for `uzushio init`.
    example: ClassVar[Mapping[str, Any]] = {}

    title: str = Field(default="", description="title of the run, for figures and reports")
    output: Output = Output()
    tuned: bool = Field(
        default=True,
        description="use results of `uzushio tune` here for keys that the case does not set",
    )

    @property
    def threads_per_rank(self) -> int | None:
        """OpenMP threads of a rank; None: `OMP_NUM_THREADS`."""
        return None

    def digest(self) -> str:
        """Return an identifier of the case's values."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:16]

    def to_yaml(self) -> str:
        """Return the case as YAML with all defaults; it loads to an equal case."""
        return yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False, allow_unicode=True)


CaseKind = TypeVar("CaseKind", bound=CaseFile)


class Case(CaseFile):
    """Case file of a run; a solver's case adds its own sections."""

    solver: str = Field(description="name of the solver")
    time: Time
    statistics: Statistics = Statistics()
    checkpoint: Checkpoint = Checkpoint()
    publish: Publish | None = None
    parallel: Parallel = Parallel()

    def averaged_values(self) -> dict[str, Any]:
        """Return the values on which averages depend: a restart with others drops the averages."""
        return self.model_dump(mode="json", exclude=_NOT_AVERAGED)


#: Sections that averages do not depend on: length, initial field, decomposition and output of a
#: run.
_NOT_AVERAGED = {
    *("title", "time", "checkpoint", "output", "publish", "decomposition", "initial"),
    *("parallel", "tuned"),
}


def differences(
    first: Mapping[str, Any], other: Mapping[str, Any], above: tuple[str, ...] = ()
) -> list[str]:
    """Return the keys, as "section.key", whose values differ."""
    paths = []
    for key in sorted({*first, *other}):
        a, b, path = first.get(key), other.get(key), (*above, key)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            paths += differences(a, b, path)
        elif a != b:
            paths.append(".".join(path))
    return paths


def load_case(
    source: Path | str | Mapping[str, Any] | Document,
    overrides: Overrides | None = None,
    comm: MPI.Comm | None = None,
) -> Case:
    """Read a case, apply overrides and validate it with the model of its solver.

    Args:
        source: the YAML file, a mapping of its values, or a result of `read_document`.
        overrides: values by key, as ``{"grid.nx": 64}``; or texts "section.key=value" with the
            value in YAML. A whole section replaces that of the case.
        comm: ranks that all load the same case: the first one reads the STL files for all.

    Raises:
        CaseError: one line for each mistake, naming the file and line, the key, the value given
            and what is allowed.
    """
    document = read_document(source, overrides)
    model: type[Case] = model_of(
        document, "solver", registry.known(), lambda name: registry.solver_class(name).case_model
    )
    return document.validate(model, comm)


def read_document(
    source: Path | str | Mapping[str, Any] | Document, overrides: Overrides | None = None
) -> Document:
    """Read a case and apply overrides, without validation; arguments are those of `load_case`."""
    if isinstance(source, Document):
        document = source
    elif isinstance(source, Mapping):
        document = Document.of(source, "the case")
    else:
        document = Document.read(source)
    apply(overrides or [], document)
    return document


#: Key of a case file that selects its kind: name of the kind, and its command.
_KINDS = {"solver": ("a run", "uzushio run"), "model": ("an assimilation", "uzushio assimilate")}


def model_of(
    document: Document, key: str, known: Iterable[str], find: Callable[[str], type[CaseKind]]
) -> type[CaseKind]:
    """Return the case model that a file selects.

    Args:
        document: the file.
        key: `solver` or `model`.
        known: allowed values of the key, for messages.
        find: returns the case model of a value, or raises `CaseError`.

    Raises:
        CaseError: the key is missing, its value is unknown, or the case is for another command.
    """
    name, where = document.values.get(key), document.where((key,))
    for other, (what, command) in _KINDS.items():
        if other == key or document.values.get(other) is None:
            continue
        there = document.where((other,))
        if name is None:
            raise CaseError(f"{there}: a case with '{other}' is {what}; give it to {command}.")
        raise CaseError(
            f"{there}: a case with '{other}' is {what}, and one with '{key}' is {_KINDS[key][0]}; "
            "remove one of both keys."
        )
    if name is None:
        document.refuse_other("a case", key)
    if not isinstance(name, str):
        raise CaseError(f"{where}: {key} is required (allowed: {', '.join(known)})")
    try:
        return find(name)
    except CaseError as error:
        raise CaseError(f"{where}: {error}") from error
