"""Files of a far field at its end: spectra and overall levels, as tables and figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from uzushio._base.files import atomic_write
from uzushio.pipeline.acoustics import levels
from uzushio.pipeline.chart import Chart, ChartAxis, Curve
from uzushio.pipeline.figure import FigureFile, TimeBudget

if TYPE_CHECKING:
    from pathlib import Path

    from uzushio.pipeline.actions.acoustics import AcousticsSettings
    from uzushio.pipeline.context import Setup

#: Maximum number of curves in a figure.
_MAX_CURVES = 6
_LEVEL = ChartAxis("overall level re 20 µPa", "dB")


class Results:
    """NAME-spectra and NAME-levels, .csv and figures, beside the figure of the series."""

    def __init__(self, setup: Setup, name: str, settings: AcousticsSettings) -> None:
        self._setup, self._name, self._settings = setup, name, settings
        #: Units of time and pressure in the stream.
        self.units = ("", "")
        #: Reference curves of the levels.
        self.references: list[tuple[np.ndarray, np.ndarray, str]] = []
        #: Overall levels by observer, dB; after `write`.
        self.levels: dict[str, float] = {}

    @property
    def files(self) -> list[str]:
        """Names of all files."""
        suffixes = (".csv", *self._settings.suffixes)
        kinds = ("", "-spectra", "-levels")
        return [f"{self._name}{kind}{suffix}" for kind in kinds for suffix in suffixes]

    def write(self, rows: np.ndarray, interval: float) -> None:
        """Write all files but the series; print a notice if it is too short for spectra.

        Args:
            rows: times and pressures, (samples, 1 + observers); NaN where a sample is incomplete.
            interval: time between samples.

        Raises:
            OutputError, OSError: a file cannot be written.
        """
        given, names = self._settings, [*self._settings.observers]
        series = [column[np.isfinite(column)] for column in rows[:, 1:].T]
        samples = min(map(len, series))
        step = interval * given.seconds
        length = levels.segment_length(samples, step, given.bandwidth)
        if samples < max(length, levels.MIN_SAMPLES):
            name = names[int(np.argmin([len(pressure) for pressure in series]))]
            needed = max(length, levels.MIN_SAMPLES)
            self._setup.say(
                f"{self._name} has {samples} complete samples at the observer {name}, and spectra "
                f"need {needed}: a longer run, a shorter 'interval' or a larger 'bandwidth'. Sound "
                "of the first step that has not come from all of the surface is not complete."
            )
            return
        spectra = [
            levels.power_spectrum(pressure * given.pascals, step, length) for pressure in series
        ]
        frequencies = spectra[0][0]
        densities = [levels.decibels(density) for _, density in spectra]
        # Of the whole series: short segments would lose low frequencies.
        whole = [
            levels.power_spectrum(pressure * given.pascals, step, len(pressure))
            for pressure in series
        ]
        overall = [levels.overall_level(*spectrum, given.band) for spectrum in whole]
        self.levels = dict(zip(names, overall, strict=True))
        folder = self._setup.folder
        _write(
            folder / f"{self._name}-spectra.csv",
            ["frequency (Hz)", *(f"dB/Hz at {name}" for name in names)],
            np.column_stack([frequencies, *densities]),
        )
        places = np.array([*given.observers.values()])
        _write(
            folder / f"{self._name}-levels.csv",
            ["observer", "x", "y", "z", "overall level (dB)"],
            np.column_stack([np.arange(len(names)), places, overall]),
        )
        shown = np.unique(np.linspace(0, len(names) - 1, _MAX_CURVES).astype(int))
        self._draw(
            "",
            Chart(
                ChartAxis("time", self.units[0]),
                ChartAxis("pressure $p - p_0$", self.units[1]),
                tuple(
                    Curve(names[observer], rows[:, 0], rows[:, 1 + observer]) for observer in shown
                ),
            ),
        )
        width = float(frequencies[0])
        self._draw(
            "-spectra",
            Chart(
                ChartAxis("frequency", "Hz", log=True),
                ChartAxis("power spectral density re 20 µPa", "dB/Hz"),
                tuple(
                    Curve(names[observer], frequencies, densities[observer]) for observer in shown
                ),
            ),
            f", lines {width:.3g} Hz apart",
        )
        self._draw("-levels", self._level_chart(overall), curves=self.references)

    def _level_chart(self, overall: Sequence[float]) -> Chart:
        """Return levels over the angles of the arcs; without arcs, over the observers."""
        given = self._settings
        if not given.arcs:
            return Chart(
                ChartAxis("observer"),
                _LEVEL,
                (Curve("", np.arange(len(overall)), np.array(overall)),),
            )
        curves, first = [], len(given.points)
        for name, arc in given.arcs.items():
            values = np.array(overall[first : first + arc.observers])
            curves.append(Curve(name, arc.degrees, values))
            first += arc.observers
        return Chart(ChartAxis("angle", "degrees"), _LEVEL, tuple(curves))

    def _draw(
        self,
        kind: str,
        chart: Chart,
        more: str = "",
        curves: Sequence[tuple[np.ndarray, np.ndarray, str]] = (),
    ) -> None:
        title = (self._settings.title or self._name) + more
        budget = TimeBudget.of(self._setup)
        settings = self._settings
        if kind != "-levels":
            settings = settings.model_copy(update={"scale": {}, "limits": {}, "labels": {}})
        figure = FigureFile(self._setup.folder, f"{self._name}{kind}", settings, budget)
        figure.draw(title, chart.paint, curves, now=True)


def _write(path: Path, columns: Sequence[str], rows: np.ndarray) -> None:
    lines = [",".join(columns), *(",".join(f"{value:.10g}" for value in row) for row in rows)]
    atomic_write(path, "\n".join(lines) + "\n")
