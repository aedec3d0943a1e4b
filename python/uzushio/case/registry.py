"""Registries of solvers, models of assimilations and their tunables.

A package adds a solver by an entry point in the group `uzushio.solvers` (a model in
`uzushio.models`), or by a call of `register` (`register_model`) before the case is loaded; a case
may name the file of a model instead. Their tunables are entry points in the group
`uzushio.tunables`.
"""

from __future__ import annotations

from typing import Any

from uzushio._base.config.registry import Registry
from uzushio.errors import CaseError

_ADVICE = "install it, or rebuild Uzushio's compiled core."

#: By name in the case file, subclasses of `uzushio.solvers.contract.Solver` with a `case_model`.
SOLVERS: Registry[Any] = Registry(
    "solver",
    {
        "channel": "uzushio.solvers.channel.solver:ChannelSolver",
        "jet": "uzushio.solvers.jet.solver:JetSolver",
        "thermal": "uzushio.solvers.thermal.solver:ThermalSolver",
    },
    CaseError,
    _ADVICE,
    "uzushio.solvers",
)

#: By name in the case file of an assimilation, subclasses of `uzushio.assimilation.model.Model`.
MODELS: Registry[Any] = Registry(
    "model",
    {"phasefield": "uzushio.assimilation.phasefield.model:PhaseFieldModel"},
    CaseError,
    _ADVICE,
    "uzushio.models",
)

#: By name of a solver or model, functions that declare its tunables. They take the case file,
#: overrides and the number of ranks, and return a `uzushio.tuning.subject.Subject`.
TUNABLES: Registry[Any] = Registry(
    "tunable solver or model",
    {
        "phasefield": "uzushio.assimilation.phasefield.tunables:declare",
        "channel": "uzushio.solvers.channel.tunables:declare",
        "thermal": "uzushio.solvers.thermal.tunables:declare",
    },
    CaseError,
    _ADVICE,
    "uzushio.tunables",
)

solver_class = SOLVERS.find


def register(name: str, target: str) -> None:
    """Add or replace a solver: "module:Class", a subclass of `uzushio.solvers.contract.Solver`."""
    SOLVERS.register(name, target)


def register_model(name: str, target: str) -> None:
    """Add or replace a model: "module:Class", a subclass of `uzushio.assimilation.model.Model`."""
    MODELS.register(name, target)


def known() -> dict[str, str]:
    """Return all solvers: the built-in and registered ones, and those of installed packages."""
    return SOLVERS.known()


def known_models() -> dict[str, str]:
    """Return all models of assimilations: built-in, registered, and of installed packages."""
    return MODELS.known()
