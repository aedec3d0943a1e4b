"""Plans of staging: bottleneck and smallest number of ranks, compared with published figures."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from hypothesis import given, settings
from hypothesis import strategies as st

from uzushio.errors import CaseError
from uzushio.staging.plan import StagingPlan, load_plan
from uzushio.staging.plan_rates import Assessment, HopRate, RouteRate, assess

JSS2 = Path(__file__).parents[2] / "examples" / "plans" / "jss2.yaml"
GB = 1e9


# ---- the published machine ---------------------------------------------------------------------


def published(transport: str) -> list[HopRate]:
    return [hop for hop in assess(load_plan(JSS2)).hops if hop.transport == transport]


def rounded(rates: list[float]) -> list[float]:
    return [round(rate / GB, 1) for rate in rates]


# How the paper counts (its Table 1 is in the example file). A bracket of Table 2 is the rate of one
# connection × connections, and each side of the switch has its own: one for each of the 128 relay
# processes on the first two hops, one for each of the 16 readers on the last. The figure before
# the bracket is the total of the hop's network over the nodes in use (Fig. 8: 100, 54.4, 13.6),
# whatever the transport, with two exceptions:
# - GIOs to IB-SW by IP is printed as 32.0, not 54.4: what its connections can use, so the lesser of
#   the two. The last hop, printed as 13.6 against 4, does not follow suit.
# - Sim. to GIOs by RDMA has no bracket. 12.5 GB/s is a node's ideal rate (8 nodes × 12.5 = 100),
#   not measured on one connection; × 128 says only that the connections are not the limit.


def test_ip_has_the_rates_of_the_published_table() -> None:
    hops = published("ip")
    assert [hop.connections for hop in hops] == [128, 128, 16]
    assert rounded([hop.usable for hop in hops]) == [128, 32, 4]
    assert rounded([hop.available for hop in hops]) == [100, 54.4, 13.6]
    assert rounded([hop.rate for hop in hops]) == [100, 32, 4]
    # As printed before the brackets: 100, 32.0, 13.6.
    assert rounded([hops[0].available, hops[1].rate, hops[2].available]) == [100, 32, 13.6]
    assert [hop.limited_by for hop in hops] == ["total", "connections", "connections"]


def test_rdma_has_the_rates_of_the_published_table() -> None:
    hops = published("rdma")
    assert [round(hop.usable / GB) for hop in hops[1:]] == [358, 48]
    assert rounded([hop.available for hop in hops]) == [100, 54.4, 13.6]
    assert rounded([hop.rate for hop in hops]) == [100, 54.4, 13.6]
    assert {hop.limited_by for hop in hops} == {"total"}


def test_the_bottleneck_is_the_published_one_the_readers_four_gb_per_second_by_ip() -> None:
    way = assess(load_plan(JSS2)).ways[0]
    slowest = way.bottleneck
    assert (slowest.hop, slowest.transport, slowest.rate) == ("IB-SW to PP", "ip", 4 * GB)
    # "Raising the number of PP processes beyond 16 will help."
    assert slowest.limited_by == "connections"
    assert faster(jss2(readers=17)).bottleneck.hop == "IB-SW to PP"
    assert faster(jss2(readers=17)).rate == 4.25 * GB
    assert (way.seconds_per_step, way.factor, way.keeps_up) == (7.5, pytest.approx(4 / 3), True)


def test_by_rdma_the_total_is_the_limit_and_more_readers_would_not_help() -> None:
    rdma = assess(load_plan(JSS2)).ways[1]
    assert (rdma.transport, rdma.rate) == ("rdma", pytest.approx(13.6 * GB))
    assert assess(jss2(readers=1600)).ways[1].rate == rdma.rate


def jss2(readers: int = 16, interval: float = 10.0) -> StagingPlan:
    plan = load_plan(JSS2)
    return plan.model_copy(
        update={
            "readers": plan.readers.model_copy(update={"ranks": readers}),
            "step": plan.step.model_copy(update={"interval": interval}),
        }
    )


def faster(plan: StagingPlan) -> RouteRate:
    return assess(plan).ways[0]


def test_twice_the_steps_need_half_as_many_readers_again() -> None:
    way = faster(jss2(interval=5.0))
    assert not way.keeps_up
    assert way.smallest == {"GIO": 24, "PP": 24}


def test_where_a_total_is_below_the_need_no_number_of_ranks_is_named_but_the_hop_is() -> None:
    way = faster(jss2(interval=2.0))
    assert (way.keeps_up, way.smallest) == (False, None)
    assert way.obstacles == (
        "IB-SW to PP carries 13.6 GB/s in total, below the 15 GB/s that 30 GB every 2 s need",
    )


def test_memory_is_the_budget_in_a_relay_and_a_share_of_the_step_in_a_reader() -> None:
    assessment = assess(load_plan(JSS2))
    assert assessment.relay_memory == {"GIO": 64e6}
    assert assessment.reader_memory == 30e9 / 16


# ---- other ways --------------------------------------------------------------------------------


def hop(start: str, end: str, total: float = 100.0, **more: Any) -> dict[str, Any]:
    return {"between": (start, end), "per_connection": {"ip": 1.0}, "total": total} | more


def plan(
    hops: list[dict[str, Any]], relays: tuple[tuple[str, int], ...] = (), **more: Any
) -> StagingPlan:
    return StagingPlan.model_validate(
        {
            "step": {"size": 10.0, "interval": 1.0},
            "transport": "ip",
            "writers": {"ranks": 20},
            "relays": [{"name": name, "ranks": ranks} for name, ranks in relays],
            "readers": {"ranks": 4},
            "hops": hops,
        }
        | more
    )


def test_without_a_relay_the_smaller_of_both_groups_counts() -> None:
    assessment = assess(plan([hop("writers", "readers")]))
    assert assessment.hops[0].connections == 4
    assert assessment.ways[0].smallest == {"readers": 10}
    assert assessment.relay_memory == {}


def test_too_few_writers_are_an_obstacle_that_is_named() -> None:
    way = faster(plan([hop("writers", "readers")], writers={"ranks": 9}))
    assert way.smallest is None
    assert way.obstacles == (
        "writers to readers by ip: 9 connections of writers carry 9 B/s, "
        "below the 10 B/s that 10 B every 1 s need",
    )


def test_each_relay_of_a_chain_has_its_own_session_number() -> None:
    hops = [hop("writers", "a", connections_per_rank=2), hop("a", "b"), hop("b", "x")]
    hops += [hop("x", "readers", per_connection={"ip": 0.5, "rdma": 5.0}, transport="rdma")]
    assessment = assess(plan(hops, (("a", 8), ("b", 12))))
    assert [rate.connections for rate in assessment.hops] == [16, 8, 12, 4, 4]
    assert assessment.ways[0].bottleneck.hop == "a to b"
    assert assessment.ways[0].smallest == {"a": 10, "b": 10, "readers": 2}
    # On the last hop both are in the plan; by ip alone the readers are slower.
    assert [way.transport for way in assessment.ways] == ["in use", "ip"]
    assert assessment.ways[1].smallest == {"a": 10, "b": 10, "readers": 20}


def test_between_two_switches_the_nearest_groups_count() -> None:
    hops = [hop("writers", "x"), hop("x", "y"), hop("y", "readers")]
    assert [rate.connections for rate in assess(plan(hops)).hops] == [20, 4, 4]


def test_readers_without_memory_for_their_share_must_be_more() -> None:
    readers = {"ranks": 12, "memory": 0.5, "steps_held": 2}
    assessment = assess(plan([hop("writers", "readers")], readers=readers))
    assert not assessment.reader_fits
    assert assessment.ways[0].keeps_up
    assert assessment.ways[0].smallest == {"readers": 40}


# ---- properties of every plan ------------------------------------------------------------------

rates = st.floats(min_value=1e3, max_value=1e12)
counts = st.integers(min_value=1, max_value=4096)


@st.composite
def plans(draw: st.DrawFn) -> StagingPlan:
    """Draw zero to three relays, with or without a switch on each hop between two groups."""
    relays = tuple((f"relay {i}", draw(counts)) for i in range(draw(st.integers(0, 3))))
    groups = ["writers", *(name for name, _ in relays), "readers"]
    hops = []
    for start, end in pairwise(groups):
        places = [start, f"switch after {start}", end] if draw(st.booleans()) else [start, end]
        for between in pairwise(places):
            per_connection = {"ip": draw(rates), "rdma": draw(rates)}
            more = {"connections_per_rank": draw(st.integers(1, 4))}
            hops.append(hop(*between, draw(rates), per_connection=per_connection, **more))
    readers = {"ranks": draw(counts), "memory": draw(st.none() | rates)}
    step = {"size": draw(rates), "interval": draw(st.floats(min_value=1e-2, max_value=1e4))}
    return plan(hops, relays, writers={"ranks": draw(counts)}, readers=readers, step=step)


def with_ranks(plan: StagingPlan, ranks: dict[str, int]) -> StagingPlan:
    values = plan.model_dump()
    for group in (*values["relays"], values["readers"]):
        group["ranks"] = ranks.get(group["name"], group["ranks"])
    return StagingPlan.model_validate(values)


def will_do(assessment: Assessment, way: int) -> bool:
    return assessment.ways[way].keeps_up and assessment.reader_fits


@settings(deadline=None)  # cores may be shared
@given(plans())
def test_the_smallest_numbers_keep_up_and_one_fewer_of_any_does_not(plan: StagingPlan) -> None:
    for index, way in enumerate(assess(plan).ways):
        if way.smallest is None:
            assert way.obstacles
            assert not will_do(assess(with_ranks(plan, dict.fromkeys(plan.groups, 10**9))), index)
            continue
        assert will_do(assess(with_ranks(plan, way.smallest)), index)
        for group, ranks in way.smallest.items():
            if ranks > 1:
                fewer = with_ranks(plan, way.smallest | {group: ranks - 1})
                assert not will_do(assess(fewer), index)


@settings(deadline=None)  # cores may be shared
@given(plans(), st.data())
def test_more_connections_never_slow_the_route(plan: StagingPlan, data: st.DataObject) -> None:
    more = {name: data.draw(st.integers(ranks, 2 * ranks)) for name, ranks in plan.groups.items()}
    before, after = assess(plan), assess(with_ranks(plan, more))
    for way, larger in zip(before.ways, after.ways, strict=True):
        assert larger.rate >= way.rate
        assert larger.seconds_per_step <= way.seconds_per_step


@settings(deadline=None)  # cores may be shared
@given(plans())
def test_the_route_is_as_fast_as_its_slowest_hop(plan: StagingPlan) -> None:
    assessment = assess(plan)
    for way in assessment.ways:
        name = "ip" if way.transport == "in use" else way.transport
        hops = [hop for hop in assessment.hops if hop.transport == name]
        assert way.rate == min(hop.rate for hop in hops)
        assert way.bottleneck in hops
        assert way.keeps_up == (way.rate >= assessment.need)


# ---- files with mistakes -----------------------------------------------------------------------


def mistakes(folder: Path, *changes: tuple[str, str]) -> list[str]:
    text = JSS2.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "plan.yaml").write_text(text)
    with pytest.raises(CaseError) as caught:
        load_plan(folder / "plan.yaml")
    return str(caught.value).replace(f"{folder}/", "").splitlines()


def line_of(text: str) -> int:
    lines = JSS2.read_text().splitlines()
    return 1 + next(number for number, line in enumerate(lines) if text in line)


def test_every_mistake_has_its_line_and_the_allowed_values(tmp_path: Path) -> None:
    lines = mistakes(
        tmp_path,
        ("size: 30 GB", "size: 30 gb"),
        ("interval: 10 s", "intervall: 10 s"),
        ("ranks: 1632", "ranks: 0"),
        ("total: 54.4 GB/s", "totl: 54.4 GB/s"),
        ("rdma: 3 GB/s", "rdma: fast"),
    )
    step, total = line_of("size: 30"), line_of("total: 54.4")
    assert lines[0].startswith(
        f"plan.yaml:{step}: step.size: got '30 gb', the unit 'gb' is not known (allowed: B, kB, MB"
    )
    assert f"plan.yaml:{step - 1}: step.interval is required" in lines
    assert (
        f"plan.yaml:{step + 1}: step.intervall is not known; did you mean 'interval'? "
        "(allowed: size, interval)"
    ) in lines
    assert any("writers.ranks: got 0, must be greater than 0" in line for line in lines)
    assert any(line.startswith(f"plan.yaml:{total}: hops.1.totl is not known;") for line in lines)
    assert (
        f"plan.yaml:{line_of('rdma: 3 GB/s')}: hops.2.per_connection.rdma: got 'fast', "
        'must be a number with a unit such as "12.5 GB/s"'
    ) in lines


def test_the_message_for_an_unknown_transport_suggests_the_nearest(tmp_path: Path) -> None:
    lines = mistakes(tmp_path, ("transport: ip ", "transport: ipp "))
    assert len(lines) == 3
    assert lines[0].endswith(
        "hops.0.per_connection: has no rate for the plan's transport: 'ipp' is not known; "
        "did you mean 'ip'? (allowed: rdma, ip)"
    )
    lines = mistakes(tmp_path, ("    total: 54.4", "    transport: rmda\n    total: 54.4"))
    assert lines[0].endswith(
        "hops.1.transport: 'rmda' is not known; did you mean 'rdma'? (allowed: rdma, ip)"
    )


def test_hops_that_do_not_connect_are_refused(tmp_path: Path) -> None:
    line = line_of("[GIO, IB-SW]")
    assert mistakes(tmp_path, ("[GIO, IB-SW]", "[GI0, IB-SW]")) == [
        f"plan.yaml:{line}: hops.1.between: starts at 'GI0', must start at 'GIO', "
        "where the hop before it ends"
    ]
    assert mistakes(tmp_path, ("[Sim, GIO]", "[GIO, Sim]"))[0].endswith(
        "starts at 'GIO', must start at 'Sim', the name of the writers"
    )
    assert mistakes(tmp_path, ("[GIO, IB-SW]", "[GIO, Sim]"))[0].endswith(
        "returns to 'Sim', must lead to a new place"
    )
    assert mistakes(tmp_path, ("[IB-SW, PP]", "[IB-SW, P]"))[0].endswith(
        "ends at 'P', must end at 'PP', the name of the readers"
    )


def test_a_relay_that_is_passed_by_or_named_twice_is_refused(tmp_path: Path) -> None:
    assert mistakes(tmp_path, ("name: GIO", "name: Gate"))[0].endswith(
        "hops: pass Sim, PP, must pass all groups in order: Sim, Gate, PP"
    )
    assert mistakes(tmp_path, ("name: GIO ", "name: Sim "))[0].endswith(
        "relays.0.name: 'Sim' is also writers.name; names must be unique"
    )


def test_no_hops_and_no_rates_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="hops: are empty, must lead from the writers"):
        assess(plan([]))
    lines = mistakes(tmp_path, ("{rdma: 3 GB/s, ip: 0.25 GB/s}", "{}"))
    assert lines[0].endswith("hops.2.per_connection: is empty, must hold a rate per transport")


def test_a_plan_made_in_python_is_checked_alike() -> None:
    with pytest.raises(CaseError, match="must start at 'writers'"):
        assess(plan([hop("x", "readers")]))
    with pytest.raises(CaseError, match=r"also relays\.0\.name; names must be unique"):
        assess(plan([hop("writers", "a"), hop("a", "readers")], (("a", 1), ("a", 2))))


# ---- the command -------------------------------------------------------------------------------


def test_the_command_prints_hops_bottleneck_numbers_of_ranks_and_memory(uzushio: Run) -> None:
    done = uzushio("plan", JSS2)
    assert (done.returncode, done.stderr) == (0, "")
    row = next(line for line in done.stdout.splitlines() if "13.6" in line and "ip *" in line)
    assert " ".join(row.split()) == "ip * 16 4 GB/s 13.6 GB/s connections 7.5 s"
    for line in (
        "in use: 4 GB/s, 7.5 s per step, keeps up (1.33 × the need)",
        "  bottleneck: IB-SW to PP by ip, limited by 16 × 250 MB/s",
        "  smallest number of ranks that keeps up: GIO 12, PP 12",
        "  GIO: 64 MB, whatever the size of the step",
        "  PP: 1.875 GB for its share of 1 step",
    ):
        assert line in done.stdout.splitlines()


def test_json_holds_the_same_in_si_units(uzushio: Run) -> None:
    content = json.loads(uzushio("plan", JSS2, "--json").stdout)
    assert content["need"] == 3e9
    assert content["ways"][0]["bottleneck"]["usable"] == 4e9
    assert content["ways"][0]["smallest"] == {"GIO": 12, "PP": 12}


def test_the_command_reports_mistakes_and_fails(uzushio: Run, tmp_path: Path) -> None:
    done = uzushio("plan", tmp_path / "none.yaml")
    assert done.returncode == 1
    assert done.stderr.startswith(f"uzushio: error: {tmp_path}/none.yaml cannot be read")
