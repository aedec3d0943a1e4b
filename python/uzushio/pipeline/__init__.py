"""Pipelines: what is made of the steps of a stream while they come, as a YAML file says.

The same file works inside the solver's process, in readers of a running stream, and on stored
steps. `docs/how-to/pictures.md` describes it.

A kind of action of one's own is a subclass of `Action`, which `register` names. `load` reads a
file, and a `Pipeline` does what it says with each step that it is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uzushio import lazy

if TYPE_CHECKING:
    from uzushio.pipeline.action import Action
    from uzushio.pipeline.action_table import register
    from uzushio.pipeline.context import Context, Setup
    from uzushio.pipeline.model import load
    from uzushio.pipeline.need import Need
    from uzushio.pipeline.pipeline import Pipeline
    from uzushio.pipeline.stream import Stream

__all__ = ["Action", "Context", "Need", "Pipeline", "Setup", "Stream", "load", "register"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy.names(
        __name__,
        {
            "Action": "action",
            "Context": "context",
            "Need": "need",
            "Pipeline": "pipeline",
            "Setup": "context",
            "Stream": "stream",
            "load": "model",
            "register": "action_table",
        },
    )
