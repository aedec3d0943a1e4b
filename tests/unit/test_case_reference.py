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
from uzushio.case import registry
from uzushio.case.model import load_case
from uzushio.case.schema import case_models, json_schema, sections
from uzushio.errors import CaseError, StagingError
from uzushio.staging.option_keys import OPTION_KEYS, OTHER_KEYS
from uzushio.staging.options import parse_options

CASES = TESTS.parent / "examples/cases"
PAGE = TESTS.parent / "docs/reference/case.md"


#: All solvers and models of the package.
SHIPPED = ["channel", "thermal", "phasefield"]
#: Overrides that make a run of a template short.
SHORT = {
    "channel": ["grid.nx=16", "grid.ny=16", "grid.nz=17", "time.steps=1", "publish=null"],
    "thermal": ["grid.x.cells=8", "grid.y.cells=8", "time.steps=1"],
    "phasefield": [
        *("grid.nx=32", "grid.ny=32", "time.steps=4", "observations.last=3"),
        *("optimiser.iterations=1", "uncertainty.iterations=1"),
    ],
}


def test_the_reference_page_is_that_of_the_models() -> None:
    # A process of its own: other tests register solvers.
    code = "from reference_pages import case_keys; print(case_keys(), end='')"
    path = {"PYTHONPATH": str(TESTS.parent / "tools")}
    page = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | path,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert PAGE.read_text(encoding="utf-8") == page.stdout, "run `make docs`"


@pytest.mark.parametrize("name", SHIPPED)
def test_every_key_has_a_type_and_a_meaning(name: str) -> None:
    keys = [key for section in sections(name) for key in section.keys]
    assert len(keys) > 25
    assert [key.path for key in keys if "value" in key.kind or not key.meaning] == []


@pytest.mark.parametrize("name", SHIPPED)
def test_every_key_of_every_section_is_listed(name: str) -> None:
    schema = json_schema(name)
    models = [schema, *(model for model in schema["$defs"].values() if "properties" in model)]
    listed = {
        part for section in sections(name) for key in section.keys for part in key.path.split(".")
    }
    assert {key for model in models for key in model["properties"]} <= listed


def test_the_keys_of_each_kind_of_body_are_listed() -> None:
    keys = {
        section.variant: section.keys
        for section in sections("thermal")
        if section.path == "bodies.NAME"
    }
    assert list(keys) == ["shape: sphere", "shape: box", "shape: cylinder", "shape: stl"]
    assert "bodies.NAME.lower" in [key.path for key in keys["shape: box"]]
    paths = [section.path for section in sections("thermal")]
    assert paths.count("bodies.NAME.conduction.NAME") == 1


def test_limits_of_lists_are_those_of_their_lengths() -> None:
    limits = {key.path: key.limits for section in sections("thermal") for key in section.keys}
    assert limits["statistics.covariances"] == "each exactly 2 values"
    assert limits["bodies.NAME.centre"] == "exactly 3 values"


def test_the_options_of_staging_are_those_of_the_core() -> None:
    listed: dict[str, list[str]] = {}
    for option in OPTION_KEYS:
        section, _, last = option.key.rpartition(".")
        listed.setdefault(section, []).append(last)
    assert "adios2" in listed
    for section, keys in listed.items():
        wrong = {"nothing": 1}
        with pytest.raises(StagingError) as refused:
            parse_options({section: wrong} if section else wrong, "options")
        allowed = re.search(r"allowed are (.*)\.$", str(refused.value))
        assert allowed is not None
        known = set(allowed[1].split(", ")) - set(OTHER_KEYS)
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


