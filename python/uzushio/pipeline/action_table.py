"""Kinds of actions by name, imported when a pipeline's file names them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from uzushio._base.config.names import unknown
from uzushio.errors import PipelineError

if TYPE_CHECKING:
    from uzushio.pipeline.action import Action

#: From key in the file to "module:Class".
ACTIONS: dict[str, str] = {
    "picture": "uzushio.pipeline.actions.picture:Picture",
    "movie": "uzushio.pipeline.actions.movie:Movie",
    "slice": "uzushio.pipeline.actions.layers:Slice",
    "isosurface": "uzushio.pipeline.actions.layers:Isosurface",
    "volume": "uzushio.pipeline.actions.layers:Volume",
    "count": "uzushio.pipeline.actions.count:Count",
    "extract": "uzushio.pipeline.actions.extract:Extract",
    "plot": "uzushio.pipeline.actions.plot:Plot",
    "probe": "uzushio.pipeline.actions.probe:Probe",
    "python": "uzushio.pipeline.actions.python:Python",
    "statistics": "uzushio.pipeline.actions.statistics:Statistics",
}


def register(name: str, target: str) -> None:
    """Add a kind of action, or replace one.

    Args:
        name: the action's key in a pipeline's file.
        target: "module:Class", a subclass of `uzushio.pipeline.action.Action`.
    """
    ACTIONS[name] = target


def action_class(name: str) -> type[Action[Any]]:
    """Import the class of the actions called `name`.

    Raises:
        PipelineError: the name is unknown, or its module cannot be imported.
    """
    if name not in ACTIONS:
        raise PipelineError(f"the action '{name}' {unknown(name, list(ACTIONS))}")
    module, _, attribute = ACTIONS[name].partition(":")
    try:
        found: type[Action[Any]] = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise PipelineError(
            f"the action '{name}' cannot be loaded from {ACTIONS[name]} ({error}); install the "
            "package that it needs"
        ) from error
    return found
