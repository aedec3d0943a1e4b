"""Search the fastest point: batches that race, a random search beside, and finals."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from optuna.storages import JournalStorage

from uzushio.errors import TuningError
from uzushio.tuning.bench import Bench
from uzushio.tuning.journal import Record, Trials
from uzushio.tuning.race import FIRST_LIMIT, Entry, race
from uzushio.tuning.space import Key, Space
from uzushio.tuning.strategies import propose

#: Points of the guided search in a batch, and how the batches after the first choose them.
BATCH = 4
_FIRST = ("model",) * BATCH
_LATER = ("TPE", "neighbour", "TPE", "neighbour")
#: The fastest points of the search that are measured again.
FINALISTS = 4
#: A point is taken instead of the default, or with something switched on, if it is faster by this.
MARGIN = 0.02
#: Seconds of each point's repetitions in the finals at least, in so many rounds at most.
_FINALS_SPAN, _MOST_ROUNDS = 0.2, 50


@dataclass(frozen=True)
class Budget:
    """How long to search: for trials of the guided search, or seconds of all; the finals included.

    Exactly one of the two is given.
    """

    trials: int | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Settings:
    """Of a search.

    Attributes:
        budget: after which it ends.
        repetitions: of each point in its batch; in the finals twice as many.
        baseline: whether a random search of the same number of trials goes on beside.
        seed: of all that is drawn at random.
        limit: seconds for one repetition of the first points.
        memory: bytes that points which are ready at a time may take.
    """

    budget: Budget = Budget(trials=40)
    repetitions: int = 4
    baseline: bool = True
    seed: int = 0
    limit: float = FIRST_LIMIT
    memory: float = math.inf


@dataclass(frozen=True)
class Finalist:
    """A point of the finals.

    Attributes:
        key: of it.
        by: what had proposed it.
        seconds: of its repetitions in the finals.
    """

    key: Key
    by: str
    seconds: tuple[float, ...]

    @property
    def best(self) -> float:
        """Least seconds."""
        return min(self.seconds)


@dataclass(frozen=True)
class Outcome:
    """What a search found.

    Attributes:
        chosen: the finalist that is to be used.
        default: the finalist that is used without tuning.
        finalists: all, the fastest first.
        guided: trials of the guided search.
        random: trials of the random search; empty without.
        best_random: the best that it found, as measured in the finals.
        reason: why `chosen` is not simply the fastest, if it is not.
        model_error: factor f by which measured over predicted times scattered to either side.
        noise: median over least time of the default in its batches.
    """

    chosen: Finalist
    default: Finalist
    finalists: Sequence[Finalist]
    guided: Sequence[Record]
    random: Sequence[Record]
    best_random: Finalist | None
    reason: str
    model_error: float
    noise: float


@dataclass(frozen=True)
class State:
    """What is told after each batch.

    Attributes:
        fraction: of the budget that is used, 0 to 1.
        trials: of the guided search so far.
        best: the fastest point so far, and how many times faster than the default it is.
        random: how many times faster than the default the random search's best is; None without.
    """

    fraction: float
    trials: int
    best: tuple[Key, float] | None
    random: float | None


class Search:
    """One search in one journal; it goes on where an earlier one was interrupted.

    Args:
        space: of points, pruned by the model.
        bench: that times them.
        storage: of the journal.
        settings: see there.
        earlier: a point that an earlier tuning found, to begin with.
        told: is called after each batch.
    """

    def __init__(
        self,
        space: Space,
        bench: Bench,
        storage: JournalStorage,
        settings: Settings,
        earlier: Key | None = None,
        told: Callable[[State], None] = lambda _: None,
    ) -> None:
        self._space, self._bench, self._settings, self._told = space, bench, settings, told
        self._guided, self._random, self._default, self._finals = (
            Trials(storage, name, space) for name in ("guided", "random", "default", "finals")
        )
        self._earlier = earlier
        self._trust = space.subject.trust

    def run(self) -> Outcome:
        """Search until the budget is used, and decide.

        Raises:
            TuningError: the default cannot be run, or the job that runs points is gone.
        """
        batch, began = 0, time.monotonic()
        before = float(self._guided.noted("spent", 0.0))
        while True:
            plan = self._guided.plan(batch)
            if plan is None:
                # The clock counts while something is measured; what was there already is free.
                spent = before + time.monotonic() - began
                if self._enough(spent):
                    break
                plan = self._propose(batch)
                if not plan:
                    break
            if not self._over(batch, plan):
                self._measure(batch, plan)
                self._guided.note_all("spent", before + time.monotonic() - began)
            else:
                began = time.monotonic()
            self._tell(before + time.monotonic() - began)
            batch += 1
        return self._decide(batch)

    # ---- batches ---------------------------------------------------------------------------

    def _enough(self, spent: float) -> bool:
        budget = self._settings.budget
        if budget.seconds is not None:
            return spent + self._finals_take() >= budget.seconds
        return len(self._guided.all()) >= (budget.trials or 0)

    def _finals_take(self) -> float:
        """Seconds that the finals will take, about."""
        finalists = sorted(one.best for one in self._guided.all() if one.best < math.inf)
        default = min((one.best for one in self._default.all()), default=0.0)
        return 2 * self._settings.repetitions * (2 * default + sum(finalists[:FINALISTS]))

    def _propose(self, batch: int) -> list[tuple[Key, str]]:
        """Plan a batch, and write the plan down."""
        self._learn_trust()
        values = self._values(self._guided)
        wanted = list(_LATER if batch else _FIRST)
        left = math.inf
        if self._settings.budget.trials is not None:
            left = self._settings.budget.trials - len(values)
        seed = hash((self._settings.seed, batch)) & 0x7FFFFFFF
        plan: list[tuple[Key, str]] = []
        if batch == 0 and self._earlier is not None and self._space.find(self._earlier):
            plan.append((self._earlier, "earlier tuning"))
        if batch == 0:
            # Whether these pay is measured, whatever the model says.
            plan += [(one.key, "model") for one in self._space.switched_on()]
            plan = list(dict(plan[: max(1, min(BATCH - 1, int(min(left, BATCH)) - 1))]).items())
        # The default is known from each batch, and is where most of the good points may be near.
        known = {self._space.default().key: 1.0} if batch else {}
        known |= values | {key: math.inf for key, _ in plan}
        wanted = wanted[: int(min(left, BATCH)) - len(plan)]
        plan += propose(wanted, self._space, known, seed)
        plan = self._fitting(plan)
        if self._settings.baseline and plan:
            drawn = propose(["random"] * len(plan), self._space, self._values(self._random), seed)
            self._random.write_plan(batch, drawn)
        if plan:
            self._guided.write_plan(batch, plan)
        return plan

    def _fitting(self, plan: list[tuple[Key, str]]) -> list[tuple[Key, str]]:
        """As many of the points as fit into memory beside the default; at least one."""
        room = self._settings.memory - self._memory(self._space.default().key)
        fitting: list[tuple[Key, str]] = []
        for key, by in plan:
            # A point of the random search of about this size comes with it.
            room -= (2 if self._settings.baseline else 1) * self._memory(key)
            if fitting and room < 0:
                break
            fitting.append((key, by))
        return fitting

    def _memory(self, key: Key) -> int:
        return self._space.subject.memory(self._space.point(key))

    def _over(self, batch: int, plan: Sequence[tuple[Key, str]]) -> bool:
        """Whether all of a batch was measured before."""
        return all(
            len(found) == len(wanted) and all(one.done for one in found)
            for trials, wanted in self._parts(batch, plan)
            for found in [trials.batch(batch)]
        )

    def _parts(
        self, batch: int, plan: Sequence[tuple[Key, str]]
    ) -> list[tuple[Trials, Sequence[tuple[Key, str]]]]:
        """The studies that take part in a batch, and their points."""
        return [
            (self._default, [(self._space.default().key, "default")]),
            (self._guided, plan),
            (self._random, self._random.plan(batch) or []),
        ]

    def _measure(self, batch: int, plan: Sequence[tuple[Key, str]]) -> None:
        """Race the points of a batch, or what is left of it."""
        records = [
            (trials, record)
            for trials, wanted in self._parts(batch, plan)
            for record in _begun(trials, wanted, batch)
        ]
        default = records[0][1].key
        self._race(records, self._settings.repetitions, batch, stays={default})
        weather = records[0][1].best
        if weather == math.inf:
            raise TuningError(
                f"the default values cannot be timed: {records[0][1].failure or 'no time'}"
            )
        for trials, record in records:
            if not record.done:
                trials.finish(record, record.best / weather)

    def _race(
        self,
        records: Iterable[tuple[Trials, Record]],
        repetitions: int,
        batch: int,
        stays: set[Key],
        drop: bool = True,
    ) -> None:
        """Race the records' points, each point once, and write down every repetition."""
        by_key: dict[Key, list[tuple[Trials, Record]]] = {}
        for trials, record in records:
            by_key.setdefault(record.key, []).append((trials, record))
        entries: dict[int, list[tuple[Trials, Record]]] = {}
        racing = []
        for key, same in by_key.items():
            known = max((record.seconds for _, record in same), key=len)
            failure = next((record.failure for _, record in same if record.failure), "")
            entry = Entry(self._space.point(key), list(known), failure, key in stays)
            entries[id(entry)] = same
            racing.append(entry)
            _write(same, entry)

        rng = random.Random(hash((self._settings.seed, batch, repetitions)))
        race(
            self._bench,
            racing,
            repetitions,
            rng,
            lambda entry: _write(entries[id(entry)], entry),
            self._settings.limit,
            drop,
        )

    def _values(self, trials: Trials) -> dict[Key, float]:
        """Times in units of the default's in the same batch, which has had the same weather."""
        weather = {one.batch: one.best for one in self._default.all()}
        return {
            one.key: math.inf if one.best == math.inf else one.best / weather[one.batch]
            for one in trials.all()
            if one.done
        }

    def _learn_trust(self) -> None:
        """Prune less if the model proves worse than its room says."""
        self._space.prune(max(self._trust, self._model_error()))

    def _model_error(self) -> float:
        """Factor to either side by which measured over predicted times scatter.

        The slowest tenth does not count: those may have been held up.
        """
        ratios = sorted(
            value / found.predicted
            for key, value in self._values(self._guided).items()
            if value < math.inf and (found := self._space.find(key))
        )
        return math.sqrt(ratios[int(0.9 * (len(ratios) - 1))] / ratios[0]) if ratios else 1.0

    def _tell(self, spent: float) -> None:
        budget, trials = self._settings.budget, len(self._guided.all())
        done = trials / budget.trials if budget.trials else spent / (budget.seconds or 1.0)
        guided, drawn = self._values(self._guided), self._values(self._random)
        best = min(guided, key=lambda key: guided[key], default=None)
        fastest = None if best is None or guided[best] == math.inf else (best, 1 / guided[best])
        self._told(
            State(min(1.0, done), trials, fastest, 1 / min(drawn.values()) if drawn else None)
        )

    # ---- finals ----------------------------------------------------------------------------

    def _finalists(self) -> list[tuple[Key, str]]:
        """The default, the best of each search, and the best with each thing switched off."""
        guided, drawn = self._values(self._guided), self._values(self._random)
        by = {one.key: one.by for one in self._guided.all()}
        ranking = sorted((key for key in guided if guided[key] < math.inf), key=guided.__getitem__)
        chosen = [(self._space.default().key, "default")]
        chosen += [(key, by[key]) for key in ranking[:FINALISTS]]
        if drawn and min(drawn.values()) < math.inf:
            chosen.append((min(drawn, key=drawn.__getitem__), "random"))
        for place, parameter in enumerate(self._space.parameters):
            if parameter.off is None or all(key[place] == parameter.off for key, _ in chosen):
                continue
            off = [key for key in (*ranking, *(one.key for one in self._space.kept))]
            rival = next((key for key in off if key[place] == parameter.off), None)
            if rival is not None:
                chosen.append((rival, by.get(rival, "model")))
        return list({key: (key, who) for key, who in reversed(chosen)}.values())[::-1]

    def _decide(self, batches: int) -> Outcome:
        """Measure the finalists again, and choose."""
        self._learn_trust()
        plan = self._finals.plan(batches)
        if plan is None:
            plan = self._finalists()
            self._finals.write_plan(batches, plan)
        records = _begun(self._finals, plan, batches)
        # Short work is repeated more often: a burst of other work outlasts a few repetitions.
        fastest = min(one.best for one in (*self._default.all(), *self._guided.all()))
        repetitions = max(
            2 * self._settings.repetitions, min(_MOST_ROUNDS, math.ceil(_FINALS_SPAN / fastest))
        )
        for part in self._in_memory(records):
            self._race(
                [(self._finals, one) for one in part], repetitions, -1 - batches, set(), drop=False
            )
        for one in records:
            if not one.done:
                self._finals.finish(one, one.best)
        timed = [
            Finalist(one.key, one.by, tuple(one.seconds)) for one in records if not one.failure
        ]
        default = next((one for one in timed if one.key == self._space.default().key), None)
        if default is None:
            raise TuningError("the default values could not be timed in the finals.")
        timed.sort(key=lambda one: one.best)
        chosen, reason = choose(timed, default, self._space)
        guided = self._guided.all()
        noise = [_median(one.seconds) / one.best for one in self._default.all() if one.seconds]
        drawn = self._values(self._random)
        best_drawn = min(drawn, key=drawn.__getitem__, default=None)
        return Outcome(
            chosen=chosen,
            default=default,
            finalists=timed,
            guided=guided,
            random=self._random.all(),
            best_random=next((one for one in timed if one.key == best_drawn), None),
            reason=reason,
            model_error=self._model_error(),
            noise=_median(noise) if noise else 1.0,
        )

    def _in_memory(self, records: Sequence[Record]) -> list[list[Record]]:
        """The finalists, all together if they fit into memory; else in as few groups as do."""
        groups: list[list[Record]] = [[]]
        for record in records:
            taken = sum(self._memory(one.key) for one in groups[-1])
            if groups[-1] and taken + self._memory(record.key) > self._settings.memory:
                groups.append([])
            groups[-1].append(record)
        return groups


