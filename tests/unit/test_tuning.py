"""The tuner against workloads whose best point is known."""

from __future__ import annotations

import itertools
import math
import random
import statistics
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some
from tuning_subjects import MACHINE, Simulated, Waves

from uzushio._base.config import user_cache
from uzushio.errors import OutputError, TuningError
from uzushio.tuning import journal
from uzushio.tuning.declared import Declared
from uzushio.tuning.finals import choose
from uzushio.tuning.journal import TrialRecord, Trials, open_storage
from uzushio.tuning.race import RaceEntry, race
from uzushio.tuning.result_cache import TuningResult, file_name, load_result, store_result
from uzushio.tuning.search import Search
from uzushio.tuning.search_result import SearchBudget, SearchResult, SearchSettings
from uzushio.tuning.space import Space
from uzushio.tuning.subject import Machine, Parameter, Point, Rule, Subject, Workload
from uzushio.tuning.use import choose as choose_kept

journal.silence_optuna()


class Line(Subject):
    """One parameter, with any true and predicted costs."""

    room, ranks = "line", 1

    def __init__(self, costs: list[float], errors: list[float], trust: float) -> None:
        self.size, self.trust = {}, trust
        self.costs, self._errors = costs, errors
        self.parameters = (Parameter("line.place", tuple(range(len(costs))), 0),)

    def predict(self, point: Point, machine: Machine) -> float:
        place = int(point["line.place"])
        return 3.0 * self.costs[place] * self._errors[place]

    def workload(self, comm: object) -> Workload:
        raise NotImplementedError


# ---- space and pruning ---------------------------------------------------------------------------


@given(some.data())
def test_pruning_keeps_the_best_point_within_the_error_factor(
    data: some.DataObject,
) -> None:
    count = data.draw(some.integers(1, 30))
    trust = data.draw(some.floats(1.0, 4.0))
    costs = data.draw(some.lists(some.floats(0.1, 100), min_size=count, max_size=count))
    error = some.floats(1 / trust, trust)
    errors = data.draw(some.lists(error, min_size=count, max_size=count))
    space = Space(Line(costs, errors, trust * (1 + 1e-9)), MACHINE)
    best = min(range(count), key=costs.__getitem__)
    assert (best,) in {candidate.key for candidate in space.remaining}


def test_pruning_drops_points_too_slow_for_any_error_within_the_trust() -> None:
    costs = [1.0, 3.9, 4.1, 50.0]
    space = Space(Line(costs, [1.0] * 4, 2.0), MACHINE)
    assert [candidate.key for candidate in space.remaining] == [(0,), (1,)]
    # With a larger error than declared the best point is pruned: the bound is sharp.
    assert (0,) not in {
        candidate.key for candidate in Space(Line(costs, [5.0, 0.3, 1, 1], 2.0), MACHINE).remaining
    }


def test_the_space_has_all_allowed_points_and_one_value_of_inactive_parameters() -> None:
    subject = Waves()
    expected = set()
    names = [parameter.name for parameter in subject.parameters]
    for values in itertools.product(*(parameter.values for parameter in subject.parameters)):
        point = dict(zip(names, values, strict=True))
        if point["blocking.scheme"] == "plain":
            point["blocking.steps"] = 1
        if int(point["blocking.steps"]) <= int(point["blocking.rows"]):
            expected.add(tuple(point.values()))
    space = Space(subject, MACHINE)
    assert {candidate.key for candidate in space.all} == expected
    assert space.key({"blocking.scheme": "plain", "blocking.steps": 8})[1] == 1


def test_values_of_the_case_are_fixed_and_refused_by_the_rule_that_they_break() -> None:
    space = Space(Waves(), MACHINE, {"blocking.steps": 12, "blocking.scheme": "slanted"})
    assert {candidate.key[:2] for candidate in space.all} == {("slanted", 12)}
    assert space.default().key[:3] == ("slanted", 12, 32)
    with pytest.raises(TuningError, match="blocks of 24 steps need tiles of 24 rows, not 8"):
        Space(Waves(), MACHINE, {"blocking.steps": 24, "blocking.rows": 8})


def test_neighbours_are_one_step_away() -> None:
    space = Space(Waves(), MACHINE)
    space.prune(math.inf)
    here = ("slanted", 6, 16, 2, 1)
    near = {candidate.key for candidate in space.neighbours(here)}
    assert ("slanted", 8, 16, 2, 1) in near and ("slanted", 3, 16, 2, 1) in near
    assert ("slanted", 2, 16, 2, 1) not in near and ("slanted", 8, 32, 2, 1) not in near
    assert ("diamond", 6, 16, 2, 1) in near and ("slanted", 6, 16, 2, 2) in near


# ---- timing --------------------------------------------------------------------------------------


