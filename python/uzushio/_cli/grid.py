"""`uzushio grid`: makes, checks and converts multiblock grids."""

from __future__ import annotations

import json
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from uzushio._base.config.lengths import parse_length
from uzushio._base.parallel.console import standard_console
from uzushio._base.terminal import print_table, tell
from uzushio._cli.arguments import path_argument, path_option
from uzushio._job.options import Quiet
from uzushio.errors import GridError

if TYPE_CHECKING:
    from uzushio.grids import Grid, GridQuality

grid = typer.Typer(
    no_args_is_help=True,
    help="Make, check and convert multiblock grids (CGNS, PLOT3D).",
)

Out = Annotated[
    Path,
    path_option(
        "--out", metavar="FILE", help="File to write: .cgns, or .p3d with a neutral map file .nmf."
    ),
]
Picture = Annotated[
    Path | None,
    path_option(
        "--picture",
        metavar="FILE",
        help="Draw boundaries and histograms of the cells: .png, .pdf or .svg.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the quality of each zone as JSON.")]


class MappingKind(StrEnum):
    """Mapping of a box."""

    NONE = "none"
    WAVY = "wavy"
    WARPED = "warped"


class OrientationKind(StrEnum):
    """Directions of the axes of a box's zones."""

    SAME = "same"
    ROTATED = "rotated"
    ANY = "any"


