"""Compare a long run of turbulent channel flow at Re_tau = 180 with published ones.

    make validate                         run or continue, then compare
    make validate ARGS=--analyse-only     compare with the newest checkpoint, also while it runs
    make validate ARGS=--redraw           draw the profiles again from the stored table

It takes 20 to 60 minutes on two cores. Ctrl-C stops it after a checkpoint; the next call continues.
The comparison is written to docs/validation/.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import xarray as xr
from mpi4py import MPI

from uzushio import __version__
from uzushio._base.figure_style import style, write
from uzushio._base.store import checkpoint
from uzushio._base.store.checkpoint.manifest import Manifest, read_manifest
from uzushio.case.model import load_case
from uzushio.solvers.channel import figures, reference, statistics
from uzushio.solvers.channel.case import ChannelCase
from uzushio.solvers.channel.figures import plots
from uzushio.solvers.channel.figures.averages import Averages, half
from uzushio.solvers.statistics.averages import TimeAverage
from uzushio.solvers.statistics.uncertainty import derive, explanation

ROOT = Path(__file__).resolve().parent.parent
CASE = Path(__file__).with_suffix(".yaml")
PAGES = ROOT / "docs" / "validation"
NAME = CASE.stem

MEAN_GOAL = 0.02  #: maximum deviation of the mean profile
RMS_GOAL = 0.03  #: maximum deviation of the peaks of the r.m.s. profiles
FIRST = 1.0  #: z+ from which the mean profile is compared; below, it is z+ itself
HEIGHTS = np.array([1, 2, 5, 10, 15, 20, 30, 40, 60, 80, 100, 120, 150, 175])
#: Profiles: power of u_tau in their unit, and their symmetry about the centre.
PROFILES = {"u": (1, 1), "u_rms": (1, 1), "v_rms": (1, 1), "w_rms": (1, 1), "uw": (2, -1)}
BUDGET = [*reference.BUDGET, "budget_residual"]


def main() -> int:
    """Run, continue or only compare; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ranks", type=int, default=2, help="MPI ranks of the run (2)")
    parser.add_argument("--analyse-only", action="store_true", help="compare what is there")
    parser.add_argument(
        "--redraw", action="store_true", help="draw the profiles again, from their table alone"
    )
    parser.add_argument("--pages", type=Path, default=PAGES, help="where the comparison goes")
    parser.add_argument("--folder", type=Path, help="folder of the run (that of the case)")
    arguments = parser.parse_args()
    case, pages = cast(ChannelCase, load_case(CASE)), arguments.pages
    run = (arguments.folder or ROOT / case.output.folder).absolute()
    if arguments.redraw:
        redraw(case, pages)
        return 0
    if not arguments.analyse_only and (status := advance(case, run, arguments.ranks)):
        return status
    result = Result.of(run)
    case = result.case
    pages.mkdir(parents=True, exist_ok=True)
    references = [reference.load(name) for name in reference.NAMES]
    drawn = [
        *figures.draw_statistics(
            pages, result.statistics, references, title=case.title, formats=["png"]
        )
    ]
    pictures = [file.rename(pages / f"{NAME}_{file.name}") for file in drawn]
    write_profiles(result, pages / f"{NAME}_profiles.csv")
    text = "\n".join(page(result, references, pictures)) + "\n"
    (pages / f"{NAME}.md").write_text(text, encoding="utf-8")
    print(text)
    return 0


def advance(case: ChannelCase, run: Path, ranks: int) -> int:
    """Start or continue the run to its end; return the exit status."""
    newest = checkpoint.newest(run)
    if newest and case.time.end and read_manifest(newest).time >= case.time.end * (1 - 1e-9):
        return 0
    how = ["--restart", str(run), "--restart-fallback"] if newest else ["--overwrite"]
    command = [sys.executable, "-m", "uzushio", "run", str(CASE), "--out", str(run), *how]
    process = subprocess.Popen([*command, "--ranks", str(ranks)], cwd=ROOT)
    # The run receives Ctrl-C itself, but SIGTERM only from here. Wait for its checkpoint.
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: process.send_signal(signal.SIGTERM))
    return process.wait()


