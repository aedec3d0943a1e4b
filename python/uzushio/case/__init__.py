"""Case files: sections common to all solvers, registered solvers, schema and reference of keys.

A solver subclasses `Case`, adds its own sections, each a `Section`, and is registered by
`register`; a model of assimilations by `register_model`. A `Length` may be written as "2 pi".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uzushio import lazy

if TYPE_CHECKING:
    from uzushio.case.model import Case, CaseFile, load_case, model_of, read_document
    from uzushio.case.registry import known, known_models, register, register_model
    from uzushio.config.lengths import Length
    from uzushio.config.section import Section

__all__ = [
    "Case",
    "CaseFile",
    "Length",
    "Section",
    "known",
    "known_models",
    "load_case",
    "model_of",
    "read_document",
    "register",
    "register_model",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy.names(__name__)
