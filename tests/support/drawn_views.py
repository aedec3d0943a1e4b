"""Drawing side of a live view without a solver: a picture is one colour, given by its request."""

from __future__ import annotations

import threading
import time
import zlib
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from uzushio.viewer.exchange import DrawnPicture, DrawRequest, Exchange, ProbeValue
from uzushio.viewer.plot_state import PlotRequest
from uzushio.viewer.steering_state import (
    SteerableParameter,
    SteeringAnswer,
    SteeringRequest,
    SteeringState,
)
from uzushio.viewer.stream_state import FieldDescription, MeshDescription, Status, StreamDescription

BOUNDS = ((0.0, 4.0), (0.0, 2.0), (-1.0, 1.0))
RUNNING = StreamDescription(
    "Channel at Re = 180",
    True,
    (
        FieldDescription("u", "box", "m/s", 1, (-1.0, 3.0)),
        FieldDescription("p", "box"),
        FieldDescription("velocity", "box", "m/s", 3),
    ),
    (MeshDescription("box", "rectilinear", BOUNDS),),
    time_unit="s",
    length_unit="m",
    start={"layers": [{"kind": "slice", "field": "u"}], "camera": {"name": "isometric"}},
)
STEERING = SteeringState(
    True,
    connection=1,
    publish_every=5,
    parameters={
        "cfl": SteerableParameter(0.3, 0.05, 1.5, "1", "Courant number of the time step"),
        "pressure_gradient": SteerableParameter(1.0, 0.0, None, "Pa/m", "driving the flow"),
    },
)
#: Limits of the colours in all pictures.
LIMITS = (-0.75, 2.5)


def color_of(request: DrawRequest, step: int) -> tuple[int, int, int]:
    """Return the colour of the picture of a request; neighbouring colours differ clearly."""
    settings = request.settings.model_dump(mode="json", exclude={"size", "text_size"})
    digest = zlib.crc32(repr((settings, sorted(request.sources), step)).encode())
    red, green, blue = (32 + 64 * ((digest >> shift) & 3) for shift in (0, 9, 18))
    return red, green, blue


@dataclass
class DrawingSide:
    """Thread that answers requests; a running stream has the steps that `advance` states.

    Attributes:
        exchange: state shared with the gateway.
        description: description of the stream.
        requests: all requests that were drawn.
        probes: all positions of the pointer.
        fails: request -> message and path of a failure, or None.
        steering: what can be steered; None: nothing is said about it.
        steered: requests of pages to the run, without those for the right to steer.
        seconds: duration of each picture.
        dropped: steps that are no longer kept.
        plots: all requests for plots.
        waves: amplitude of waves of grey around the colour, which are 0 in the middle.
    """

    exchange: Exchange
    description: StreamDescription = RUNNING
    requests: list[DrawRequest] = field(default_factory=list)
    probes: list[tuple[float, float]] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    failures: dict[str, tuple[str, tuple[str | int, ...]]] = field(default_factory=dict)
    steering: SteeringState | None = STEERING
    steered: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    dropped: set[int] = field(default_factory=set)
    plots: list[PlotRequest] = field(default_factory=list)
    waves: float = 0.0

    def __post_init__(self) -> None:
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin with the description, and its stored steps or step 10."""
        self.exchange.describe(self.description)
        if self.steering is not None:
            self.exchange.report_steering(self.steering)
        self.advance(*(self.description.steps or (10,)))
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._ending.set()
        self._thread.join(10.0)

    def advance(self, *steps: int) -> None:
        """Add newest steps."""
        self.steps += steps
        state = "live" if self.description.live else "stored"
        kept = tuple(self.steps) if self.description.live else ()
        step, pace = self.steps[-1], {"wait": 0.004, "seconds_per_step": 0.25, "time_left": 7260.0}
        self.exchange.report(
            Status(state, "", step, 0.1 * step, 0.5, 2.0, 3, **pace, end_step=500, kept=kept)
        )
        self.exchange.advance(self.steps[-1])

    def _run(self) -> None:
        while not self._ending.is_set():
            request = self.exchange.take(0.02)
            if request is not None:
                self._answer(request)
            if (plots := self.exchange.take_plots()) is not None:
                self.plots.append(plots)
            for command in self.exchange.take_steering():
                self._steer(command)

    def _steer(self, asked: SteeringRequest) -> None:
        """Answer as a run does: with an error if a parameter is above its limit."""
        assert self.steering is not None
        content = asked.request.model_dump()
        if content["request"] in ("hold", "release"):
            self.exchange.answer_steering(SteeringAnswer(asked.number, True))
            return
        self.steered.append(content)
        step = self.steps[-1]
        if content["request"] == "set":
            parameter = self.steering.parameters[content["name"]]
            if content["value"] > (parameter.high or 1e9):
                text = f"{content['name']} must be from {parameter.low} to {parameter.high}"
                self.exchange.answer_steering(SteeringAnswer(asked.number, False, text))
                return
            changed = {content["name"]: replace(parameter, value=content["value"])}
            self.steering = replace(
                self.steering, parameters={**self.steering.parameters, **changed}
            )
        elif content["request"] == "publish_every":
            self.steering = replace(self.steering, publish_every=content["steps"])
        answer = SteeringAnswer(asked.number, True, f"applied after step {step}", step)
        self.exchange.answer_steering(answer)
        self.exchange.report_steering(self.steering)

    def _answer(self, request: DrawRequest) -> None:
        value = None
        if request.probe is not None:
            self.probes.append(request.probe)
            right, down = request.probe
            value = ProbeValue((4.0 * right, 2.0 * (1 - down), 0.0), {"u": 1.5})
        if request.only_probe:
            assert value is not None
            self.exchange.put_probe(request, value)
            return
        self.requests.append(request)
        if request.step in self.dropped:
            self.exchange.fail(request, f"Step {request.step} is no longer kept.")
            return
        for layer in request.settings.layers:
            if layer.field in self.failures:
                self.exchange.fail(request, *self.failures[layer.field])
                return
        time.sleep(self.seconds)
        step = self.steps[-1] if request.step is None else request.step
        width, height = request.settings.size
        pixels = np.full((height, width, 3), color_of(request, step), np.uint8)
        if self.waves:
            y, x = (np.linspace(-12, 12, count) for count in (height, width))
            grey = self.waves * np.sin(x) * np.sin(y[:, None]) ** 2
            pixels = (pixels + grey[..., None]).clip(0, 255).astype(np.uint8)
        limits = {layer.field: LIMITS for layer in request.settings.layers}
        self.exchange.put(
            DrawnPicture(request, pixels, step, 0.1 * step, limits, (), {"draw": 0.01}, value)
        )
