"""Whether steps get from writers through relays to readers as fast as they are published.

The terms, as `docs/how-to/plan.md` explains them with an example:

- *group*: the writer ranks, the ranks of one relay, or the reader ranks.
- *hop*: a stretch of the way with rates of its own, between two groups, or between a group and a
  place without ranks such as a switch.
- *connections* of a hop: `connections_per_rank` for each rank of the group at its end; of the
  smaller group where both ends are groups. Between two switches the nearest groups count.
- *usable*: what the connections could carry together, per connection × connections.
- *available*: what the hop's network carries in total, whatever the connections.
- *rate* of a hop: the lesser of the two. *Limited by* connections, or by the total, where more
  connections would not help.
- *rate* of the way: that of its slowest hop, the *bottleneck* (the first of equals). Relays forward
  chunks as they arrive (cut-through), so all hops work at once, and a step takes its size over this
  rate.
- *need*: the size of a step over the interval between steps; the way *keeps up* if its rate is not
  below the need.

Bytes, bytes per second and seconds throughout. Not in the model: latency, other traffic, uneven
shares of the ranks, and what readers do with a step.

Source: section 5.2, Tables 1 and 2 of the paper cited in `docs/how-to/plan.md`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from uzushio.config.quantities import show_rate, show_size, show_time
from uzushio.staging.plan import MOST_RANKS, Hop, Plan, check_way


@dataclass(frozen=True)
class HopRate:
    """A hop by one transport; rates in bytes per second."""

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
class WayRate:
    """The whole way: with the transports `in use`, or with one transport on every hop.

    Attributes:
        factor: rate over need.
        smallest: the smallest number of ranks of each relay and of the readers with which the way
            keeps up and a reader's steps fit; None if no number of ranks does.
        obstacles: why not, a sentence for each hop.
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
    """What a plan comes to; bytes and bytes per second.

    Attributes:
        hops: each hop by each of its transports.
        ways: the one in use first, then one for each transport that every hop has.
        relay_memory: bytes per process of each relay.
        reader_memory: bytes per reader process.
        reader_fits: whether these are within `readers.memory`; true if none is given.
    """

    need: float
    hops: tuple[HopRate, ...]
    ways: tuple[WayRate, ...]
    relay_memory: dict[str, float]
    reader_memory: float
    reader_fits: bool


def assess(plan: Plan) -> Assessment:
    """Work out what `plan` comes to.

    Raises:
        CaseError: if the hops do not lead from the writers through all relays to the readers, or
            a hop has no rate for its transport.
    """
    check_way(plan)
    in_use = [plan.transport_of(hop) for hop in plan.hops]
    shared = [
        transport
        for transport in plan.hops[0].per_connection
        if all(transport in hop.per_connection for hop in plan.hops)
    ]
    ways = [_way(plan, in_use, "in use")]
    for transport in shared:
        everywhere = [transport] * len(plan.hops)
        if everywhere != in_use:
            ways.append(_way(plan, everywhere, transport))
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


def _hop_rate(plan: Plan, index: int, transport: str) -> HopRate:
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


def _reader_memory(plan: Plan, ranks: int) -> float:
    return plan.step.size * plan.readers.steps_held / ranks


def _ends(plan: Plan, index: int) -> list[str]:
    """The groups whose ranks hold the connections of the hop at `index`."""
    ends = [place for place in plan.hops[index].between if place in plan.groups]
    if ends:
        return ends
    before = [hop.between[0] for hop in plan.hops[:index] if hop.between[0] in plan.groups]
    after = [hop.between[1] for hop in plan.hops[index:] if hop.between[1] in plan.groups]
    return [before[-1], after[0]]


def _way(plan: Plan, transports: list[str], label: str) -> WayRate:
    """Follow the way with the given transport on each hop."""
    hops = [_hop_rate(plan, index, transport) for index, transport in enumerate(transports)]
    bottleneck = min(hops, key=lambda hop: hop.rate)
    obstacles = tuple(_obstacles(plan, hops))
    smallest = None if obstacles else _smallest(plan, transports)
    return WayRate(
        transport=label,
        rate=bottleneck.rate,
        seconds_per_step=bottleneck.seconds_per_step,
        bottleneck=bottleneck,
        factor=bottleneck.rate / plan.need,
        keeps_up=bottleneck.rate >= plan.need,
        smallest=smallest,
        obstacles=obstacles,
    )


def _obstacles(plan: Plan, hops: list[HopRate]) -> Iterator[str]:
    """Say on which hops no number of relay and reader ranks would do."""
    need = (
        f"below the {show_rate(plan.need)} that {show_size(plan.step.size)} "
        f"every {show_time(plan.step.interval)} need"
    )
    for index, found in enumerate(hops):
        hop = plan.hops[index]
        if hop.total < plan.need:
            yield f"{hop.name} carries {show_rate(hop.total)} in total, {need}"
            continue
        for group in _ends(plan, index):
            ranks = plan.writers.ranks if group == plan.writers.name else MOST_RANKS
            usable = _usable(hop, found.transport, ranks)
            if usable < plan.need:
                yield (
                    f"{hop.name} by {found.transport}: {ranks * hop.connections_per_rank:,} "
                    f"connections of {group} carry {show_rate(usable)}, {need}"
                )
    if plan.readers.memory is not None:
        share = _reader_memory(plan, MOST_RANKS)
        if share > plan.readers.memory:
            yield f"{show_size(plan.readers.memory)} is too little memory for any reader's share"


def _smallest(plan: Plan, transports: list[str]) -> dict[str, int]:
    """Find the smallest number of ranks of each group but the writers.

    A hop needs enough ranks of each group at its ends, so no group's number depends on another's.
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

    counts = range(1, MOST_RANKS)
    searched = [group for group in plan.groups if group != plan.writers.name]
    return {group: 1 + bisect_left(counts, True, key=enough(group)) for group in searched}
