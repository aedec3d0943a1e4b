"""Case files of an assimilation: sections common to all models.

A model adds its own (grid, equations, truth, first guess, blocking) by subclassing
`AssimilationCase`, each a `Section`. Times and lengths are in the model's units.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from uzushio._base.config.names import unknown
from uzushio._base.config.overrides import Overrides
from uzushio._base.config.paths import NamedFile
from uzushio._base.config.quantities import Magnitude, Size
from uzushio._base.config.section import Count, Positive, Section
from uzushio._base.config.yaml_document import Document
from uzushio.assimilation.model import file_of_class, model_class
from uzushio.case.model import CaseFile, Checkpoint, model_of, read_document
from uzushio.case.registry import known_models
from uzushio.errors import CaseError, SettingsError

Index = Annotated[int, Field(ge=0)]
#: Maximum of the step counters of the compiled sweeps.
Steps = Annotated[int, Field(gt=0, le=2**30)]
#: Maximum number of vectors of the size of a state in memory.
Vectors = Annotated[int, Field(gt=0, le=1024)]
#: Numbers of members: a spread needs two, and file names have five digits.
Members = Annotated[int, Field(ge=2, le=99999)]
#: Maximum integer that every JSON parser represents exactly.
Seed = Annotated[int, Field(ge=0, le=2**53)]


class Window(Section):
    """Steps of a forward run."""

    steps: Steps = Field(description="steps from the initial state to the last one")
    dt: Magnitude = Field(description="length of a step")


class Observed(Section):
    """Source of the observations: a store, or the model's own truth with noise (a twin)."""

    store: NamedFile | None = Field(
        None, description="Zarr store of observations; null: a twin, from `truth` with noise"
    )
    first: Index = Field(1, description="first step observed, in a twin")
    last: Index | None = Field(None, description="last step observed, in a twin; null: time.steps")
    every: Count = Field(1, description="steps between observations, in a twin")
    sigma: Magnitude = Field(0.1, description="standard deviation of the noise, in a twin")
    seed: Seed = Field(0, description="seed of the noise, in a twin")
    keep: bool = Field(True, description="write a twin's observations into the run's folder")
    background_check: Magnitude | None = Field(
        None,
        description="leave out values further than so many sigma from the run of the first guess; "
        "null: none",
    )
    huber: Magnitude | None = Field(
        None,
        description="residuals of more than so many sigma count linearly in J (Huber's norm), so "
        "that few wrong values have little effect; null: all are squared",
    )


class ControlSection(Section):
    """Settings of one control: the initial state or a parameter."""

    sigma: Magnitude | None = Field(
        None,
        description="standard deviation of the background (the first guess); null: no background",
    )
    bounds: tuple[float | None, float | None] = Field(
        (None, None), description="minimum and maximum; null: unlimited"
    )
    scale: Magnitude | None = Field(
        None, description="unit of the control in the optimiser; null: from the curvature of J"
    )

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        low, high = self.bounds
        if low is not None and high is not None and not low < high:
            raise ValueError(f"bounds must increase, got {low:g} and {high:g}")
        return self


class Optimiser(Section):
    """Minimisation of J."""

    method: Literal["lbfgs", "gradient"] = Field(
        "lbfgs", description="lbfgs: limited-memory BFGS with bounds; gradient: steepest descent"
    )
    memory: Vectors = Field(
        8, description="maximum number of pairs (step, change of gradient) of lbfgs"
    )
    metric: bool = Field(
        True,
        description="use the model's metric (how well observations determine structures of the "
        "state) as initial approximation of lbfgs from the second stage on; false: a number",
    )
    iterations: Index = Field(300, description="maximum number of iterations")
    candidates: Vectors | None = Field(
        None, description="steps tried at once in a line search; null: one for each group of ranks"
    )
    tolerance: Positive = Field(
        5e-2,
        description="stop when J is expected to fall by less than this (it is minus the log of "
        "a probability, so 0.5 is one standard deviation)",
    )
    first_window: Count | None = Field(
        8,
        description="minimum window of the first stage in steps, longer until it has two "
        "observations for each point of the state; each further stage doubles it, up to the whole "
        "run; null: one stage with the whole run",
    )
    tries: Count = Field(30, description="maximum number of values of J in a line search")


