"""A short channel flow with 1, 2 and 3 threads a rank; rank 0 prints what differs, or "same".

python channel_threads_job.py PY PZ SCHEME TRANSPOSES
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from channel_cases import core, faces, make, parameters, stir

SIZE = (20, 54, 13)  # 535 modes of a plane on one rank, in chunks of 256 or fewer
STEPS = 2


def flow(ranks: tuple[int, int], scheme: str, transposes: str, threads: int) -> core.Solver:
    """Return a solver after some steps; one process has the same plans for all of them."""
    z = faces(SIZE[2])
    comm = MPI.COMM_SELF if ranks == (1, 1) else MPI.COMM_WORLD
    solver = make(
        SIZE,
        z,
        viscosity=0.02,
        drive=0.5,
        scheme=scheme,
        transposes=transposes,
        ranks=ranks,
        threads=threads,
        comm=comm,
    )
    assert solver.threads == threads
    stir(solver, z)
    solver.reset_traffic()
    for _ in range(STEPS):
        assert 0.0 < solver.step(0.4, 1.0) < 1.0
    return solver


def fields(solver: core.Solver) -> list[np.ndarray]:
    return [np.array(solver.spectral(name)) for name in "uvwp"]


def in_space(solver: core.Solver) -> list[np.ndarray]:
    output = core.PhysicalOutput(solver)
    (first, last), (bottom, top) = solver.planes, output.rows
    values = [np.full((last - first, top - bottom, SIZE[0]), np.nan) for _ in "uvwp"]
    for name, array in zip("uvwp", values, strict=True):
        output.write(solver, name, array)
    return values


def sampled(solver: core.Solver) -> dict[str, np.ndarray]:
    """Return samples of the statistics, which rank 0 has (collective)."""
    samples = solver.samples([2, 7])
    return {
        name: statistic[1] if isinstance(statistic, tuple) else statistic
        for name, statistic in samples.items()
    }


def differences(first: list[np.ndarray], other: list[np.ndarray]) -> list[str]:
    return [
        f"{name} {abs(a - b).max()}"
        for name, a, b in zip("uvwp", first, other, strict=True)
        if not np.array_equal(a, b)
    ]


def main(py: int, pz: int, scheme: str, transposes: str) -> None:
    comm = MPI.COMM_WORLD
    different: list[str] = []
    ranks = (py, pz)
    first = flow(ranks, scheme, transposes, 1)
    for threads in (2, 3):
        other = flow(ranks, scheme, transposes, threads)
        samples, expected = sampled(other), sampled(first)
        deviations = differences(fields(first), fields(other))
        deviations += [f"{d} in space" for d in differences(in_space(first), in_space(other))]
        if other.fastest_rate != first.fastest_rate:
            deviations.append("rate")
        if comm.rank == 0:
            deviations += [
                f"sample {name}"
                for name, values in samples.items()
                if not np.array_equal(values, expected[name])
            ]
        needs = core.estimate(parameters(SIZE, ranks, scheme, transposes, threads))
        if max(comm.allgather(other.bytes)) != needs.bytes:
            deviations.append(f"bytes {other.bytes}, estimated {needs.bytes}")
        for kind, sent in needs.traffic.items():
            counted = np.max(comm.allgather(other.traffic()[kind]), axis=0) / STEPS
            if counted.tolist() != list(sent):
                deviations.append(f"{kind} {counted.tolist()}, estimated {sent}")
        different += [f"rank {comm.rank}, {threads} threads: {what}" for what in deviations]
    if py == 1 and scheme != "partitioned":  # the order of operations is that of one rank
        alone = [
            field[slice(*first.planes)] for field in fields(flow((1, 1), scheme, transposes, 2))
        ]
        different += [f"rank {comm.rank}, one rank: {d}" for d in differences(alone, fields(first))]
    everything = comm.gather(different)
    if everything is not None:
        print("\n".join(line for lines in everything for line in lines) or "same")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
