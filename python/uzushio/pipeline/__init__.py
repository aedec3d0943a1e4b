"""Pipelines: what is made of the steps of a stream while they come, as a YAML file says.

The same file works inside the solver's process, in readers of a running stream, and on stored
steps. `docs/how-to/pictures.md` describes it.
"""

from __future__ import annotations
