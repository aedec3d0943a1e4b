"""A user's project, type-checked with the installed package: not executed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from mpi4py import MPI

import uzushio
from uzushio import assimilation, compositing, pipeline, render, staging
from uzushio._base.config.section import Section
from uzushio.case import registry
from uzushio.case.model import Case
from uzushio.errors import CaseError, UzushioError
from uzushio.raycast import Block, Camera, Isosurface, Scene, cast
from uzushio.render import Colors, IsosurfaceLayer, SliceLayer, View, VolumeLayer
from uzushio.solvers import channel
from uzushio.solvers.contract import Field, Solver


class Grid(Section):
    nx: int = 8


class MyCase(Case):
    grid: Grid = Grid()


registry.register("mine", "my_solver:MySolver")


def study(file: Path) -> float:
    case = uzushio.load_case(file, {"grid.nx": 64})
    result = uzushio.run(case, out="run", quiet=True)
    steps: int = result.summary["step"]
    if result.statistics is not None and not result.stopped:
        print(result.statistics["u"].dims, steps, result.folder / "x", result.checkpoints[-1])
    with uzushio.Simulation(case, restart=result.folder, comm=MPI.COMM_SELF) as simulation:
        for step in simulation:
            print(step.index + 1, step.time * 2.0)
            print(simulation.fields["u"].dims, simulation.readings()["CFL"].value)
        simulation.steer("cfl", 0.4)
        saved: Path = simulation.save("here")
    fields = uzushio.open_checkpoint(saved, "u", "w")
    picture = render.draw(fields, SliceLayer(field="u", normal="y", color=Colors(map="RdBu_r")))
    picture.save("u.png")
    return float(np.max(picture.pixels)) + (case.time.end or 0.0)


def stream(values: np.ndarray[tuple[int, int, int], np.dtype[np.float64]]) -> None:
    with staging.open("box", None, {"engine": "shm"}) as writer:
        writer.uniform_mesh("box", elements=(7, 7, 7), spacing=(1.0, 1.0, 1.0))
        writer.field("u", "box", "vertex")
        writer.block(0, "box", staging.Box((0, 0, 0), (8, 8, 8)), "vertex")
        with writer.step(0, 0.0):
            writer.put("u", values)
    with staging.attach("box.contact") as reader:
        for step in reader:
            print(step.index, step.read("u").mean())


def views() -> View:
    try:
        return View(
            layers=(
                IsosurfaceLayer(field="q", values=(0.1,)),
                SliceLayer(field="u", at=0.5),
                VolumeLayer(field="q"),
            ),
            camera=render.Viewpoint(name="front"),
        )
    except CaseError as error:
        raise UzushioError("no view") from error


def fields(solver: Solver) -> Mapping[str, Field]:
    return solver.fields()


def rays(block: Block, scene: Scene, camera: Camera) -> int:
    print(compositing.algorithms(), channel.ChannelSolver.case_model, Isosurface)
    return cast(scene, camera, 64, 64, [block]).nan_count


def estimate(file: Path) -> assimilation.AssimilationCase:
    print(pipeline.load("pipeline.yaml").path)
    case = assimilation.load_assimilation(file, {"time.steps": 3})
    result = uzushio.assimilate(case, out="estimate", quiet=True)
    m = result.parameters["m"]
    if m.sd is not None and result.estimate is not None and result.history is not None:
        print(m.value + m.sd, result.estimate["phi"].dims, result.history["J"].values)
    return result.case