@dataclass(frozen=True)
class Result:
    """Result of a run."""

    case: ChannelCase
    manifest: Manifest
    averages: Averages
    summary: dict[str, Any]

    @classmethod
    def of(cls, run: Path) -> Result:
        """Read the case of a run, its newest checkpoint and the last job's summary."""
        case = cast(ChannelCase, load_case(run / "case.yaml"))
        saved = checkpoint.open_checkpoint(run, MPI.COMM_SELF, fallback=True)
        average = TimeAverage()
        average.restore(*saved.averages())
        if not average.samples:
            raise SystemExit(
                f"{saved.path} holds no statistics yet: they start at t = "
                f"{case.statistics.start:g}, it is of t = {saved.manifest.time:.3g}."
            )
        dataset = derive(lambda mean, count: statistics.dataset(case, mean, count), average)
        assert dataset is not None
        summary = run / "summary.json"
        told = json.loads(summary.read_text(encoding="utf-8")) if summary.exists() else {}
        return cls(case, saved.manifest, Averages.of(dataset), told)

    @property
    def statistics(self) -> xr.Dataset:
        """Averages over time and quantities derived from them."""
        return self.averages.whole

    @property
    def has_intervals(self) -> bool:
        """Whether the checkpoint holds batch means."""
        return bool(self.averages.without)

    @property
    def averaged(self) -> float:
        """Averaging time in h/u_tau."""
        return (self.manifest.time - self.case.statistics.start) * self.u_tau

    @property
    def u_tau(self) -> float:
        """Measured friction velocity."""
        return float(self.statistics.attrs["u_tau"])

    @property
    def re_tau(self) -> float:
        """Measured friction Reynolds number."""
        return float(self.statistics.attrs["re_tau"])

    def profile(self, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Height, mean over the halves and an error of one of `PROFILES`, in wall units.

        The error is the half width of the 95 % interval by batch means. Where the checkpoint holds
        none, it is half of the difference of the halves, which does not see fluctuations that both
        have in common: a lower bound of the standard error.
        """
        power, parity = PROFILES[name]
        z, values, error = self.averages.profile(name, power, parity)
        if error is None:
            error = np.abs(half(self.statistics, name, power, -parity)[1])
        if z[0] > 0.0:  # all are zero at the wall
            z, values, error = (np.concatenate([[0.0], a]) for a in (z, values, error))
        return z, values, error

    def spread(self, name: str, height: float) -> str:
        """Return the 95 % interval of a profile at a height as text, empty if unknown."""
        if not self.has_intervals:
            return ""
        z, _, error = self.profile(name)
        return f" ± {np.interp(height, z, error):.2g}"

    def at(self, name: str, heights: np.ndarray) -> np.ndarray:
        """Return a profile at other heights; NaN above the last."""
        z, values, _ = self.profile(name)
        return reference.interpolate(heights, z, values)

    def noise(self, name: str) -> float:
        """Return the root mean square of a profile's error between z+ = `FIRST` and the centre."""
        z, _, error = self.profile(name)
        return float(np.sqrt(np.mean(error[z >= FIRST] ** 2)))


def mean_deviation(result: Result, profiles: reference.Profiles) -> tuple[float, float]:
    """Largest relative deviation of the mean profile from a reference's points, and its height."""
    shown = profiles.z >= FIRST
    deviation = result.at("u", profiles.z[shown]) / profiles.u[shown] - 1.0
    worst = int(np.nanargmax(np.abs(deviation)))
    return float(deviation[worst]), float(profiles.z[shown][worst])


def peak(z: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """Return the maximum of a smooth profile, and its height."""
    fine = np.linspace(z[0], z[-1], 20001)
    curve = reference.interpolate(fine, z, values)
    return float(curve.max()), float(fine[np.argmax(curve)])


def page(
    result: Result, references: list[reference.Profiles], pictures: list[Path]
) -> Iterator[str]:
    """Return the lines of the comparison."""
    yield f"# {result.case.title}\n"
    yield (
        f"Written by `validation/{NAME}.py` (`make validate`) with Uzushio {__version__} from the "
        f"state at step {result.manifest.step:,}. The case is `validation/{NAME}.yaml`; the "
        f"profiles are in [{NAME}_profiles.csv]({NAME}_profiles.csv).\n"
    )
    end = result.case.time.end or np.inf
    if result.manifest.time < end * (1 - 1e-9):
        yield (
            f"**Interim figures: the run has reached t = {result.manifest.time:.3g} of {end:g} "
            "h/u_tau.**\n"
        )
    yield "## Run\n"
    yield from table(["", ""], what_was_run(result))
    yield "\n## Against the goals\n"
    yield (
        "Profiles are compared in wall units, at equal z+, each scaled with its own friction "
        f"velocity and viscosity: the Reynolds numbers differ ({result.re_tau:.1f} here, "
        + ", ".join(f"{profiles.re_tau:.1f} in {profiles.label}" for profiles in references)
        + "), so that part of a deviation, above all near the centre, is theirs. The two halves "
        "of the channel are averaged.\n"
    )
    goals = ["quantity", "reference", "here", "published", "deviation", "goal", ""]
    yield from table(goals, against_goals(result, references))
    yield "\n## Mean velocity\n"
    yield from table(*mean_table(result, references))
    yield "\n## Peaks of the fluctuations\n"
    columns = ["", *(f"{label}, at z+" for label in ["here", *(r.label for r in references)])]
    yield from table(columns, peaks(result, references))
    yield "\n## Bulk figures\n"
    yield from table(
        ["", "here", *(profiles.label for profiles in references)], bulk(result, references)
    )
    yield "\n## How far it has converged\n"
    yield from table(["", "wall units"], convergence(result, references))
    yield f"\n{uncertainty(result)}\n"
    yield "## Figures\n"
    for picture in pictures:
        yield f"![{picture.stem.removeprefix(NAME + '_').replace('_', ' ')}]({picture.name})\n"
    yield "## Sources\n"
    yield from (
        f"- {profiles.label}, Re_τ = {profiles.re_tau}: {profiles.source}."
        for profiles in references
    )


def what_was_run(result: Result) -> Iterator[list[str]]:
    """Describe grid, resolution and times."""
    grid, nu = result.case.grid, result.case.flow.viscosity
    heights = np.diff(grid.wall_faces()) * result.u_tau / nu
    dx, dy = (v * result.u_tau / nu for v in (grid.lx / grid.nx, grid.ly / grid.ny))
    steps, time = result.manifest.step, result.manifest.time
    dt = time / steps * result.u_tau
    bulk = float(result.statistics.attrs["bulk_velocity"]) / result.u_tau
    yield ["box", f"{grid.lx / np.pi:.4g} π h × {grid.ly / np.pi:.4g} π h × 2 h"]
    yield ["grid", f"{grid.nx} × {grid.ny} × {grid.nz} (x, y, z)"]
    yield [
        "resolution",
        f"Δx+ = {dx:.1f}, Δy+ = {dy:.1f}, Δz+ = {heights.min():.2f} at the wall to "
        f"{heights.max():.1f} at the centre",
    ]
    yield ["products", f"{result.case.numerics.dealiasing} rule for dealiasing"]
    yield [
        "driven by",
        "a constant flow rate"
        if result.case.flow.reynolds_bulk
        else f"a constant pressure gradient, nominal Re_τ = {1 / nu:.6g}",
    ]
    yield ["time", f"{steps:,} steps to t = {time * result.u_tau:.4g} h/u_tau"]
    yield ["mean time step", f"{dt:.2e} h/u_tau = {dt * result.re_tau:.3f} ν/u_tau²"]
    yield [
        "averaged over",
        f"{result.averaged:.4g} h/u_tau = {result.averaged * bulk / grid.lx:.0f} "
        f"passes of the bulk flow through the box, {result.statistics.attrs['samples']:,} samples",
    ]
    if result.summary.get("steps_done"):
        yield [
            "last job",
            f"{result.summary['ranks']} MPI ranks, "
            f"{result.summary['seconds_per_step']:.2f} s a step",
        ]


def against_goals(result: Result, references: Iterable[reference.Profiles]) -> Iterator[list[str]]:
    """Compare deviations with their goals."""
    for profiles in references:
        deviation, z = mean_deviation(result, profiles)
        here = float(result.at("u", np.array([z]))[0])
        yield [
            f"mean velocity, worst point (z+ = {z:.3g})",
            profiles.label,
            f"{here:.3f}{result.spread('u', z)}",
            f"{here / (1 + deviation):.3f}",
            *verdict(deviation, MEAN_GOAL),
        ]
    for c in "uvw":
        here, height = peak(*result.profile(f"{c}_rms")[:2])
        for profiles in references:
            published, _ = peak(profiles.z, getattr(profiles, f"{c}_rms"))
            yield [
                f"peak of {c} r.m.s.",
                profiles.label,
                f"{here:.4f}{result.spread(f'{c}_rms', height)}",
                f"{published:.4f}",
                *verdict(here / published - 1.0, RMS_GOAL),
            ]


def verdict(deviation: float, goal: float) -> tuple[str, str, str]:
    """Return deviation, goal, and whether the goal is met."""
    return percent(deviation), f"{100 * goal:g} %", "met" if abs(deviation) <= goal else "not met"


def mean_table(
    result: Result, references: Iterable[reference.Profiles]
) -> tuple[list[str], list[list[str]]]:
    """Return a table of the mean velocity at some heights."""
    columns, names = [result.at("u", HEIGHTS)], ["z+", "here"]
    for profiles in references:
        published = reference.interpolate(HEIGHTS, profiles.z, profiles.u)
        columns += [published, columns[0] / published - 1.0]
        names += [profiles.label, "deviation"]
    rows = []
    for i, z in enumerate(HEIGHTS):
        values = [f"{z}"]
        for name, column in zip(names[1:], columns, strict=True):
            text = percent(column[i]) if name == "deviation" else f"{column[i]:.3f}"
            values.append(text if np.isfinite(column[i]) else "–")
        rows.append(values)
    return names, rows


def peaks(result: Result, references: Iterable[reference.Profiles]) -> Iterator[list[str]]:
    """Return a table of the maxima of fluctuations and shear stress, and their heights."""
    z, uw, _ = result.profile("uw")
    own = {f"{c}_rms": result.profile(f"{c}_rms")[:2] for c in "uvw"} | {"minus_uw": (z, -uw)}
    labels = {"minus_uw": "−⟨u'w'⟩"} | {f"{c}_rms": f"{c} r.m.s." for c in "uvw"}
    for name, profile in own.items():
        values = [
            peak(*profile),
            *(peak(profiles.z, getattr(profiles, name)) for profiles in references),
        ]
        yield [labels[name], *(f"{value:.4f}, {at:.1f}" for value, at in values)]


def bulk(result: Result, references: list[reference.Profiles]) -> Iterator[list[str]]:
    """Return a table of quantities of the whole flow."""
    u_bulk = float(result.statistics.attrs["bulk_velocity"]) / result.u_tau
    u_centre = float(result.profile("u")[1][-1])
    yield ["Re_τ", f"{result.re_tau:.2f}", *(f"{profiles.re_tau}" for profiles in references)]
    yield [
        "Re_bulk = 2 h U_b/ν",
        f"{2 * u_bulk * result.re_tau:.0f}",
        *(f"{2 * profiles.bulk_velocity * profiles.re_tau:.0f}" for profiles in references),
    ]
    yield [
        "U_b/u_tau",
        f"{u_bulk:.3f}",
        *(f"{profiles.bulk_velocity:.3f}" for profiles in references),
    ]
    yield [
        "U_c/u_tau",
        f"{u_centre:.3f}",
        *(f"{profiles.centre_velocity:.3f}" for profiles in references),
    ]
    yield [
        "C_f = 2 (u_tau/U_b)²",
        f"{2 / u_bulk**2:.3e}",
        *(f"{profiles.friction_coefficient:.3e}" for profiles in references),
    ]
    wall = [half(result.statistics, f"vorticity_{c}_rms", 2)[1][0] for c in "xy"]
    yield [
        "ω_x, ω_y r.m.s. at the wall",
        ", ".join(f"{value * result.case.flow.viscosity:.4f}" for value in wall),
        *(
            ", ".join(f"{v:.4f}" for v in profiles.wall_vorticity or ()) or "–"
            for profiles in references
        ),
    ]


def uncertainty(result: Result) -> str:
    """Describe the errors of the profiles, and what they do not include."""
    if result.has_intervals:
        how = explanation(result.statistics, ["u", "uu", "vv", "ww"], result.u_tau, " h/u_tau")
        return (
            "Errors are half widths of intervals, root mean square over the height. They hold what "
            f"both halves of the channel have in common, and the error of u_tau. {how}"
        )
    return (
        "Half of the difference between the lower and the upper half of the channel, root mean "
        "square over the height, does not see fluctuations that both halves have in common, such "
        "as those of the flow rate. It is a lower bound of the standard error, and no confidence "
        "interval: compare it with the distance of the published profiles from each other. The "
        "run's checkpoints are of a version that kept no batch means, so that an interval cannot "
        "be given for it; a run of the present version has one."
    )


def published_distance(references: list[reference.Profiles], name: str) -> float:
    """Largest distance between two references' profiles at equal z+, in wall units."""
    z = np.linspace(FIRST, min(profiles.z[-1] for profiles in references), 1000)
    curves = [
        reference.interpolate(z, profiles.z, getattr(profiles, name)) for profiles in references
    ]
    return float(np.ptp(curves, axis=0).max())


def convergence(result: Result, references: list[reference.Profiles]) -> Iterator[list[str]]:
    """Compare residuals that vanish for long averages with differences of published profiles."""
    nu = result.case.flow.viscosity
    nominal = 1.0 / nu
    if result.case.flow.reynolds_tau:
        yield ["measured over nominal Re_τ", f"{result.re_tau / nominal:.5f}"]
        if result.has_intervals:
            width = result.averages.half_width(
                lambda replicate: float(replicate.attrs["re_tau"]) / nominal
            )
            yield ["95 % half width of that", f"{float(width or 0.0):.5f}"]
    yield ["total shear stress, largest distance from 1 − z/h", f"{stress_error(result):.4f}"]
    kind = "95 % half width" if result.has_intervals else "half difference of the halves"
    for name in PROFILES:
        yield [f"{kind}, {name}", f"{result.noise(name):.4f}"]
    for name in ("u", "u_rms", "v_rms", "w_rms"):
        distance = published_distance(references, name)
        yield [f"largest distance of the published profiles, {name}", f"{distance:.3f}"]
    _, residual = half(result.statistics, "budget_residual", 4)
    _, production = half(result.statistics, "production", 4)
    yield [
        "energy budget, largest sum of the terms (of the largest production)",
        f"{np.abs(residual).max() * nu:.5f} ({percent(np.abs(residual / production.max()).max())})",
    ]


def stress_error(result: Result) -> float:
    """Largest distance of the total shear stress from the straight line that it tends to."""
    z, u, _ = result.profile("u")
    faces, uw, _ = result.profile("uw")
    # Faces between two centres, where the viscous stress of the scheme is.
    viscous = np.diff(u[1:]) / np.diff(z[1:])
    inner = slice(1, 1 + len(viscous))
    total = viscous - uw[inner]
    return float(np.abs(total - (1.0 - faces[inner] / result.re_tau)).max())


def write_profiles(result: Result, path: Path) -> None:
    """Write the profiles at cell centres as a table, in wall units."""
    z = result.profile("u")[0]
    columns = {"z": z, "z_over_h": z / result.re_tau}
    for name in PROFILES:
        at, values, error = result.profile(name)
        columns[name] = np.interp(z, at, values)
        columns[f"{name}_{'ci95' if result.has_intervals else 'half_difference'}"] = np.interp(
            z, at, error
        )
    nu = result.case.flow.viscosity
    for name in BUDGET:
        values = half(result.statistics, name, 4)[1] * nu
        columns[name] = np.concatenate([[np.nan], -values if name == "dissipation" else values])
    rows = np.array(list(columns.values())).T
    head = (
        f"# {result.case.title}; Re_tau = {result.re_tau:.2f}; "
        f"{result.statistics.attrs['samples']} samples from t = "
        f"{result.manifest.time * result.u_tau - result.averaged:.4g} to "
        f"{result.manifest.time * result.u_tau:.4g} h/u_tau; wall units; z wall-normal, v "
        "spanwise; halves averaged\n" + ",".join(columns) + "\n"
    )
    lines = (",".join(f"{value:.6g}" for value in row) for row in rows)
    path.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")


def redraw(case: ChannelCase, pages: Path) -> None:
    """Draw the mean, the r.m.s. and the budget again from the table of a deleted run."""
    text = (pages / f"{NAME}_profiles.csv").read_text(encoding="utf-8").splitlines()
    told = re.search(r"Re_tau = (\S+); (\d+) samples from t = (\S+) to (\S+) h/u_tau", text[0])
    assert told is not None, text[0]
    rows = np.array([line.split(",") for line in text[2:]], float)
    data = dict(zip(text[1].split(","), rows.T, strict=True))
    re_tau, begin, end = (float(told[number]) for number in (1, 3, 4))
    u_tau = re_tau * case.flow.viscosity
    lower = data["z_over_h"]
    z = np.append(lower, 2.0 - lower[::-1])
    inner = z[1:-1]  # the table has no budget at the wall

    def mirrored(name: str, factor: float, sign: float = 1.0) -> tuple[str, np.ndarray]:
        values = factor * data[name][np.isfinite(data[name])]
        axis = "z" if len(values) == len(lower) else "inner"
        return axis, np.append(values, sign * values[::-1])

    variables = {
        name: mirrored(name, u_tau**power, parity) for name, (power, parity) in PROFILES.items()
    }
    energy = u_tau**4 / case.flow.viscosity
    for name in BUDGET:
        variables[name] = mirrored(name, -energy if name == "dissipation" else energy)
    attributes: dict[str, Any] = {
        "u_tau": u_tau,
        "re_tau": re_tau,
        "viscosity": case.flow.viscosity,
    }
    times = [begin / u_tau, end / u_tau]
    attributes |= {"samples": int(told[2]), "averaged_times": times}
    averages = Averages.of(xr.Dataset(variables, {"z": z, "inner": inner}, attributes))
    references = [reference.load(name) for name in reference.NAMES]
    with style():
        mean = plots.Mean.of(averages)
        write(plots.mean_profile(mean, references, case.title), pages / f"{NAME}_mean_profile.png")
        write(plots.stresses(averages, references, case.title), pages / f"{NAME}_rms.png")
        write(plots.budget(averages, references, case.title), pages / f"{NAME}_budget.png")


def percent(value: float) -> str:
    """Format a ratio in per cent, with its sign."""
    return f"{100 * value:+.2f} %"


def table(columns: list[str], rows: Iterable[list[str]]) -> Iterator[str]:
    """Return a Markdown table."""
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    sys.exit(main())
