"""Parts of arrays that many ranks hold, written as one store each: Zarr for Python, VTKHDF for VTK.

The room knows arrays and their places, and neither fields nor solvers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uzushio import lazy

if TYPE_CHECKING:
    from uzushio.extracts.frame import Frame, Variable
    from uzushio.extracts.spread import Spread
    from uzushio.extracts.vtkhdf_series import VtkhdfSeries
    from uzushio.extracts.zarr_series import ZarrSeries

__all__ = ["Frame", "Spread", "Variable", "VtkhdfSeries", "ZarrSeries"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy.names(
        __name__,
        {
            "Frame": "frame",
            "Spread": "spread",
            "Variable": "frame",
            "VtkhdfSeries": "vtkhdf_series",
            "ZarrSeries": "zarr_series",
        },
    )
