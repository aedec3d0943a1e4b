"""Triggers of actions."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, Self

from pydantic import Field, model_validator

from uzushio._base.config.section import Section


class TriggerSettings(Section):
    """Triggers of an action; it runs at steps at which all given triggers fire."""

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
class Trigger:
    """Triggers of an action in steps and time, which need no values.

    A slow or late reader misses steps: a multiple between two steps fires at the later one.
    """

    settings: TriggerSettings
    _seen: tuple[int, float] | None = field(default=None, init=False)

    def due(self, index: int, time: float) -> bool:
        """Whether the action may run at a step; the step is not recorded."""
        when = self.settings
        if not when.start <= time <= when.end:
            return False
        last_index, last_time = self._seen or (index - 1, -math.inf)
        if when.every is not None and index // when.every == last_index // when.every:
            return False
        return when.every_time is None or _count(time, when.every_time) > _count(
            last_time, when.every_time
        )

    def record_step(self, index: int, time: float) -> None:
        """Record a step as the latest one."""
        self._seen = (index, time)


def _count(time: float, period: float) -> float:
    """Return the number of multiples of the period up to a time, tolerant of rounding."""
    if not math.isfinite(time):
        return time
    return math.floor(time / period * (1.0 + 1e-12) + 1e-9)
