"""Process grid and scheme of a channel flow are those of the least predicted time."""

from __future__ import annotations

from typing import Any

import pytest

from uzushio.errors import CaseError
from uzushio.solvers.channel.case import ChannelCase
from uzushio.solvers.channel.decomposition import (
    core,
    core_parameters,
    decompose,
    predictions,
)
from uzushio.tuning.steps import with_point


def case(n: tuple[int, int, int], **decomposition: Any) -> ChannelCase:
    nx, ny, nz = n
    return ChannelCase.model_validate(
        {
            "solver": "channel",
            "grid": {"nx": nx, "ny": ny, "nz": nz, "lx": 16, "ly": 6.4},
            "flow": {"reynolds_tau": 180},
            "time": {"steps": 1, "dt": 1e-4},
            "decomposition": decomposition,
        }
    )


#: Tofu-D: twelve nodes of a unit are directly connected. Yamamoto runs 12 x 480 nodes of it.
TOFU = {"ranks_per_node": 12, "latency": 1e-6, "rate": 20e9, "nodes_at_full_rate": 12}


def test_ranks_of_a_plane_are_a_unit_of_the_network() -> None:
    chosen = decompose(case((14400, 13824, 5760), network=TOFU), 69120)
    assert (chosen.py, chosen.pz) == (144, 480)


def test_few_ranks_share_planes_on_one_node() -> None:
    chosen = decompose(case((288, 288, 120), network={"ranks_per_node": 48}), 48)
    assert chosen.py <= 6
    chosen = decompose(case((128, 128, 128), network={"ranks_per_node": 2}), 2)
    assert (chosen.py, chosen.pz, chosen.scheme) == (1, 2, "pipelined")


def test_planes_in_shared_memory_take_less_time_than_in_messages() -> None:
    flow = case((128, 128, 128), py=2, pz=1, network={"ranks_per_node": 2})
    by_messages = flow.model_copy(
        update={"numerics": flow.numerics.model_copy(update={"transposes": "messages"})}
    )
    shared, sent = decompose(flow, 2), decompose(by_messages, 2)
    assert 0.0 < shared.planes < 0.5 * sent.planes
    assert shared.computing == sent.computing


def test_overlapped_messages_take_longer_within_a_node() -> None:
    """Measured on two quiet cores: 1.23 times the step with messages at 64³ and at 128³."""
    for n in (64, 128):
        flow = case((n, n, n), py=2, pz=1, network={"ranks_per_node": 2})
        seconds = {
            name: decompose(with_point(flow, {"numerics.transposes": name}), 2).seconds
            for name in ("messages", "overlapped")
        }
        assert seconds["overlapped"] / seconds["messages"] == pytest.approx(1.23, abs=0.05)


def test_a_long_column_is_partitioned_where_chunks_are_few() -> None:
    # 2016 modes are 32 chunks of 64 at most, and 64 ranks wait for each other in each sweep.
    flow = case((64, 64, 1024), py=1, pz=64, network={"ranks_per_node": 64})
    assert decompose(flow, 64).scheme == "partitioned"


def test_a_slow_network_keeps_all_to_alls_within_nodes() -> None:
    slow = case((512, 512, 512), network={"ranks_per_node": 16, "rate": 1e8, "latency": 1e-4})
    assert 16 % decompose(slow, 256).py == 0


def test_what_the_case_gives_is_kept() -> None:
    given = case((64, 64, 64), py=2, pz=4).model_copy(update={})
    given = given.model_copy(
        update={"numerics": given.numerics.model_copy(update={"scheme": "transpose"})}
    )
    chosen = decompose(given, 8)
    assert (chosen.py, chosen.pz, chosen.scheme) == (2, 4, "transpose")


def test_the_limit_of_memory_goes_before_the_time() -> None:
    flow = case((288, 288, 120), network={"ranks_per_node": 48})
    ranked = predictions(flow, 48)
    least = min(prediction.memory for prediction in ranked)
    assert ranked[0].memory > least
    limited = case(
        (288, 288, 120), network={"ranks_per_node": 48}, memory_per_rank=ranked[0].memory - 1
    )
    chosen = decompose(limited, 48)
    assert chosen.memory < ranked[0].memory
    with pytest.raises(CaseError, match="are needed; use more ranks"):
        decompose(case((288, 288, 120), memory_per_rank=least - 1), 48)
    assert chosen.seconds == min(
        prediction.seconds for prediction in ranked if prediction.memory < ranked[0].memory
    )


@pytest.mark.parametrize("scheme", ["pipelined", "partitioned", "transpose"])
def test_more_latency_and_a_lower_rate_take_longer(scheme: str) -> None:
    def seconds(**network: float) -> float:
        flow = case((64, 64, 64), py=2, pz=8, network={"ranks_per_node": 4, **network})
        of = {prediction.scheme: prediction.seconds for prediction in predictions(flow, 16)}
        return of[scheme]

    assert seconds() < seconds(latency=1e-3)
    assert seconds() < seconds(rate=1e8)


def test_threads_share_the_computing(monkeypatch: pytest.MonkeyPatch) -> None:
    flow = case((128, 128, 128), py=1, pz=1)
    alone = decompose(flow, 1)
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    shared = decompose(flow, 1)
    assert shared.computing == pytest.approx(alone.computing / 4, rel=0.01)
    # Three more threads have ten complex planes and six real ones, fluxes and some rows each.
    planes = 3 * (10 * 16 * (64 + 4) * 192 + 6 * 8 * 192 * 192)
    assert planes < shared.memory - alone.memory < 1.2 * planes


def test_a_rank_has_at_least_one_thread() -> None:
    parameters = core_parameters(case((32, 32, 32)), 1, 1, "pipelined")
    parameters.threads = 0
    with pytest.raises(ValueError, match="a rank can have 1 to 1024 threads, not 0"):
        core.estimate(parameters)
