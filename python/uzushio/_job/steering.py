"""Steering: requests of viewers to a run, applied by all ranks after the same step.

A request is the JSON text of a command of the stream (`Reader.send`), and each has one reply, a
`SteeringReply` as JSON. Nothing waits for a viewer. One reader at a time holds the right to steer.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from uzushio._base.config.names import unknown
from uzushio._base.config.section import Count, Section
from uzushio._job.job import Job
from uzushio._job.run_folder import STEERING
from uzushio.errors import StagingError
from uzushio.solvers.contract import Solver
from uzushio.staging.writer import Command

if TYPE_CHECKING:
    from uzushio._job.publish import Publisher


class DescribeRequest(Section):
    """Request for the state of steering, `SteeringReply.steering`."""

    request: Literal["describe"]


class HoldRequest(Section):
    """Request for the right to steer. `by` names the person in the record."""

    request: Literal["hold"]
    by: Annotated[str, Field(max_length=200)] = ""


class ReleaseRequest(Section):
    """Return of the right to steer; a reader that detaches returns it too."""

    request: Literal["release"]


class SetRequest(Section):
    """New value of a parameter, from the next step on."""

    request: Literal["set"]
    name: Annotated[str, Field(max_length=200)]
    value: float


class CheckpointRequest(Section):
    """Request for a checkpoint after the next step."""

    request: Literal["checkpoint"]


class EveryRequest(Section):
    """Number of steps between published ones."""

    request: Literal["publish_every"]
    steps: Count


class StopRequest(Section):
    """End of the run after a checkpoint, as by SIGTERM."""

    request: Literal["stop"]


Request = (
    DescribeRequest
    | HoldRequest
    | ReleaseRequest
    | SetRequest
    | CheckpointRequest
    | EveryRequest
    | StopRequest
)
_REQUEST: TypeAdapter[Request] = TypeAdapter(Annotated[Request, Field(discriminator="request")])


class SteeringReply(Section):
    """Reply to a request.

    Attributes:
        ok: whether the request is or was done.
        text: sentence for the user.
        step: step after which the request was applied.
        steering: reply to `describe`: allowed, holder, publish_every, and parameters by name with
            value, low, high, unit and description.
    """

    ok: bool
    text: str = ""
    step: int | None = None
    steering: dict[str, Any] | None = None


class Steering:
    """Requests to a run.

    Args:
        solver: solver of the run.
        publisher: publisher of the run's stream.
        job: job of the run; the vote tells all ranks that there are requests.
        allowed: whether the case allows steering.
        folder: folder of the run, for the record.
    """

    def __init__(
        self, solver: Solver, publisher: Publisher, job: Job, allowed: bool, folder: Path
    ) -> None:
        self._solver, self._publisher, self._job = solver, publisher, job
        self._allowed, self._record = allowed, folder / STEERING
        self._holder: int | None = None
        self._by = ""
        self._agreed: list[tuple[Command, Request]] = []  # for all ranks; known on rank 0
        self._due = job.vote.add(self._poll, rank=0)

    def apply(self) -> bool:
        """Apply the requests of the last vote; return whether a checkpoint is due (collective)."""
        if not self._due.agreed:
            return False
        requests, self._agreed = self._job.comm.bcast(self._agreed), []
        for command, request in requests:
            reply = self._applied(request)
            if self._job.rank == 0:
                self._reply(command, reply)
        return any(isinstance(request, CheckpointRequest) for _, request in requests)

    def _poll(self) -> int:
        """Take new commands on rank 0; return the number of requests for all ranks."""
        for command in self._publisher.take_commands():
            if command.left:
                self._release(command.reader)
                continue
            try:
                request = _REQUEST.validate_json(command.text)
                reply = self._answer(command.reader, request)
            except ValidationError as error:
                reply = _refused(f"the request is invalid: {_mistakes(error)}")
            if reply is not None:
                self._reply(command, reply)
            else:
                self._agreed.append((command, request))
        return len(self._agreed)

    def _reply(self, command: Command, reply: SteeringReply) -> None:
        """Reply on rank 0; a reply that cannot be sent is a warning."""
        try:
            self._publisher.reply(command, reply.model_dump_json())
        except StagingError as error:
            self._job.warn(f"A request of a viewer got no reply: {error}")

    def _answer(self, reader: int, request: Request) -> SteeringReply | None:
        """Answer a request that rank 0 can answer alone; None for the others."""
        if isinstance(request, DescribeRequest):
            return SteeringReply(ok=True, steering=self._description(reader))
        if isinstance(request, ReleaseRequest):
            self._release(reader)
            return SteeringReply(ok=True)
        if not self._allowed:
            return _refused("the case forbids it (publish.steering)")
        if self._holder not in (None, reader):
            return _refused(f"{self._by or 'another viewer'} holds the right to steer")
        if isinstance(request, HoldRequest):
            self._holder, self._by = reader, request.by
            return SteeringReply(ok=True)
        if self._holder != reader:
            return _refused("request the right to steer first (hold)")
        return self._refusal(request)

    def _refusal(self, request: Request) -> SteeringReply | None:
        """Return why a request of the holder cannot be applied; None if it can."""
        if not isinstance(request, SetRequest):
            return None
        parameters = self._solver.parameters()
        parameter = parameters.get(request.name)
        if parameter is None:
            return _refused(
                f"the parameter '{request.name}' {unknown(request.name, list(parameters))}"
            )
        if not parameter.low <= request.value <= parameter.high:
            unit = "" if parameter.unit == "1" else f" {parameter.unit}"
            return _refused(
                f"{request.name} must be from {parameter.low:g} to {parameter.high:g}{unit}, not "
                f"{request.value:g}"
            )
        return None

    def _release(self, reader: int) -> None:
        if self._holder == reader:
            self._holder, self._by = None, ""

    def _description(self, reader: int) -> dict[str, Any]:
        parameters = {
            name: asdict(parameter) for name, parameter in self._solver.parameters().items()
        }
        holder = {None: "", reader: "you"}.get(self._holder, self._by or "another viewer")
        return {
            "allowed": self._allowed,
            "holder": holder,
            "publish_every": self._publisher.every,
            "parameters": parameters,
        }

    def _applied(self, request: Request) -> SteeringReply:
        """Apply a request on all ranks, and record it."""
        solver, step = self._solver, self._solver.step_index
        before: float | None = None
        text = f"applied after step {step}"
        if isinstance(request, SetRequest):
            before = solver.parameters()[request.name].value
            try:
                solver.steer(request.name, request.value)
            except (KeyError, ValueError) as error:  # the same on all ranks
                return _refused(str(error))
        elif isinstance(request, EveryRequest):
            before, self._publisher.every = self._publisher.every, request.steps
        elif isinstance(request, StopRequest):
            self._job.stop.ask()
            text = f"the run stops after step {step + 1} with a checkpoint"
        elif isinstance(request, CheckpointRequest):
            text = f"a checkpoint of step {step} is written"
        self._write(request, before)
        return SteeringReply(ok=True, text=text, step=step)

    def _write(self, request: Request, before: float | None) -> None:
        """Append a request to the record, on rank 0; a failure is a warning."""
        if self._job.rank != 0:
            return
        line = {
            "step": self._solver.step_index,
            "time": self._solver.time,
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "by": self._by,
            **request.model_dump(),
            "before": before,
        }
        self._job.say(f"Steered after step {line['step']}: {_sentence(request, before)}.")
        try:
            with self._record.open("a", encoding="utf-8") as file:
                file.write(json.dumps({k: v for k, v in line.items() if v is not None}) + "\n")
        except OSError as error:
            self._job.warn(f"{self._record} cannot be written: {error.strerror}.")


def _refused(reason: str) -> SteeringReply:
    return SteeringReply(ok=False, text=reason)


def _mistakes(error: ValidationError) -> str:
    mistakes = error.errors(include_url=False, include_input=False)[:3]
    return "; ".join(
        f"{'.'.join(map(str, mistake['loc'][1:]))} {mistake['msg']}" for mistake in mistakes
    )


def _sentence(request: Request, before: float | None) -> str:
    """Return a request in words."""
    if isinstance(request, SetRequest):
        return f"{request.name} from {before:g} to {request.value:g}"
    if isinstance(request, EveryRequest):
        return f"every {request.steps} steps published instead of every {before:g}"
    return request.request
