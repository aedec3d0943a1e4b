"""Estimate of a channel flow: memory, messages and files."""

from __future__ import annotations

import numpy as np

from uzushio.solvers.channel import timing
from uzushio.solvers.channel.case import ChannelCase
from uzushio.solvers.channel.decomposition import arrays, estimate_needs, kept_modes, predictions
from uzushio.solvers.channel.prediction import ranking
from uzushio.solvers.channel.stored_modes import COMPONENTS
from uzushio.solvers.contract import Estimate, Traffic


def estimated(case: ChannelCase, ranks: int) -> Estimate:
    """Return the estimate of a case on `ranks` ranks."""
    ranked = predictions(case, ranks)
    chosen, grid = ranked[0], case.grid
    needs = estimate_needs(case, chosen.py, chosen.pz, chosen.scheme)
    faces = grid.wall_faces()
    plus = case.flow.expected_u_tau / case.flow.viscosity
    heights = np.diff(faces)
    kept_x, kept_y = kept_modes(case)
    return Estimate(
        grid=f"{grid.nx} x {grid.ny} x {grid.nz} points in {grid.lx:.4g} x {grid.ly:.4g} x 2, "
        f"on {chosen.py} x {chosen.pz} ranks in y and z",
        memory_per_rank=needs.bytes,
        field_arrays=arrays(case, needs.bytes, ranks),
        traffic={
            kind: Traffic(messages, sent)
            for kind, (_, messages, sent) in needs.traffic.items()
            if messages or sent
        },
        notes=(
            f"resolution in wall units if u_tau = {case.flow.expected_u_tau:.3g}: "
            f"dx+ = {grid.lx / grid.nx * plus:.1f}, dy+ = {grid.ly / grid.ny * plus:.1f}, "
            f"dz+ = {heights.min() * plus:.2f} to {heights.max() * plus:.1f}",
            *([ranking(case, ranked, ranks)] if ranks > 1 else []),
        ),
        checkpoint_bytes=16 * len(COMPONENTS) * grid.nz * (2 * kept_y - 1) * kept_x,
        field_bytes=dict.fromkeys(COMPONENTS, 8 * grid.nx * grid.ny * grid.nz),
        step_length=timing.step_length(case),
    )
