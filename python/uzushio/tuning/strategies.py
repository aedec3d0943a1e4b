"""Strategies that propose points for trials, in one table."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import optuna
from optuna.trial import TrialState, create_trial

from uzushio.tuning.journal import distributions_of, from_params, to_params
from uzushio.tuning.space import Key, Space

#: Maximum number of proposals of the sampler for one point; unusable ones are discarded.
_ASKS = 64


@dataclass(frozen=True)
class History:
    """Results of a search so far.

    Attributes:
        values: time of each point relative to the default's; infinity for failures.
        planned: points of the current plan.
        seed: seed of the random numbers of this batch.
    """

    values: dict[Key, float]
    planned: set[Key]
    seed: int

    def seen(self, key: Key) -> bool:
        """Whether a point is measured or planned."""
        return key in self.values or key in self.planned

    def ranking(self) -> list[Key]:
        """Return the points without failure, fastest first."""
        keys = [key for key, value in self.values.items() if value < float("inf")]
        return sorted(keys, key=lambda key: self.values[key])


Strategy = Callable[[Space, History], Iterator[Key]]


def predicted(space: Space, history: History) -> Iterator[Key]:
    """Propose the best predicted points that differ from all known points in many parameters.

    The best predicted points differ little, and would share the errors of the model.
    """
    known = [*history.values, *history.planned]
    for unlike in range(len(space.names) // 2, -1, -1):
        for candidate in space.remaining:
            if not history.seen(candidate.key) and all(
                _unlike(candidate.key, key) > unlike for key in known
            ):
                known.append(candidate.key)
                yield candidate.key


def _unlike(key: Key, other: Key) -> int:
    """Return the number of values in which two points differ."""
    return sum(a != b for a, b in zip(key, other, strict=True))


def neighbours(space: Space, history: History) -> Iterator[Key]:
    """Propose neighbours of the best points so far, in the order of the model."""
    for best in history.ranking()[:3]:
        for candidate in space.neighbours(best):
            if not history.seen(candidate.key):
                yield candidate.key


def tpe(space: Space, history: History) -> Iterator[Key]:
    """Propose points by Optuna's multivariate tree-structured Parzen estimator."""
    distributions = distributions_of(space.parameters)
    if not distributions:
        return
    kept = {candidate.key for candidate in space.remaining}
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
            yield key  # remains a running trial of the sampler
        else:
            # Tell the sampler the known time, or prune the point.
            known = history.values.get(key, float("inf"))
            if known < float("inf"):
                study.tell(trial, known)
            else:
                study.tell(trial, state=TrialState.PRUNED)


def at_random(space: Space, history: History) -> Iterator[Key]:
    """Propose allowed points with equal probability, as a baseline for the other strategies."""
    rng = random.Random(history.seed)
    for candidate in rng.sample(space.all, len(space.all)):
        if not history.seen(candidate.key):
            yield candidate.key


STRATEGIES: dict[str, Strategy] = {
    "model": predicted,
    "TPE": tpe,
    "neighbour": neighbours,
    "random": at_random,
}


def propose(
    names: Sequence[str], space: Space, values: dict[Key, float], seed: int
) -> list[tuple[Key, str]]:
    """Propose a point by each named strategy, or by the model if a strategy has none left.

    Args:
        names: names of strategies, one for each point.
        space: search space.
        values: results so far, as `History.values`.
        seed: seed of this batch.
    """
    history = History(values, set(), seed)
    sources: dict[str, Iterator[Key]] = {}
    plan: list[tuple[Key, str]] = []
    for name in names:
        for strategy in dict.fromkeys((name, "model")):
            source = sources.setdefault(strategy, STRATEGIES[strategy](space, history))
            key = next((key for key in source if not history.seen(key)), None)
            if key is not None:
                history.planned.add(key)
                plan.append((key, strategy))
                break
    return plan
