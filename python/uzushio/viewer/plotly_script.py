"""Script of Plotly, which draws the page's plots, from its wheel."""

from __future__ import annotations

import gzip
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

#: Path of the script below the page's address.
PLOTLY = "plotly.min.js"


@lru_cache(maxsize=1)
def plotly_script() -> bytes | None:
    """Return the script, compressed by gzip; None if Plotly is not installed."""
    spec = find_spec("plotly")
    for folder in () if spec is None else spec.submodule_search_locations or ():
        path = Path(folder) / "package_data" / PLOTLY
        if path.is_file():
            return gzip.compress(path.read_bytes(), 6)
    return None
