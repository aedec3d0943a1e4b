"""Solver of the benchmark of the live view, and its stored steps.

    python _viewer_worker.py store FOLDER POINTS
    python _viewer_worker.py solve CONTACT POINTS

`store` writes steps of an analytic field. `solve` publishes each step of a model of diffusion. Each
line of its standard input is the name of the measurement that begins; at the end of the input it
prints the seconds of all steps by measurement as JSON.
"""

from __future__ import annotations

import json
import sys
import threading
from time import perf_counter

import numpy as np

from uzushio import staging

STORED_STEPS = 8


def values(points: int, time: float) -> np.ndarray:
    """Return a smooth periodic field (z, y, x) of doubles."""
    line = np.linspace(0.0, 2.0 * np.pi, points, endpoint=False)
    z, y, x = line[:, None, None], line[None, :, None], line[None, None, :]
    waves = np.sin(2 * x + time) * np.cos(3 * y) * np.sin(2 * z)
    return np.asarray(waves + 0.5 * np.sin(x + 2 * y - time) * np.cos(z + x))


def describe(writer: staging.Writer, points: int) -> None:
    """Describe one block of a uniform mesh and its field."""
    cells = (points - 1,) * 3
    writer.uniform_mesh("box", elements=cells, spacing=(1.0 / points,) * 3)
    writer.field("u", "box", "vertex")
    writer.block(0, "box", ((0, 0, 0), (points,) * 3), association="vertex")


def store(folder: str, points: int) -> None:
    """Write the stored steps."""
    options = {"engine": "file", "file": {"folder": folder}}
    with staging.open("bench", None, options) as writer:
        describe(writer, points)
        for n in range(STORED_STEPS):
            with writer.step(n, 0.1 * n):
                writer.put("u", values(points, 0.1 * n))


def solve(contact: str, points: int) -> None:
    """Compute and publish steps until the end of the input; print their seconds."""
    label, ended = [""], threading.Event()

    def listen() -> None:
        for line in sys.stdin:
            label[0] = line.strip()
        ended.set()

    threading.Thread(target=listen, daemon=True).start()
    u, reused = values(points, 0.0), np.empty((points,) * 3)
    results: dict[str, dict[str, list[float]]] = {}
    options = {"engine": "shm", "contact": contact, "queue": {"policy": "latest_only"}}
    with staging.open("bench", None, options) as writer:
        describe(writer, points)
        n = 0
        while not ended.is_set():
            name, waited = label[0], writer.counters().seconds_waited
            began = perf_counter()
            change = np.zeros_like(u)
            for axis in range(3):
                change += np.roll(u, 1, axis) + np.roll(u, -1, axis) - 2.0 * u
            u += 1e-3 * change
            computed = perf_counter()
            with writer.step(n, 1e-3 * n):
                writer.put("u", u)
            published = perf_counter()
            np.copyto(reused, u)
            copied = perf_counter()
            seconds = {
                "step": published - began,
                "compute": computed - began,
                "publish": published - computed,
                "wait": writer.counters().seconds_waited - waited,
                "copy": copied - published,
            }
            if name == label[0]:
                for key, value in seconds.items():
                    results.setdefault(name, {}).setdefault(key, []).append(value)
            n += 1
    print(json.dumps(results))


if __name__ == "__main__":
    {"store": store, "solve": solve}[sys.argv[1]](sys.argv[2], int(sys.argv[3]))
