"""Thresholds of the C library's allocation of memory."""

from __future__ import annotations

import ctypes
import os

#: `M_TRIM_THRESHOLD` and `M_MMAP_THRESHOLD` of glibc's malloc.h.
_TRIM, _MMAP = -1, -3
#: Maximum size of arrays in the heap, the largest that glibc accepts.
_MMAP_THRESHOLD = 32 << 20
#: Free memory at the end of the heap that is kept.
_TRIM_THRESHOLD = 128 << 20


def keep_freed_memory() -> None:
    """Let this process reuse memory that NumPy frees, instead of returning it to the system.

    glibc returns each array of some 100 kB when it is freed, and the next one faults its pages in
    again: expressions of NumPy cost a third more. A threshold in the environment holds
    (`MALLOC_TRIM_THRESHOLD_`, `MALLOC_MMAP_THRESHOLD_`, `GLIBC_TUNABLES`).
    """
    set_by_user = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_")
    if any(name in os.environ for name in set_by_user) or "glibc.malloc" in os.environ.get(
        "GLIBC_TUNABLES", ""
    ):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # another C library may have none
    if mallopt is not None:
        mallopt(_MMAP, _MMAP_THRESHOLD)
        mallopt(_TRIM, _TRIM_THRESHOLD)
