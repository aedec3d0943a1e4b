"""Resident memory of processes (Linux)."""

from __future__ import annotations

from pathlib import Path


def resident(process: int | str = "self", *, peak: bool = False) -> int:
    """Return the resident bytes of a process, or their peak since its start or `reset_peak`."""
    key = "VmHWM:" if peak else "VmRSS:"
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(key))


def reset_peak() -> None:
    """Reset the peak of the resident memory of this process."""
    Path("/proc/self/clear_refs").write_text("5")
