"""Requests of pages to the run and its replies, on the drawing side; nothing waits for the run."""

from __future__ import annotations

import time

from pydantic import BaseModel, ConfigDict, ValidationError

from uzushio._job.steering import DescribeRequest, SteeringReply
from uzushio.errors import StagingError
from uzushio.viewer.exchange import Exchange
from uzushio.viewer.steering_state import (
    SteerableParameter,
    SteeringAnswer,
    SteeringRequest,
    SteeringState,
)
from uzushio.viewer.steps import Steps

#: Seconds between two requests for the state of steering, which other readers may change.
_DESCRIBE_INTERVAL = 2.0
#: Maximum number of requests without a reply.
MAX_UNANSWERED = 32

_SENTENCES = {
    "stored": "Stored steps cannot be steered.",
    "ended": "The run has ended; there is nothing to steer.",
    "lost": "The run is not reachable.",
}
_ASKING = "The run has not sent its steerable parameters yet; it does after its present step."
_FORBIDDEN = "The case forbids steering (publish.steering)."
_NOT_VALID = "The program that writes this stream cannot be steered from this page."
_LOST = "the connection to the run was lost before its reply"


class _Description(BaseModel):
    """`SteeringReply.steering`; keys of later versions are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    allowed: bool
    holder: str
    publish_every: int
    parameters: dict[str, SteerableParameter]


class SteeringLink:
    """Link between the pages and the run (rank 0).

    Args:
        steps: source of the stream's steps, whose reader sends the requests.
        exchange: requests of pages, and the answers to them.
    """

    def __init__(self, steps: Steps, exchange: Exchange) -> None:
        self._steps, self._exchange = steps, exchange
        self._connection: int | None = None
        self._unanswered: dict[int, SteeringRequest | None] = {}  # None: the state
        self._described = -_DESCRIBE_INTERVAL
        self._known_state: SteeringState | None = None  # of this connection
        self._reported: SteeringState | None = None

    def work(self) -> None:
        """Take replies, send new requests, and report the state of steering, without waiting."""
        for number, text in self._steps.take_replies().items():
            self._take(number, text)
        if self._steps.connection != self._connection:
            self._begin(self._steps.connection)
        for request in self._exchange.take_steering():
            self._send(request)
        self._describe()
        state = self._state()
        if state != self._reported:
            self._reported = state
            self._exchange.report_steering(state)

    def _begin(self, connection: int | None) -> None:
        """Discard the state of an earlier connection."""
        lost = [request for request in self._unanswered.values() if request is not None]
        self._connection, self._known_state = connection, None
        self._unanswered.clear()
        self._described = -_DESCRIBE_INTERVAL
        for request in lost:
            self._exchange.answer_steering(SteeringAnswer(request.number, False, _LOST))

    def _send(self, request: SteeringRequest) -> None:
        refusal = ""
        if self._connection is None:
            refusal = self._state().text
        elif len(self._unanswered) >= MAX_UNANSWERED:
            refusal = "the run has not answered the earlier requests"
        else:
            try:
                number = self._steps.send(request.request.model_dump_json())
                self._unanswered[number] = request
            except StagingError as error:
                refusal = str(error)
        if refusal:
            self._exchange.answer_steering(SteeringAnswer(request.number, False, refusal))

    def _describe(self) -> None:
        """Request the state of steering, if a page is open and the last answer is old."""
        now = time.monotonic()
        if (
            self._connection is None
            or not self._exchange.watched()
            or now - self._described < _DESCRIBE_INTERVAL
            or None in self._unanswered.values()
            or len(self._unanswered) >= MAX_UNANSWERED
        ):
            return
        self._described = now
        try:
            number = self._steps.send(DescribeRequest(request="describe").model_dump_json())
            self._unanswered[number] = None
        except StagingError as error:
            self._known_state = SteeringState(False, f"{str(error).rstrip('.')}.", self._connection)
            self._described = float("inf")  # until the next connection

    def _take(self, number: int, text: str) -> None:
        if number not in self._unanswered:
            return
        request = self._unanswered.pop(number)
        try:
            reply = SteeringReply.model_validate_json(text)
        except ValidationError:
            reply = SteeringReply(ok=False, text="the reply of the run is not valid")
        if request is None:
            self._known_state = self._state_of(reply)
            return
        self._described = -_DESCRIBE_INTERVAL  # it may have changed
        answer = SteeringAnswer(request.number, reply.ok, reply.text, reply.step)
        self._exchange.answer_steering(answer)

    def _state_of(self, reply: SteeringReply) -> SteeringState:
        """Return the state in the reply to `describe`."""
        connection = self._connection or 0
        try:
            description = _Description.model_validate(reply.steering)
        except ValidationError:
            return SteeringState(False, _NOT_VALID, connection)
        return SteeringState(
            description.allowed,
            "" if description.allowed else _FORBIDDEN,
            connection,
            "" if description.holder == "you" else description.holder,
            description.publish_every,
            description.parameters,
        )

    def _state(self) -> SteeringState:
        if self._connection is None:
            return SteeringState(False, _SENTENCES.get(self._steps.state, _SENTENCES["lost"]))
        return self._known_state or SteeringState(False, _ASKING, self._connection)
