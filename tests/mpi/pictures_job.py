"""Make pictures on some of the ranks and save them, and print the messages of errors.

    pictures_job.py FOLDER PART:RANKS...

Each part is done by the first so many ranks, whose rank 0 saves arrays as
FOLDER/PART.RANKS.NAME.npy, and what is said as FOLDER/PART.RANKS.txt.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

from uzushio.errors import RenderError
from uzushio.raycast import Block
from uzushio.render import (
    Colors,
    IsosurfaceLayer,
    MeshLayer,
    MeshRenderer,
    Renderer,
    SliceLayer,
    View,
    Viewpoint,
    VolumeLayer,
    ghosts,
)
from uzushio.render.vtk_window import window_class

comm, part = MPI.COMM_WORLD, ""
folder = Path(sys.argv[1])
SIZE = (96, 64)
POINTS = (13, 12, 25)
LENGTHS = (1, 2, 4)
DOMAIN = tuple(
    length * np.linspace(0, 1, n) ** 1.2 for n, length in zip(POINTS, LENGTHS, strict=True)
)


def field(time: float = 0.0) -> dict[str, np.ndarray]:
    z, y, x = np.meshgrid(*DOMAIN, indexing="ij")
    u = np.sin(3 * x + time) * np.cos(3 * y) * np.sin(np.pi * z)
    return {"u": u.astype(np.float32), "q": 30 * u**2}


def cut(cells: tuple[int, int, int, int, int, int], time: float = 0.0) -> Block:
    """A block of cells (first and behind the last along z, y, x) with the ghosts that it needs."""
    begin, end = np.array(cells).reshape(3, 2).T
    box = tuple(map(int, begin)), tuple(map(int, end - begin))
    below, above = ghosts(VIEWS["all"], DOMAIN, box)
    edges = zip(begin, end, below, above, strict=True)
    stored = [slice(b - lo, e + 1 + hi) for b, e, lo, hi in edges]
    start = tuple(int(s.start) for s in stored)
    coordinates = [c[s] for c, s in zip(DOMAIN, stored, strict=True)]
    return Block(coordinates, start, box, {k: v[tuple(stored)] for k, v in field(time).items()})


def mine(time: float = 0.0) -> list[Block]:
    """Slabs along x, one for each rank, or two separate ones, or none on rank 0."""
    n, cells = comm.size, POINTS[2] - 1
    slabs = [(cells * r // n, cells * (r + 1) // n) for r in range(n)]
    rest = (0, POINTS[0] - 1, 0, POINTS[1] - 1)
    if part == "apart":  # first and last to rank 0, the rest to the others
        slabs = [(cells * r // (n + 1), cells * (r + 1) // (n + 1)) for r in range(n + 1)]
        own = [slabs[0], slabs[-1]] if comm.rank == 0 else [slabs[comm.rank]]
    elif part == "empty":  # nothing at rank 0
        slabs = [(cells * r // (n - 1), cells * (r + 1) // (n - 1)) for r in range(n - 1)]
        own = [] if comm.rank == 0 else [slabs[comm.rank - 1]]
    else:
        own = [slabs[comm.rank]]
    return [cut((*rest, *slab), time) for slab in own]


def save(name: str, picture: object) -> None:
    assert (picture is not None) == (comm.rank == 0)
    if picture is not None:
        np.save(folder / f"{part}.{comm.size}.{name}.npy", picture.pixels)


def say(*words: object) -> None:
    with (folder / f"{part}.{comm.size}.txt").open("a") as file:
        print(*words, file=file)


BOUNDS = ((0.0, 4.0), (0.0, 2.0), (0.0, 1.0))
LAYERS = [
    IsosurfaceLayer(field="q", values=15, color=Colors(field="u", map="RdBu_r"), opacity=0.7),
    SliceLayer(field="u", at=0.1, color=Colors(map="magma", limits=(-1, 1)), opacity=0.8),
]
VIEWS = {
    "all": View(
        layers=[*LAYERS, VolumeLayer(field="u", opacity=((0.6, 0), (1, 0.5)))],
        background=("#203040", "black"),
        title="Step {step}",
        orientation=True,
    ),
    "back": View(layers=LAYERS, camera="back"),
    "oblique": View(
        layers=[SliceLayer(field="u", normal=(1, 1, 1), color=Colors(map="coolwarm"))],
        camera=Viewpoint(azimuth=100, elevation=-50, zoom=1.3),
    ),
    "inside": View(
        layers=LAYERS[:1], camera=Viewpoint(position=(1.7, 0.9, 0.4), focal_point=(4, 1.5, 0.5))
    ),
}


def pictures() -> None:
    for pixels in ("rgba8", "rgba_float"):
        with Renderer(comm, *SIZE, pixels=pixels) as renderer:
            for name, view in VIEWS.items():
                picture = renderer.picture(view, mine(), DOMAIN, time=0.5, step=3)
                save(f"{pixels}.{name}", picture)
    with Renderer(comm, *SIZE, samples=2, root=0) as renderer:
        save("smooth.back", renderer.picture(VIEWS["back"], mine(), DOMAIN, time=0.5, step=3))


def no_screen() -> None:
    """Check that all ranks raise an error without graphics libraries."""
    os.environ["__EGL_VENDOR_LIBRARY_FILENAMES"] = "/nowhere.json"
    window_class.cache_clear()
    try:
        MeshRenderer(comm, *SIZE)
    except RenderError as error:
        messages = comm.allgather(str(error))
        assert len(set(messages)) == 1
        if comm.rank == 0:
            say(messages[0])


def several() -> None:
    """Check that pictures in flight together equal those made one by one."""
    view = VIEWS["back"]
    with Renderer(comm, *SIZE) as renderer:
        for n in range(4):
            renderer.submit(view, mine(n), DOMAIN, time=n, step=n)
            if n >= 1:
                save(f"late{n - 1}", renderer.finish())
        save("late3", renderer.finish())
    with Renderer(comm, *SIZE) as renderer:
        for n in range(4):
            save(f"once{n}", renderer.picture(view, mine(n), DOMAIN, time=n, step=n))


def notes() -> None:
    """Print notes on layers that are not visible."""
    blocks = mine()
    view = View(layers=[IsosurfaceLayer(field="q", values=[1e6, 2e6])])
    with Renderer(comm, *SIZE) as renderer:
        picture = renderer.picture(view, blocks, DOMAIN)
        if picture is not None:
            say(*picture.notes)
        clear = ((0, 0), (1, 0))
        for limits in ((-2, 2), (-0.5, 0.5)):
            colors = Colors(limits=limits, above="lime")
            view = View(layers=[VolumeLayer(field="u", color=colors, opacity=clear)])
            picture = renderer.picture(view, blocks, DOMAIN)
            if picture is not None:
                lime = (picture.pixels == (0, 255, 0)).all(axis=2).sum()
                say("the legend is", "pointed" if lime else "plain")
        last = comm.rank == comm.size - 1
        if last:
            blocks = [
                Block(b.coordinates, b.start, b.cells, {"u": b.fields["u"].copy()}) for b in blocks
            ]
            blocks[0].fields["u"][2, :, -4:] = np.nan
        view = View(layers=[SliceLayer(field="u", at=DOMAIN[0][2])], camera="top")
        picture = renderer.picture(view, blocks, DOMAIN)
        if picture is not None:
            assert picture.nan_count > 0
            pink = (np.abs(picture.pixels.astype(int) - (255, 0, 255)).max(axis=2) < 40).sum()
            assert pink > 20, pink
            lo, hi = picture.limits["u"]
            assert -1 < lo < hi < 1
            say("NaN is seen and counted")


def errors() -> None:
    """Check that all ranks raise the same error, whichever rank has it, and continue."""
    blocks = mine()
    with Renderer(comm, *SIZE) as renderer:
        bad = [Block(b.coordinates, b.start, b.cells, {"u": b.fields["u"]}) for b in blocks]
        tries = [
            (VIEWS["back"], bad if comm.rank == comm.size - 1 else blocks),
            (View(layers=[MeshLayer(mesh="a")]), blocks),
            (View(layers=LAYERS, camera={"position": (2, 1, 5), "up": (0, 0, 1)}), blocks),
            (VIEWS["back"], blocks if comm.rank else [*blocks, *blocks]),
            (View(layers=LAYERS, font="/nowhere/font.ttf"), blocks),
        ]
        for view, have in tries:
            try:
                renderer.picture(view, have, DOMAIN)
            except RenderError as error:
                messages = comm.allgather(str(error))
                assert len(set(messages)) == 1, messages
                if comm.rank == 0:
                    say(messages[0])
        save("after", renderer.picture(VIEWS["back"], blocks, DOMAIN, time=0.5, step=3))


def meshes() -> None:
    """Draw parts of a curvilinear mesh by VTK, one on each rank."""
    import pyvista

    r, t, z = np.linspace(1, 2.2, 12), np.linspace(0, 1.5 * np.pi, 61), np.linspace(0, 1.5, 9)
    first, last = (60 * n // comm.size for n in (comm.rank, comm.rank + 1))
    R, T, Z = np.meshgrid(r, t[first : last + 1], z, indexing="ij")
    grid = pyvista.StructuredGrid(R * np.cos(T), R * np.sin(T), Z)
    grid["u"] = (np.sin(5 * T) * np.cos(3 * R) * (1 + Z)).ravel(order="F")
    grid["p"] = (R - 1).ravel(order="F")
    layers = {
        "surface": [MeshLayer(mesh="annulus", color=Colors(field="u", map="coolwarm"))],
        "filters": [
            SliceLayer(field="u", at=0.05, color=Colors(map="coolwarm")),
            IsosurfaceLayer(field="u", values=[0.9], color=Colors(field="p")),
            IsosurfaceLayer(field="u", values=[-0.9], color="teal"),
        ],
    }
    with MeshRenderer(comm, 192, 128) as renderer:
        for camera in ("isometric", "top"):
            for name, chosen in layers.items():
                view = View(layers=chosen, camera=camera)
                picture = renderer.picture(view, {"annulus": grid})
                save(f"{name}.{camera}", picture)
        nothing = {"annulus": None if comm.rank == 0 else grid}
        save("nothing0", renderer.picture(view, nothing))
        save("nothing", renderer.picture(view, {"annulus": None}, bounds=BOUNDS))
        for view, parts in (
            (View(layers=layers["surface"]), {"pipe": grid}),
            (View(layers=[MeshLayer(mesh="annulus", color=Colors(field="w"))]), {"annulus": grid}),
            (View(layers=[VolumeLayer(field="u")]), {"annulus": grid}),
        ):
            try:
                renderer.picture(view, parts)
            except RenderError as error:
                if comm.rank == 0:
                    say(error)


PARTS = {
    "slabs": pictures,
    "apart": pictures,
    "empty": pictures,
    "several": several,
    "notes": notes,
    "errors": errors,
    "meshes": meshes,
    "no_screen": no_screen,
}
for task in sys.argv[2:]:
    part, ranks = task.split(":")
    some = MPI.COMM_WORLD.Split(int(MPI.COMM_WORLD.rank < int(ranks)))
    if MPI.COMM_WORLD.rank < int(ranks):
        comm = some
        PARTS[part]()
    some.Free()
