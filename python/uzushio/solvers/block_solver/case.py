"""Sections of the case file that solvers of blocks have in common."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from uzushio.case.model import Case, Statistics, Time
from uzushio.errors import SettingsError

SCHEMES = Literal["ssp_rk3", "wray_rk3", "carpenter_kennedy_rk4"]


class BlockTime(Time):
    """Length of the run and of its steps, and the scheme of integration in time."""

    scheme: SCHEMES | None = Field(
        default=None, description="Runge–Kutta scheme; null: the one that the solver declares"
    )


class BlockStatistics(Statistics):
    """Times of the samples for averages, the averaged fields, and the axes they are averaged over.

    Rank 0 holds the averages: name the homogeneous axes of a large mesh in `over`.
    """

    fields: list[str] = Field(
        default=[], description="names of the fields whose mean and variance are computed"
    )
    over: list[Literal["i", "j", "k"]] = Field(
        default=[], description="index axes of each zone over which values are averaged as well"
    )
    covariances: list[tuple[str, str]] = Field(
        default=[],
        description="pairs of `fields` whose covariances are computed, such as [velocity, "
        "temperature]; a pair of a field with itself: of its components",
    )

    @model_validator(mode="after")
    def _pairs_are_averaged(self) -> Self:
        for pair in self.covariances:
            for name in pair:
                if name not in self.fields:
                    known = ", ".join(self.fields) or "none"
                    raise SettingsError(
                        f"'{name}' is not among statistics.fields: {known}", ("covariances",)
                    )
        return self


class BlockCase(Case):
    """Case file of a solver of blocks; the solver's case adds its own sections."""

    time: BlockTime
    statistics: BlockStatistics = BlockStatistics()
