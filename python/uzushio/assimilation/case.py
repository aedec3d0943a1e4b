"""Case files of an assimilation: the sections that all models share.

A model adds its own (grid, equations, truth, first guess, blocking) by subclassing
`AssimilationCase`, each a `Section`. Times and lengths are in the model's units.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from uzushio.case import registry
from uzushio.case.model import CaseFile, Checkpoint, model_of, read_document
from uzushio.config.names import unknown
from uzushio.config.overrides import Overrides
from uzushio.config.quantities import Magnitude, Size
from uzushio.config.section import Section
from uzushio.config.yaml_document import Document
from uzushio.errors import CaseError

Positive = Annotated[float, Field(gt=0.0)]
Count = Annotated[int, Field(gt=0)]
Index = Annotated[int, Field(ge=0)]
#: What the compiled sweeps count steps in.
Steps = Annotated[int, Field(gt=0, le=2**30)]
#: Vectors as long as a state that are held at the same time.
Vectors = Annotated[int, Field(gt=0, le=1024)]
#: A spread needs two; the files of the members are numbered with five digits.
Members = Annotated[int, Field(ge=2, le=99999)]
#: Any JSON holds it exactly.
Seed = Annotated[int, Field(ge=0, le=2**53)]


class Window(Section):
    """The steps of a forward run."""

    steps: Steps = Field(description="steps from the initial state to the last one")
    dt: Magnitude = Field(description="length of a step")


class Observed(Section):
    """Where observations come from: a store, or the model's own truth with noise (a twin)."""

    store: Path | None = Field(
        None, description="Zarr store of observations; null: made from `truth`, with noise"
    )
    first: Index = Field(1, description="first step observed, in a twin")
    last: Index | None = Field(None, description="last step observed, in a twin; null: time.steps")
    every: Count = Field(1, description="steps between observations, in a twin")
    sigma: Magnitude = Field(0.1, description="standard deviation of the noise, in a twin")
    seed: Seed = Field(0, description="of the noise, in a twin")
    keep: bool = Field(True, description="write a twin's observations into the run's folder")

    @field_validator("store")
    @classmethod
    def _home(cls, store: Path | None) -> Path | None:
        return None if store is None else store.expanduser()


class ControlSection(Section):
    """How one control, the initial state or a parameter, is searched for."""

    sigma: Magnitude | None = Field(
        None, description="of the background about the first guess; null: no background"
    )
    bounds: tuple[float | None, float | None] = Field(
        (None, None), description="least and largest value; null: none"
    )
    scale: Magnitude | None = Field(
        None, description="unit that the optimiser sees it in; null: from the curvature of J"
    )

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        low, high = self.bounds
        if low is not None and high is not None and not low < high:
            raise ValueError(f"bounds must increase, got {low:g} and {high:g}")
        return self


class Optimiser(Section):
    """How J is made small."""

    method: Literal["lbfgs", "gradient"] = Field(
        "lbfgs", description="lbfgs: limited-memory BFGS with bounds; gradient: steepest descent"
    )
    memory: Vectors = Field(
        8, description="pairs of steps and gradient differences that lbfgs keeps"
    )
    metric: bool = Field(
        True,
        description="begin lbfgs's approximation with what the model knows of how well structures "
        "of the state are determined, from the second stage on; false: with a number",
    )
    iterations: Index = Field(300, description="at most so many")
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
        description="steps of the run that the first stage looks at; each further stage looks at "
        "twice as many, to the whole run; null: the whole run at once",
    )
    tries: Count = Field(30, description="values of J that one line search may cost")


class TrajectorySection(Section):
    """What is kept of a forward run for its adjoint."""

    memory: Size | None = Field(
        None,
        description="for states on each rank, as 2 GiB; null: all states where they fit into half "
        "of the memory that is free, else as many as do",
    )


class Uncertainty(Section):
    """How standard deviations are found; `uncertainty: ensemble` is short for its `kind`."""

    kind: Literal["hessian", "ensemble"] = Field(
        "hessian",
        description="hessian: from the curvature of J at the estimate, a linearisation; ensemble: "
        "from the scatter of assimilations with perturbed observations and background as well",
    )
    members: Members = Field(20, description="number of perturbed assimilations of an ensemble")
    seed: Seed = Field(0, description="of an ensemble's perturbations")
    iterations: Index = Field(30, description="Hessian-vector products at most; 0: none are done")
    tolerance: Positive = Field(1e-4, description="relative residual to reach")
    method: Literal["cg", "minres"] = Field("cg", description="minres goes on where J bends down")


def _named(given: object) -> object:
    return {"kind": given} if isinstance(given, str) else given


#: An `Uncertainty`, or its kind alone, also in the JSON schema.
UncertaintyOrKind = Annotated[
    Uncertainty,
    BeforeValidator(_named, json_schema_input_type=Uncertainty | Literal["hessian", "ensemble"]),
]


class AssimilationCheckpoint(Checkpoint):
    """When the state of the optimiser is written, besides at the end or a signal."""

    every: Count | None = Field(
        None, description="iterations between checkpoints; null: as `share` allows"
    )
    share: Annotated[float, Field(ge=0.0, lt=1.0)] = Field(
        0.05,
        description="of the time that checkpoints may take, if `every` is null: there is one after "
        "each iteration that lasts long enough; 0: none",
    )


class AssimilationCase(CaseFile):
    """What every case of an assimilation holds; a model's case adds its own sections."""

    model: str = Field(description="name of the model")
    time: Window
    observations: Observed = Observed()
    controls: dict[str, ControlSection] = Field(
        default_factory=dict, description="by name: of the state, and of the parameters"
    )
    optimiser: Optimiser = Optimiser()
    trajectory: TrajectorySection = TrajectorySection()
    uncertainty: UncertaintyOrKind = Uncertainty()
    checkpoint: AssimilationCheckpoint = AssimilationCheckpoint()
    tuned: bool = Field(
        True, description="use what `uzushio tune` found here for keys that the case leaves open"
    )

    @model_validator(mode="after")
    def _observed_within(self) -> Self:
        seen, steps = self.observations, self.time.steps
        last = steps if seen.last is None else seen.last
        if seen.store is None and not seen.first <= last <= steps:
            raise ValueError(
                f"observations: first {seen.first} and last {last} must be increasing and at most "
                f"time.steps = {steps}"
            )
        return self


def load_assimilation(
    source: Path | str | Mapping[str, Any], overrides: Overrides | None = None
) -> AssimilationCase:
    """Read a case, apply overrides and validate it with the case model of its model.

    Args:
        source: the YAML file, or a mapping of what would be in it.
        overrides: values by key, or "section.key=value" each; see `uzushio.load_case`.

    Raises:
        CaseError: one line for each mistake, naming the file and line, the key, the value given
            and what is allowed.
    """
    document = read_document(source, overrides)
    found = model_of(
        document,
        "model",
        registry.known_models(),
        lambda name: registry.model_class(name).case_model,
    )
    case = document.validate(found)
    _check_controls(case, document)
    return case


def _check_controls(case: AssimilationCase, document: Document) -> None:
    """Raise `CaseError` for controls that the model does not have."""
    model = registry.model_class(case.model)
    known = [model.state.name, *(one.name for one in model.parameters)]
    wrong = [
        f"{document.where(('controls', name))}: controls.{name} {unknown(name, known)}"
        for name in case.controls
        if name not in known
    ]
    if wrong:
        raise CaseError("\n".join(wrong))