@grid.command()
def box(
    out: Out,
    cells: Annotated[str, typer.Option(metavar="NXxNYxNZ", help="Cells along x, y and z.")],
    lengths: Annotated[
        str, typer.Option(metavar="X,Y,Z", help="Lengths; products with pi are allowed.")
    ] = "1,1,1",
    origin: Annotated[
        str, typer.Option(metavar="X,Y,Z", help="The corner with the least coordinates.")
    ] = "0,0,0",
    stretching: Annotated[
        str,
        typer.Option(
            metavar="X,Y,Z", help="Of each axis: 0: uniform; larger: finer at both ends (tanh)."
        ),
    ] = "0,0,0",
    zones: Annotated[
        str, typer.Option(metavar="NXxNYxNZ", help="Zones along x, y and z.")
    ] = "1x1x1",
    periodic: Annotated[
        str, typer.Option(metavar="AXES", help="Axes that are periodic, as xz.")
    ] = "",
    mapping: Annotated[
        MappingKind,
        typer.Option(
            help="wavy: positions are displaced by a product of sines; warped: the mapping of a "
            "published test of free-stream preservation."
        ),
    ] = MappingKind.NONE,
    amplitude: Annotated[
        float, typer.Option(help="Amplitude of the mapping, relative to the lengths.")
    ] = 0.05,
    orientations: Annotated[
        OrientationKind,
        typer.Option(
            help="Axes of the zones: along x, y, z; in other directions; or also left-handed ones."
        ),
    ] = OrientationKind.SAME,
    picture: Picture = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Make a box with boundaries x-min, x-max, … z-max.

    uzushio grid box --cells 32x32x32 --zones 2x2x2 --mapping wavy --periodic xyz --out wavy.cgns
    """
    from uzushio.grids import box_grid

    made = box_grid(
        _sizes("--cells", cells),
        _lengths("--lengths", lengths),
        origin=_lengths("--origin", origin),
        stretching=_lengths("--stretching", stretching),
        zones=_sizes("--zones", zones),
        periodic=periodic,
        mapping=mapping.value,
        amplitude=amplitude,
        orientations=orientations.value,
    )
    _finish(made, out, picture, as_json, quiet)


@grid.command("o-h")
def o_h(
    out: Out,
    radius: Annotated[float, typer.Option(help="Inner radius of the nozzle.")] = 0.5,
    length: Annotated[float, typer.Option(help="Length from the exit to the outflow.")] = 15.0,
    far: Annotated[float, typer.Option(help="Radius of the side boundary.")] = 5.0,
    far_end: Annotated[
        float | None,
        typer.Option(help="Its radius at the outflow, to which it grows linearly. Default: --far."),
    ] = None,
    nozzle: Annotated[
        float, typer.Option(help="Length of the nozzle in the grid; 0: the inflow is the exit.")
    ] = 0.0,
    wall: Annotated[
        float, typer.Option(help="Thickness of the nozzle's wall; 0: a surface.")
    ] = 0.0,
    core: Annotated[
        float, typer.Option(help="Half of the diagonal of the core's square, relative to --radius.")
    ] = 0.5,
    roundness: Annotated[
        float, typer.Option(help="Of the core's sides: 0: straight, 1: arcs of a circle.")
    ] = 0.4,
    core_cells: Annotated[
        int, typer.Option(min=1, help="Cells along a side of the core, a quarter of the circle.")
    ] = 12,
    inner_cells: Annotated[
        int, typer.Option(min=1, help="Cells from the core to the radius.")
    ] = 12,
    wall_cells: Annotated[
        int | None,
        typer.Option(
            min=1, help="Cells across the wall, behind its end. Default: of --lip-spacing."
        ),
    ] = None,
    outer_cells: Annotated[
        int, typer.Option(min=1, help="Cells from the nozzle to the side.")
    ] = 32,
    axial_cells: Annotated[
        int, typer.Option(min=1, help="Cells from the exit to the outflow.")
    ] = 96,
    nozzle_cells: Annotated[int, typer.Option(min=1, help="Cells along the nozzle.")] = 16,
    lip_spacing: Annotated[
        float, typer.Option(help="Radial width of the cells at the nozzle's lip.")
    ] = 0.02,
    exit_spacing: Annotated[
        float, typer.Option(help="Axial length of the cells at the exit.")
    ] = 0.04,
    sections: Annotated[int, typer.Option(min=1, help="Zones along the jet.")] = 1,
    picture: Picture = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Make an O-H grid of a jet: a square core along x, and rings of four zones around it.

    The exit of the nozzle is at x = 0. Cells are finest at the lip and at the exit, and grow from
    there by constant ratios. Boundaries: inflow, coflow, side, outflow, and nozzle.

    uzushio grid o-h --nozzle 1 --wall 0.05 --length 20 --far 6 --far-end 10 --out jet.cgns
    """
    from uzushio.grids import jet_grid

    made = jet_grid(
        radius=radius,
        length=length,
        far=far,
        far_end=far_end,
        nozzle=nozzle,
        wall=wall,
        core=core,
        roundness=roundness,
        core_cells=core_cells,
        inner_cells=inner_cells,
        wall_cells=wall_cells,
        outer_cells=outer_cells,
        axial_cells=axial_cells,
        nozzle_cells=nozzle_cells,
        lip_spacing=lip_spacing,
        exit_spacing=exit_spacing,
        sections=sections,
    )
    _finish(made, out, picture, as_json, quiet)


@grid.command()
def check(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", parser=path_argument, help="A CGNS or PLOT3D file."),
    ],
    picture: Picture = None,
    as_json: AsJson = False,
) -> None:
    """Check the grid of a file, and print its quality.

    Volumes have one sign in each zone, each cell side of a face has one name or connection, and
    connected vertices coincide. A PLOT3D file may have a neutral map file beside it (.nmf). Faces
    without a name or connection are connected where their vertices coincide. If a cell is inverted,
    the picture shows it.
    """
    from uzushio.grids import read_grid

    read = read_grid(file)
    _check(read, file, picture)
    _report(read, picture, as_json)


