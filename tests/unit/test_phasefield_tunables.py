"""Tunable parameters of the phase field and their cost model."""

from __future__ import annotations

from pathlib import Path

import pytest

from uzushio.assimilation.case import load_assimilation
from uzushio.assimilation.phasefield.cost_model import SweepCost, Window
from uzushio.assimilation.phasefield.tunables import PhaseFieldSubject, declare
from uzushio.errors import TuningError
from uzushio.solvers.phasefield.parameters import Parameters
from uzushio.tuning.declared import declare as declare_case
from uzushio.tuning.result_cache import TuningResult, store_result
from uzushio.tuning.space import Space, allowed, check
from uzushio.tuning.subject import Machine
from uzushio.tuning.use import tuned_overrides

CASE = Path(__file__).parents[2] / "examples/cases/phasefield.yaml"
RATES = {
    "forward point": 4e-10,
    "forward row": 4e-8,
    "backward point": 5e-10,
    "backward row": 4e-8,
}


def machine(latency: float = 1e-6, memory: float = 2e10) -> Machine:
    return Machine("a processor", 4, (32 << 10, 1 << 20, 32 << 20), latency, 1e10, memory, RATES)


def subject(nx: int, ny: int, ranks: int, periodic: bool = False) -> PhaseFieldSubject:
    return PhaseFieldSubject(Window((ny, nx), 128, 1, periodic), Parameters(dt=0.1), ranks, 4)


def sweep(
    subject: PhaseFieldSubject, x_tile: int, y_tile: int, scheme: str, steps: int
) -> SweepCost:
    point = subject.default() | {"blocking.x_tile": x_tile, "blocking.y_tile": y_tile}
    return SweepCost(subject.window, point, scheme, steps)


def test_redundant_points_are_those_of_the_paper() -> None:
    """Equation (7): 12 096 for blocks of 8 steps on tiles of 200 x 12 points."""
    inner = subject(1600, 1536, 1024)
    assert sweep(inner, 8, 128, "pa1", 8).redundant == 12096
    assert sweep(inner, 8, 128, "pa2", 8).redundant == 6048
    assert sweep(inner, 8, 128, "diamond", 8).redundant == 0
    assert sweep(subject(64, 64, 1), 1, 1, "pa1", 8).redundant == 0


def test_all_points_satisfy_the_requirements_of_the_sweeps() -> None:
    eight = subject(96, 80, 8)
    space = Space(eight, machine())
    for candidate in space.all:
        point = space.point(candidate.key)
        assert point["blocking.oblt"] * point["blocking.x_tile"] * point["blocking.y_tile"] == 8
        if point["blocking.scheme"] == "plain":
            assert point["blocking.fblt"] == point["blocking.bblt"] == 1
        if point["blocking.scheme"] == "diamond":
            assert point["blocking.fblt"] == point["blocking.bblt"]


def test_a_thousand_ranks_are_not_too_many_points() -> None:
    many = subject(6400, 6400, 1024)
    assert {key[1] for key in allowed(many, many.parameters)} == {2**n for n in range(11)}


def test_the_cost_model_has_the_effect_of_each_parameter() -> None:
    two, here = subject(1600, 1600, 2), machine()
    default = two.default()

    def predicted(on: Machine = here, **values: object) -> float:
        return two.predict(default | {f"blocking.{k}": v for k, v in values.items()}, on)

    plain = {"scheme": "plain", "fblt": 1, "bblt": 1}
    assert predicted(**plain) > 1.2 * predicted()  # one pass through memory for eight steps
    slow = machine(latency=1e-3)
    assert predicted(slow, **plain) > 2 * predicted(slow)  # an eighth of the messages
    assert predicted(oblt=2, y_tile=1) > 1.5 * predicted()  # twice the points for each rank
    assert predicted(threads=2) < predicted()
    window, known = two.window, two.known
    tried = PhaseFieldSubject(window, known, 2, 4, candidates=2)  # one after the other
    assert tried.predict(default, here) > 1.2 * predicted()
    assert predicted(cache_rows=4, cache_columns=2048) < predicted(cache_rows=4)  # longer rows
    small = subject(64, 64, 4)
    square = small.default() | {"blocking.x_tile": 2, "blocking.y_tile": 2}
    deep = square | {"blocking.fblt": 24, "blocking.bblt": 24}
    assert small.predict(deep, here) > small.predict(square, here)  # redundant points


