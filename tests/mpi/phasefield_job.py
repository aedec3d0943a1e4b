"""Sweep the phase field in all schemes on all ranks, and compare with one rank in scheme plain."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import numpy as np
from mpi4py import MPI
from phasefield_cases import Problem, problem

from uzushio._base.exact_sums import rounded
from uzushio.errors import ModelError
from uzushio.solvers.phasefield import Blocking, schemes

comm = MPI.COMM_WORLD
SHAPE, STEPS = (37, 43), 17
TILES = {1: [(1, 1)], 2: [(1, 2), (2, 1)], 4: [(2, 2), (1, 4)], 6: [(3, 2), (1, 6)]}
#: fblt, bblt, threads, rows, columns and steps of a part, overlap.
CUTS = [(1, 1, 1, 0, 0, 0, True), (3, 2, 1, 4, 16, 2, False), (5, 5, 2, 7, 9, 5, True)]


def results(p: Problem) -> dict[str, Any]:
    """Everything that a model computes: own parts of fields, and numbers."""
    phi = p.part(p.phi)
    keep = p.model.trajectory(p.steps)
    misfit, lam, slope, _ = p.gradient(phi, p.m, keep)
    replayed = phi.copy()
    kept = p.model.checkpoints(p.steps)
    p.model.forward(replayed, [p.m], 0, p.steps, kept)
    total = rounded(p.model.misfit(replayed, p.steps, p.observations))
    replayed_lam = np.zeros_like(phi)
    p.model.forcing(replayed, p.steps, p.observations, replayed_lam)
    of_adjoint, (slope_sum,) = p.model.misfit_and_adjoint(
        replayed_lam, [p.m], 0, p.steps, kept, p.observations
    )
    replayed_slope = rounded(slope_sum)
    assert abs(rounded(of_adjoint) + total - misfit) < 1e-14 * misfit
    assert np.array_equal(replayed_lam, lam) and replayed_slope == slope
    direction = p.part(np.random.default_rng(3).standard_normal(SHAPE))
    mu, bend = p.hessian_product(phi, p.m, direction, 0.3)
    gauss, gauss_bend = p.hessian_product(phi, p.m, direction, 0.3, full=False)
    last = phi.copy()
    p.model.forward(last, [p.m], 0, p.steps)
    return {
        "J": misfit,
        "gradient": lam,
        "slope": slope,
        "misfit by the adjoint": rounded(of_adjoint),
        "replayed gradient": replayed_lam,
        "replayed slope": replayed_slope,
        "product": mu,
        "slope of the product": bend,
        "Gauss-Newton product": gauss,
        "slope of that": gauss_bend,
        "last step": last,
        "scalar product": p.dot(lam, direction),
    }


checked = 0
kinds = [("zero_flux", "number"), ("periodic", "fields"), ("zero_flux", "field")]
for boundary, weight in kinds:
    alone = problem(SHAPE, boundary, weight, STEPS)
    expected = results(alone)
    for scheme, tiles, cut in itertools.product(schemes(), TILES[comm.size], CUTS):
        fblt, bblt, threads, rows, columns, steps, overlap = cut
        if scheme == "plain":
            fblt = bblt = 1
        if scheme == "diamond":
            bblt = fblt
        blocking = Blocking(*tiles, fblt, bblt, scheme, threads, rows, columns, steps, overlap)
        try:
            p = problem(SHAPE, boundary, weight, STEPS, blocking, comm)
        except ModelError as error:
            assert "too long" in str(error), error
            continue
        for name, value in results(p).items():
            of = expected[name]
            same = value == of if np.isscalar(of) else np.array_equal(value, of[p.model.own])
            if not same:
                gap = np.max(np.abs(value - (of if np.isscalar(of) else of[p.model.own])))
                print(f"rank {comm.rank}: {name} differs by {gap} with {blocking} {boundary}")
                sys.stdout.flush()
                comm.Abort(1)
        checked += 1

if comm.rank == 0:
    print(f"{checked} ways give the same numbers to the last bit")
