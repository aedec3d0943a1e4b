"""The solvers by name, imported only when a case asks for one.

Another package adds its solver with an entry point in the group `uzushio.solvers`, or by calling
`register` before the case is loaded.
"""

from __future__ import annotations

import difflib
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from uzushio.errors import CaseError

if TYPE_CHECKING:
    from uzushio.solver import Solver

ENTRY_POINT_GROUP = "uzushio.solvers"

#: Name in the case file to "module:Class".
SOLVERS: dict[str, str] = {"channel": "uzushio.channel.solver:ChannelSolver"}


def register(name: str, target: str) -> None:
    """Add a solver, or replace one.

    Args:
        name: the value of `solver` in a case file.
        target: "module:Class", a subclass of `uzushio.solver.Solver` with a `case_model`.
    """
    SOLVERS[name] = target


def known() -> dict[str, str]:
    """All solvers: the built-in and registered ones, and those of installed packages."""
    installed = {entry.name: entry.value for entry in entry_points(group=ENTRY_POINT_GROUP)}
    return installed | SOLVERS


def solver_class(name: str) -> type[Solver]:
    """Import the solver called `name`.

    Raises:
        CaseError: if there is no such solver, or its module cannot be imported.
    """
    targets = known()
    if name not in targets:
        raise CaseError(f"solver '{name}' {unknown(name, list(targets))}")
    module, _, attribute = targets[name].partition(":")
    try:
        found: type[Solver] = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise CaseError(
            f"solver '{name}' cannot be loaded from {targets[name]} ({error}); "
            "install it, or rebuild Uzushio's compiled core."
        ) from error
    return found


def unknown(name: str, allowed: list[str]) -> str:
    """End a sentence on `name`, which is not among `allowed`: name the nearest of them."""
    near = difflib.get_close_matches(name, allowed, n=1, cutoff=0.5)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    return f"is not known{hint} (allowed: {', '.join(allowed)})"
