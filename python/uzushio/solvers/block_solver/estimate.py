"""Estimate of a solver of blocks: memory, messages and files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio.solvers.block_solver import averages
from uzushio.solvers.block_solver.case import BlockStatistics
from uzushio.solvers.block_solver.zone_arrays import stored_bytes
from uzushio.solvers.contract import Estimate, Offer, Traffic

if TYPE_CHECKING:
    from uzushio.case.model import Case


def estimated(
    core: Any,
    cost: Mapping[str, Any],
    offer: Offer,
    case: Case,
    statistics: BlockStatistics,
    ranks: int,
) -> Estimate:
    """Return the estimate of a case on `ranks` ranks, from the compiled solver's `cost`."""
    sizes = {
        name: 8 * sum(int(np.prod(field.shape(box))) for box in field.boxes(offer.meshes))
        for name, field in offer.fields.items()
    }
    cells = sum(mesh.elements.size for mesh in offer.meshes.values())
    in_memory, stored = averages.needs(core, statistics, case.time.steps)
    return Estimate(
        grid=f"{cells:,} cells in {len(offer.meshes)} zones, cut into {cost['blocks']} blocks "
        f"on {ranks} ranks; imbalance {cost['imbalance']:.3f} (largest share of a rank over "
        "the mean)",
        memory_per_rank=cost["bytes"],
        field_arrays=cost["bytes"] / (8 * cost["cells"]),
        traffic={
            "halo": Traffic(cost["halo_messages"], cost["halo_bytes"]),
            "reduction": Traffic(1, 16),
        },
        checkpoint_bytes=stored_bytes(core) + stored,
        field_bytes=sizes,
        step_length=case.time.dt,
        average_bytes=in_memory,
    )