#: Values of keys: whether they are allowed.
FORMS = {
    "phasefield": [
        ("uncertainty", "ensemble", True),
        ("uncertainty", "hessian", True),
        ("uncertainty", {"kind": "ensemble", "members": 3}, True),
        ("uncertainty", {}, True),
        ("uncertainty", "ensembles", False),
        ("uncertainty", {"kind": "ensembles"}, False),
        ("uncertainty", {"members": 1}, False),
        ("uncertainty", None, False),
        ("trajectory.memory", None, True),
        ("trajectory.memory", "2 GiB", True),
        ("trajectory.memory", " 1.5e3MB ", True),
        ("trajectory.memory", 2e9, True),
        ("trajectory.memory", "2 GB/s", False),
        ("trajectory.memory", "many", False),
        ("trajectory.memory", 0, False),
        ("controls.m.bounds", [None, 2], True),
        ("controls.m.bounds", [2], False),
        ("optimiser.first_window", None, True),
        ("optimiser.first_window", 0, False),
        ("observations.store", "~/seen.zarr", True),
    ],
    "channel": [
        ("grid.lx", "4*pi/3", True),
        ("grid.lx", "4/3 pi", True),
        ("grid.lx", " 2.5e0 π", True),
        ("grid.lx", 3.5, True),
        ("grid.lx", "4 pie", False),
        ("grid.lx", "1 000", False),
        ("grid.lx", "4 *", False),
        ("grid.lx", -1, False),
        ("checkpoint.every", None, True),
        ("checkpoint.every", 0, False),
        ("output.figures", False, True),
        ("output.figures", True, False),
        ("output.figures", ["png"], True),
        ("output.figures", ["gif"], False),
        ("publish", None, True),
    ],
}


@pytest.mark.parametrize("name", FORMS)
def test_the_schema_accepts_what_the_loader_accepts(name: str) -> None:
    schema = jsonschema.Draft202012Validator(json_schema(name))
    load = load_case if name == "channel" else load_assimilation
    for path, value, allowed in FORMS[name]:
        case = yaml.safe_load((CASES / f"{name}.yaml").read_text())
        *above, key = path.split(".")
        section = case
        for part in above:
            section = section.setdefault(part, {})
        section[key] = value
        try:
            load(case)
            loaded = True
        except CaseError:
            loaded = False
        assert (loaded, schema.is_valid(case)) == (allowed, allowed), (path, value)


def test_the_schema_accepts_all_example_cases() -> None:
    files = sorted(CASES.glob("*.yaml"))
    assert len(files) >= 2
    for file in files:
        case = yaml.safe_load(file.read_text())
        jsonschema.validate(case, json_schema(case.get("solver") or case["model"]))


def test_the_schema_is_printed(uzushio: Run) -> None:
    done = uzushio("schema", "channel")
    assert done.returncode == 0 and json.loads(done.stdout) == json_schema("channel")
    wrong = uzushio("schema", "chanel")
    assert wrong.returncode == 1 and "channel" in wrong.stderr


def test_every_template_is_a_case_that_runs(uzushio: Run, tmp_path: Path) -> None:
    assert {*registry.SOLVERS, *registry.MODELS} >= {*SHIPPED} == {*SHORT}
    for name in SHIPPED:
        file = f"{name}.yaml"
        assert uzushio("init", name, file).returncode == 0
        checked = uzushio("check", file)
        assert checked.returncode == 0, checked.stderr
        command = "assimilate" if name == "phasefield" else "run"
        short = [word for override in SHORT[name] for word in ("--set", override)]
        done = uzushio(command, file, *short, "--out", name, "--no-figures")
        assert done.returncode == 0, done.stderr
        assert (tmp_path / name / "summary.json").is_file()


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


@pytest.mark.parametrize("name", SHIPPED)
def test_every_commented_key_of_a_template_is_valid(uzushio: Run, name: str) -> None:
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


def test_the_named_shell_gets_the_completion(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "uzushio", "--install-completion", "zsh"]
    environment = os.environ | {"HOME": str(tmp_path), "SHELL": "/bin/bash"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert {file.name for file in tmp_path.iterdir()} == {".zshrc", ".zfunc"}
    assert "compdef" in (tmp_path / ".zfunc/_uzushio").read_text()


def completed(line: str) -> list[str]:
    """Return what bash completes the last word of a line to."""
    words = line.split(" ")
    environment = os.environ | {
        "_UZUSHIO_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    command = [sys.executable, "-m", "uzushio"]
    return subprocess.run(command, env=environment, capture_output=True, text=True).stdout.split()


def test_bash_completes_a_command_and_an_option() -> None:
    assert completed("uzushio ass") == ["assimilate"]
    assert "--restart" in completed("uzushio run --re")


def test_bash_completes_a_solver_and_the_keys_of_a_case() -> None:
    assert completed("uzushio init th") == ["thermal"]
    line = f"uzushio run {CASES}/heated-room.yaml --set "
    assert completed(f"{line}time.e") == ["time.end="]
    assert "boundaries.x-min.velocity=" in completed(f"{line}boundaries.x-min.")
    assert completed(f"{line}bodies.person.s") == [
        f"bodies.person.{key}=" for key in ("shape", "scale")
    ]