def test_bad_values_of_a_case_are_refused_with_the_reason() -> None:
    def refused(*overrides: str, ranks: int = 4) -> str:
        declared = declare_case(CASE, ["grid.nx=64", "grid.ny=64", *overrides], ranks)
        with pytest.raises(TuningError) as caught:
            check(declared.subject, declared.given)
        return str(caught.value)

    tiles = ["blocking.x_tile=1", "blocking.y_tile=4"]
    thin = refused(*tiles, "blocking.fblt=24")
    assert "the maximum is 16 steps, 8 with diamond" in thin
    plain = ["blocking.scheme=plain", "blocking.bblt=4"]
    assert "with scheme plain fblt and bblt must be 1, not 4" in refused(*plain)
    assert "do not make up 4 ranks" in refused("blocking.x_tile=3")
    equal = ["blocking.scheme=diamond", "blocking.fblt=4", "blocking.bblt=2"]
    assert "must be equal; they are 4 and 2" in refused(*equal)


def test_the_example_sets_no_tunable_and_zero_is_no_value() -> None:
    overrides = ["blocking.x_tile=0", "blocking.cache_rows=0"]
    assert declare_case(CASE, overrides, 2).given == {}
    assert declare_case(CASE, ["blocking.fblt=4"], 2).given == {"blocking.fblt": 4}
    assert declare(CASE, [], 2).size == {"ny": 1600, "nx": 1600, "steps": 128, "every": 1}
    assert not declare_case(CASE, ["tuned=false"], 2).used


class Ranks:
    """A communicator of so many ranks, on rank 0."""

    rank = 0

    def __init__(self, size: int) -> None:
        self.size = size

    def bcast(self, value: object) -> object:
        return value

    def allreduce(self, value: object, op: object) -> object:
        return value


def test_a_run_uses_and_reports_values_tuned_for_its_ranks_and_size(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    tuned = declare(CASE, [], 2)
    values = tuned.default() | {"blocking.fblt": 12, "blocking.cache_rows": 4}
    store_result(
        tuned, TuningResult(values, 1.0, 1.3, "TPE", "2026-11-21 12:00", "case.yaml", "0.1.0")
    )

    def used(ranks: int, *overrides: str) -> tuple[list[str], str]:
        lines: list[str] = []
        tuned = tuned_overrides(CASE, list(overrides), Ranks(ranks), lines.append)  # type: ignore[arg-type]
        return tuned.values, " ".join(lines)

    overrides_used, text = used(2)
    assert set(overrides_used) == {f"{name}={value}" for name, value in values.items()}
    assert "Tuned values are used: " in text and "fblt 12" in text and "1.30 x" in text
    case = load_assimilation(CASE, overrides_used)
    assert (case.blocking.fblt, case.blocking.cache_rows) == (12, 4)  # type: ignore[attr-defined]
    for ranks, overrides in ((1, ()), (4, ()), (2, ("grid.nx=1601",)), (2, ("time.steps=127",))):
        overrides_used, text = used(ranks, *overrides)
        assert overrides_used == [] and "There are no tuned values for" in text
    assert used(2, "tuned=false") == ([], "")
    overrides_used, text = used(2, "blocking.fblt=4")
    assert overrides_used == [] and "need fblt 12, and the case sets fblt 4" in text
    overrides_used, text = used(2, "blocking.fblt=12")
    assert "blocking.fblt=12" not in overrides_used and "blocking.cache_rows=4" in overrides_used
