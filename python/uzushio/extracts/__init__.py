"""Stores for parts of distributed arrays: Zarr for Python, VTKHDF for VTK.

The room writes arrays with coordinates; it does not depend on fields or solvers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uzushio import lazy

if TYPE_CHECKING:
    from uzushio.extracts.distribution import Distribution
    from uzushio.extracts.schema import StoreSchema, Variable
    from uzushio.extracts.vtkhdf_series import VtkhdfSeries
    from uzushio.extracts.zarr_series import ZarrSeries

__all__ = ["Distribution", "StoreSchema", "Variable", "VtkhdfSeries", "ZarrSeries"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy.names(
        __name__,
        {
            "StoreSchema": "schema",
            "Distribution": "distribution",
            "Variable": "schema",
            "VtkhdfSeries": "vtkhdf_series",
            "ZarrSeries": "zarr_series",
        },
    )
