"""Chunks of the arrays of block solvers."""

from __future__ import annotations

import pytest

from uzushio._base.store.chunks import MAX_BYTES
from uzushio.solvers.block_solver.zone_arrays import _chunks


@pytest.mark.parametrize("blocks", [1, 2, 3])
@pytest.mark.parametrize("cells", [192, 288])
def test_large_blocks_are_cut_into_equal_chunks_that_no_two_blocks_share(
    cells: int, blocks: int
) -> None:
    block = cells // blocks
    chunk, *across = _chunks([cells] * 3, [cells] * 3, [block, cells, cells])
    assert across == [cells, cells]
    assert 8 * chunk * cells**2 <= MAX_BYTES
    assert block % chunk == 0


def test_an_array_at_vertices_is_padded_by_less_than_a_plane_a_chunk() -> None:
    chunk, *_ = _chunks([193, 192, 192], [192] * 3, [192] * 3)
    chunks = -(-193 // chunk)
    assert chunks * chunk - 193 < chunks
