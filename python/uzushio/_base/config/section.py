"""Sections of YAML files, validated by pydantic, and the types of their values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic._internal._model_construction import ModelMetaclass  # has no public name

from uzushio._base.config.case_errors import explain
from uzushio.errors import SettingsError

Positive = Annotated[float, Field(gt=0.0)]
Count = Annotated[int, Field(gt=0)]

#: Marks the type of a list for which the file may give a single text.
ONE_OR_MANY = BeforeValidator(lambda given: [given] if isinstance(given, str) else given)


def unit(name: str) -> dict[str, Any]:
    """Return the `json_schema_extra` of a `Field` that names its unit in the reference."""
    return {"unit": name}


class _Checked(ModelMetaclass):
    """Metaclass of sections that are made in Python: their mistakes are sentences.

    pydantic makes the sections of a file without this call, and keeps all mistakes of a file.
    """

    if not TYPE_CHECKING:

        def __call__(cls, *args: object, **values: object) -> object:  # noqa: N805
            """Return an instance; raise `SettingsError` with one line for each mistake."""
            if args:
                name, first = cls.__name__, next(iter(cls.model_fields), "key")
                raise SettingsError(f"{name}: arguments are given by name, as {name}({first}=...)")
            try:
                return super().__call__(**values)
            except ValidationError as error:
                lines = explain(error, cls, values, lambda key: cls.__name__, "")
                raise SettingsError("\n".join(lines)) from None


class Section(BaseModel, metaclass=_Checked):
    """Section of a YAML file: unknown keys, NaN and infinity are errors; immutable.

    Raises:
        SettingsError: an argument is not valid; one line for each mistake.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
