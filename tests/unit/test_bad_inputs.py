"""Wrong inputs of the command line: each is refused with a sentence on its cause."""

from __future__ import annotations

import json
import os
import pty
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import TESTS, Run
from mpi4py import MPI
from pipeline_case import Flow

from uzushio._base.store import checkpoint
from uzushio._cli.app import _show_warning
from uzushio.errors import CaseError, CheckpointError, OutputError, StagingError
from uzushio.pipeline.model import load
from uzushio.tuning import journal

CASES = TESTS.parent / "examples/cases"
CHANNEL, PHASEFIELD = CASES / "channel.yaml", CASES / "phasefield.yaml"
SMALL = ["grid.nx=16", "grid.ny=16", "grid.nz=17", "time.steps=1", "publish=null"]


def sets(*overrides: str) -> list[str]:
    return [word for override in overrides for word in ("--set", override)]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("grid.nx=true", "grid.nx: got 'true', must be an integer"),
        ("time.cfl=yes", "time.cfl: got 'true', must be a number"),
        ("grid.lx=true", "grid.lx: got 'true', must be a number or a product with pi"),
        ("grid.lx=1e-320", "must be from 1e-100 to 1e+100"),
        ("flow.reynolds_tau=1e300", "got 1e+300, must be from 1e-100 to 1e+100"),
        ("output.folder=''", "output.folder: got '', must not be empty; '.' is the current folder"),
        ("model=phasefield", "and one with 'model' is an assimilation; remove one of both keys"),
        (
            "publish={engine: tcp, tcp: {listen: 999.1.1.1}}",
            "publish.tcp.listen: '999.1.1.1' is no address and no name of a host",
        ),
    ],
)
def test_check_refuses_what_run_refuses(uzushio: Run, override: str, message: str) -> None:
    checked = uzushio("check", CHANNEL, *sets(override))
    assert (checked.returncode, checked.stdout) == (1, "")
    if not override.startswith("model"):
        assert message in checked.stderr
    done = uzushio("run", CHANNEL, *sets(*SMALL, override))
    assert done.returncode == 1 and message in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["plan", CHANNEL], "is the case of a run, not a plan; give it to uzushio run"),
        (["plan", PHASEFIELD], "is the case of an assimilation, not a plan"),
        (["render", CHANNEL, "--from", "x"], "is the case of a run, not a pipeline"),
        (["run", "pipeline.yaml"], "is a pipeline, not a case; give it to uzushio render"),
        (["run", "link"], "a link to nowhere"),
        (["report", "link"], "link is a link to nowhere, which does not exist"),
        (["run", CHANNEL, "--out", "link"], "link is a link to nowhere, which does not exist"),
        (
            ["run", CHANNEL, "--restart", "no"],
            "no holds no complete checkpoint: there is no such folder",
        ),
    ],
)
def test_a_file_of_another_kind_and_a_dangling_link_are_named(
    uzushio: Run, tmp_path: Path, words: list[object], message: str
) -> None:
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "pipeline.yaml").write_text("actions: [{count: {fields: [u]}}]\n")
    done = uzushio(*words)
    assert done.returncode == 1
    assert message in done.stderr and "Traceback" not in done.stderr


def test_an_empty_path_is_refused(uzushio: Run, case: Path, tmp_path: Path) -> None:
    done = uzushio("run", case, "--out", "")
    assert done.returncode == 2
    assert "the path is empty; '.' is the current folder" in " ".join(
        re.sub("[│╭╮╰╯─]", " ", done.stderr).split()
    )
    assert [path.name for path in tmp_path.iterdir()] == [case.name]


def test_a_checkpoint_is_opened_by_its_path_as_text() -> None:
    with pytest.raises(
        CheckpointError,
        match=r"^nofolder holds no complete checkpoint: there is no such folder; name",
    ):
        checkpoint.open_checkpoint("nofolder", MPI.COMM_SELF)


def test_a_restart_of_another_grid_names_the_ways_out(uzushio: Run, tmp_path: Path) -> None:
    (tmp_path / "case.yaml").write_text(CHANNEL.read_text())
    first = ("run", "case.yaml", "--out", "run", "--no-figures")
    assert uzushio(*first, *sets(*SMALL)).returncode == 0
    done = uzushio(*first, *sets(*SMALL, "grid.nx=24"), "--restart", "run")
    assert done.returncode == 1
    assert "leave case.yaml out; to begin another run with it, name its folder with --out" in (
        done.stderr
    )


