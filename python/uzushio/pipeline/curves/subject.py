"""What all kinds of curves have."""

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


class Subject(ABC):
    """Computes rows of numbers, and paints them."""

    #: Names of the columns of a row; set by `prepare`.
    columns: list[str]
    #: Whether a figure shows the newest step alone, and not what led to it.
    of_one_step = True

    @abstractmethod
    def prepare(self, stream: Stream) -> Sequence[Need]:
        """Check names and places; raises `PipelineError`, a sentence's end."""

    @abstractmethod
    def rows(self, context: Context) -> np.ndarray:
        """The rows of a step, (rows, columns), at least on rank 0 (collective)."""

    @abstractmethod
    def paint(self, axes: Axes, table: Table) -> None:
        """Draw what is in the table, with labels."""


def name_axis(axes: Axes, stream: Stream, fields: Sequence[str], form: str = "{}") -> list[str]:
    """Label the vertical axis with what the fields have in common.

    Args:
        axes: to label.
        stream: that the fields are of.
        fields: that are drawn.
        form: what is drawn of them, "rms({})" say.

    Returns:
        Labels of the fields for a legend: with their units, where these differ.
    """
    # The unit of an integral depends on how many axes there are to integrate over.
    known = not form.startswith("integral")
    units = [stream.quantity(name).unit if known else "" for name in fields]
    names = [form.format(name) for name in fields]
    if len(set(units)) > 1:
        return [label(name, unit) for name, unit in zip(names, units, strict=True)]
    axes.set_ylabel(label(", ".join(names) if len(names) < 5 else "", units[0]))
    return names
