"""Pipelines: derived fields, views, triggers and actions, applied to each step of a stream.

A YAML file describes a pipeline (`docs/how-to/pictures.md`). The same file works inside the
solver's process, in readers of a running stream, and on stored steps.

`load` reads a file, and a `Pipeline` applies it to each step. A user-defined kind of action is a
subclass of `Action`, made known by `register`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uzushio._base import lazy

if TYPE_CHECKING:
    from uzushio.pipeline.action import Action as Action
    from uzushio.pipeline.action_table import register as register
    from uzushio.pipeline.context import Context as Context
    from uzushio.pipeline.context import Setup as Setup
    from uzushio.pipeline.model import load as load
    from uzushio.pipeline.need import Need as Need
    from uzushio.pipeline.pipeline import Pipeline as Pipeline
    from uzushio.pipeline.stream import Stream as Stream
else:
    __getattr__, __dir__ = lazy.names(__name__)
