"""Plan files: how much is staged, over which hops, by how many ranks.

Terms are those of `uzushio.staging.plan_rates`. Bytes, bytes per second and seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field

from uzushio.config.names import unknown
from uzushio.config.quantities import Rate, Seconds, Size
from uzushio.config.section import Section
from uzushio.config.yaml_document import Document
from uzushio.config.yaml_file import KeyPath
from uzushio.errors import CaseError

#: More than anyone has: the search for the smallest number of ranks goes no further.
MOST_RANKS = 10**9

Name = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(gt=0, le=MOST_RANKS)]


class Step(Section):
    """What is published, and how often."""

    size: Size = Field(ge=1.0, description="bytes of a step, of all ranks together")
    interval: Seconds = Field(description="seconds from one published step to the next")


class Group(Section):
    """Ranks on the way."""

    name: Name
    ranks: Count


class Writers(Group):
    """The solver's ranks."""

    name: Name = "writers"


class Relay(Group):
    """A relay of the chain."""

    budget: Size = Field(64e6, description="bytes that a process may hold, whatever the step")


class Readers(Group):
    """The ranks that look at the steps."""

    name: Name = "readers"
    steps_held: Count = Field(1, description="steps of which a process holds its share at once")
    memory: Size | None = Field(None, description="bytes that a process has for these steps")


class Hop(Section):
    """One stretch of the way."""

    between: tuple[Name, Name] = Field(description="where it starts and ends: groups or switches")
    per_connection: dict[str, Rate] = Field(description="rate of one connection, by transport")
    total: Rate = Field(description="rate of all connections together at most")
    connections_per_rank: Count = 1
    transport: str | None = Field(None, description="in use here, if not the plan's")

    @property
    def name(self) -> str:
        """Both ends."""
        return f"{self.between[0]} to {self.between[1]}"


class Plan(Section):
    """A plan file. The hops lead from the writers through all relays, in order, to the readers."""

    title: str = ""
    step: Step
    transport: str = Field(description="in use on every hop that names no other")
    writers: Writers
    relays: tuple[Relay, ...] = ()
    readers: Readers
    hops: tuple[Hop, ...]

    @property
    def need(self) -> float:
        """Bytes per second that are published."""
        return self.step.size / self.step.interval

    @property
    def groups(self) -> dict[str, int]:
        """Ranks of each group, from the writers to the readers."""
        groups: tuple[Group, ...] = (self.writers, *self.relays, self.readers)
        return {group.name: group.ranks for group in groups}

    def transport_of(self, hop: Hop) -> str:
        """The transport in use on `hop`."""
        return hop.transport or self.transport


def load_plan(path: Path | str) -> Plan:
    """Read and validate a plan file.

    Raises:
        CaseError: one line for each mistake, naming the file and line, the key, the value given
            and what is allowed.
    """
    document = Document.read(path, "plan")
    plan = document.validate(Plan)
    check_way(plan, document.where)
    return plan


def check_way(plan: Plan, where: Callable[[KeyPath], str] | None = None) -> None:
    """Check what spans several keys, for plans from files and for those made in Python.

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


def _mistakes(plan: Plan) -> Iterator[tuple[KeyPath, str]]:
    """What is wrong with the way: the key, and the rest of a sentence that starts with it."""
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
    yield from _way_mistakes(plan)


def _unknown(value: str, allowed: list[str]) -> str:
    """Say that `value` is not among `allowed`, and which is nearest."""
    return f"'{value}' {unknown(value, allowed)}"


def _name_mistakes(plan: Plan) -> Iterator[tuple[KeyPath, str]]:
    """Two groups of the same name."""
    names: dict[str, KeyPath] = {plan.writers.name: ("writers", "name")}
    others: list[tuple[str, KeyPath]] = [
        (relay.name, ("relays", index, "name")) for index, relay in enumerate(plan.relays)
    ]
    for name, key in [*others, (plan.readers.name, ("readers", "name"))]:
        if name in names:
            above = ".".join(map(str, names[name]))
            yield key, f"'{name}' is also {above}; each needs a name of its own"
        names.setdefault(name, key)


def _way_mistakes(plan: Plan) -> Iterator[tuple[KeyPath, str]]:
    """Hops that do not join, and groups that are not passed in order."""
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
            yield key, f"comes back to '{end}', must lead on"
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
