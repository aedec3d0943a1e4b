"""Cost of a step of the far field of sound, by positions of the surface and observers, on one core.

python bench/acoustics.py [--points 100000] [--observers 36]
"""

from __future__ import annotations

import argparse
from time import perf_counter

import numpy as np

from uzushio.pipeline.acoustics.observers import ArcSettings
from uzushio.pipeline.acoustics.radiation import Ambient, Radiation, distances
from uzushio.pipeline.acoustics.surfaces import SphereSettings


def seconds(points: int, observers: int, mach: float) -> tuple[int, float]:
    """Return the number of positions, and the least time of a step of radiation."""
    sphere = SphereSettings(center=(0.0, 0.0, 0.0), radius=1.0)
    surface = sphere.surface(np.pi * np.sqrt(2.0 / points))
    places = ArcSettings(radius=20.0, angles=(20.0, 160.0), observers=observers).places
    ambient = Ambient(1.0, np.array([mach, 0.0, 0.0]))
    radii = [distances(place, surface.points, ambient.mach)[-1] for place in places]
    reach = np.array([(one.min(), one.max()) for one in radii])
    radiation = Radiation(places, reach, ambient, 0.0, 0.05)
    radiation.points = surface.points
    values = np.random.default_rng(1).normal(size=(4, len(surface.areas)))
    taken = []
    for step in range(9):
        began = perf_counter()
        radiation.add(0.05 * step, values)
        taken.append(perf_counter() - began)
    return len(surface.areas), min(taken[4:])


def main() -> None:
    """Measure, and print a line for a fluid at rest and for a wind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--observers", type=int, default=36)
    given = parser.parse_args()
    for mach in (0.0, 0.5):
        points, taken = seconds(given.points, given.observers, mach)
        pair = taken / points / given.observers
        print(
            f"Mach {mach}: {points} positions, {given.observers} observers: {taken:.3f} s a step, "
            f"{1e9 * pair:.0f} ns a pair"
        )


if __name__ == "__main__":
    main()
