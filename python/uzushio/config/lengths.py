"""Lengths written as products with pi: "4 pi", "4*pi/3", "4/3 pi"."""

from __future__ import annotations

import math
import re
from typing import Annotated

from pydantic import BeforeValidator, Field

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<pi>pi|π)|(?P<operator>[*/]))"
)


def parse_length(value: object) -> object:
    """Evaluate numbers, pi, `*`, `/` and products without a sign, from left to right.

    A value that is not a string is returned unchanged.

    Raises:
        ValueError: if the string is not such an expression, or is not finite.
    """
    if not isinstance(value, str):
        return value
    text, position, result, operator = value.rstrip(), 0, 1.0, "*"
    complaint = 'must be a number or a product with pi such as "4*pi/3" or "4/3 pi"'
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            raise ValueError(complaint)
        position = token.end()
        if token["operator"]:
            if operator:
                raise ValueError(complaint)
            operator = token["operator"]
            continue
        factor = math.pi if token["pi"] else float(token["number"])
        if not operator and token["number"]:  # "1 000" is a mistake, "4 pi" is not
            raise ValueError(complaint)
        if operator == "/" and factor == 0.0:
            raise ValueError("must not divide by zero")
        result = result / factor if operator == "/" else result * factor
        operator = ""
    if operator:
        raise ValueError(complaint)
    if not math.isfinite(result):
        raise ValueError("must be finite")
    return result


_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_PI = r"(?:pi|π)"
#: Expressions that `parse_length` accepts: factors with `*` or `/`, which is optional before pi.
_PRODUCT = rf"^\s*(?:{_NUMBER}|{_PI})(?:\s*[*/]\s*(?:{_NUMBER}|{_PI})|\s*{_PI})*\s*$"

#: Type of a positive length in a section of a case.
Length = Annotated[
    float,
    BeforeValidator(
        parse_length,
        json_schema_input_type=Annotated[float, Field(gt=0.0)]
        | Annotated[str, Field(pattern=_PRODUCT)],
    ),
    Field(gt=0.0, allow_inf_nan=False),
]