def test_the_minimum_time_finds_the_fastest_point_where_the_mean_does_not() -> None:
    """The fastest point is hit by bursts, as one that uses all cores is."""
    subject = Waves()
    fast = {**subject.default(), "blocking.threads": 2}
    slow = {**subject.default(), "blocking.threads": 4}
    noise = random.Random(3)

    def seconds(point: Point, cost: float, clock: float) -> float:
        burst = 3.0 if point["blocking.threads"] == 2 and noise.random() < 0.6 else 1.0
        return cost * burst * noise.uniform(1.0, 1.05)

    entries = [RaceEntry(fast), RaceEntry(slow)]
    race(Simulated(subject, seconds), entries, 8, random.Random(0), lambda _: None)
    means = [statistics.mean(entry.seconds) for entry in entries]
    medians = [statistics.median(entry.seconds) for entry in entries]
    assert means[0] > means[1] and medians[0] > medians[1]
    assert entries[0].best < entries[1].best
    assert entries[0].best == pytest.approx(subject.cost(fast), rel=0.05)


def test_a_machine_that_slows_down_slows_all_points_of_a_race() -> None:
    subject = Waves()
    points = [{**subject.default(), "blocking.rows": rows} for rows in (8, 16, 32)]
    costs = [subject.cost(point) for point in points]
    total = 6 * sum(costs)

    def seconds(point: Point, cost: float, clock: float) -> float:
        return cost * (1.0 if clock < total / 3 else 2.0)

    one_by_one = Simulated(subject, seconds)
    alone = []
    for index, point in enumerate(points):
        one_by_one.ready(index, point)
        alone.append(min(one_by_one.run(index, 1.0) for _ in range(6)))
    assert alone.index(min(alone)) != costs.index(min(costs))
    entries = [RaceEntry(point) for point in points]
    race(Simulated(subject, seconds), entries, 6, random.Random(0), lambda _: None)
    assert [entry.best for entry in entries] == costs


def test_slow_points_are_dropped_after_two_rounds_and_failed_ones_at_once() -> None:
    subject = Waves(trouble={"fails": [8]})
    slow = {**subject.default(), "blocking.groups": 2, "blocking.rows": 4}
    fast = {**subject.default(), "blocking.threads": 2}
    bad = {**subject.default(), "blocking.steps": 8}
    entries = [RaceEntry(fast), RaceEntry(slow), RaceEntry(bad), RaceEntry(slow, always_timed=True)]
    bench = Simulated(subject)
    race(bench, entries, 5, random.Random(0), lambda _: None)
    assert [len(entry.seconds) for entry in entries] == [5, 2, 0, 5]
    assert entries[2].failure == "these steps cannot be run."


# ---- search --------------------------------------------------------------------------------------


def search(
    folder: Path,
    subject: Subject,
    bench: Simulated,
    trials: int = 24,
    seed: int = 0,
    baseline: bool = True,
    **more: object,
) -> SearchResult:
    space = Space(subject, MACHINE)
    settings = SearchSettings(SearchBudget(trials=trials), 4, baseline, seed)
    return Search(space, bench, open_storage(folder), settings, **more).run()  # type: ignore[arg-type]


def lower_bound(subject: Waves) -> float:
    space = Space(subject, MACHINE)
    return min(subject.cost(space.point(candidate.key)) for candidate in space.all)


def baseline_drift(seed: int) -> Callable[[Point, float, float], float]:
    """Return the time of a point under bursts of other load, slow periods and jitter."""
    noise = random.Random(seed)

    def seconds(point: Point, cost: float, clock: float) -> float:
        spell = 1.4 if math.sin(clock / 40 + seed) > 0.6 else 1.0
        burst = noise.choice([1.0, 1.0, 1.0, 1.5, 3.0])
        return cost * spell * burst * noise.uniform(1.0, 1.02)

    return seconds


@pytest.mark.parametrize("seed", range(4))
def test_the_search_finds_the_best_point_through_noise(tmp_path: Path, seed: int) -> None:
    subject = Waves()
    outcome = search(tmp_path, subject, Simulated(subject, baseline_drift(seed)), 40, seed)
    values = Space(subject, MACHINE).point(outcome.chosen.key)
    assert subject.cost(values) < 1.03 * lower_bound(subject)


def test_the_search_beats_a_random_one_of_equal_budget(tmp_path: Path) -> None:
    """Over seeds, by the best of each after the same number of trials; without noise."""
    subject = Waves()
    gains = []
    for seed in range(5):
        folder = tmp_path / str(seed)
        folder.mkdir()
        outcome = search(folder, subject, Simulated(subject), 20, seed)
        assert len(outcome.guided) == len(outcome.random) == 20
        assert len({trial.key for trial in outcome.guided}) == 20
        gains.append(
            min(trial.best for trial in outcome.random)
            / min(trial.best for trial in outcome.guided)
        )
    assert all(gain >= 1.0 for gain in gains)
    assert statistics.mean(gains) > 1.05


