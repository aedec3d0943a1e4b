"""Search for the fastest point: racing batches, a concurrent random search, and finals."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterable, Sequence
from statistics import median_high

from optuna.storages import JournalStorage

from uzushio.errors import TuningError
from uzushio.tuning.finals import choose
from uzushio.tuning.journal import TrialRecord, Trials
from uzushio.tuning.race import RaceEntry, race
from uzushio.tuning.runner import PointRunner
from uzushio.tuning.search_result import SearchResult, SearchSettings, SearchState
from uzushio.tuning.space import Key, Space
from uzushio.tuning.strategies import propose

#: Points of the guided search in a batch, and their strategies in the first and later batches.
BATCH = 4
_FIRST = ("model",) * BATCH
_LATER = ("TPE", "neighbour", "TPE", "neighbour")
#: Number of the fastest points of the search in the finals.
FINALISTS = 4
#: Minimum seconds of each point's repetitions in the finals, and maximum number of rounds.
_FINALS_SPAN, _MAX_ROUNDS = 0.2, 50


class Search:
    """Search in a journal; continues an interrupted search of the same journal.

    Args:
        space: points, pruned by the model.
        runner: times the points.
        storage: the journal.
        settings: budget, repetitions and limits.
        earlier: result of an earlier tuning, timed in the first batch.
        on_batch: called after each batch.
    """

    def __init__(
        self,
        space: Space,
        runner: PointRunner,
        storage: JournalStorage,
        settings: SearchSettings,
        earlier: Key | None = None,
        on_batch: Callable[[SearchState], None] = lambda _: None,
    ) -> None:
        self._space, self._runner, self._settings, self._on_batch = (
            space,
            runner,
            settings,
            on_batch,
        )
        self._guided, self._random, self._default, self._finals = (
            Trials(storage, name, space) for name in ("guided", "random", "default", "finals")
        )
        self._earlier = earlier
        self._trust = space.subject.trust

    def run(self) -> SearchResult:
        """Search until the budget is used, and choose a point.

        Raises:
            TuningError: the default cannot be run, or the job that times points is lost.
        """
        batch, began = 0, time.monotonic()
        before = float(self._guided.attribute("spent", 0.0))
        while True:
            plan = self._guided.plan(batch)
            if plan is None:
                # Only the time of new measurements is counted.
                spent = before + time.monotonic() - began
                if self._budget_is_used(spent):
                    break
                plan = self._propose(batch)
                if not plan:
                    break
            if not self._is_measured(batch, plan):
                self._measure(batch, plan)
                self._guided.set_attribute("spent", before + time.monotonic() - began)
            else:
                began = time.monotonic()
            self._report_progress(before + time.monotonic() - began)
            batch += 1
        return self._decide(batch)

    # ---- batches ---------------------------------------------------------------------------

    def _budget_is_used(self, spent: float) -> bool:
        budget = self._settings.budget
        if budget.seconds is not None:
            return spent + self._finals_seconds() >= budget.seconds
        return len(self._guided.all()) >= (budget.trials or 0)

    def _finals_seconds(self) -> float:
        """Estimate the seconds of the finals."""
        finalists = sorted(record.best for record in self._guided.all() if record.best < math.inf)
        default = min((record.best for record in self._default.all()), default=0.0)
        return 2 * self._settings.repetitions * (2 * default + sum(finalists[:FINALISTS]))

    def _propose(self, batch: int) -> list[tuple[Key, str]]:
        """Plan a batch, and write the plan."""
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
            # The gain of these is always measured, regardless of the model.
            plan += [(candidate.key, "model") for candidate in self._space.switched_on()]
            plan = list(dict(plan[: max(1, min(BATCH - 1, int(min(left, BATCH)) - 1))]).items())
        # The default is timed in each batch, and good points may be near it.
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
        """Return as many points as fit into memory beside the default; at least one."""
        available = self._settings.memory - self._memory(self._space.default().key)
        fitting: list[tuple[Key, str]] = []
        for key, by in plan:
            # The random search adds a point of about the same size.
            available -= (2 if self._settings.baseline else 1) * self._memory(key)
            if fitting and available < 0:
                break
            fitting.append((key, by))
        return fitting

    def _memory(self, key: Key) -> int:
        return self._space.subject.memory(self._space.point(key))

    def _is_measured(self, batch: int, plan: Sequence[tuple[Key, str]]) -> bool:
        """Whether all points of a batch are measured already."""
        return all(
            len(records) == len(wanted) and all(record.done for record in records)
            for trials, wanted in self._parts(batch, plan)
            for records in [trials.batch(batch)]
        )

    def _parts(
        self, batch: int, plan: Sequence[tuple[Key, str]]
    ) -> list[tuple[Trials, Sequence[tuple[Key, str]]]]:
        """Return the studies of a batch, and their points."""
        return [
            (self._default, [(self._space.default().key, "default")]),
            (self._guided, plan),
            (self._random, self._random.plan(batch) or []),
        ]

    def _measure(self, batch: int, plan: Sequence[tuple[Key, str]]) -> None:
        """Race the points of a batch that are not measured yet."""
        records = [
            (trials, record)
            for trials, wanted in self._parts(batch, plan)
            for record in _begin_missing(trials, wanted, batch)
        ]
        default = records[0][1].key
        self._race(records, self._settings.repetitions, batch, always_timed={default})
        baseline_time = records[0][1].best
        if baseline_time == math.inf:
            raise TuningError(
                f"the default values cannot be timed: {records[0][1].failure or 'no time'}"
            )
        for trials, record in records:
            if not record.done:
                trials.finish(record, record.best / baseline_time)

    def _race(
        self,
        records: Iterable[tuple[Trials, TrialRecord]],
        repetitions: int,
        batch: int,
        always_timed: set[Key],
        drop: bool = True,
    ) -> None:
        """Race the records' points, each point once, and write every repetition."""
        by_key: dict[Key, list[tuple[Trials, TrialRecord]]] = {}
        for trials, record in records:
            by_key.setdefault(record.key, []).append((trials, record))
        entries: dict[int, list[tuple[Trials, TrialRecord]]] = {}
        racing = []
        for key, same in by_key.items():
            known = max((record.seconds for _, record in same), key=len)
            failure = next((record.failure for _, record in same if record.failure), "")
            entry = RaceEntry(self._space.point(key), list(known), failure, key in always_timed)
            entries[id(entry)] = same
            racing.append(entry)
            _write(same, entry)

        rng = random.Random(hash((self._settings.seed, batch, repetitions)))
        race(
            self._runner,
            racing,
            repetitions,
            rng,
            lambda entry: _write(entries[id(entry)], entry),
            self._settings.limit,
            drop,
        )

    def _values(self, trials: Trials) -> dict[Key, float]:
        """Return times relative to the default's in the same batch, which had the same load."""
        baseline_time = {record.batch: record.best for record in self._default.all()}
        return {
            record.key: math.inf
            if record.best == math.inf
            else record.best / baseline_time[record.batch]
            for record in trials.all()
            if record.done
        }

    def _learn_trust(self) -> None:
        """Prune less if the error of the model is larger than its room declares."""
        self._space.prune(max(self._trust, self._model_error()))

    def _model_error(self) -> float:
        """Return the scatter of measured over predicted times, as a factor to either side.

        The slowest tenth is ignored, as other load may have slowed it.
        """
        ratios = sorted(
            value / candidate.predicted
            for key, value in self._values(self._guided).items()
            if value < math.inf and (candidate := self._space.find(key))
        )
        return math.sqrt(ratios[int(0.9 * (len(ratios) - 1))] / ratios[0]) if ratios else 1.0

    def _report_progress(self, spent: float) -> None:
        budget, trials = self._settings.budget, len(self._guided.all())
        done = trials / budget.trials if budget.trials else spent / (budget.seconds or 1.0)
        guided, drawn = self._values(self._guided), self._values(self._random)
        best = min(guided, key=lambda key: guided[key], default=None)
        fastest = None if best is None or guided[best] == math.inf else (best, 1 / guided[best])
        self._on_batch(
            SearchState(min(1.0, done), trials, fastest, 1 / min(drawn.values()) if drawn else None)
        )

    # ---- finals ----------------------------------------------------------------------------

    def _finalists(self) -> list[tuple[Key, str]]:
        """Return the default, the best of each search, and the best with each parameter off."""
        guided, drawn = self._values(self._guided), self._values(self._random)
        by = {record.key: record.by for record in self._guided.all()}
        ranking = sorted((key for key in guided if guided[key] < math.inf), key=guided.__getitem__)
        chosen = [(self._space.default().key, "default")]
        chosen += [(key, by[key]) for key in ranking[:FINALISTS]]
        if drawn and min(drawn.values()) < math.inf:
            chosen.append((min(drawn, key=drawn.__getitem__), "random"))
        for place, parameter in enumerate(self._space.parameters):
            if parameter.off is None or all(key[place] == parameter.off for key, _ in chosen):
                continue
            off = [
                key for key in (*ranking, *(candidate.key for candidate in self._space.remaining))
            ]
            rival = next((key for key in off if key[place] == parameter.off), None)
            if rival is not None:
                chosen.append((rival, by.get(rival, "model")))
        return list({key: (key, by) for key, by in reversed(chosen)}.values())[::-1]

    def _decide(self, batches: int) -> SearchResult:
        """Measure the finalists again, and choose."""
        self._learn_trust()
        plan = self._finals.plan(batches)
        if plan is None:
            plan = self._finalists()
            self._finals.write_plan(batches, plan)
        records = _begin_missing(self._finals, plan, batches)
        # Short work is repeated more often, as a burst of other load outlasts a few repetitions.
        fastest = min(record.best for record in (*self._default.all(), *self._guided.all()))
        repetitions = max(
            2 * self._settings.repetitions, min(_MAX_ROUNDS, math.ceil(_FINALS_SPAN / fastest))
        )
        for part in self._in_memory(records):
            self._race(
                [(self._finals, record) for record in part],
                repetitions,
                -1 - batches,
                set(),
                drop=False,
            )
        for record in records:
            if not record.done:
                self._finals.finish(record, record.best)
        timed = sorted(
            (record for record in records if not record.failure), key=lambda record: record.best
        )
        default = next(
            (record for record in timed if record.key == self._space.default().key), None
        )
        if default is None:
            raise TuningError("the default values could not be timed in the finals.")
        chosen, reason = choose(timed, default, self._space)
        guided = self._guided.all()
        noise = [
            median_high(record.seconds) / record.best
            for record in self._default.all()
            if record.seconds
        ]
        drawn = self._values(self._random)
        best_drawn = min(drawn, key=drawn.__getitem__, default=None)
        return SearchResult(
            chosen=chosen,
            default=default,
            finalists=timed,
            guided=guided,
            random=self._random.all(),
            best_random=next((record for record in timed if record.key == best_drawn), None),
            reason=reason,
            model_error=self._model_error(),
            noise=median_high(noise) if noise else 1.0,
        )

    def _in_memory(self, records: Sequence[TrialRecord]) -> list[list[TrialRecord]]:
        """Divide the finalists into the fewest groups that fit into memory."""
        groups: list[list[TrialRecord]] = [[]]
        for record in records:
            taken = sum(self._memory(candidate.key) for candidate in groups[-1])
            if groups[-1] and taken + self._memory(record.key) > self._settings.memory:
                groups.append([])
            groups[-1].append(record)
        return groups


def _begin_missing(
    trials: Trials, wanted: Sequence[tuple[Key, str]], batch: int
) -> list[TrialRecord]:
    """Return the records of a batch, and start the missing ones."""
    begun = trials.batch(batch)
    return begun + [trials.begin(key, by, batch) for key, by in wanted[len(begun) :]]


def _write(same: Sequence[tuple[Trials, TrialRecord]], entry: RaceEntry) -> None:
    for trials, record in same:
        if record.seconds != entry.seconds or record.failure != entry.failure:
            record.seconds, record.failure = list(entry.seconds), entry.failure
            trials.update(record)