@grid.command()
def convert(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", parser=path_argument, help="A CGNS or PLOT3D file."),
    ],
    out: Out,
    names: Annotated[
        bool,
        typer.Option(
            "--name-open",
            help="Name each face that has no name and no connection by its zone and face.",
        ),
    ] = False,
    picture: Picture = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Convert a grid: PLOT3D with a neutral map file to CGNS, or back.

    Faces without a name or connection are connected where their vertices coincide.
    """
    from uzushio.grids import read_grid

    read = read_grid(file)
    if names:
        read.name_open_patches(lambda zone, patch: f"{zone.name} {patch.face}")
    _check(read, file, picture)
    _finish(read, out, picture, as_json, quiet)


def _check(read: Grid, file: Path, picture: Path | None) -> None:
    """Check a grid; draw an inverted cell if a picture is wanted."""
    from uzushio.grids import CellError, draw_cells

    try:
        read.check()
    except CellError as error:
        if picture is None:
            raise GridError(f"{file}: {error}") from None
        drawn = draw_cells(read.zone(error.zone), error.cell, _drawable(picture))
        raise GridError(f"{file}: {error} {drawn} shows it.") from None
    except GridError as error:
        raise GridError(f"{file}: {error}") from None


def _drawable(picture: Path) -> Path:
    if picture.suffix not in (".png", ".pdf", ".svg"):
        raise GridError(f"{picture}: the suffix of a picture is .png, .pdf or .svg.")
    return picture


def _finish(made: Grid, out: Path, picture: Path | None, as_json: bool, quiet: bool) -> None:
    from uzushio.grids import write_grid

    written = write_grid(made, out)
    if not quiet:
        _report(made, picture, as_json)
    elif picture is not None:
        _draw(made, picture)
    if not (quiet or as_json):
        for path in written:
            tell(f"Wrote {path}.")


def _report(made: Grid, picture: Path | None, as_json: bool) -> None:
    from uzushio.grids import grid_quality

    quality = grid_quality(made)
    if as_json:
        print(json.dumps(asdict(quality), indent=2))
    else:
        _print(made, quality)
    if picture is not None:
        _draw(made, picture)
        if not as_json:
            tell(f"Wrote {picture}.")


def _draw(made: Grid, picture: Path) -> None:
    from uzushio.grids import draw_grid

    draw_grid(made, _drawable(picture))


def _print(made: Grid, quality: GridQuality) -> None:
    volume, stretching, skewness = (
        quality.worst_volume,
        quality.worst_stretching,
        quality.worst_skewness,
    )
    table = Table("quality", "value", "zone", "cell (i, j, k)")
    for name, value, zone, cell in (
        ("least volume", f"{volume.min_volume:.4g}", volume.zone, volume.min_volume_cell),
        (
            "largest stretching",
            f"{stretching.max_stretching:.3f}",
            stretching.zone,
            stretching.max_stretching_cell,
        ),
        (
            "largest skewness",
            f"{skewness.max_skewness:.1f}°",
            skewness.zone,
            skewness.max_skewness_cell,
        ),
    ):
        table.add_row(name, value, zone, ", ".join(map(str, cell)))
    print_table(table, standard_console(highlight=False))
    if quality.max_jump_place:
        tell(
            f"Largest stretching across a connection: {quality.max_jump:.3f}, at "
            f"{quality.max_jump_place}."
        )
    left = sum(zone.left_handed for zone in quality.zones)
    tell(
        f"{len(made.zones)} zones{f' ({left} left-handed)' if left else ''}, {made.cells:,} cells, "
        f"{len(made.connections)} connections, volume {quality.volume:.6g}."
    )
    if (parts := len(made.parts())) > 1:
        tell(f"The zones form {parts} parts that no connection joins.")
    if quality.areas:
        areas = ", ".join(f"{name} {area:.6g}" for name, area in quality.areas.items())
        tell(f"Areas of the boundaries: {areas}.")


def _sizes(option: str, text: str) -> tuple[int, int, int]:
    words = text.split("x")
    if len(words) != 3 or not all(w.isdigit() and 0 < int(w) < 1 << 31 for w in words):
        raise GridError(f"{option} {text}: give three numbers with x between them, as 32x32x16.")
    i, j, k = map(int, words)
    return i, j, k


def _lengths(option: str, text: str) -> tuple[float, float, float]:
    try:
        x, y, z = (_signed(word.strip()) for word in text.split(","))
    except ValueError:
        raise GridError(f"{option} {text}: give three numbers with commas, as 1,2,2 pi.") from None
    return x, y, z


def _signed(word: str) -> float:
    value = float(str(parse_length(word.removeprefix("-"))))
    return -value if word.startswith("-") else value
