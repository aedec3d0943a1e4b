"""Time of J and its gradient for the phase field, compared with its memory traffic and with JAX.

The size is that of the published twin experiment: 1600 × 1600 points, 128 steps, 127 observations,
double precision. The misfit is summed in the backward sweep, so observations are read once: 8 bytes
per point and step. All stored states are written and read once: 16 more; with every eighth state
stored, an eighth of that and of the adjoint's traffic: 4 more. The floors are the times of this
traffic at the rate of STREAM's triad in the same job.

- plain: level after level over whole rows, one exchange per step, all states stored.
- kept: time-blocked (pa1; 16 steps forward, 8 backward), all states stored.
- replayed: the same with every eighth state stored; the method of `uzushio assimilate`.
- JAX: value and gradient of the same J by automatic differentiation, compiled, on all cores, the
  trajectory checkpointed every 16 steps, in a separate process afterwards.

    python bench/assimilation.py [--side 1600] [--steps 128] [--repeats 5] [--json FILE]
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from _job import measured_in_job, measured_in_process
from _memory import resident
from _report import Record, option_parser, record, report
from rich.table import Table

BLOCK, BACK = 16, 8
BYTES = {"plain": 24.0, "kept": 24.0, "replayed": 8.0 + 32.0 / BACK}  # a point and step
FLOOR_GOAL = 1.5  # times the floor
JAX_GOAL = 5.0  # times as fast as JAX
MEMORY_GOAL = 1.05  # of the accounted memory
WEIGHT = 4.0
M = 0.9


def first_field(side: int) -> Any:
    """Return a square phase."""
    field = np.zeros((side, side))
    field[side // 4 : -side // 4, side // 4 : -side // 4] = 1
    return field


def seen(shape: tuple[int, ...], steps: int) -> Any:
    """Return random observations of steps 1 to `steps` - 1."""
    values = np.empty((steps - 1, *shape))
    values[:] = np.random.default_rng(1).random(shape)
    return values


def measure(side: int, steps: int, repeats: int, threads: int) -> dict[str, Any]:
    """Measure Uzushio's methods on the ranks of this job."""
    from mpi4py import MPI

    from uzushio import _core
    from uzushio._base.observations import Observations
    from uzushio.solvers.phasefield import Blocking, Model, Parameters

    world = MPI.COMM_WORLD
    known = Parameters(dt=0.1, spacing=1.0, tau=1.0, epsilon=1.0)
    _core.parallel.triad_rate(world.handle, 2**22, 1)
    before = resident()
    blocked = Blocking(scheme="pa1", fblt=BLOCK, bblt=BACK, threads=threads)
    blockings = {"replayed": blocked, "kept": blocked, "plain": Blocking(threads=threads)}
    seconds: dict[str, list[float]] = {}
    accounted = peak = 0
    model = Model(world, (side, side), known, blocked)
    start = np.ascontiguousarray(first_field(side)[model.own])
    observations = Observations(range(1, steps), seen(model.own_shape, steps), WEIGHT)
    triad = 0.0
    results: dict[str, tuple[float, float]] = {}
    for name, blocking in blockings.items():
        model = Model(world, (side, side), known, blocking)
        allocate = model.checkpoints if name == "replayed" else model.trajectory
        trajectory = allocate(steps)
        phi, lam = np.empty_like(start), np.empty_like(start)
        seconds[name] = [float("inf")] * 2
        for _ in range(repeats):
            phi[:], lam[:] = start, 0
            world.Barrier()
            times = [perf_counter()]
            model.forward(phi, [M], 0, steps, trajectory)
            times.append(perf_counter())
            misfit, (slope,) = model.misfit_and_adjoint(
                lam, [M], 0, steps, trajectory, observations
            )
            world.Barrier()
            times.append(perf_counter())
            peak = peak or resident(peak=True) - before  # of the first method, without the triad's
            taken = [float(t) for t in np.diff(times)]
            seconds[name] = [min(a, b) for a, b in zip(seconds[name], taken, strict=True)]
            triad = max(triad, _core.parallel.triad_rate(world.handle, 2**22, 1))
        results[name] = (sum(misfit), sum(slope))
        if name == "replayed":
            accounted = trajectory.bytes + observations.values.nbytes + model.bytes
            accounted += 3 * start.nbytes
        del trajectory
    assert results["plain"] == results["kept"] == results["replayed"]
    sums = [world.allreduce(value) for value in (peak, accounted)]
    return {
        "seconds": seconds,
        "triad": triad,
        "peak": sums[0],
        "accounted": sums[1],
        "misfit": results["replayed"],
    }


