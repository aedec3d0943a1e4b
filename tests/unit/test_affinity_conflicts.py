"""Table of an affinity, and its conflicts with the launcher's binding."""

from __future__ import annotations

import pytest

from uzushio import _core
from uzushio._base.parallel import affinity
from uzushio._base.parallel.affinity import Affinity, Policy, RankBinding
from uzushio.errors import LaunchError

#: A node of four processors with four cores and memory each.
T2K = "numa:4 core:4 pu:1"


def conflicts(policy: str, launched: list[set[int]], threads: int = 1) -> list[str]:
    topology = _core.parallel.NodeTopology.synthetic(T2K)
    domains = {p: domain for processors, domain in topology.cores() for p in processors}
    available = sorted(set().union(*launched))
    places = _core.parallel.place_ranks(topology, policy, available, len(launched), threads)
    ranks = [10 + n for n in range(len(launched))]
    return list(affinity._conflicts(Policy(policy), "node7", ranks, launched, places, domains))


def test_ranks_that_the_launcher_did_not_bind_have_no_conflict() -> None:
    every = set(range(16))
    for policy in ("compact", "scatter", "numa_block", "numa_cyclic"):
        assert conflicts(policy, [every] * 4, threads=4) == []
    assert conflicts("compact", [{0}, {1}, {2}]) == []  # bound as the policy does


def test_a_cpuset_with_too_few_cores_is_reported() -> None:
    (sentence,) = conflicts("compact", [{0, 1}, {0, 1}], threads=4)
    assert sentence.startswith("node7: 8 threads of 2 ranks share 2 processors (0-1); start fewer")
    assert "--bind-to none" in sentence


def test_a_binding_of_the_launcher_that_the_policy_replaces_is_reported() -> None:
    (sentence,) = conflicts("scatter", [{0, 1, 2, 3}, {4, 5, 6, 7}, {4, 5, 6, 7}])
    assert "the launcher bound rank 12 to the processors 4-7, and scatter binds it to 1" in sentence


def test_a_rank_across_domains_is_reported() -> None:
    (sentence,) = conflicts("compact", [set(range(16))] * 2, threads=8)
    assert "the threads of rank 10 are on the NUMA domains 0-1" in sentence


def test_the_table_has_a_line_for_each_rank_up_to_a_limit() -> None:
    ranks = [RankBinding(n, "node7", [n // 4 % 4], [[n, n + 16]]) for n in range(70)]
    text = Affinity(Policy.COMPACT, ranks).text()
    lines = text.splitlines()
    assert lines[0] == "Affinity compact:"
    assert lines[1].split("  ")[0].strip() == "rank"
    assert lines[3].split() == ["1", "node7", "0", "1,17"]
    assert lines[-1] == "… and 6 more ranks"
    assert affinity.ranges([0, 1, 2, 5, 7, 8]) == "0-2,5,7-8"


def test_an_unknown_policy_is_a_clear_error() -> None:
    with pytest.raises(LaunchError, match="no affinity 'spread'; there are: none, compact"):
        Policy.of("spread")
