"""When an action runs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, Self

from pydantic import Field, model_validator

from uzushio.config.section import Section


class When(Section):
    """The triggers of an action; it runs at steps at which all that are given say so."""

    every: Annotated[int, Field(gt=0)] | None = Field(
        None, description="at the first step at or after each multiple of so many steps"
    )
    every_time: Annotated[float, Field(gt=0.0)] | None = Field(
        None, description="at the first step at or after each multiple of so much time"
    )
    when: str | None = Field(
        None, description="an expression of reductions over fields, as max(abs(u)) > 25"
    )
    start: float = Field(-math.inf, allow_inf_nan=True, description="not before this time")
    end: float = Field(math.inf, allow_inf_nan=True, description="not after this time")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.start > self.end:
            raise ValueError("start must not be after end")
        return self


@dataclass
class Clock:
    """What of an action's triggers is known without looking at a field.

    Steps may be missing, for a reader that is slow or late: a multiple that falls between two
    steps counts at the later one.
    """

    settings: When
    _seen: tuple[int, float] | None = field(default=None, init=False)

    def due(self, index: int, time: float) -> bool:
        """Whether the action may run at a step; does not count it as seen."""
        when = self.settings
        if not when.start <= time <= when.end:
            return False
        last_index, last_time = self._seen or (index - 1, -math.inf)
        if when.every is not None and index // when.every == last_index // when.every:
            return False
        return when.every_time is None or _count(time, when.every_time) > _count(
            last_time, when.every_time
        )

    def saw(self, index: int, time: float) -> None:
        """The step has been there."""
        self._seen = (index, time)


def _count(time: float, period: float) -> float:
    """Multiples of the period up to a time; one that is missed by rounding is reached."""
    if not math.isfinite(time):
        return time
    return math.floor(time / period * (1.0 + 1e-12) + 1e-9)