def test_parameters_are_off_unless_a_gain_is_measured(tmp_path: Path) -> None:
    for pays, groups in ((0.7, 1), (1.005, 1), (1.3, 2)):
        subject = Waves(groups_pay=pays)
        folder = tmp_path / str(pays)
        folder.mkdir()
        outcome = search(folder, subject, Simulated(subject, baseline_drift(1)))
        assert outcome.chosen.key[4] == groups
        # For any prediction, the point was measured.
        assert any(trial.key[4] == 2 for trial in outcome.guided[:4])
        assert any(trial.key[4] == 1 for trial in outcome.finalists)


def test_a_gain_within_the_noise_is_not_worth_a_change() -> None:
    space = Space(Waves(), MACHINE)
    default = TrialRecord(space.default().key, "default", 0, [1.0, 1.2])
    faster = TrialRecord(("slanted", 8, 32, 2, 1), "TPE", 0, [0.99, 1.1])
    chosen, reason = choose([faster, default], default, space)
    assert chosen is default and "nothing is faster than the default" in reason
    much = TrialRecord(("slanted", 8, 32, 2, 1), "TPE", 0, [0.9, 1.1])
    assert choose([much, default], default, space) == (much, "")


def test_a_model_with_a_larger_error_than_declared_prunes_less(tmp_path: Path) -> None:
    """The best point is predicted to be far off; the errors of its neighbours give that away."""

    class Wrong(Waves):
        trust = 1.05

        def predict(self, point: Point, machine: Machine) -> float:
            return self.cost(point) * (1.0 + 0.5 * int(point["blocking.threads"]) ** 2)

    subject = Wrong()
    assert all(candidate.key[3] == 1 for candidate in Space(subject, MACHINE).remaining)
    blind = search(tmp_path, subject, Simulated(subject), 40, baseline=False)
    assert blind.chosen.key[3] == 1  # all measurements agreed with the model
    subject.trust = 1.15
    narrow = Space(subject, MACHINE)
    assert {candidate.key[3] for candidate in narrow.remaining} == {1, 2}
    (tmp_path / "2").mkdir()
    outcome = search(tmp_path / "2", subject, Simulated(subject), 40)
    assert outcome.chosen.key[3] == 2
    assert outcome.model_error > 1.4
    known = {candidate.key for candidate in narrow.remaining}
    assert any(trial.key not in known for trial in outcome.guided)


def test_a_killed_tuning_continues_with_the_same_trials(tmp_path: Path) -> None:
    subject = Waves()
    whole = Simulated(subject)
    (tmp_path / "whole").mkdir()
    expected = search(tmp_path / "whole", subject, whole)
    for stop in (0, 1, 7, 30, 100, len(whole.runs) - 3):
        folder = tmp_path / str(stop)
        folder.mkdir()
        first = Simulated(subject, stop_after=stop)
        with pytest.raises(KeyboardInterrupt):
            search(folder, subject, first)
        with (folder / "journal.log").open("ab") as file:
            file.write(b'{"op_code":5,"worker')  # it died while it wrote
        second = Simulated(subject)
        outcome = search(folder, subject, second)
        for mine, other in ((outcome.guided, expected.guided), (outcome.random, expected.random)):
            assert [(trial.key, trial.by) for trial in mine] == [
                (trial.key, trial.by) for trial in other
            ]
        assert outcome.chosen == expected.chosen
        # Not one repetition was made twice.
        assert len(first.runs) + len(second.runs) == len(whole.runs)
    third = Simulated(subject)
    search(tmp_path / "whole", subject, third)
    assert third.runs == []
    more = Simulated(subject)
    longer = search(tmp_path / "whole", subject, more, trials=32)
    assert [trial.key for trial in longer.guided[:24]] == [trial.key for trial in expected.guided]
    assert len(longer.guided) == 32 and more.runs


@pytest.mark.parametrize("damage", ["garbage", "other keys", "a plan of numbers"])
def test_a_damaged_journal_is_reported_with_advice(tmp_path: Path, damage: str) -> None:
    storage = open_storage(tmp_path)
    trials = Trials(storage, "guided", Space(Waves(2), MACHINE))
    point = Space(Waves(2), MACHINE).default()
    trials.write_plan(0, [(point.key, "model")])
    trials.begin(point.key, "model", 0)
    journal = tmp_path / "journal.log"
    lines = journal.read_text().splitlines(keepends=True)
    if damage == "garbage":
        lines[1] = "\x00" * 40 + "\n"
    elif damage == "other keys":
        lines = [line.replace('"key"', '"kex"') for line in lines]
    else:
        lines = [line.replace('"batch 0":[', '"batch 0":[1,') for line in lines]
    journal.write_text("".join(lines))
    with pytest.raises(OutputError, match=r"journal.log is damaged .* with --overwrite") as raised:
        open_storage(tmp_path)
    assert "\n" not in str(raised.value)