def measure_jax(side: int, steps: int, repeats: int) -> dict[str, Any]:
    """Time the same J by JAX: compiled once, then the minimum time of several calls."""
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")
    import jax.numpy as jnp

    a = b = 0.1

    def step(phi: Any, m: Any) -> Any:
        g = jnp.pad(phi, 1, mode="edge")
        around = g[1:-1, :-2] + g[1:-1, 2:] + g[:-2, 1:-1] + g[2:, 1:-1]
        return phi + a * (around - 4 * phi) + b * phi * (1 - phi) * (phi + m - 1)

    def observe(carry: Any, y: Any) -> Any:
        new = step(*carry)
        return (new, carry[1]), 0.5 * WEIGHT * jnp.sum((new - y) ** 2)

    @jax.checkpoint
    def block(carry: Any, ys: Any) -> Any:
        carry, misfits = jax.lax.scan(observe, carry, ys)
        return carry, jnp.sum(misfits)

    def misfit(phi: Any, m: Any, ys: Any, last: Any) -> Any:
        carry, misfits = jax.lax.scan(block, (phi, m), ys)
        rest = jax.lax.scan(observe, carry, last)[1]
        return jnp.sum(misfits) + jnp.sum(rest)

    whole = (steps - 1) // BLOCK
    values = jnp.asarray(seen((side, side), steps))
    ys = values[: whole * BLOCK].reshape(whole, BLOCK, side, side)
    last = values[whole * BLOCK :]
    del values
    gradient = jax.jit(jax.value_and_grad(misfit, argnums=(0, 1)))
    phi = jnp.asarray(first_field(side))
    best = float("inf")
    for turn in range(repeats + 1):
        start = perf_counter()
        value, (dphi, slope) = gradient(phi, M, ys, last)
        dphi.block_until_ready()
        if turn:  # the first call compiles
            best = min(best, perf_counter() - start)
    return {"seconds": best, "misfit": (float(value), float(slope))}


def records(where: str, side: int, steps: int, result: dict[str, Any]) -> list[Record]:
    """Return the records of one job, with their goals."""

    def row(
        metric: str, value: float, unit: str, goal: float | None = None, of: str | None = None
    ) -> Record:
        return record(f"{metric}, {where}", value, unit, goal, of, at_most=True)

    rows = [row("triad", result["triad"] / 1e9, "GB/s")]
    totals = {name: sum(seconds) for name, seconds in result["seconds"].items()}
    for name, (forward, backward) in result["seconds"].items():
        floor = BYTES[name] * side * side * steps / result["triad"]
        goal = None if name == "plain" else FLOOR_GOAL
        rows += [
            row(f"forward, {name}", forward, "s"),
            row(f"backward, {name}", backward, "s"),
            row(f"J and gradient, {name}", totals[name], "s"),
            row(f"J and gradient, {name}", totals[name] / floor, "", goal, "its floor"),
        ]
    rows += [
        row("plain over replayed", totals["plain"] / totals["replayed"], "times"),
        row("peak memory", result["peak"] / 2**30, "GiB"),
        row("peak memory", result["peak"] / result["accounted"], "", MEMORY_GOAL, "accounted"),
    ]
    return rows


def main() -> None:
    """Measure, print a table, and write the records."""
    parser = option_parser(__doc__)
    parser.add_argument("--side", type=int, default=1600)
    parser.add_argument("--steps", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--jobs", nargs="+", metavar="NAME", help="such as '2 ranks'")
    parser.add_argument("--no-jax", action="store_true")
    options = parser.parse_args()
    size = options.side, options.steps, options.repeats
    jobs = {"1 rank": (1, 1), "1 rank of 2 threads": (1, 2), "2 ranks": (2, 1)}
    results = {}
    for name in options.jobs or jobs:
        ranks, threads = jobs[name]
        results[name] = measured_in_job(ranks, measure, *size, threads, threads=threads)
    threaded, split = (results.get(name) for name in ("1 rank of 2 threads", "2 ranks"))
    if threaded and split:
        # STREAM's triad has one thread per rank: the rate of two cores is that of two ranks.
        threaded["triad"] = split["triad"]
    rows = [
        row
        for name, result in results.items()
        for row in records(name, options.side, options.steps, result)
    ]
    if not options.no_jax and "1 rank" in results:
        jax = measured_in_process(measure_jax, *size)
        alone = results["1 rank"]
        if not np.allclose(jax["misfit"], alone["misfit"], rtol=1e-10):
            raise SystemExit(f"JAX has {jax['misfit']}, we have {alone['misfit']}")
        ratio = jax["seconds"] / sum(alone["seconds"]["replayed"])
        rows += [
            record("JAX, all cores", jax["seconds"], "s"),
            record("J and gradient, 1 rank", ratio, "times as fast", JAX_GOAL, "JAX, all cores"),
        ]

    table = Table("what", "value", "unit", "of", "goal", "met")
    for row in rows:
        goal = "" if row["goal"] is None else f"{row['goal']:g}"
        met = "" if row["met"] is None else "yes" if row["met"] else "no"
        table.add_row(row["metric"], f"{row['value']:.3g}", row["unit"], row["of"] or "", goal, met)
    report(options.json, rows, table)


if __name__ == "__main__":
    main()
