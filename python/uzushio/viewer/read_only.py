"""Rights of a page that was opened by a read-only address: it changes nothing but its own view."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from uzushio._base.config.yaml_file import KeyPath
from uzushio.viewer import messages
from uzushio.viewer.client import Client
from uzushio.viewer.document_limits import RefusedChange

#: Messages that change the view which a page shows, its step or pointer, or delay its pictures.
_CHANGES = (
    messages.DocumentPatch
    | messages.Load
    | messages.Drag
    | messages.Pointer
    | messages.Pause
    | messages.Live
    | messages.Seek
    | messages.Record
)


def check_message(client: Client, message: messages.FromPage) -> None:
    """Raise `RefusedChange` for a message that changes the view of another page."""
    if client.read_only and client.view.name != client.own and isinstance(message, _CHANGES):
        raise RefusedChange("this page is read only and changes no view but its own")


def check_changes(client: Client, changes: Iterable[tuple[KeyPath, Any]]) -> None:
    """Raise `RefusedChange` for a change of what is common to all pages."""
    for path, _ in changes:
        if client.read_only and path[:1] != ("views",):
            raise RefusedChange(
                "this page is read only; derived fields and plots are common to all pages", path
            )
