"""Cores go to the ranks that have something to draw, and back."""

from __future__ import annotations

import os

import pytest

from uzushio.errors import RenderError
from uzushio.raycast import default_threads
from uzushio.render.cores import Cores


class Node:
    """A node of ranks of which this one is the first, and the others say what they have to do."""

    def __init__(self, *others: float) -> None:
        self.rank, self.size, self.others = 0, 1 + len(others), others

    def allgather(self, work: float) -> list[float]:
        return [work, *self.others]


@pytest.fixture
def cores(monkeypatch: pytest.MonkeyPatch) -> Cores:
    from mpi4py import MPI

    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    found = Cores(MPI.COMM_SELF)
    found._all = {0, 1, 2, 3}
    return found


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
def test_cores_are_divided_as_work_is(
    cores: Cores, mine: float, others: tuple[float, ...], threads: int, lent: bool
) -> None:
    cores._node = Node(*others)
    assert cores.share(mine) == threads
    assert cores.lent == lent


def test_a_rank_has_its_own_threads_at_least(cores: Cores, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    cores._node = Node(5.0)
    assert cores.share(0.0) == default_threads() == 2


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system binds no threads")
def test_a_rank_stays_where_it_was_bound_whatever_happens(cores: Cores) -> None:
    before = os.sched_getaffinity(0)
    with pytest.raises(RuntimeError), cores.anywhere(4):
        raise RuntimeError
    assert os.sched_getaffinity(0) == before


class Never:
    """A barrier that others do not come to."""

    def Test(self) -> bool:  # noqa: N802 - MPI's name
        return False


def test_who_waits_for_a_rank_that_never_comes_says_so(
    cores: Cores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("uzushio.render.cores.LIMIT", 0.05)
    cores._node = Node(1.0)
    monkeypatch.setattr(Node, "Ibarrier", lambda node: Never(), raising=False)
    with pytest.raises(RenderError, match=r"not finished drawing within 0.05 s"), cores.asleep():
        pass


def test_alone_nobody_waits(cores: Cores) -> None:
    with cores.asleep():
        pass
