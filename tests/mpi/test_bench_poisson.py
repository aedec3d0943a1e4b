"""`uzushio bench poisson` as MPI jobs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def test_solvers_take_the_same_iterations_on_one_and_on_three_ranks(
    uzushio: Any, tmp_path: Path
) -> None:
    common = ("bench", "poisson", "--cells", "24,20,16", "--repeats", 1)
    common += ("--conditions", "periodic,dirichlet+neumann,neumann")
    iterations = []
    for ranks in (1, 3):
        file = tmp_path / f"{ranks}.json"
        done = uzushio(*common, "--ranks", ranks, "--solvers", "fft,cg,bicgstab", "--json", file)
        assert done.returncode == 0, done.stderr
        assert "24 x 20 x 16 cells" in done.stdout
        assert ("efficiency" in done.stdout) == (ranks > 1)
        figures = json.loads(file.read_text())
        records = figures["solvers"]
        assert figures["triad"] > 0
        # f is read and x written, twice; the coefficients of the columns are read twice.
        assert records[0]["moved"] >= 8 * 6
        assert records[1]["sections"].keys() >= {"smoothing", "transfer", "halo exchange"}
        assert all(0 < sum(r["sections"].values()) <= 1.01 for r in records)
        assert all(r["converged"] and r["residual"] <= 1e-8 and r["rate"] > 0 for r in records)
        iterations.append([(r["solver"], r["iterations"]) for r in records])
    assert iterations[0] == iterations[1]
    assert iterations[0][0] == ("fft", 0)
    assert iterations[0][1][1] > 1


def test_what_cannot_be_solved_is_said_once(uzushio: Any) -> None:
    refused = uzushio(
        "bench", "poisson", "--cells", 8, "--variable", "--solvers", "fft", "--ranks", 2
    )
    assert refused.returncode == 1
    assert refused.stderr.count("its coefficient varies") == 1
    for wrong in (("--cells", "many"), ("--conditions", "open,open,open"), ("--cells", "8,8")):
        refused = uzushio("bench", "poisson", *wrong)
        assert refused.returncode == 2
        assert wrong[0] in refused.stderr
