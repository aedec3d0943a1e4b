"""Plan files: step size and interval, groups of ranks, and hops of a staging chain.

The terms are those of `uzushio.staging.plan_rates`. Units: bytes, bytes per second, seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field

from uzushio._base.config.names import unknown
from uzushio._base.config.quantities import Rate, Seconds, Size
from uzushio._base.config.section import Section
from uzushio._base.config.yaml_document import Document
from uzushio._base.config.yaml_file import KeyPath
from uzushio.errors import CaseError

#: Upper limit of the search for the smallest number of ranks.
MAX_RANKS = 10**9

Name = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(gt=0, le=MAX_RANKS)]


class PlannedStep(Section):
    """Size and interval of published steps."""

    size: Size = Field(ge=1.0, description="bytes of a step, of all ranks together")
    interval: Seconds = Field(description="seconds from one published step to the next")


class RankGroup(Section):
    """Group of ranks: writers, a relay, or readers."""

    name: Name
    ranks: Count


class WriterGroup(RankGroup):
    """The solver's ranks."""

    name: Name = "writers"


class RelayGroup(RankGroup):
    """Ranks of a relay in the chain."""

    budget: Size = Field(64e6, description="maximum bytes that a process holds, for any step size")


class ReaderGroup(RankGroup):
    """The readers' ranks."""

    name: Name = "readers"
    steps_held: Count = Field(1, description="number of steps that a process holds at once")
    memory: Size | None = Field(None, description="bytes available in a process for these steps")


class Hop(Section):
    """Section of the route between two groups or switches."""

    between: tuple[Name, Name] = Field(description="start and end: groups or switches")
    per_connection: dict[str, Rate] = Field(description="rate of one connection, by transport")
    total: Rate = Field(description="maximum rate of all connections together")
    connections_per_rank: Count = 1
    transport: str | None = Field(
        None, description="transport of this hop; the plan's if not given"
    )

    @property
    def name(self) -> str:
        """Names of both ends."""
        return f"{self.between[0]} to {self.between[1]}"


class StagingPlan(Section):
    """Plan file; the hops lead from the writers through all relays, in order, to the readers."""

    title: str = ""
    step: PlannedStep
    transport: str = Field(description="transport of all hops that do not set one")
    writers: WriterGroup
    relays: tuple[RelayGroup, ...] = ()
    readers: ReaderGroup
    hops: tuple[Hop, ...]

    @property
    def need(self) -> float:
        """Published bytes per second."""
        return self.step.size / self.step.interval

    @property
    def groups(self) -> dict[str, int]:
        """Ranks of each group, from the writers to the readers."""
        groups: tuple[RankGroup, ...] = (self.writers, *self.relays, self.readers)
        return {group.name: group.ranks for group in groups}

    def transport_of(self, hop: Hop) -> str:
        """Return the transport of `hop`."""
        return hop.transport or self.transport


def load_plan(path: Path | str) -> StagingPlan:
    """Read and validate a plan file.

    Raises:
        CaseError: one line for each mistake, naming the file and line, the key, the value given
            and the allowed values.
    """
    document = Document.read(path, "plan")
    document.refuse_other("a plan", "hops")
    plan = document.validate(StagingPlan)
    check_route(plan, document.where)
    return plan


def check_route(plan: StagingPlan, where: Callable[[KeyPath], str] | None = None) -> None:
    """Check the route, for plans from files and for those made in Python.

    Raises:
        CaseError: if the hops do not lead from the writers through all relays to the readers, or
            a hop has no rate for its transport.
    """
    lines = []
    for key, sentence in _mistakes(plan):
        place = f"{where(key)}: " if where else ""
        lines.append(f"{place}{'.'.join(map(str, key))}: {sentence}")
    if lines:
        raise CaseError("\n".join(lines))


def _mistakes(plan: StagingPlan) -> Iterator[tuple[KeyPath, str]]:
    """Yield each mistake: the key, and the rest of a sentence that starts with it."""
    names = list(_name_mistakes(plan))
    if names:
        yield from names
        return
    for index, hop in enumerate(plan.hops):
        if plan.transport_of(hop) not in hop.per_connection:
            known = list(hop.per_connection)
            if not known:
                yield ("hops", index, "per_connection"), "is empty, must hold a rate per transport"
            elif hop.transport:
                yield ("hops", index, "transport"), _unknown(hop.transport, known)
            else:
                yield (
                    ("hops", index, "per_connection"),
                    f"has no rate for the plan's transport: {_unknown(plan.transport, known)}",
                )
    yield from _route_mistakes(plan)


def _unknown(value: str, allowed: list[str]) -> str:
    """Describe an unknown value, with the nearest allowed one."""
    return f"'{value}' {unknown(value, allowed)}"


def _name_mistakes(plan: StagingPlan) -> Iterator[tuple[KeyPath, str]]:
    """Yield groups with the same name."""
    names: dict[str, KeyPath] = {plan.writers.name: ("writers", "name")}
    others: list[tuple[str, KeyPath]] = [
        (relay.name, ("relays", index, "name")) for index, relay in enumerate(plan.relays)
    ]
    for name, key in [*others, (plan.readers.name, ("readers", "name"))]:
        if name in names:
            above = ".".join(map(str, names[name]))
            yield key, f"'{name}' is also {above}; names must be unique"
        names.setdefault(name, key)


def _route_mistakes(plan: StagingPlan) -> Iterator[tuple[KeyPath, str]]:
    """Yield hops that do not connect, and groups that are not passed in order."""
    if not plan.hops:
        yield ("hops",), "are empty, must lead from the writers to the readers"
        return
    here, visited = plan.writers.name, [plan.writers.name]
    for index, hop in enumerate(plan.hops):
        key: KeyPath = ("hops", index, "between")
        start, end = hop.between
        if start != here:
            whose = "where the hop before it ends" if index else "the name of the writers"
            yield key, f"starts at '{start}', must start at '{here}', {whose}"
            return
        if end in visited:
            yield key, f"returns to '{end}', must lead to a new place"
            return
        visited.append(end)
        here = end
    if here != plan.readers.name:
        last: KeyPath = ("hops", len(plan.hops) - 1, "between")
        yield last, f"ends at '{here}', must end at '{plan.readers.name}', the name of the readers"
    passed = [place for place in visited if place in plan.groups]
    if passed != list(plan.groups) and here == plan.readers.name:
        yield (
            ("hops",),
            f"pass {', '.join(passed)}, must pass all groups in order: {', '.join(plan.groups)}",
        )
