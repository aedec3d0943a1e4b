"""Local search: exchanges of two nodes' ranks that lower the loads of links."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from uzushio.placement.evaluation import node_traffic
from uzushio.placement.machines.machine import Floats, Indices, Machine
from uzushio.placement.neighbours import Neighbours
from uzushio.placement.patterns import Pattern

#: Exponent of the loads in the objective, which makes busy links count more.
_POWER = 8
#: Weight of hop-bytes relative to the loads of links as busy as the busiest one.
_HOP_WEIGHT = 1.0
#: Maximum number of messages whose routes change in a round.
_MAX_MESSAGES = 20_000
#: Rounds without an improvement after which the search ends.
_IDLE = 12


@dataclass
class _State:
    """Blocks (ranks of one node) on nodes, and the loads that follow.

    Attributes:
        node: node of each block, (blocks,); blocks after the first `used` have no ranks.
        loads: bytes over each link in each phase, (phases × links,).
        limit: load of the busiest link of all phases at the start.
    """

    node: Indices
    loads: Floats
    limit: float

    def value(self, loads: Floats) -> Floats:
        """Return the contributions of links with these loads to the objective."""
        return loads * (_HOP_WEIGHT + (loads / self.limit) ** (_POWER - 1))


class LocalSearch:
    """Search for exchanges of the ranks of two nodes.

    The objective is the sum over phases and links of load × (1 + (load / limit)⁷), where limit is
    the maximum at the start: hop-bytes, and busy links above all. In a round, blocks whose
    messages cross busy links, and others, are moved to nodes near their partners, in exchange for
    the blocks there; those that lower the objective and do not affect each other are applied.

    Args:
        machine: nodes and network.
        pattern: messages of the job.
        available: nodes of the job.
        seed: seed of the random numbers.
    """

    def __init__(
        self, machine: Machine, pattern: Pattern, available: Indices, seed: int = 0
    ) -> None:
        self._machine, self._pattern, self._available = machine, pattern, available
        self._random = np.random.default_rng(seed)
        self._neighbours = Neighbours(machine, available)

    def improve(self, node_of_rank: Indices, rounds: int = 60) -> Indices:
        """Return the placement after the search, node of each rank (ranks,).

        Args:
            node_of_rank: node of each rank, (ranks,).
            rounds: maximum number of rounds.
        """
        used, block_of_rank = np.unique(node_of_rank, return_inverse=True)
        empty = np.setdiff1d(self._available, used)
        self._messages(block_of_rank, len(used) + len(empty))
        if len(self._sent) == 0 or len(used) < 2:
            return node_of_rank
        state = self._start(np.concatenate([used, empty]))
        idle = 0
        for _ in range(rounds):
            idle = 0 if self._round(state, len(used)) else idle + 1
            if idle == _IDLE:
                break
        return state.node[block_of_rank]

    def _messages(self, block_of_rank: Indices, blocks: int) -> None:
        """Store the messages between blocks, and those of each block."""
        traffic = [node_traffic(phase, block_of_rank, blocks) for phase in self._pattern.phases]
        phases = [np.full(len(messages.sent), number) for number, messages in enumerate(traffic)]
        self._source = np.concatenate([messages.source for messages in traffic])
        self._target = np.concatenate([messages.target for messages in traffic])
        self._sent = np.concatenate([messages.sent for messages in traffic])
        self._phase = np.concatenate(phases)
        ends = np.concatenate([self._source, self._target])
        order = np.argsort(ends, kind="stable")
        self._message_of_block = order % max(len(self._sent), 1)
        self._first = np.searchsorted(ends[order], np.arange(blocks + 1))

    def _start(self, node: Indices) -> _State:
        loads = np.concatenate(
            [
                self._machine.loads(
                    node[self._source[mask]], node[self._target[mask]], self._sent[mask]
                )
                for mask in (self._phase == number for number in range(len(self._pattern.phases)))
            ]
        )
        return _State(node, loads, float(loads.max()) or 1.0)

    def _round(self, state: _State, used: int) -> bool:
        """Try exchanges, apply those that help, and return whether one did."""
        first, second = self._candidates(state, used)
        keys, change, candidate = self._changes(state, first, second)
        if len(keys) == 0:
            return False
        gain = np.bincount(
            candidate,
            state.value(state.loads[keys] + change) - state.value(state.loads[keys]),
            minlength=len(first),
        ).astype(float)
        chosen = self._independent(first, second, gain)
        while chosen:
            apply = np.isin(candidate, chosen)
            total = np.bincount(keys[apply], change[apply], minlength=len(state.loads))
            touched = np.flatnonzero(total)
            old, new = state.loads[touched], state.loads[touched] + total[touched]
            if state.value(new).sum() < state.value(old).sum():
                state.loads[touched] = np.maximum(new, 0.0)
                for index in chosen:
                    pair = [first[index], second[index]]
                    state.node[pair] = state.node[pair[::-1]]
                return True
            chosen = chosen[: len(chosen) // 2]  # together they are worse than each alone
        return False

    def _candidates(self, state: _State, used: int) -> tuple[Indices, Indices]:
        """Draw blocks, and for each a block that lies near one of its partners."""
        degree = max(1, 2 * len(self._sent) // used)
        count = int(np.clip(_MAX_MESSAGES // (2 * degree), 4, 256))
        hot = self._hot_blocks(state)
        drawn = self._random.integers(0, used, count)
        if len(hot):
            half = count // 2
            drawn[:half] = hot[self._random.integers(0, len(hot), half)]
        first = np.unique(drawn)
        first = first[self._first[first + 1] > self._first[first]]
        low, high = self._first[first], self._first[first + 1]
        message = self._message_of_block[self._random.integers(low, high)]
        partner = np.where(
            self._source[message] == first, self._target[message], self._source[message]
        )
        second = self._neighbours.draw(state.node[partner], self._random)
        block_at = np.empty(self._machine.size, np.int64)
        block_at[state.node] = np.arange(len(state.node))
        second = block_at[second]
        other = first != second
        return first[other], second[other]

    def _hot_blocks(self, state: _State) -> Indices:
        """Return the blocks with messages over links that are nearly the busiest of a phase."""
        loads = state.loads.reshape(len(self._pattern.phases), -1)
        blocks = []
        for phase, row in enumerate(loads):
            busy = row >= 0.9 * row.max()
            own = np.flatnonzero(self._phase == phase)
            own = own[self._random.permutation(len(own))[:_MAX_MESSAGES]]
            routes = self._machine.routes(
                state.node[self._source[own]], state.node[self._target[own]]
            )
            message = own[np.unique(routes.message[busy[routes.link]])]
            blocks += [self._source[message], self._target[message]]
        return np.unique(np.concatenate(blocks))

    def _changes(
        self, state: _State, first: Indices, second: Indices
    ) -> tuple[Indices, Floats, Indices]:
        """Return the changes of loads by each exchange: link and phase, bytes, exchange."""
        links = self._machine.links
        ends = np.concatenate([first, second])
        count = self._first[ends + 1] - self._first[ends]
        candidate = np.repeat(np.tile(np.arange(len(first)), 2), count)
        offset = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        message = self._message_of_block[np.repeat(self._first[ends], count) + offset]
        # A message between the two blocks of an exchange is listed twice.
        pair = np.unique(candidate * len(self._sent) + message)
        candidate, message = pair // len(self._sent), pair % len(self._sent)
        source, target = self._source[message], self._target[message]
        first_block, other = first[candidate], second[candidate]

        def moved(block: Indices) -> Indices:
            return np.where(
                block == first_block, other, np.where(block == other, first_block, block)
            )

        keys, values = [], []
        for begin, end, sign in ((source, target, -1.0), (moved(source), moved(target), 1.0)):
            routes = self._machine.routes(state.node[begin], state.node[end])
            entry = routes.message
            link = self._phase[message[entry]] * links + routes.link
            keys.append(candidate[entry] * len(state.loads) + link)
            values.append(sign * self._sent[message[entry]])
        key, inverse = np.unique(np.concatenate(keys), return_inverse=True)
        change = np.bincount(inverse, np.concatenate(values), minlength=len(key)).astype(float)
        return key % len(state.loads), change, key // len(state.loads)

    def _independent(self, first: Indices, second: Indices, gain: Floats) -> list[int]:
        """Return the exchanges that lower the objective and share no block or partner."""
        taken: set[int] = set()
        chosen = []
        for index in np.argsort(gain):
            if gain[index] >= -1e-9:
                break
            pair = (int(first[index]), int(second[index]))
            partners = set(pair)
            for block in pair:
                message = self._message_of_block[self._first[block] : self._first[block + 1]]
                partners.update(self._source[message].tolist())
                partners.update(self._target[message].tolist())
            if taken.isdisjoint(partners):
                taken |= partners
                chosen.append(int(index))
        return chosen
