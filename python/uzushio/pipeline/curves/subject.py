"""Interface of the kinds of curves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from uzushio.pipeline.chart import Chart
    from uzushio.pipeline.context import Context
    from uzushio.pipeline.need import Need
    from uzushio.pipeline.stream import Stream


class PlotSubject(ABC):
    """Computation of rows of numbers, and their curves."""

    #: Names of the columns of a row; set by `prepare`.
    columns: list[str]
    #: Whether a chart shows only the latest step.
    of_one_step = True

    @abstractmethod
    def prepare(self, stream: Stream) -> Sequence[Need]:
        """Check names and positions; raises `PipelineError` without full stop."""

    @abstractmethod
    def rows(self, context: Context) -> np.ndarray:
        """Compute the rows of a step, (rows, columns), at least on rank 0 (collective)."""

    @abstractmethod
    def chart(self, rows: np.ndarray) -> Chart:
        """Return the curves.

        Args:
            rows: rows of the latest step if `of_one_step`, else of all steps; (rows, 2 + columns),
                the first two columns are number and time of the step.
        """
