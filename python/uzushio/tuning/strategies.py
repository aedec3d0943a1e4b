"""Ways to propose points that are worth a trial; one table, which a search works through."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import optuna
from optuna.trial import TrialState, create_trial

from uzushio.tuning.journal import distributions_of, from_params, to_params
from uzushio.tuning.space import Key, Space

#: Proposals of the sampler for one point, of which all but the first that suits are thrown away.
_ASKS = 64


@dataclass(frozen=True)
class History:
    """What a search has found so far.

    Attributes:
        values: by point: its time in units of the default's; infinity where it failed.
        planned: points of the batch that is being made.
        seed: of what is drawn at random, another one for each batch.
    """

    values: dict[Key, float]
    planned: set[Key]
    seed: int

    def seen(self, key: Key) -> bool:
        """Whether a point was or will be measured."""
        return key in self.values or key in self.planned

    def ranking(self) -> list[Key]:
        """Points that could be run, the fastest first."""
        found = [key for key, value in self.values.items() if value < float("inf")]
        return sorted(found, key=lambda key: self.values[key])


Strategy = Callable[[Space, History], Iterator[Key]]


def predicted(space: Space, history: History) -> Iterator[Key]:
    """What the model takes for the best, of points that differ in much from all that were seen.

    The best predicted points alone differ in little, and would share what the model has wrong.
    """
    known = [*history.values, *history.planned]
    for unlike in range(len(space.names) // 2, -1, -1):
        for one in space.kept:
            if not history.seen(one.key) and all(_unlike(one.key, key) > unlike for key in known):
                known.append(one.key)
                yield one.key


def _unlike(one: Key, other: Key) -> int:
    """Values in which two points differ."""
    return sum(a != b for a, b in zip(one, other, strict=True))


def neighbours(space: Space, history: History) -> Iterator[Key]:
    """One step away from the best so far; in the order of the model."""
    for best in history.ranking()[:3]:
        for one in space.neighbours(best):
            if not history.seen(one.key):
                yield one.key


def tpe(space: Space, history: History) -> Iterator[Key]:
    """Optuna's tree-structured Parzen estimator, which takes parameters together."""
    distributions = distributions_of(space.parameters)
    if not distributions:
        return
    kept = {one.key for one in space.kept}
    study = optuna.create_study(
        sampler=optuna.samplers.TPESampler(
            seed=history.seed, multivariate=True, constant_liar=True, n_startup_trials=1
        )
    )
    for key, value in history.values.items():
        failed = value == float("inf")
        study.add_trial(
            create_trial(
                state=TrialState.PRUNED if failed else TrialState.COMPLETE,
                value=None if failed else value,
                params=to_params(space.parameters, key),
                distributions=distributions,
            )
        )
    for _ in range(_ASKS):
        trial = study.ask(distributions)
        key = space.key(from_params(space.parameters, trial.params))
        if key in kept and not history.seen(key):
            yield key  # and it goes on as a trial that runs
        else:
            # Not to be asked for again; a point that is known counts with its time.
            known = history.values.get(key, float("inf"))
            if known < float("inf"):
                study.tell(trial, known)
            else:
                study.tell(trial, state=TrialState.PRUNED)


def at_random(space: Space, history: History) -> Iterator[Key]:
    """Any point that the rules allow, as likely as any other: what others are compared with."""
    rng = random.Random(history.seed)
    for one in rng.sample(space.all, len(space.all)):
        if not history.seen(one.key):
            yield one.key


STRATEGIES: dict[str, Strategy] = {
    "model": predicted,
    "TPE": tpe,
    "neighbour": neighbours,
    "random": at_random,
}


def propose(
    names: Sequence[str], space: Space, values: dict[Key, float], seed: int
) -> list[tuple[Key, str]]:
    """A point of each strategy named; where one has none, the model's next, if there is one.

    Args:
        names: of strategies, one for each point wanted.
        space: of points.
        values: what was found, as `History.values`.
        seed: of this batch.
    """
    history = History(values, set(), seed)
    sources: dict[str, Iterator[Key]] = {}
    plan: list[tuple[Key, str]] = []
    for name in names:
        for one in dict.fromkeys((name, "model")):
            source = sources.setdefault(one, STRATEGIES[one](space, history))
            key = next((key for key in source if not history.seen(key)), None)
            if key is not None:
                history.planned.add(key)
                plan.append((key, one))
                break
    return plan
