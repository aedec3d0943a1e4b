"""Remember what the FFT planner measured on this kind of machine.

The planner times several algorithms and keeps the fastest, which may be another one each time; two
algorithms round differently. With its findings ("wisdom") kept from run to run, the same case on
the same ranks gives the same bits, and a start costs no measurement. They lie in the user's cache
folder, in one file for each processor model; delete it to measure again.
"""

from __future__ import annotations

from uzushio.config import user_cache


def _name() -> str:
    return f"fftw-{user_cache.processor_key()}.wisdom"


def recall() -> str:
    """What was measured before, or nothing."""
    return user_cache.recall(_name())


def keep(wisdom: str) -> None:
    """Store `wisdom` in place of what is there; a folder that cannot be written is no error."""
    user_cache.keep(_name(), wisdom)