def test_points_that_fail_are_left_out_and_the_rest_is_tuned(tmp_path: Path) -> None:
    subject = Waves(trouble={"fails": [4, 6, 8]})
    outcome = search(tmp_path, subject, Simulated(subject))
    assert any(trial.failure for trial in (*outcome.guided, *outcome.random))
    assert outcome.chosen.key[1] not in (4, 6, 8)
    assert outcome.default.best / outcome.chosen.best > 1.5


def test_a_default_that_cannot_be_timed_ends_the_tuning(tmp_path: Path) -> None:
    subject = Waves(trouble={"fails": [1]})
    with pytest.raises(TuningError, match=r"the default values cannot be timed: these steps"):
        search(tmp_path, subject, Simulated(subject))


def test_points_that_are_set_up_together_fit_into_memory(tmp_path: Path) -> None:
    class Large(Waves):
        def memory(self, point: Point) -> int:
            return 100

    class Watched(Simulated):
        most = 0

        def ready(self, index: int, point: Point) -> None:
            super().ready(index, point)
            self.most = max(self.most, len(self._ready))

    subject = Large()
    bench = Watched(subject)
    settings = SearchSettings(SearchBudget(trials=8), memory=350.0)
    Search(Space(subject, MACHINE), bench, open_storage(tmp_path), settings).run()
    assert bench.most == 3


# ---- stored results ------------------------------------------------------------------------------


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/uzushio"


def tuning_result(**values: object) -> TuningResult:
    tuned = Waves().default() | {"blocking.scheme": "slanted", "blocking.steps": 8} | values
    return TuningResult(tuned, 1.0, 1.5, "TPE", "2026-11-21 12:00", "case.yaml", "0.1.0")


def test_results_are_valid_only_for_this_machine_number_of_ranks_and_size(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = Waves(2)
    assert load_result(subject) is None
    assert store_result(subject, tuning_result()) == cache / file_name(subject)
    assert load_result(subject) == tuning_result()
    assert load_result(Waves(1)) is None
    assert load_result(Waves(2, size=65)) is None
    assert [file.name for file in cache.iterdir()] == [file_name(subject)]
    monkeypatch.setattr(user_cache, "processor_key", lambda: "another")
    assert load_result(subject) is None


def test_damaged_files_and_files_of_other_versions_are_refused(cache: Path) -> None:
    subject = Waves(2)
    store_result(subject, tuning_result())
    file = cache / file_name(subject)
    text = file.read_text()
    for wrong in (
        text[: len(text) // 2],
        text.replace('"ranks": 2', '"ranks": 4'),
        text.replace("blocking.groups", "blocking.teams"),
        text.replace('"blocking.steps": 8', '"blocking.steps": 64'),
        "[]",
        "",
    ):
        file.write_text(wrong)
        with pytest.raises(TuningError, match="is damaged or of another version; `uzushio tune"):
            load_result(subject)
    file.write_text(text)
    assert load_result(subject) is not None


def test_a_cache_folder_that_cannot_be_written_is_no_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert store_result(Waves(), tuning_result()) is None
    assert load_result(Waves()) is None


def test_values_of_the_case_are_not_combined_with_values_tuned_for_others() -> None:
    subject = Waves(2)
    chosen, text = choose_kept(Declared(subject, {"blocking.steps": 8}, True), tuning_result())
    assert "blocking.steps" not in chosen and chosen["blocking.scheme"] == "slanted"
    assert "1.50 x" in text and "--no-tuned" in text
    chosen, text = choose_kept(Declared(subject, {"blocking.steps": 4}, True), tuning_result())
    assert chosen == {} and "they need steps 8, and the case sets steps 4" in text
    chosen, text = choose_kept(Declared(subject, {}, True), None)
    assert chosen == {} and "There are no tuned values for 2 ranks" in text
    assert choose_kept(Declared(subject, subject.default(), True), None) == ({}, "")


def test_a_rule_is_evaluated_as_soon_as_its_parameters_have_values() -> None:
    """So that a large product with few points in it is walked through at once."""

    class Many(Line):
        def __init__(self) -> None:
            super().__init__([1.0], [1.0], 2.0)
            self.parameters = tuple(
                Parameter(f"many.p{place}", tuple(range(10)), 0) for place in range(12)
            )
            self.rules = tuple(
                Rule(
                    (f"many.p{place}", f"many.p{place + 1}"),
                    lambda a, b: None if a == b else "they are to be equal",
                )
                for place in range(11)
            )

        def predict(self, point: Point, machine: Machine) -> float:
            return 1.0 + float(point["many.p0"])

    assert len(Space(Many(), MACHINE).all) == 10
