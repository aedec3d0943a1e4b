"""Lengths may be written as products with pi."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from uzushio import load_case
from uzushio._base.config.lengths import parse_length
from uzushio.errors import CaseError

THERMAL: dict[str, Any] = {
    "solver": "thermal",
    "grid": {"x": {"cells": 8}, "y": {"cells": 8}},
    "periodic": ["x", "y"],
    "fluid": {"viscosity": 1.0},
    "time": {"steps": 1, "dt": 0.01},
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4 pi", 4 * math.pi),
        ("4*pi/3", 4 * math.pi / 3),
        ("4/3 pi", 4 / 3 * math.pi),
        ("4/3*π", 4 / 3 * math.pi),
        ("pi", math.pi),
        ("2pi", 2 * math.pi),
        ("1e-3", 1e-3),
        (" 2.5e1 * pi / 2 / 2 ", 25 * math.pi / 2 / 2),
    ],
)
def test_a_product_is_worked_out_from_left_to_right(text: str, value: float) -> None:
    assert parse_length(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "pie",
        "4 5",
        "1 000",
        "4**2",
        "*4",
        "4*",
        "/pi",
        "-pi",
        "(4)",
        "4+1",
        "1/0",
        "nan",
        "1e308*1e308",
        "__import__('os')",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must"):
        parse_length(text)


@given(st.text(alphabet="0123456789.eE+-*/ piπ()", max_size=12))
def test_accepted_values_are_finite_numbers(text: str) -> None:
    try:
        value = parse_length(text)
    except ValueError:
        return
    assert isinstance(value, float)
    assert math.isfinite(value)


@given(
    st.lists(
        st.tuples(
            st.sampled_from("*/"), st.floats(1e-3, 1e3).map(lambda x: round(x, 3)) | st.just("pi")
        ),
        min_size=1,
        max_size=6,
    )
)
def test_a_product_has_the_value_that_python_gives_it(terms: list[tuple[str, object]]) -> None:
    text = "1" + "".join(f" {operator} {term}" for operator, term in terms)
    if any(term == 0.0 for _, term in terms):
        return
    assert parse_length(text) == eval(text, {"pi": math.pi})


@pytest.mark.parametrize(("given", "value"), [("1/120", 1 / 120), ("0.71 / 2", 0.355), (0, 0.0)])
def test_coefficients_of_a_thermal_flow_may_be_quotients(given: object, value: float) -> None:
    case = load_case(THERMAL, {"fluid.viscosity": given})
    assert case.fluid.viscosity == value  # type: ignore[attr-defined]
    scalars = {"temperature": {"diffusivity": "1/85.2"}}
    case = load_case(THERMAL, {"scalars": scalars})
    assert case.scalars["temperature"].diffusivity == 1 / 85.2  # type: ignore[attr-defined]


@pytest.mark.parametrize("wrong", ["1/0", "-1/120", "1/", "a/b", -1.0])
def test_a_wrong_viscosity_is_a_mistake_at_its_key(wrong: object) -> None:
    with pytest.raises(CaseError, match=r"fluid\.viscosity"):
        load_case(THERMAL, {"fluid.viscosity": wrong})


def test_a_quotient_may_be_given_on_the_command_line_and_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "case.yaml"
    file.write_text(yaml.safe_dump(THERMAL).replace("viscosity: 1.0", "viscosity: 1/120"))
    assert "1/120" in file.read_text()
    assert load_case(file).fluid.viscosity == 1 / 120  # type: ignore[attr-defined]
    case = load_case(file, ["fluid.viscosity=1/40"])
    assert case.fluid.viscosity == 1 / 40  # type: ignore[attr-defined]
