"""Sharing of cores between ranks of a node."""

from __future__ import annotations

import os

import pytest

from uzushio.errors import RenderError
from uzushio.raycast import default_threads
from uzushio.render.cores import CoreSharing


class Node:
    """A node of ranks: this one is the first, the others have given amounts of work."""

    def __init__(self, *others: float) -> None:
        self.rank, self.size, self.others = 0, 1 + len(others), others

    def allgather(self, work: float) -> list[float]:
        return [work, *self.others]


@pytest.fixture
def cores(monkeypatch: pytest.MonkeyPatch) -> CoreSharing:
    from mpi4py import MPI

    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    sharing = CoreSharing(MPI.COMM_SELF)
    sharing._all = {0, 1, 2, 3}
    return sharing


@pytest.mark.parametrize(
    ("mine", "others", "threads", "lent"),
    [
        (1.0, (0.0, 0.0, 0.0), 4, True),
        (0.0, (1.0, 0.0, 0.0), 1, True),
        (1.0, (1.0, 1.0, 1.0), 1, False),
        (0.0, (0.0, 0.0, 0.0), 1, False),
        (0.03, (0.01, 0.0, 0.0), 3, True),
    ],
)
def test_cores_are_divided_by_work(
    cores: CoreSharing, mine: float, others: tuple[float, ...], threads: int, lent: bool
) -> None:
    cores._node = Node(*others)
    assert cores.thread_count(mine) == threads
    assert cores.any_lent == lent


def test_a_rank_has_its_own_threads_at_least(
    cores: CoreSharing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    cores._node = Node(5.0)
    assert cores.thread_count(0.0) == default_threads() == 2


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system binds no threads")
def test_a_rank_keeps_its_affinity_after_an_error(cores: CoreSharing) -> None:
    before = os.sched_getaffinity(0)
    with pytest.raises(RuntimeError), cores.on_all_cores(4):
        raise RuntimeError
    assert os.sched_getaffinity(0) == before


class Never:
    """A barrier that never completes."""

    def Test(self) -> bool:  # noqa: N802 - MPI's name
        return False


def test_a_wait_for_a_missing_rank_times_out_with_a_message(
    cores: CoreSharing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("uzushio.render.cores.TIMEOUT", 0.05)
    cores._node = Node(1.0)
    monkeypatch.setattr(Node, "Ibarrier", lambda node: Never(), raising=False)
    with (
        pytest.raises(RenderError, match=r"not finished drawing within 0.05 s"),
        cores.waiting_at_end(),
    ):
        pass


def test_a_single_rank_does_not_wait(cores: CoreSharing) -> None:
    with cores.waiting_at_end():
        pass
