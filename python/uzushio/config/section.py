"""Sections of YAML files, validated by pydantic, and the types of their values."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Positive = Annotated[float, Field(gt=0.0)]
Count = Annotated[int, Field(gt=0)]

#: Marks the type of a list for which the file may give a single text.
ONE_OR_MANY = BeforeValidator(lambda given: [given] if isinstance(given, str) else given)


def unit(name: str) -> dict[str, Any]:
    """Return the `json_schema_extra` of a `Field` that names its unit in the reference."""
    return {"unit": name}


class Section(BaseModel):
    """Section of a YAML file: unknown keys, NaN and infinity are errors; immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
