"""Stores for parts of distributed arrays: Zarr for Python, VTKHDF for VTK.

The room `store` has schemas, distributions and series in Zarr, this one series in VTKHDF.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uzushio._base import lazy

if TYPE_CHECKING:
    from uzushio._base.store.distribution import Distribution as Distribution
    from uzushio._base.store.schema import StoreSchema as StoreSchema
    from uzushio._base.store.series import ZarrSeries as ZarrSeries
    from uzushio.domain.fields import Field as Field
    from uzushio.extracts.vtkhdf_series import VtkhdfSeries as VtkhdfSeries
else:
    __getattr__, __dir__ = lazy.names(__name__)