class TrajectorySection(Section):
    """Storage of states of a forward run for its adjoint."""

    memory: Size | None = Field(
        None,
        description="maximum memory for states on each rank, as 2 GiB; null: half of the free "
        "memory, or less if all states fit",
    )


class Uncertainty(Section):
    """Standard deviations of the estimate. `uncertainty: ensemble` is short for its `kind`."""

    kind: Literal["hessian", "ensemble"] = Field(
        "hessian",
        description="hessian: from the curvature of J at the estimate, a linearisation; ensemble: "
        "from the spread of assimilations with perturbed observations and background too",
    )
    members: Members = Field(20, description="number of perturbed assimilations of an ensemble")
    seed: Seed = Field(0, description="seed of an ensemble's perturbations")
    iterations: Index = Field(
        30,
        description="maximum number of Hessian-vector products; 0: no such deviations",
    )
    tolerance: Positive = Field(1e-4, description="tolerance of the relative residual")
    method: Literal["cg", "minres"] = Field(
        "cg", description="solver of the linear system; minres continues at negative curvature"
    )


def _named(given: object) -> object:
    return {"kind": given} if isinstance(given, str) else given


#: Type of the section: an `Uncertainty`, or only its kind.
UncertaintyOrKind = Annotated[
    Uncertainty,
    BeforeValidator(_named, json_schema_input_type=Uncertainty | Literal["hessian", "ensemble"]),
]


class AssimilationCheckpoint(Checkpoint):
    """Checkpoints of the optimiser; one more is written at the end or on a signal."""

    every: Count | None = Field(
        None, description="iterations between checkpoints; null: as `share` allows"
    )
    share: Annotated[float, Field(ge=0.0, lt=1.0)] = Field(
        0.05,
        description="of the time that checkpoints may take, if `every` is null: there is one after "
        "each iteration that lasts long enough; 0: none",
    )


class AssimilationCase(CaseFile):
    """Case file of an assimilation; a model's case adds its own sections."""

    model: str = Field(description="name of the model, or FILE.py:CLASS for one of your own")
    time: Window
    observations: Observed = Observed()
    controls: dict[str, ControlSection] = Field(
        default_factory=dict, description="settings of the state and of each parameter, by name"
    )
    optimiser: Optimiser = Optimiser()
    trajectory: TrajectorySection = TrajectorySection()
    uncertainty: UncertaintyOrKind = Uncertainty()
    checkpoint: AssimilationCheckpoint = AssimilationCheckpoint()

    @model_validator(mode="after")
    def _observed_within(self) -> Self:
        observations, steps = self.observations, self.time.steps
        last = steps if observations.last is None else observations.last
        if observations.store is None and not observations.first <= last <= steps:
            raise SettingsError(
                f"first {observations.first} and last {last} must be increasing and at most "
                f"time.steps = {steps}",
                ("observations",),
            )
        return self


def load_assimilation(
    source: Path | str | Mapping[str, Any] | Document, overrides: Overrides | None = None
) -> AssimilationCase:
    """Read a case, apply overrides and validate it with the case model of its model.

    Args:
        source: the YAML file, a mapping of its values, or a result of `read_document`.
        overrides: values by key, or texts "section.key=value"; see `uzushio.load_case`.

    Raises:
        CaseError: one line for each mistake, naming the file and line, the key, the value given
            and what is allowed.
    """
    document = read_document(source, overrides)
    _name_file_of_model(document)
    model_type = model_of(
        document,
        "model",
        known_models(),
        lambda name: model_class(name).case_model,
    )
    case = document.validate(model_type)
    _check_controls(case, document)
    return case


def _name_file_of_model(document: Document) -> None:
    """Make the path of a model's file absolute, so that a restart finds it from any folder."""
    name = document.values.get("model")
    file, class_name = file_of_class(name) if isinstance(name, str) else (None, "")
    if file is not None:
        path = os.path.abspath(document.folder_of(("model",)) / file.expanduser())
        document.values["model"] = f"{path}:{class_name}"


def _check_controls(case: AssimilationCase, document: Document) -> None:
    """Raise `CaseError` for controls that the model does not have."""
    model = model_class(case.model)
    known = [model.state.name, *(parameter.name for parameter in model.parameters)]
    wrong = [
        f"{document.where(('controls', name))}: controls.{name} {unknown(name, known)}"
        for name in case.controls
        if name not in known
    ]
    if wrong:
        raise CaseError("\n".join(wrong))
