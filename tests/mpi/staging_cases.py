"""Helpers of the tests of staging's failures."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from conftest import Peer

#: Seed of the random moments of kills.
SEED = int(os.environ.get("UZUSHIO_TEST_SEED", "1"))
KILLS = int(os.environ.get("UZUSHIO_TEST_KILLS", "8"))
#: Upper limit of the waits: far above all expected ones, even on a loaded machine.
LIMIT = 30.0


def options(folder: Path, engine: str, name: str = "flow", **more: Any) -> dict[str, Any]:
    """Return a writer's options; its contact file is NAME.contact."""
    queue = {"policy": "block", "depth": 2, "time_limit": LIMIT} | more.pop("queue", {})
    return {
        "engine": engine,
        "contact": str(folder / f"{name}.contact"),
        "queue": queue,
        "close_limit": 5.0,
    } | more


def ends_by_kill(peer: Peer) -> bool:
    """Wait for the end of a killed process; return whether the kill ended it."""
    return peer.ended() == -signal.SIGKILL
