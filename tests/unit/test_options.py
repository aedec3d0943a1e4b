"""Options of a job, which the command line and calls from Python take from one declaration."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
import typer
from mpi4py import MPI

import uzushio
from uzushio._base.parallel.affinity import Policy
from uzushio._cli.app import application
from uzushio._job.options import JobOptions, RunOptions, declared_options, options_of_call


@pytest.mark.parametrize(
    ("command", "function", "kind"),
    [
        ("run", uzushio.run, RunOptions),
        ("assimilate", uzushio.assimilation.assimilate, JobOptions),
    ],
)
def test_command_and_function_have_the_declared_options(command, function, kind) -> None:
    declared = declared_options(kind)
    keywords = inspect.signature(function).parameters
    assert declared.keys() == keywords.keys() - {"case", "comm"}
    assert all(f"\n        {name}: " in function.__doc__ for name in declared)
    parameters = typer.main.get_command(application([command, "check"])).commands[command].params
    options = {parameter.name: parameter.default for parameter in parameters}
    for name in declared:
        negated = keywords[name].default is True
        assert options[f"no_{name}" if negated else name] in (False, None, Policy.NONE)


def test_a_call_takes_paths_and_policies_as_text_and_no_other_names() -> None:
    options = options_of_call(RunOptions, "a.yaml", {"out": "~/run", "affinity": "compact"})
    assert options.out == Path.home() / "run"
    assert (options.case_file, options.affinity) == (Path("a.yaml"), Policy.COMPACT)
    with pytest.raises(TypeError, match="there is no option 'ranks'; there are: restart, "):
        uzushio.run({}, ranks=2, comm=MPI.COMM_SELF)
