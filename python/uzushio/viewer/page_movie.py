"""Movie of a page: its begin, its state for the page, and its end."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from uzushio.errors import OutputError
from uzushio.viewer import messages
from uzushio.viewer.client import Client, tell
from uzushio.viewer.document_limits import RefusedChange
from uzushio.viewer.recording import Recording


def begin_movie(client: Client, message: messages.Record) -> None:
    """Begin a movie with the picture that the page shows.

    Raises:
        RefusedChange: the page records one already, or a movie cannot be made here.
    """
    if client.recording is not None and client.recording.state in ("recording", "finishing"):
        raise RefusedChange("this page records a movie already")
    discard_movie(client)
    try:
        client.recording = Recording(message.every, message.fps, partial(_send_state, client))
    except OutputError as error:
        raise RefusedChange(str(error)) from error
    _send_state(client)
    if client.view.picture is not None:
        client.recording.add(client.view.picture.picture)


def end_movie(client: Client) -> None:
    """End the page's movie, if it records one; the page can then fetch it."""
    if client.recording is not None:
        client.recording.stop()


def discard_movie(client: Client) -> None:
    """Remove the page's movie, if there is one."""
    if client.recording is not None:
        client.recording.discard()
        client.recording = None


def find_movie(clients: Iterable[Client], key: str) -> tuple[Path, Callable[[], None]] | None:
    """Return the file of a movie that is ready, and a function that removes it."""
    for client in clients:
        recording = client.recording
        if recording is not None and recording.state == "ready" and recording.key == key:
            return recording.path, recording.discard
    return None


def _send_state(client: Client) -> None:
    recording = client.recording
    if recording is None:
        return
    message = messages.RecordingMessage(
        state=recording.state,
        pictures=recording.pictures,
        seconds=recording.seconds,
        bytes=recording.bytes,
        text=recording.text,
        file=f"movie.mp4?key={recording.key}" if recording.state == "ready" else None,
    )
    tell([client], message)
    client.view.credit_changed()
