"""Uzushio: massively parallel flow simulation.

`load_case` reads a case, `run` runs it, and a `Simulation` is stepped by hand; `open_checkpoint`
returns the fields of a checkpoint. `assimilate` fits a model to observations. `uzushio.solvers` has
the solvers, the interface between a solver and the framework, and the base of solvers of blocks;
`uzushio.case` has the sections of case files that are common to all solvers. Each package can be
used alone: `uzushio.staging`, `uzushio.render`, `uzushio.assimilation` and the others. Errors are
subclasses of `uzushio.errors.UzushioError`. Names with a leading underscore are internal. The
command line is `uzushio` or `python -m uzushio`.

`docs/reference/python.md` has an example for each.
"""

from __future__ import annotations

from uzushio._base import lazy

__version__ = "0.1.0"
#: As in `typing`, whose import takes longer than all before the command line handles signals.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from uzushio import assimilation as assimilation
    from uzushio import case as case
    from uzushio import compositing as compositing
    from uzushio import errors as errors
    from uzushio import extracts as extracts
    from uzushio import grids as grids
    from uzushio import pipeline as pipeline
    from uzushio import placement as placement
    from uzushio import raycast as raycast
    from uzushio import render as render
    from uzushio import report as report
    from uzushio import solvers as solvers
    from uzushio import staging as staging
    from uzushio import tuning as tuning
    from uzushio._job.running import RunResult as RunResult
    from uzushio._job.running import open_checkpoint as open_checkpoint
    from uzushio._job.running import run as run
    from uzushio._job.simulation import Simulation as Simulation
    from uzushio._job.simulation import SimulationStep as SimulationStep
    from uzushio.assimilation.running import AssimilationResult as AssimilationResult
    from uzushio.assimilation.running import assimilate as assimilate
    from uzushio.case.model import Case as Case
    from uzushio.case.model import load_case as load_case
else:
    __getattr__, __dir__ = lazy.names(__name__)
