"""Messages between page and gateway, JSON in both directions; pictures are binary frames."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from uzushio.viewer.steering_state import PageRequest, SteeringState
from uzushio.viewer.stream_state import Status, StreamDescription

#: Maximum bytes of a message from a page.
MAX_MESSAGE = 64 * 1024
#: Maximum number of changes of a patch, and of keys in a path.
MAX_CHANGES, MAX_PATH = 64, 16

#: Path of a control in the document, as ["views", "page1", "layers", 0, "color", "map"].
Path = Annotated[list[str | int], Field(max_length=MAX_PATH)]
Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
Pixels = Annotated[int, Field(ge=16, le=16384)]
VIEW_NAME = r"^[A-Za-z_][A-Za-z0-9_]{0,63}$"
ViewName = Annotated[str, Field(pattern=VIEW_NAME)]
Sequence = Annotated[int, Field(ge=0, lt=2**63)]


class Message(BaseModel):
    """Message with its `type`; unknown keys, NaN and infinity are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


# ---- from the page


class Ack(Message):
    """Picture was shown; returns the credit for its frame.

    `seconds` are those from the reception of the frame, mainly for decoding.
    """

    type: Literal["ack"]
    sequence: Sequence
    seconds: Annotated[float, Field(ge=0.0)] = 0.0


class Video(Message):
    """The page decodes H.264, or does so no longer: a frame was late, or in error."""

    type: Literal["video"]
    decodes: bool


class Change(Message):
    """New value of a control; null removes the key or the list's entry, so its default counts.

    The path begins with `sources`, with `actions`, which holds the plots, or with `views` and the
    view that the page shows. Missing sections on the way are made; the index after a list's last
    entry appends.
    """

    path: Path
    value: Any


class DocumentPatch(Message):
    """Changes of the document, applied as a whole or not at all.

    A change of a value that another page has changed after revision `base` is refused. `number`
    increases from patch to patch of a page; its answer, a `view` or an `error`, has it.
    """

    type: Literal["patch"]
    base: Sequence
    number: Sequence = 0
    changes: Annotated[list[Change], Field(min_length=1, max_length=MAX_CHANGES)]


class Drag(Message):
    """Begin or end of interaction, during which pictures are drawn at reduced size."""

    type: Literal["drag"]
    active: bool


class Size(Message):
    """Size of the picture on the screen in device pixels; it sets the view's `size`."""

    type: Literal["size"]
    width: Pixels
    height: Pixels


class Pointer(Message):
    """Position of the pointer in the picture from the left and the top; null: outside."""

    type: Literal["pointer"]
    x: Fraction | None
    y: Fraction | None


class Pause(Message):
    """Keep the step that is shown."""

    type: Literal["pause"]


class Live(Message):
    """Follow the newest step."""

    type: Literal["live"]


class Seek(Message):
    """Show a stored step, or one of the rewind buffer."""

    type: Literal["seek"]
    step: Sequence


class Save(Message):
    """Request the pipeline file of the view; answered by `saved`."""

    type: Literal["save"]


class Load(Message):
    """Replace the view by one of a pipeline file: the one named, or the first."""

    type: Literal["load"]
    text: str
    view: str | None = None


class Follow(Message):
    """Show another page's view, or with null one's own again."""

    type: Literal["follow"]
    view: ViewName | None


class Resume(Message):
    """Show that this page is the one of an earlier connection, by the `key` of its `hello`."""

    type: Literal["resume"]
    key: Annotated[str, Field(max_length=64)]


class Steer(Message):
    """Request to the run; `id` is the page's number for it. Answered by `steered`."""

    type: Literal["steer"]
    id: Sequence
    request: Annotated[PageRequest, Field(discriminator="request")]


class Plots(Message):
    """Send the plots, at first and after each change, or no longer."""

    type: Literal["plots"]
    shown: bool


class Record(Message):
    """Begin a movie of the pictures that the page shows; answered by `recording`.

    Attributes:
        every: one picture for each step, or the screen at a constant rate.
        fps: pictures a second of the movie.
    """

    type: Literal["record"]
    every: Literal["step", "time"] = "step"
    fps: Annotated[float, Field(ge=1.0, le=60.0)] = 25.0


class StopRecording(Message):
    """End the movie; its file can be fetched in the state `ready` of `recording`."""

    type: Literal["stop_recording"]


