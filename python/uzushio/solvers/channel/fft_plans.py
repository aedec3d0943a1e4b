"""Storage of the FFT planner's measurements between runs on a machine.

The planner measures several algorithms and takes the fastest, which may differ from run to run, and
algorithms differ in rounding. With stored measurements ("wisdom"), the same case on the same ranks
gives the same bits, and a start needs no measurement. They are in the user's cache folder, in one
file per processor model; delete it to measure again.
"""

from __future__ import annotations

from uzushio._base.config import user_cache


def _name() -> str:
    return f"fftw-{user_cache.processor_key()}.wisdom"


def load() -> str:
    """Return the stored measurements, empty if there are none."""
    return user_cache.load(_name())


def store(wisdom: str) -> None:
    """Store `wisdom` if it is new; a folder that cannot be written is no error."""
    if wisdom != load():
        user_cache.store(_name(), wisdom)
