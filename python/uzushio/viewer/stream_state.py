"""Content of a stream, and state of the link to it, for the pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class FieldDescription:
    """Field of the stream; `range` is None until values were read."""

    name: str
    mesh: str
    unit: str = ""
    components: int = 1
    range: tuple[float, float] | None = None


@dataclass(frozen=True)
class MeshDescription:
    """Mesh of the stream; bounds along x, y and z."""

    name: str
    kind: str
    bounds: tuple[tuple[float, float], tuple[float, float], tuple[float, float]]


@dataclass(frozen=True)
class StreamDescription:
    """Content of the stream, for the page's controls.

    Attributes:
        title: name of the run or of the contact.
        live: a running stream; False: stored steps.
        fields: fields of the stream, without derived ones.
        meshes: meshes of the stream.
        steps: numbers of the stored steps, increasing; empty for a running stream.
        times: times of the stored steps.
        time_unit: unit of times; may be empty.
        length_unit: unit of lengths; may be empty.
        start: settings of a new page's view, as in a pipeline file.
        ranges: ranges of components and derived fields that were drawn.
    """

    title: str
    live: bool
    fields: tuple[FieldDescription, ...]
    meshes: tuple[MeshDescription, ...]
    steps: tuple[int, ...] = ()
    times: tuple[float, ...] = ()
    time_unit: str = ""
    length_unit: str = ""
    start: Mapping[str, Any] = field(default_factory=dict)
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Status:
    """State of the link to the stream; None: not known.

    Attributes:
        state: `waiting` (for the first step), `live`, `lost` (and attaching), `ended`, `stored`.
        text: sentence on the state.
        step: newest step.
        time: time of the newest step.
        age: seconds since it was published.
        rate: steps per second that arrive.
        dropped: steps that the stream dropped for this reader.
        wait: seconds that the solver waits for readers, per step.
        seconds_per_step: duration of a step of the solver.
        time_left: seconds to the end of the run.
        end_step: number of the last step of the run.
        kept: numbers of the steps in the rewind buffer, increasing.
    """

    state: Literal["waiting", "live", "lost", "ended", "stored"]
    text: str = ""
    step: int | None = None
    time: float | None = None
    age: float | None = None
    rate: float | None = None
    dropped: int | None = None
    wait: float | None = None
    seconds_per_step: float | None = None
    time_left: float | None = None
    end_step: int | None = None
    kept: tuple[int, ...] = ()
