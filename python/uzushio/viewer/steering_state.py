"""State of steering, requests of pages, and the replies of the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from uzushio._job.steering import (
    CheckpointRequest,
    EveryRequest,
    HoldRequest,
    ReleaseRequest,
    SetRequest,
    StopRequest,
)

#: Requests that a page may send.
PageRequest = (
    HoldRequest | ReleaseRequest | SetRequest | EveryRequest | CheckpointRequest | StopRequest
)


@dataclass(frozen=True)
class SteerableParameter:
    """Parameter that the solver declares; a limit is None if there is none."""

    value: float
    low: float | None = None
    high: float | None = None
    unit: str = "1"
    description: str = ""


@dataclass(frozen=True)
class SteeringState:
    """State of steering: whether the run takes requests, its parameters and the holder.

    Attributes:
        available: whether the run takes requests.
        text: sentence for the user if it does not.
        connection: number of the connection to the run; a later one does not hold the right.
        holder: another reader of the stream that holds the right to steer; "" if there is none.
        publish_every: number of steps between published ones.
        parameters: by name.
    """

    available: bool
    text: str = ""
    connection: int = 0
    holder: str = ""
    publish_every: int | None = None
    parameters: Mapping[str, SteerableParameter] = field(default_factory=dict)


@dataclass(frozen=True)
class SteeringRequest:
    """Request of a page, with a number for its answer."""

    number: int
    request: PageRequest


@dataclass(frozen=True)
class SteeringAnswer:
    """Answer to a request.

    Attributes:
        number: number of the request.
        ok: whether it was done.
        text: sentence for the user.
        step: after which it was applied.
    """

    number: int
    ok: bool
    text: str = ""
    step: int | None = None
