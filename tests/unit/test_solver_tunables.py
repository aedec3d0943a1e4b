"""Tunable parameters of channel and thermal flows, and their use in runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_phasefield_tunables import Ranks

from uzushio.case.model import load_case
from uzushio.errors import CaseError, TuningError
from uzushio.solvers.channel.decomposition import decompose
from uzushio.tuning.declared import declare
from uzushio.tuning.result_cache import TuningResult, file_of, store_result
from uzushio.tuning.space import Space, check
from uzushio.tuning.steps import with_point
from uzushio.tuning.subject import Machine, Subject, Value
from uzushio.tuning.use import TunedOverrides, tuned_overrides

CASES = Path(__file__).parents[2] / "examples/cases"
CHANNEL, SPHERE, PLATES = (
    CASES / f"{name}.yaml" for name in ("channel", "sphere", "rayleigh-benard")
)
MACHINE = Machine("test", 2, (0, 0, 0), 1e-6, 1e9, 1e10, {"step": 0.01})
SHARED = "decomposition.py=2", "decomposition.pz=1"


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def subject(file: Path, ranks: int, *overrides: str) -> Subject:
    return declare(file, list(overrides), ranks).subject


def points(tuned_subject: Subject) -> list[dict[str, Value]]:
    space = Space(tuned_subject, MACHINE)
    return [space.point(candidate.key) for candidate in space.all]


def used(file: Path, ranks: int, *overrides: str) -> tuple[TunedOverrides, str]:
    lines: list[str] = []
    tuned = tuned_overrides(file, list(overrides), Ranks(ranks), lines.append)  # type: ignore[arg-type]
    return tuned, " ".join(lines)


def store(tuned_subject: Subject, **values: Value) -> None:
    point = tuned_subject.default() | {
        name.replace("__", "."): value for name, value in values.items()
    }
    store_result(
        tuned_subject, TuningResult(point, 1.0, 1.3, "TPE", "2026-11-21 12:00", "case", "0.1.0")
    )


def test_process_grids_of_a_channel_fill_the_ranks_and_fit_the_grid() -> None:
    channel = subject(CHANNEL, 96, "grid.nz=30")
    grid_points = points(channel)
    grids = {(point["decomposition.py"], point["decomposition.pz"]) for point in grid_points}
    # 64 points have 32 modes in x; 30 cells in z.
    assert grids == {(4, 24), (6, 16), (8, 12), (12, 8), (16, 6), (24, 4), (32, 3)}
    assert {point["numerics.scheme"] for point in grid_points} == {
        "pipelined",
        "partitioned",
        "transpose",
    }


def test_schemes_act_between_walls_and_transposes_within_planes() -> None:
    grid_points = points(subject(CHANNEL, 2))
    cut = [point for point in grid_points if point["decomposition.pz"] == 2]
    shared = [point for point in grid_points if point["decomposition.py"] == 2]
    assert {point["numerics.transposes"] for point in cut} == {"auto"} and len(cut) == 3
    assert {point["numerics.scheme"] for point in shared} == {"pipelined"} and len(shared) == 3


def test_single_precision_is_tried_only_if_the_case_allows_it() -> None:
    name = "numerics.transpose_precision"
    for given in ("double", "single"):
        assert name not in points(subject(CHANNEL, 2, f"{name}={given}"))[0]
    allowed = subject(CHANNEL, 2, f"{name}=auto")
    assert {point[name] for point in points(allowed)} == {"double", "single"}
    store(allowed, numerics__transpose_precision="single", decomposition__py=2, decomposition__pz=1)
    assert used(CHANNEL, 2)[0].values == []
    assert f"{name}=single" in used(CHANNEL, 2, f"{name}=auto")[0].values
    case = load_case(CHANNEL, [f"{name}=auto"])
    assert decompose(case, 1).seconds > 0  # type: ignore[arg-type]


def test_the_default_of_a_channel_is_what_its_runs_choose() -> None:
    for ranks in (1, 2, 6, 32):
        chosen = decompose(load_case(CHANNEL), ranks)  # type: ignore[arg-type]
        default = subject(CHANNEL, ranks).default()
        assert (default["decomposition.py"], default["decomposition.pz"]) == (chosen.py, chosen.pz)
        assert default["numerics.scheme"] == chosen.scheme


def test_the_memory_limit_of_a_case_holds_for_tuned_values() -> None:
    sizes = sorted({subject(CHANNEL, 4).memory(point) for point in points(subject(CHANNEL, 4))})
    limit = (sizes[0] + sizes[-1]) / 2 / 4
    limited = subject(CHANNEL, 4, f"decomposition.memory_per_rank={limit:.0f}")
    assert 0 < len(points(limited)) < len(points(subject(CHANNEL, 4)))
    assert all(limited.memory(point) <= 4 * limit for point in points(limited))


def test_values_of_a_channel_are_used_for_the_same_grid_and_ranks_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    channel = subject(CHANNEL, 2)
    tuned = {"decomposition__py": 2, "decomposition__pz": 1, "numerics__transposes": "overlapped"}
    store(channel, **tuned)
    tuned_case, text = used(CHANNEL, 2)
    assert "Tuned values are used: py 2, pz 1, scheme pipelined, transposes overlapped" in text
    assert tuned_case.resets == ["numerics.scheme=auto", "numerics.transposes=auto"]
    case = load_case(CHANNEL, tuned_case.values)
    assert case.decomposition.py == 2 and case.numerics.transposes == "overlapped"  # type: ignore[attr-defined]
    assert case.averaged_values() == load_case(CHANNEL).averaged_values()
    for ranks, override in ((4, "title=x"), (2, "grid.nz=70"), (2, "numerics.dealiasing=2/3")):
        tuned_case, text = used(CHANNEL, ranks, override)
        assert tuned_case.values == [] and "There are no tuned values for" in text
    tuned_case, text = used(CHANNEL, 2, "numerics.transposes=messages")
    assert (
        tuned_case.values == []
        and "need transposes overlapped, and the case sets transposes" in text
    )
    assert used(CHANNEL, 2, *SHARED, "numerics.transposes=auto")[0].values != []
    assert used(CHANNEL, 2, "tuned=false") == (TunedOverrides(), "")
    with monkeypatch.context() as threads:
        threads.setenv("OMP_NUM_THREADS", "2")
        assert used(CHANNEL, 2)[0].values == []
    monkeypatch.setattr("uzushio._base.config.user_cache.processor_key", lambda: "another")
    assert used(CHANNEL, 2)[0].values == []


def test_nothing_is_said_where_a_run_has_no_choice() -> None:
    assert used(CHANNEL, 1) == (TunedOverrides(), "")
    assert used(PLATES, 1) == (TunedOverrides(), "")
    assert used(
        CHANNEL, 2, "decomposition.py=1", "decomposition.pz=2", "numerics.scheme=pipelined"
    ) == (TunedOverrides(), "")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("{", ""),
        ('"format": 1', '"format": 2'),
        ('"decomposition.py"', '"decomposition.p"'),
        ('"decomposition.py": 1', '"decomposition.py": 3'),
        ('"numerics.scheme": "p', '"numerics.scheme": "q'),
        ('"seconds": 1.0', '"seconds": 0.0'),
    ],
)
def test_a_damaged_file_is_one_clear_message(old: str, new: str) -> None:
    channel = subject(CHANNEL, 2)
    store(channel)
    file = file_of(channel)
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new, 1))
    tuned_case, text = used(CHANNEL, 2)
    assert tuned_case.values == []
    assert text == (
        f"Tuned values are not used: {file} is damaged or of another version; `uzushio tune "
        "--ranks 2` replaces it."
    )


def test_blocks_of_a_thermal_flow_fill_the_ranks() -> None:
    block_points = points(subject(PLATES, 4))
    counts = {tuple(point[f"decomposition.p{axis}"] for axis in "xyz") for point in block_points}
    assert counts == {(0, 0, 0), (4, 1, 1), (1, 4, 1), (1, 1, 4), (2, 2, 1), (2, 1, 2), (1, 2, 2)}
    assert {point["numerics.solver"] for point in block_points} == {
        "auto",
        "fft",
        "fft/partitioned",
    }
    plane = points(subject(CASES / "heated-cavity.yaml", 2))
    assert "decomposition.pz" not in plane[0]
    assert {(point["decomposition.px"], point["decomposition.py"]) for point in plane} == {
        (0, 0),
        (2, 1),
        (1, 2),
    }


def test_a_flow_past_bodies_has_iterative_solvers_on_any_number_of_ranks() -> None:
    solver_points = points(subject(SPHERE, 1))
    assert {point["numerics.solver"] for point in solver_points} >= {
        "auto",
        "cg",
        "cg/fft",
        "multigrid",
    }


def test_values_of_a_thermal_flow_are_used_for_the_same_work_alone() -> None:
    plates = subject(PLATES, 2)
    store(plates, decomposition__px=1, decomposition__py=1, decomposition__pz=2)
    case = with_point(load_case(PLATES), plates.default())
    assert case.decomposition.counts == (0, 0, 0)  # type: ignore[attr-defined]
    tuned_case, text = used(PLATES, 2, "time.end=1", "title=longer")
    assert "decomposition.pz=2" in tuned_case.values and "pz 2, solver auto" in text
    assert load_case(PLATES, tuned_case.values).decomposition.counts == (1, 1, 2)  # type: ignore[attr-defined]
    for ranks, override in ((4, "title=x"), (2, "grid.z.cells=30"), (2, "numerics.tolerance=1e-4")):
        assert used(PLATES, ranks, override)[0].values == []


def test_blocks_that_do_not_fit_are_refused_with_their_key() -> None:
    def refused(*overrides: str) -> str:
        with pytest.raises(CaseError) as caught:
            load_case(PLATES, list(overrides))
        return str(caught.value)

    every = "decomposition.px=1", "decomposition.py=1"
    assert "got 33, must be at most the 32 cells" in refused(*every, "decomposition.pz=33")
    assert "needs px, py and pz, or none of them" in refused(*every)
    assert "needs px, py and, in three dimensions, pz" in refused("decomposition.pz=2")
    with pytest.raises(TuningError, match="blocks are not one for each of 4 ranks"):
        given = {"decomposition.px": 3, "decomposition.py": 1, "decomposition.pz": 1}
        check(subject(PLATES, 4), given)
