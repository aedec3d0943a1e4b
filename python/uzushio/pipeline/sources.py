"""Section `sources` of a pipeline's file: derived fields."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from uzushio._base.config.section import Section

Kind = Literal[
    "vorticity",
    "q_criterion",
    "lambda2",
    "gradient",
    "magnitude",
    "divergence",
    "enstrophy",
    "strain_rate",
]
#: Name of a field in an expression or a list of fields.
_NAME = re.compile(r"[^\W\d]\w*")
Names = Annotated[list[str], Field(min_length=1)]


class SourceSettings(Section):
    """Derived field: an expression, or a kind of quantity with its input fields.

    Text alone is an expression.
    """

    expression: str | None = Field(None, description="of fields, coordinates x y z, and numbers")
    kind: Kind | None = Field(None, description="derived quantity")
    of: str | Names | None = Field(None, description="a field, or the three of a velocity")
    axis: Literal["x", "y", "z"] | None = Field(
        None, description="of a gradient: this component alone"
    )
    unit: str = ""
    label: str = Field("", description="name in legends")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, given: Any) -> Any:
        return {"expression": given} if isinstance(given, str) else given

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.expression is None) == (self.kind is None):
            raise ValueError("needs 'expression' or 'kind' (and not both)")
        if (self.of is None) != (self.kind is None):
            raise ValueError("needs 'of' with 'kind', and not with 'expression'")
        if self.axis is not None and self.kind != "gradient":
            raise ValueError("has an 'axis', which only the kind gradient takes")
        return self

    @property
    def fields(self) -> list[str]:
        """Input fields in the given order; none for an expression."""
        return [self.of] if isinstance(self.of, str) else list(self.of or ())


def used_sources(
    sources: Mapping[str, SourceSettings], texts: Iterable[str]
) -> dict[str, SourceSettings]:
    """Return the sources that fields or expressions name, and those on which these depend."""
    used = set[str]()
    waiting = list(texts)
    while waiting:
        for name in _NAME.findall(waiting.pop()):
            if name in sources and name not in used:
                used.add(name)
                waiting += [sources[name].expression or "", *sources[name].fields]
    return {name: source for name, source in sources.items() if name in used}
