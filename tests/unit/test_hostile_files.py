"""Files that would need unlimited memory or time: each is one short message, at once."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import yaml
from pipeline_case import Flow, Lines, stretched

from uzushio._base.config import yaml_file
from uzushio._base.config.yaml_document import Document
from uzushio._base.config.yaml_file import parse_value
from uzushio.errors import CaseError, PipelineError, StagingError
from uzushio.pipeline.expression import FieldExpression, ScalarExpression
from uzushio.pipeline.model import load
from uzushio.staging.options import choose_options

LEVELS = "abcdefghijklm"
BOMB = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"{here}: &{here} [{', '.join([f'*{below}'] * 9)}]\n" for below, here in pairwise(LEVELS)
)
MERGES = "a: &a {x: 1}\n" + "".join(
    f"{here}: &{here}\n  <<: [{', '.join([f'*{below}'] * 9)}]\n" for below, here in pairwise(LEVELS)
)


@pytest.fixture(autouse=True)
def at_once() -> Iterator[None]:
    began = time.process_time()
    yield
    assert time.process_time() - began < 5.0


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (BOMB, r":6: more than 100000 values, aliases expanded"),
        (MERGES, "more than 100000 values, aliases expanded"),
        ("a: &a [*a]", ":1: a list or section that contains itself"),
        ("a: &a {b: *a}", ":1: a list or section that contains itself"),
        ("a: " + "[" * 100_000, ":1: nested in more than 32 levels"),
        ("".join(" " * n + "a:\n" for n in range(300)), ":32: nested in more than 32 levels"),
        ("a: " + "9" * 5000, ":1: a whole number beyond 9223372036854775807"),
        ("a: 0x" + "f" * 5000, ":1: a whole number beyond 9223372036854775807"),
        ("a: 1" + ":1" * 200_000, ":1: a whole number beyond 9223372036854775807"),
        ("\na: 2024-13-45", ":2: no value .month must be in 1..12"),
        ("a: " + "x" * 600_000, "has more than 500 kB"),
        ("b:\na: \0", r":2: the character U\+0000 is not allowed"),
    ],
    ids=range(12),
)
def test_yaml_has_limits(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "case.yaml"
    file.write_text(text)
    with pytest.raises(CaseError, match=sentence) as raised:
        Document.read(file)
    assert len(str(raised.value)) < 500
    if "500 kB" not in sentence and "not allowed" not in sentence:
        with pytest.raises(yaml.YAMLError):
            parse_value(text)


def test_aliases_and_merges_within_the_limits_are_good(tmp_path: Path) -> None:
    file = tmp_path / "case.yaml"
    file.write_text("a: &a {x: 1, y: [1, 2]}\nb: {<<: *a, x: 2}\nc: [*a, *a]\n")
    values = Document.read(file).values
    assert values["b"] == {"x": 2, "y": [1, 2]}
    assert values["c"] == [values["a"]] * 2


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (f"actions: [{'x, ' * 20_000}]", r"actions\.19"),
        (f"actions: [{{count: {{fields: [{'[], ' * 20_000}]}}}}]", "and 19900 more mistakes"),
        (f"actions: [{{count: {{fields: [u]}}, every: {'x' * 40_000}}}]", r"\(40002 characters\)"),
    ],
    ids=["actions", "fields", "value"],
)
def test_many_mistakes_are_listed_in_part(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "pipeline.yaml"
    file.write_text(text)
    with pytest.raises(CaseError, match=sentence) as raised:
        load(file)
    assert len(str(raised.value)) < 20_000


@pytest.mark.parametrize("text", [BOMB, MERGES, "adios2: " + "[" * 100_000, "a: &a [*a]"])
def test_options_of_staging_have_the_limits_too(text: str, tmp_path: Path) -> None:
    file = tmp_path / "options.yaml"
    parameters = "adios2:\n parameters:\n" + "".join(f"  {line}\n" for line in text.splitlines())
    for content in (text, parameters):
        file.write_text(content)
        with pytest.raises(StagingError, match=r"options\.yaml"):
            choose_options(file)


def test_options_of_staging_have_a_size(tmp_path: Path) -> None:
    file = tmp_path / "options.yaml"
    file.write_text("# " + "x" * 600_000 + "\nengine: shm")
    with pytest.raises(StagingError, match="500 kB"):
        choose_options(file)


WRONG = [
    ("9**9**9**9*u", "9 [*][*] 387420489 is beyond the largest number"),
    ("1e400*u", "is no finite number"),
    ("9" * 400 + "*u", "is beyond the largest number"),
    ("9" * 5000 + "*u", "is no expression|and the maximum is 4000"),
    ("u + 1/0", "1 / 0 divides by 0"),
    ("(-1)**0.5*u", "is no finite number"),
    ("(" * 300 + "u" + ")" * 300, "is no expression|nested operations"),
    ("-" * 3000 + "u", "more than 100 nested operations"),
    ("+".join(["u"] * 200), "more than 100 nested operations"),
    ("+".join(["u"] * 3000), "characters, and the maximum is 4000"),
    ("abs(" * 99 + "u" + ")" * 99, "nested operations"),
]


@pytest.mark.parametrize(("text", "sentence"), WRONG, ids=range(len(WRONG)))
def test_expressions_have_limits(text: str, sentence: str) -> None:
    for make in (
        lambda: FieldExpression(text),
        lambda: ScalarExpression(text),
        lambda: ScalarExpression(f"max({text})"),
    ):
        with pytest.raises(PipelineError, match=sentence) as raised:
            make()
        assert len(str(raised.value)) < 600


@pytest.mark.parametrize(
    "text", ["u**(10**8)", "u**99999999", "+".join(["u"] * 90), "-" * 90 + "u"]
)
def test_long_and_large_but_computable_expressions_are_accepted(text: str) -> None:
    u = np.array([0.5, 1.0, 2.0])
    with np.errstate(over="ignore"):
        wanted = eval(text, {"u": u})
    np.testing.assert_array_equal(FieldExpression(text)({"u": u}), wanted)


@pytest.mark.parametrize("text", ["2**3*u", "1/3*u", "7%4*u", "2**-1*u", "2**0.5*u", "-2**2*u"])
def test_constants_are_folded_as_python_does(text: str) -> None:
    u, i = np.array([0.5, 1.0, 2.0]), np.arange(3, dtype=np.int64)
    np.testing.assert_array_equal(FieldExpression(text)({"u": u}), eval(text, {"u": u}))
    values = FieldExpression("2**3*i + 7%4")({"i": i})
    np.testing.assert_array_equal(values, 8 * i + 3)
    assert values.dtype == np.int64  # integers stay integers


def test_a_cyclic_source_is_reported_with_its_line(tmp_path: Path) -> None:
    lines: Lines = (stretched(4), stretched(4), stretched(4))
    made = Flow({"m": lines}, {"u": ("m", lambda x, y, z, n: x)}, attributes={"name": "text"})
    for text, sentence in (
        ("9**9**9**9*u", "is beyond the largest number"),
        ("name*u", "the attribute 'name' is a text, not a number"),
    ):
        with pytest.raises(StagingError, match=rf":2: sources.s: .*{sentence}"):
            made.inside(f"sources:\n  s: {text}\nactions:\n- count: {{fields: [s]}}\n", tmp_path)


def test_a_named_pipe_is_waited_for_but_not_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = tmp_path / "case.yaml"
    os.mkfifo(pipe)
    monkeypatch.setattr(yaml_file, "_PIPE_SECONDS", 0.01)
    with pytest.raises(CaseError, match=r"a pipe into which nothing came for 0\.01 s"):
        yaml_file.read_text(pipe)
    monkeypatch.setattr(yaml_file, "_PIPE_SECONDS", 60.0)
    writer = threading.Thread(target=pipe.write_text, args=("solver: channel\n" * 9000,))
    writer.start()
    assert yaml_file.read_text(pipe) == "solver: channel\n" * 9000
    writer.join()
