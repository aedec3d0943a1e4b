"""Keys of case files: the reference page, JSON schemas, commented cases, completion."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml
from conftest import TESTS, Run

from uzushio.assimilation.case import load_assimilation
from uzushio.case import load_case
from uzushio.case_reference import reference
from uzushio.case_schema import case_models, json_schema, sections
from uzushio.errors import StagingError
from uzushio.staging.option_keys import OPTION_KEYS
from uzushio.staging.options import parse_options

CASES = TESTS.parent / "examples/cases"
PAGE = TESTS.parent / "docs/reference/case.md"


def test_the_reference_page_is_that_of_the_models() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference(), "run `make docs`"


@pytest.mark.parametrize("name", ["channel", "phasefield"])
def test_every_key_has_a_type_and_a_meaning(name: str) -> None:
    keys = [key for section in sections(name) for key in section.keys]
    assert len(keys) > 25
    assert [key.path for key in keys if "value" in key.kind or not key.meaning] == []


def test_the_options_of_staging_are_those_that_the_core_knows() -> None:
    listed: dict[str, list[str]] = {}
    for one in OPTION_KEYS:
        section, _, last = one.key.rpartition(".")
        listed.setdefault(section, []).append(last)
    assert "adios2" in listed
    for section, keys in listed.items():
        if section == "adios2":  # read in Python
            continue
        wrong = {"nothing": 1}
        with pytest.raises(StagingError) as refused:
            parse_options({section: wrong} if section else wrong, "options")
        allowed = re.search(r"allowed are (.*)\.$", str(refused.value))
        assert allowed is not None
        known = set(allowed[1].split(", "))
        assert known == {*keys, *(other for other in listed if other and not section)}


@pytest.mark.parametrize("name", ["channel", "phasefield"])
def test_the_schema_accepts_the_shipped_case_and_names_a_wrong_key(name: str) -> None:
    schema = json_schema(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    case = yaml.safe_load((CASES / f"{name}.yaml").read_text())
    jsonschema.validate(case, schema)
    case["grid"]["nq"] = 3
    with pytest.raises(jsonschema.ValidationError, match="'nq'"):
        jsonschema.validate(case, schema)


def test_the_schema_is_printed(uzushio: Run) -> None:
    done = uzushio("schema", "channel")
    assert done.returncode == 0 and json.loads(done.stdout) == json_schema("channel")
    wrong = uzushio("schema", "chanel")
    assert wrong.returncode == 1 and "channel" in wrong.stderr


@pytest.mark.parametrize("name", ["channel", "phasefield"])
def test_a_commented_case_is_the_shipped_one(uzushio: Run, tmp_path: Path, name: str) -> None:
    done = uzushio("init", name)
    assert done.returncode == 0, done.stderr
    load = load_case if name == "channel" else load_assimilation
    made, shipped = load(tmp_path / "case.yaml"), load(CASES / f"{name}.yaml")
    assert made == shipped
    text = (tmp_path / "case.yaml").read_text()
    # Controls, whose names are the model's, are written as a whole.
    parts = [part for part in sections(name) if not part.path.endswith(".NAME")]
    keys = [key.path.rpartition(".")[2] for part in parts for key in part.keys]
    assert [key for key in keys if not re.search(rf"^[# ]*{key}:", text, re.MULTILINE)] == []
    again = uzushio("init", name)
    assert again.returncode == 1 and "case.yaml exists" in again.stderr


@pytest.mark.parametrize("name", ["channel", "phasefield"])
def test_every_comment_of_a_commented_case_can_be_taken_in(uzushio: Run, name: str) -> None:
    """With the # removed before every key the file is YAML with the same sections."""
    text = uzushio("init", name, "-").stdout
    body = "\n".join(text.splitlines()[2:])
    opened = yaml.safe_load(re.sub(r"^(\s*)# ( *\w+:)", r"\1\2", body, flags=re.MULTILINE))
    assert set(opened) == set(case_models()[name].model_fields)


@pytest.mark.parametrize(
    ("shell", "word"), [("bash", "COMP_WORDS"), ("zsh", "compdef"), ("fish", "complete")]
)
def test_completion_is_printed_for_each_shell(shell: str, word: str) -> None:
    environment = os.environ | {"_UZUSHIO_COMPLETE": f"source_{shell}"}
    done = subprocess.run(
        [sys.executable, "-m", "uzushio"], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0 and word in done.stdout, done.stderr


def test_bash_completes_a_command_and_an_option() -> None:
    def completed(line: str) -> list[str]:
        words = line.split(" ")
        environment = os.environ | {
            "_UZUSHIO_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(words) - 1),
        }
        command = [sys.executable, "-m", "uzushio"]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True
        ).stdout.split()

    assert completed("uzushio ass") == ["assimilate"]
    assert "--restart" in completed("uzushio run --re")