def choose(finalists: Sequence[Finalist], default: Finalist, space: Space) -> tuple[Finalist, str]:
    """Choose the fastest, but for what does not pay.

    Args:
        finalists: the fastest first.
        default: one of them.
        space: says which parameters can be switched off.

    Returns:
        The choice, and why it is not the fastest if it is not.
    """
    chosen, reason = finalists[0], ""
    for place, parameter in enumerate(space.parameters):
        if parameter.off is None or chosen.key[place] == parameter.off:
            continue
        rival = next((one for one in finalists if one.key[place] == parameter.off), None)
        if rival is not None and rival.best <= chosen.best * (1 + MARGIN):
            reason = (
                f"{parameter.name} {chosen.key[place]} does not pay: it takes "
                f"{chosen.best / rival.best:.3f} times what {parameter.off} takes."
            )
            chosen = rival
    if chosen is not default and default.best <= chosen.best * (1 + MARGIN):
        reason = f"nothing is faster than the default by more than {100 * MARGIN:.0f} %."
        chosen = default
    return chosen, reason


def _begun(trials: Trials, wanted: Sequence[tuple[Key, str]], batch: int) -> list[Record]:
    """The records of a batch; those that were not begun yet are begun."""
    found = trials.batch(batch)
    return found + [trials.begin(key, by, batch) for key, by in wanted[len(found) :]]


def _write(same: Sequence[tuple[Trials, Record]], entry: Entry) -> None:
    for trials, record in same:
        if record.seconds != entry.seconds or record.failure != entry.failure:
            record.seconds, record.failure = list(entry.seconds), entry.failure
            trials.note(record)


def _median(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]