@pytest.mark.parametrize(
    "summary",
    [{"actions": 3}, {"solver": "channel", "sections": 5}, {"actions": {"a": {"files": 1}}}],
)
def test_a_report_of_an_unexpected_summary_names_it(
    uzushio: Run, tmp_path: Path, summary: dict[str, Any]
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/summary.json").write_text(json.dumps(summary))
    done = uzushio("report", "run")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "run/summary.json: a summary does not have the form" in done.stderr


def test_a_damaged_line_of_a_tuning_is_named(tmp_path: Path) -> None:
    file = tmp_path / journal.FILE
    file.write_text(
        '{"op_code": 0, "worker_id": "a", "study_name": "s", "directions": [1]}\n{"op\n'
    )
    with pytest.raises(OutputError, match=r"is damaged \(line 2: .* --overwrite\.$"):
        journal.open_storage(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sources: {low: {kind: gradient, of: where(z < 1, u, 0), axis: z}}", "sources.low.of"),
        ("sources: {low: where(z < 1, u, 0)}", "sources.low"),
    ],
)
def test_an_expression_that_yaml_cuts_at_a_comma_is_named(
    tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "pipeline.yaml").write_text(f"{text}\nactions: [{{count: {{fields: [u]}}}}]\n")
    with pytest.raises(CaseError) as refused:
        load(tmp_path / "pipeline.yaml")
    cut = f"{message}: 'where(z < 1' ends at a comma; put quotes around a text with commas"
    assert cut in str(refused.value)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (
            "picture: {view: {layers: [{kind: volume, field: u, opacity: [[1, 0], [2, 1]]}]}}",
            "the opacity is 0 at all places from 0 to 1",
        ),
        (
            "probe: {fields: [u], lines: {a: {from: [0, 0, 1], to: [0, 0, 1]}}}",
            "'from' and 'to' are the same point",
        ),
    ],
)
def test_pictures_and_lines_of_nothing_are_refused(
    tmp_path: Path, action: str, message: str
) -> None:
    (tmp_path / "pipeline.yaml").write_text(f"actions:\n- {{{action}}}\n")
    with pytest.raises(CaseError, match=re.escape(message)):
        load(tmp_path / "pipeline.yaml")


def test_a_run_whose_function_fails_ends_with_status_1(
    uzushio: Run, case: Path, tmp_path: Path
) -> None:
    (tmp_path / "look.py").write_text("def on_step(step):\n    raise KeyError('no such value')\n")
    case.write_text(case.read_text() + "publish: {engine: inproc, python: look.py}\n")
    done = uzushio("run", case)
    assert done.returncode == 1 and "Nothing more is published" in done.stderr
    assert json.loads((tmp_path / "run/summary.json").read_text())["step"] == 12


def test_steps_of_a_run_that_published_none_are_refused_at_once(
    uzushio: Run, case: Path, tmp_path: Path
) -> None:
    (tmp_path / "pipeline.yaml").write_text("actions: [{count: {fields: [u]}}]\n")
    assert uzushio("run", case).returncode == 0
    done = uzushio("render", "pipeline.yaml", "--from", "run", timeout=20)
    assert done.returncode == 1 and "its case needs a section `publish`" in done.stderr
    assert "uzushio render --checkpoint" in done.stderr


def test_a_warning_of_a_library_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    _show_warning(RuntimeWarning("divide by zero encountered in log"), RuntimeWarning, "a.py", 3)
    assert capsys.readouterr().err == ("uzushio: warning: Divide by zero encountered in log.\n")


@pytest.mark.parametrize(("no_color", "plain"), [("1", True), ("", False)])
def test_tables_are_plain_in_files_and_with_no_color(no_color: str, plain: bool) -> None:
    """A rank has a pseudo-terminal also where the output of its job is a file."""
    command = (
        "from uzushio._base.parallel.console import standard_console as c; c().print('[bold]a')"
    )
    for columns in ("0", "80"):
        parent, child = pty.openpty()
        environment = os.environ | {"UZUSHIO_TERMINAL": columns, "TERM": "xterm"}
        environment |= {"NO_COLOR": no_color} if no_color else {}
        pid = os.posix_spawn(
            sys.executable,
            [sys.executable, "-c", command],
            environment,
            file_actions=[(os.POSIX_SPAWN_DUP2, child, 1)],
        )
        assert os.waitpid(pid, 0)[1] == 0
        text = os.read(parent, 1000)
        assert (b"\x1b" not in text) == (plain or columns == "0"), text
        os.close(parent)
        os.close(child)


@pytest.mark.parametrize("action", ["count", "statistics"])
def test_an_entry_of_a_list_that_yaml_cuts_at_a_comma_is_named(tmp_path: Path, action: str) -> None:
    box = (np.linspace(0.0, 1.0, 3),) * 3
    made = Flow({"m": box}, {"u": ("m", lambda x, y, z, n: x)})
    with pytest.raises(StagingError) as refused:
        made.inside(f"actions: [{{{action}: {{fields: [arctan2(u, u)]}}}}]", tmp_path)
    cut = "the field 'arctan2(u' is cut at a comma; put quotes around a text with commas"
    assert cut in str(refused.value)
