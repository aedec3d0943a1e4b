"""Numbers written as products: lengths with pi, "4*pi/3", "4/3 pi"; coefficients, "1/120"."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from uzushio._base.config.quantities import within_magnitude

_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_PI = r"(?:pi|π)"
_FACTOR = rf"(?:{_NUMBER}|{_PI})"
#: Factors with `*` or `/`, which is optional before pi: "4 pi" is a product, "1 000" a mistake.
_PRODUCT = rf"^\s*{_FACTOR}(?:\s*[*/]\s*{_FACTOR}|\s*{_PI})*\s*$"


def parse_length(value: object) -> object:
    """Evaluate numbers, pi, `*`, `/` and products without a sign, from left to right.

    A value that is not a string is returned unchanged.

    Raises:
        ValueError: if the string is not such an expression, or is not finite.
    """
    if not isinstance(value, str):
        return value
    if re.fullmatch(_PRODUCT, value) is None:
        raise ValueError('must be a number or a product with pi such as "4*pi/3" or "4/3 pi"')
    result = 1.0
    for operator, text in re.findall(rf"([*/]?)\s*({_FACTOR})", value):
        factor = math.pi if text in ("pi", "π") else float(text)
        if operator == "/" and factor == 0.0:
            raise ValueError("must not divide by zero")
        result = result / factor if operator == "/" else result * factor
    if not math.isfinite(result):
        raise ValueError("must be finite")
    return result


def _parsed(number: Any) -> BeforeValidator:
    """Return the validator of expressions for a type of numbers, with its schema."""
    text = Annotated[str, Field(pattern=_PRODUCT)]
    return BeforeValidator(parse_length, json_schema_input_type=number | text)


#: Type of a positive length or coefficient in a section of a case.
Length = Annotated[
    float,
    _parsed(Annotated[float, Field(gt=0.0)]),
    Field(gt=0.0, allow_inf_nan=False),
    AfterValidator(within_magnitude),
]
#: Type of a coefficient that may be 0.
Coefficient = Annotated[
    float, _parsed(Annotated[float, Field(ge=0.0)]), Field(ge=0.0, allow_inf_nan=False)
]
