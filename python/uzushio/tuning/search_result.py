"""Settings, state and result of a search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from uzushio.tuning.journal import TrialRecord
from uzushio.tuning.race import FIRST_LIMIT
from uzushio.tuning.space import Key


@dataclass(frozen=True)
class SearchBudget:
    """Budget of a search: trials of the guided search, or seconds of all trials and the finals.

    Exactly one of the two is given.
    """

    trials: int | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class SearchSettings:
    """Settings of a search.

    Attributes:
        budget: budget of trials or seconds.
        repetitions: repetitions of each point in its batch; twice as many in the finals.
        baseline: whether to run a random search with the same number of trials.
        seed: seed of all random numbers.
        limit: maximum seconds for one repetition of the first points.
        memory: maximum bytes of points that are set up at the same time.
    """

    budget: SearchBudget = SearchBudget(trials=40)
    repetitions: int = 4
    baseline: bool = True
    seed: int = 0
    limit: float = FIRST_LIMIT
    memory: float = math.inf


@dataclass(frozen=True)
class SearchResult:
    """Result of a search. A finalist has the times of its repetitions in the finals.

    Attributes:
        chosen: finalist for later runs.
        default: finalist with the default values.
        finalists: all finalists, fastest first.
        guided: trials of the guided search.
        random: trials of the random search; empty without one.
        best_random: best point of the random search, as measured in the finals.
        reason: why `chosen` is not the fastest, or "".
        model_error: scatter of the ratio of measured to predicted times, as a factor to either
            side.
        noise: median divided by minimum time of the default in its batches.
    """

    chosen: TrialRecord
    default: TrialRecord
    finalists: Sequence[TrialRecord]
    guided: Sequence[TrialRecord]
    random: Sequence[TrialRecord]
    best_random: TrialRecord | None
    reason: str
    model_error: float
    noise: float


@dataclass(frozen=True)
class SearchState:
    """State of a search after a batch.

    Attributes:
        fraction: used share of the budget, 0 to 1.
        trials: number of trials of the guided search.
        best: fastest point so far, and its speedup over the default.
        random: speedup of the random search's best point; None without one.
    """

    fraction: float
    trials: int
    best: tuple[Key, float] | None
    random: float | None
