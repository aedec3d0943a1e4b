"""Throughput of a staging chain, from writers through relays to readers.

The terms, with an example in `docs/how-to/plan.md`:

- *group*: the writer ranks, the ranks of one relay, or the reader ranks.
- *hop*: section of the route with its own rates, between two groups, or between a group and a
  place without ranks such as a switch.
- *connections* of a hop: `connections_per_rank` for each rank of the group at its end; of the
  smaller group if both ends are groups. Between two switches, those of the nearest groups.
- *usable*: rate of all connections together, per connection × connections.
- *available*: total rate of the hop's network, independent of the connections.
- *rate* of a hop: the minimum of both. It is *limited by* connections, or by the total, where more
  connections do not help.
- *rate* of the route: that of its slowest hop, the *bottleneck* (the first of equals). Relays
  forward chunks as they arrive (cut-through), so all hops work concurrently, and a step takes its
  size divided by this rate.
- *need*: size of a step divided by the interval between steps; the route *keeps up* if its rate is
  at least the need.

Units: bytes, bytes per second and seconds. Not in the model: latency, other traffic, uneven shares
of the ranks, and the readers' work on a step.

Source: section 5.2, Tables 1 and 2 of the paper cited in `docs/how-to/plan.md`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from uzushio._base.config.quantities import show_rate, show_size, show_time
from uzushio.staging.plan import MAX_RANKS, Hop, StagingPlan, check_route


@dataclass(frozen=True)
class HopRate:
    """Rates of a hop with one transport, in bytes per second."""

    hop: str
    transport: str
    in_use: bool
    connections: int
    per_connection: float
    usable: float
    available: float
    rate: float
    limited_by: Literal["connections", "total"]
    seconds_per_step: float


@dataclass(frozen=True)
class RouteRate:
    """Rate of the whole route: with the transports in use, or with one transport on every hop.

    Attributes:
        factor: rate divided by need.
        smallest: smallest number of ranks of each relay and of the readers with which the route
            keeps up and a reader's steps fit in memory; None if no number suffices.
        obstacles: why no number suffices, a sentence for each hop.
    """

    transport: str
    rate: float
    seconds_per_step: float
    bottleneck: HopRate
    factor: float
    keeps_up: bool
    smallest: dict[str, int] | None
    obstacles: tuple[str, ...]


@dataclass(frozen=True)
class Assessment:
    """Result of a plan, in bytes and bytes per second.

    Attributes:
        need: rate that the route needs to keep up.
        hops: each hop with each of its transports.
        ways: the route in use first, then one for each transport that every hop has.
        relay_memory: bytes per process of each relay.
        reader_memory: bytes per reader process.
        reader_fits: whether they fit `readers.memory`; true if that is not given.
    """

    need: float
    hops: tuple[HopRate, ...]
    ways: tuple[RouteRate, ...]
    relay_memory: dict[str, float]
    reader_memory: float
    reader_fits: bool


def assess(plan: StagingPlan) -> Assessment:
    """Compute rates and memory of a plan.

    Raises:
        CaseError: if the hops do not lead from the writers through all relays to the readers, or
            a hop has no rate for its transport.
    """
    check_route(plan)
    in_use = [plan.transport_of(hop) for hop in plan.hops]
    shared = [
        transport
        for transport in plan.hops[0].per_connection
        if all(transport in hop.per_connection for hop in plan.hops)
    ]
    ways = [_route_rate(plan, in_use, "in use")]
    for transport in shared:
        everywhere = [transport] * len(plan.hops)
        if everywhere != in_use:
            ways.append(_route_rate(plan, everywhere, transport))
    memory = _reader_memory(plan, plan.readers.ranks)
    return Assessment(
        need=plan.need,
        hops=tuple(
            _hop_rate(plan, index, transport)
            for index, hop in enumerate(plan.hops)
            for transport in hop.per_connection
        ),
        ways=tuple(ways),
        relay_memory={relay.name: relay.budget for relay in plan.relays},
        reader_memory=memory,
        reader_fits=plan.readers.memory is None or memory <= plan.readers.memory,
    )


def _hop_rate(plan: StagingPlan, index: int, transport: str) -> HopRate:
    hop = plan.hops[index]
    ranks = min(plan.groups[group] for group in _ends(plan, index))
    usable = _usable(hop, transport, ranks)
    rate = min(usable, hop.total)
    return HopRate(
        hop=hop.name,
        transport=transport,
        in_use=transport == plan.transport_of(hop),
        connections=ranks * hop.connections_per_rank,
        per_connection=hop.per_connection[transport],
        usable=usable,
        available=hop.total,
        rate=rate,
        limited_by="connections" if usable < hop.total else "total",
        seconds_per_step=plan.step.size / rate,
    )


def _usable(hop: Hop, transport: str, ranks: int) -> float:
    return ranks * hop.connections_per_rank * hop.per_connection[transport]


def _reader_memory(plan: StagingPlan, ranks: int) -> float:
    return plan.step.size * plan.readers.steps_held / ranks


def _ends(plan: StagingPlan, index: int) -> list[str]:
    """Return the groups whose ranks hold the connections of the hop at `index`."""
    ends = [place for place in plan.hops[index].between if place in plan.groups]
    if ends:
        return ends
    before = [hop.between[0] for hop in plan.hops[:index] if hop.between[0] in plan.groups]
    after = [hop.between[1] for hop in plan.hops[index:] if hop.between[1] in plan.groups]
    return [before[-1], after[0]]


def _route_rate(plan: StagingPlan, transports: list[str], label: str) -> RouteRate:
    """Compute the rate of the route with the given transport on each hop."""
    hops = [_hop_rate(plan, index, transport) for index, transport in enumerate(transports)]
    bottleneck = min(hops, key=lambda hop: hop.rate)
    obstacles = tuple(_obstacles(plan, hops))
    smallest = None if obstacles else _smallest(plan, transports)
    return RouteRate(
        transport=label,
        rate=bottleneck.rate,
        seconds_per_step=bottleneck.seconds_per_step,
        bottleneck=bottleneck,
        factor=bottleneck.rate / plan.need,
        keeps_up=bottleneck.rate >= plan.need,
        smallest=smallest,
        obstacles=obstacles,
    )


def _obstacles(plan: StagingPlan, hops: list[HopRate]) -> Iterator[str]:
    """Describe the hops on which no number of relay and reader ranks suffices."""
    need = (
        f"below the {show_rate(plan.need)} that {show_size(plan.step.size)} "
        f"every {show_time(plan.step.interval)} need"
    )
    for index, slowest in enumerate(hops):
        hop = plan.hops[index]
        if hop.total < plan.need:
            yield f"{hop.name} carries {show_rate(hop.total)} in total, {need}"
            continue
        for group in _ends(plan, index):
            ranks = plan.writers.ranks if group == plan.writers.name else MAX_RANKS
            usable = _usable(hop, slowest.transport, ranks)
            if usable < plan.need:
                yield (
                    f"{hop.name} by {slowest.transport}: {ranks * hop.connections_per_rank:,} "
                    f"connections of {group} carry {show_rate(usable)}, {need}"
                )
    if plan.readers.memory is not None:
        share = _reader_memory(plan, MAX_RANKS)
        if share > plan.readers.memory:
            yield f"{show_size(plan.readers.memory)} is too little memory for any reader's share"


def _smallest(plan: StagingPlan, transports: list[str]) -> dict[str, int]:
    """Find the smallest number of ranks of each group except the writers.

    A hop needs enough ranks of each group at its ends, so the groups are independent.
    """

    def enough(group: str) -> Callable[[int], bool]:
        needed = [
            (hop, transport)
            for index, (hop, transport) in enumerate(zip(plan.hops, transports, strict=True))
            if group in _ends(plan, index)
        ]
        limit = plan.readers.memory if group == plan.readers.name else None

        def test(ranks: int) -> bool:
            fits = limit is None or _reader_memory(plan, ranks) <= limit
            return fits and all(_usable(*hop, ranks) >= plan.need for hop in needed)

        return test

    counts = range(1, MAX_RANKS)
    searched = [group for group in plan.groups if group != plan.writers.name]
    return {group: 1 + bisect_left(counts, True, key=enough(group)) for group in searched}
