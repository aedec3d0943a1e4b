"""Registry of solvers, models of assimilations and their tunables, imported at first use.

A package adds a solver by an entry point in the group `uzushio.solvers` (a model in
`uzushio.models`), or by a call of `register` (`register_model`) before the case is loaded; a case
may name the file of a model instead. Their tunables are entry points in the group
`uzushio.tunables`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from uzushio._base.config.names import unknown
from uzushio._base.config.user_function import load_module
from uzushio.errors import CaseError

if TYPE_CHECKING:
    from uzushio.assimilation.model import Model
    from uzushio.solvers.contract import Solver
    from uzushio.tuning.declared import Declare

ENTRY_POINT_GROUP = "uzushio.solvers"
MODEL_ENTRY_POINT_GROUP = "uzushio.models"
TUNABLES_ENTRY_POINT_GROUP = "uzushio.tunables"

#: Name in the case file to "module:Class".
SOLVERS: dict[str, str] = {
    "channel": "uzushio.solvers.channel.solver:ChannelSolver",
    "thermal": "uzushio.solvers.thermal.solver:ThermalSolver",
}

#: Name in the case file of an assimilation to "module:Class".
MODELS: dict[str, str] = {"phasefield": "uzushio.assimilation.phasefield.model:PhaseFieldModel"}

#: Name of a solver or model to "module:function", which declares its tunables.
TUNABLES: dict[str, str] = {"phasefield": "uzushio.assimilation.phasefield.tunables:declare"}


def register(name: str, target: str) -> None:
    """Add or replace a solver.

    Args:
        name: the value of `solver` in a case file.
        target: "module:Class", a subclass of `uzushio.solvers.contract.Solver` with a `case_model`.
    """
    SOLVERS[name] = target


def register_model(name: str, target: str) -> None:
    """Add or replace a model of assimilations.

    Args:
        name: the value of `model` in a case file.
        target: "module:Class", a subclass of `uzushio.assimilation.model.Model`.
    """
    MODELS[name] = target


def known() -> dict[str, str]:
    """Return all solvers: the built-in and registered ones, and those of installed packages."""
    return _installed(ENTRY_POINT_GROUP) | SOLVERS


def known_models() -> dict[str, str]:
    """Return all models of assimilations: built-in, registered, and of installed packages."""
    return _installed(MODEL_ENTRY_POINT_GROUP) | MODELS


def solver_class(name: str) -> type[Solver]:
    """Import the solver called `name`.

    Raises:
        CaseError: if there is no such solver, or its module cannot be imported.
    """
    found: type[Solver] = _imported("solver", name, known())
    return found


def model_class(name: str) -> type[Model]:
    """Import the model of assimilations called `name`, or from the file "FILE.py:Class".

    Raises:
        CaseError: as `solver_class`; or the class is no model, or lacks a required member.
    """
    file, class_name = file_of_class(name)
    found: Any = (
        _imported("model", name, known_models()) if file is None else _of_file(file, class_name)
    )
    if not hasattr(found, "missing"):
        raise CaseError(f"model '{name}' is not a subclass of uzushio.assimilation.Model.")
    if missing := found.missing():
        raise CaseError(
            f"model '{name}': the class {found.__name__} needs {' and '.join(missing)}; "
            "docs/how-to/own-model.md describes a model."
        )
    model: type[Model] = found
    return model


def file_of_class(name: str) -> tuple[Path | None, str]:
    """Split "FILE.py:Class"; the file is None for other names."""
    file, colon, class_name = name.rpartition(":")
    return (Path(file), class_name) if colon and file.endswith(".py") else (None, name)


def _of_file(file: Path, class_name: str) -> Any:
    """Return a class of a Python file, executed anew only if it has changed."""
    try:
        changed = file.stat().st_mtime_ns
    except OSError:
        raise CaseError(f"model: there is no file {file}.") from None
    try:
        module = _module_of_file(file, changed)
    except ValueError as error:
        raise CaseError(f"model: {error}.") from error
    if not hasattr(module, class_name):
        raise CaseError(f"model: {file} has no class {class_name}.")
    return getattr(module, class_name)


@cache
def _module_of_file(file: Path, changed: int) -> ModuleType:
    return load_module(file)


def known_tunables() -> dict[str, str]:
    """Return all solvers and models with tunables: built-in, and of installed packages."""
    return _installed(TUNABLES_ENTRY_POINT_GROUP) | TUNABLES


def tunables(name: str) -> Declare:
    """Import the function that declares the tunables of a solver or model; else raise `CaseError`.

    The function takes the case file, overrides and the number of ranks, and returns a
    `uzushio.tuning.subject.Subject`.
    """
    found: Declare = _imported("tunable solver or model", name, known_tunables())
    return found


@cache  # the search reads a file of each installed package
def _installed(group: str) -> dict[str, str]:
    return {entry.name: entry.value for entry in entry_points(group=group)}


def _imported(kind: str, name: str, targets: dict[str, str]) -> Any:
    if name not in targets:
        raise CaseError(f"{kind} '{name}' {unknown(name, list(targets))}")
    module, _, attribute = targets[name].partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise CaseError(
            f"{kind} '{name}' cannot be loaded from {targets[name]} ({error}); "
            "install it, or rebuild Uzushio's compiled core."
        ) from error
