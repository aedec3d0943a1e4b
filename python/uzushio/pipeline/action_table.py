"""Kinds of actions by name, imported when a pipeline's file names them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uzushio._base.config.registry import Registry
from uzushio.errors import PipelineError

if TYPE_CHECKING:
    from uzushio.pipeline.action import Action

#: By key in the file, subclasses of `uzushio.pipeline.action.Action`.
ACTIONS: Registry[type[Action[Any]]] = Registry(
    "the action",
    {
        "acoustics": "uzushio.pipeline.actions.acoustics:Acoustics",
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
    },
    PipelineError,
    "install the package that it needs",
)

action_class = ACTIONS.find


def register(name: str, target: str) -> None:
    """Add a kind of action, "module:Class", or replace one."""
    ACTIONS.register(name, target)
