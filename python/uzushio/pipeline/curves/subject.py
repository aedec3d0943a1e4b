"""Interface of the kinds of curves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from uzushio.pipeline.figure import label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from uzushio.pipeline.context import Context
    from uzushio.pipeline.need import Need
    from uzushio.pipeline.stream import Stream
    from uzushio.pipeline.table import Table


class PlotSubject(ABC):
    """Computation of rows of numbers, and their drawing."""

    #: Names of the columns of a row; set by `prepare`.
    columns: list[str]
    #: Whether a figure shows only the latest step.
    of_one_step = True

    @abstractmethod
    def prepare(self, stream: Stream) -> Sequence[Need]:
        """Check names and positions; raises `PipelineError` without full stop."""

    @abstractmethod
    def rows(self, context: Context) -> np.ndarray:
        """Compute the rows of a step, (rows, columns), at least on rank 0 (collective)."""

    @abstractmethod
    def paint(self, axes: Axes, table: Table) -> None:
        """Draw the table, with labels."""


def name_axis(axes: Axes, stream: Stream, fields: Sequence[str], form: str = "{}") -> list[str]:
    """Label the vertical axis with names and the common unit of fields.

    Args:
        axes: the axes.
        stream: stream of the fields.
        fields: drawn fields.
        form: format of a drawn quantity, such as "rms({})".

    Returns:
        Labels of the fields for a legend, with units if these differ.
    """
    # The unit of an integral depends on the number of axes.
    known = not form.startswith("integral")
    units = [stream.quantity(name).unit if known else "" for name in fields]
    names = [form.format(name) for name in fields]
    if len(set(units)) > 1:
        return [label(name, unit) for name, unit in zip(names, units, strict=True)]
    axes.set_ylabel(label(", ".join(names) if len(names) < 5 else "", units[0]))
    return names
