"""A case file is either a validated case, or a line for each error."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from uzushio._base.config.section import Section
from uzushio.case import registry
from uzushio.case.model import Case, Length, differences, load_case
from uzushio.errors import CaseError


class Calm(Section):
    kind: Literal["calm"]


class Wavy(Section):
    kind: Literal["wavy"]
    height: Length = 1.0


Share = Annotated[float, Field(ge=0.0, le=1.0)]


class Grid(Section):
    nx: Annotated[int, Field(gt=0)] = 8
    ny: int = 8
    lengths: tuple[Length, ...] = ()
    stretching: tuple[Share, Share] | Share = 0.0


class ToyCase(Case):
    grid: Grid = Grid()
    initial: Annotated[Calm | Wavy, Field(discriminator="kind")] = Calm(kind="calm")


class ToySolver:
    case_model = ToyCase


MINIMAL = "solver: toy\ntime: {steps: 10, dt: 0.1}\n"


@pytest.fixture(autouse=True)
def toy_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.SOLVERS, "toy", f"{__name__}:ToySolver")


def load(folder: Path, text: str, *overrides: str) -> ToyCase:
    path = folder / "case.yaml"
    path.write_text(text)
    case = load_case(path, list(overrides))
    assert isinstance(case, ToyCase)
    return case


def mistakes(folder: Path, text: str, *overrides: str) -> str:
    with pytest.raises(CaseError) as caught:
        load(folder, text, *overrides)
    return str(caught.value).replace(str(folder), "")


def test_a_minimal_case_has_the_defaults(tmp_path: Path) -> None:
    case = load(tmp_path, MINIMAL)
    assert (case.time.steps, case.time.dt, case.time.end) == (10, 0.1, None)
    assert (case.checkpoint.keep, case.grid.nx, case.initial.kind) == (2, 8, "calm")


def test_the_filled_in_case_loads_to_an_equal_one(tmp_path: Path) -> None:
    case = load(tmp_path, MINIMAL, "grid.lengths=[4 pi, 2]", "initial={kind: wavy, height: pi}")
    again = load(tmp_path, case.to_yaml())
    assert again == case
    assert again.digest() == case.digest()


def test_another_value_gives_another_digest(tmp_path: Path) -> None:
    assert load(tmp_path, MINIMAL).digest() != load(tmp_path, MINIMAL, "grid.nx=9").digest()


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("grid.nx=-4", "--set grid.nx: grid.nx: got -4, must be greater than 0"),
        ("grid.nx=many", "grid.nx: got 'many', must be an integer"),
        ("grid.nzz=4", "grid.nzz is not known (allowed: nx, ny, lengths, stretching)"),
        ("grid.nxx=4", "grid.nxx is not known; did you mean 'nx'? (allowed: nx, ny, lengths"),
        ("gird.nx=4", "gird is not known; did you mean 'grid'?"),
        ("initial.kind=wavey", "initial.kind: got 'wavey', must be one of 'calm', 'wavy'"),
        ("initial={height: 2}", "initial.kind is required"),
        ("initial={kind: wavy, hight: 2}", "initial.hight is not known; did you mean 'height'?"),
        ("initial={kind: wavy, height: 0}", "initial.height: got 0, must be greater than 0"),
        ("grid.lengths=[1, 4 pie]", "grid.lengths.1: got '4 pie', must be a number or a product"),
        ("time.cfl=0.5", "time needs exactly one of 'cfl' and 'dt'"),
        ("time.max_dt=0.5", "time has 'max_dt', which limits the steps that 'cfl' sets"),
        ("time.steps=null", "time needs 'steps' or 'end'"),
        ("time.end=.nan", "time.end: got nan, must be a finite number"),
        ("time=3", "time: got 3, must be a section of `key: value` lines"),
        ("time.steps.a=3", "time.steps is a value and has no 'a'"),
        ("grid", "write it as section.key=value"),
        ("grid.nx=[", "the value is not YAML"),
        (
            "solver=toys",
            "solver 'toys' is not known; did you mean 'toy'? (allowed: ",
        ),
    ],
)
def test_an_error_names_the_allowed_values(tmp_path: Path, override: str, sentence: str) -> None:
    assert sentence in mistakes(tmp_path, MINIMAL, override)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("a", "grid.stretching: got 'a', must be a list or a number"),
        ("{x: 1}", "grid.stretching must be a list or a number"),
        ("-3", "grid.stretching: got -3, must be greater than or equal to 0"),
        ("[1, -2]", "grid.stretching.1: got -2, must be greater than or equal to 0"),
        ("[0, 0, 0]", "grid.stretching: got [0, 0, 0], must have at most 2 entries"),
    ],
)
def test_a_value_that_may_be_of_two_types_gets_one_sentence(
    tmp_path: Path, value: str, sentence: str
) -> None:
    text = mistakes(tmp_path, MINIMAL, f"grid.stretching={value}")
    assert text == f"--set grid.stretching: {sentence}"


def test_every_mistake_has_the_line_it_is_in(tmp_path: Path) -> None:
    text = mistakes(tmp_path, MINIMAL + "grid:\n  nx: 0\n  nyy: 3\ntitel: x\n")
    assert "/case.yaml:4: grid.nx: got 0" in text
    assert "/case.yaml:5: grid.nyy is not known" in text
    assert "/case.yaml:6: titel is not known; did you mean 'title'?" in text


def test_a_mistake_that_a_section_finds_has_the_line_of_its_key(tmp_path: Path) -> None:
    given = "publish:\n  engine: inproc\n  pipeline: no.yaml\n"
    text = mistakes(tmp_path, MINIMAL + given)
    assert text == "/case.yaml:5: publish.pipeline: there is no file /no.yaml"


def test_a_missing_section_is_required(tmp_path: Path) -> None:
    assert "time is required" in mistakes(tmp_path, "solver: toy\n")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: [1,\nb: 2\n", "/case.yaml:3: expected ',' or ']'"),
        (
            "solver: toy\ntime: {}\nsolver: toy\n",
            "/case.yaml:3: solver was given before, in line 1",
        ),
        (MINIMAL + "grid: {nx: 1, nx: 2}\n", "/case.yaml:3: grid.nx was given before"),
        ("- a\n", "must hold `key: value` lines"),
        ("", "must hold `key: value` lines"),
        ("title: x\n", "solver is required (allowed: "),
        ("a: &a [*a]\n", "/case.yaml:1: a list or section that contains itself"),
        ("a: !!python/object:os.system {}\n", "/case.yaml:1: "),
    ],
)
def test_invalid_yaml_is_reported_with_its_position(
    tmp_path: Path, text: str, sentence: str
) -> None:
    assert sentence in mistakes(tmp_path, text)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match=r"none\.yaml cannot be read"):
        load_case(tmp_path / "none.yaml")


def test_a_failed_import_of_a_solver_is_reported_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(registry.SOLVERS, "lost", "no_such_module:Solver")
    assert "cannot be loaded from no_such_module:Solver" in mistakes(tmp_path, "solver: lost\n")


@pytest.mark.parametrize("text", ["1e-3", "1.0e-3", "0.001", ".1E-2"])
def test_numbers_are_read_as_yaml_1_2_reads_them(tmp_path: Path, text: str) -> None:
    assert load(tmp_path, f"solver: toy\ntime: {{end: 1, dt: {text}}}\n").time.dt == 0.001


# Smallest positive double is excluded by gt=0 only; the rest must survive being written and read.
@given(value=st.floats(min_value=1e-300, max_value=1e300))
def test_any_time_step_survives_an_override(
    tmp_path_factory: pytest.TempPathFactory, value: float
) -> None:
    folder = tmp_path_factory.mktemp("case")
    assert load(folder, MINIMAL, f"time.dt={value!r}").time.dt == value


def test_averages_continue_only_for_the_same_flow(tmp_path: Path) -> None:
    case = load(tmp_path, MINIMAL)
    longer = load(tmp_path, MINIMAL, "time.steps=20", "title=b", "output.folder=b")
    other = load(tmp_path, MINIMAL, "grid.nx=9", "initial={kind: wavy}", "statistics.every=3")
    assert differences(case.averaged_values(), longer.averaged_values()) == []
    changed = differences(case.averaged_values(), other.averaged_values())
    assert changed == ["grid.nx", "statistics.every"]


def test_the_end_time_is_positive_and_the_folder_may_be_at_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "time.end" in mistakes(tmp_path, MINIMAL, "time.end=0")
    assert "time.end" in mistakes(tmp_path, MINIMAL, "time.end=-1")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert load(tmp_path, MINIMAL, "output.folder=~/runs").output.folder == tmp_path / "runs"


def test_scalars_in_a_channel_are_referred_to_the_solver_that_carries_them(tmp_path: Path) -> None:
    file = tmp_path / "heated.yaml"
    file.write_text("solver: channel\nscalars: {temperature: {diffusivity: 1}}\n")
    with pytest.raises(CaseError, match="the channel carries no scalars; `solver: thermal` does"):
        load_case(file)
