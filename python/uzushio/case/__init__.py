"""Case files: sections common to all solvers, registered solvers, schema and reference of keys.

A solver subclasses `Case`, adds its own sections, each a `Section`, and is registered by
`register`; a model of assimilations by `register_model`. A `Length` may be
written as "2 pi"; a `Count` is a whole number above 0, a `Positive` any number above 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uzushio._base import lazy

if TYPE_CHECKING:
    from uzushio._base.config.lengths import Length as Length
    from uzushio._base.config.section import Count as Count
    from uzushio._base.config.section import Positive as Positive
    from uzushio._base.config.section import Section as Section
    from uzushio.case.model import Case as Case
    from uzushio.case.model import CaseFile as CaseFile
    from uzushio.case.model import load_case as load_case
    from uzushio.case.model import model_of as model_of
    from uzushio.case.model import read_document as read_document
    from uzushio.case.registry import known as known
    from uzushio.case.registry import known_models as known_models
    from uzushio.case.registry import register as register
    from uzushio.case.registry import register_model as register_model
else:
    __getattr__, __dir__ = lazy.names(__name__)
