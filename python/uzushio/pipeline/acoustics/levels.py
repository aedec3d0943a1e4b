"""Levels of sound: power spectra of pressure by Welch's method, overall levels."""

from __future__ import annotations

import numpy as np

#: Reference pressure of levels in air, Pa.
REFERENCE = 2e-5
#: Minimum number of samples of a spectrum.
MIN_SAMPLES = 32
#: Number of half-overlapping segments without a given bandwidth.
_SEGMENTS = 8


def segment_length(samples: int, interval: float, bandwidth: float | None) -> int:
    """Return the samples of a segment: for a bandwidth, Hz, or for eight segments."""
    if bandwidth is None:
        return max(MIN_SAMPLES // 2, 2 * samples // (_SEGMENTS + 1))
    return round(1.0 / (bandwidth * interval))


def power_spectrum(
    values: np.ndarray, interval: float, length: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return frequencies above 0 and the one-sided power spectral density (Welch, 1967).

    Segments overlap by half, lose their mean, and have Hann's window. The sum of the density times
    the distance of frequencies is the mean square.

    Args:
        values: samples, (n,), n ≥ length.
        interval: time between samples.
        length: samples of a segment.
    """
    window = 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(length) / length)
    segments = np.lib.stride_tricks.sliding_window_view(values, length)[:: max(1, length // 2)]
    modes = np.fft.rfft((segments - segments.mean(axis=1, keepdims=True)) * window)
    density = (np.abs(modes) ** 2).mean(axis=0) * 2.0 * interval / (window**2).sum()
    if length % 2 == 0:
        density[-1] /= 2.0
    return np.fft.rfftfreq(length, interval)[1:], density[1:]


def overall_level(
    frequencies: np.ndarray, density: np.ndarray, band: tuple[float, float] | None
) -> float:
    """Return the level of the sound in a band, dB; the density is that of `power_spectrum`."""
    band = band or (0.0, np.inf)
    inside = (frequencies >= band[0]) & (frequencies <= band[1])
    return float(decibels(density[inside].sum() * frequencies[0]))


def decibels(mean_square: np.ndarray | float) -> np.ndarray:
    """Return levels in dB of mean squares of pressure, Pa²; −∞ for 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(10.0 * np.log10(np.asarray(mean_square) / REFERENCE**2))