FromPage = (
    Ack
    | Video
    | DocumentPatch
    | Drag
    | Size
    | Pointer
    | Pause
    | Live
    | Seek
    | Save
    | Load
    | Follow
    | Resume
    | Steer
    | Plots
    | Record
    | StopRecording
)
FROM_PAGE: TypeAdapter[FromPage] = TypeAdapter(Annotated[FromPage, Field(discriminator="type")])


# ---- from the gateway


class Hello(Message):
    """First message.

    Attributes:
        page: name of this page.
        view: name of its own view. A page that connects again gives it as `ws?view=NAME`, and gets
            it if no other page has it meanwhile.
        key: secret of this connection, for `resume`.
        session: identifies this gateway; one that was started again has another.
        read_only: whether the page changes nothing but its own view.
        max_message: maximum bytes of a message to the gateway.
        max_rate: maximum messages per second.
        document_schema: JSON schema of the sections `sources`, `views` and `actions`.
        maps: perceptually uniform colour maps, each as 32 colours.
    """

    type: Literal["hello"] = "hello"
    page: str
    view: str
    key: str
    session: str
    read_only: bool
    max_message: int
    max_rate: float
    document_schema: dict[str, Any]
    maps: dict[str, list[str]]


class DescriptionMessage(Message):
    """Content of the stream."""

    type: Literal["description"] = "description"
    stream: StreamDescription


class ViewMessage(Message):
    """State of the view that this page shows, after each change.

    Frames that follow are pictures of this view; those of another view may have higher numbers.

    Attributes:
        view: name of the view.
        revision: revision of the view; `base` of a later patch.
        sources: section `sources`.
        actions: section `actions`: the plots.
        settings: the view's section, without keys that have their defaults.
        changed_by: page that changed it; null: no page, as at the start.
        patches: number of the newest patch that was applied, by page.
        step: the step that it shows; null: the newest.
    """

    type: Literal["view"] = "view"
    view: str
    revision: int
    sources: dict[str, Any]
    actions: list[dict[str, Any]]
    settings: dict[str, Any]
    changed_by: str | None
    patches: dict[str, int]
    step: int | None


class Viewers(Message):
    """Views, and the pages that show them."""

    type: Literal["viewers"] = "viewers"
    views: dict[str, list[str]]


class StatusMessage(Message):
    """State of the link to the stream."""

    type: Literal["status"] = "status"
    status: Status


class SteeringMessage(Message):
    """State of steering, and the page that holds the right.

    Attributes:
        state: state of the run.
        holder: page of this live view that holds the right to steer, or has requested it.
        confirmed: whether the run has given it the right.
    """

    type: Literal["steering"] = "steering"
    state: SteeringState
    holder: str | None
    confirmed: bool


class Steered(Message):
    """Answer to `steer`.

    Attributes:
        id: number of the request.
        ok: whether it was done.
        text: sentence for the user; may be empty.
        step: after which it was applied.
    """

    type: Literal["steered"] = "steered"
    id: int
    ok: bool
    text: str = ""
    step: int | None = None


class RecordingMessage(Message):
    """State of the movie that this page records.

    Attributes:
        state: `recording`; `finishing` the file; `ready`; `failed`: there is no file.
        pictures, seconds, bytes: length of the movie, and size of the file.
        text: sentence on an end that the page has not requested; may be empty.
        file: relative address of a movie that is ready; it can be fetched once.
    """

    type: Literal["recording"] = "recording"
    state: Literal["recording", "finishing", "ready", "failed"]
    pictures: int
    seconds: float
    bytes: int
    text: str
    file: str | None


class ErrorMessage(Message):
    """Reason why a message had no effect, or why a view cannot be drawn.

    Attributes:
        path: path of the control that caused it; empty if it is not known.
        message: for the user.
        revision: revision of the view, which is unchanged.
        patch: number of the patch that was refused; null: it is about something else.
    """

    type: Literal["error"] = "error"
    path: list[str | int]
    message: str
    revision: int
    patch: int | None = None


class ProbeMessage(Message):
    """Values under the pointer; without a position, nothing is there."""

    type: Literal["probe"] = "probe"
    view: str
    position: tuple[float, float, float] | None
    values: dict[str, float | None]


class Limits(Message):
    """Limits of the colours of the newest picture, by label, and notes on it."""

    type: Literal["limits"] = "limits"
    view: str
    step: int
    limits: dict[str, tuple[float, float]]
    notes: list[str]


class Saved(Message):
    """Pipeline file that makes the same picture in batch."""

    type: Literal["saved"] = "saved"
    name: str
    text: str


class Ended(Message):
    """The gateway ends; there is nothing to attach to again."""

    type: Literal["ended"] = "ended"
    message: str
