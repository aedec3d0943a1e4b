"""Standard deviations of the parameters, from the curvature of J at the estimate.

Near the estimate the posterior probability is about Gaussian with the inverse of J's Hessian H as
its covariance, so that the variance of parameter j, whatever the state, is element (j, j) of it:
H v = e_j is solved for v with a few Hessian-vector products, as by S. Ito et al., Phys. Rev. E 94
(2016) 043307. Controls that a bound holds at the estimate are left out: they are taken as known.

Sources: M. R. Hestenes, E. Stiefel, J. Res. Natl. Bur. Stand. 49 (1952), conjugate gradients;
C. C. Paige, M. A. Saunders, SIAM J. Numer. Anal. 12 (1975), MINRES.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from uzushio.assimilation.space import ControlSpace

#: The Hessian in the optimiser's units, on free elements, times a vector of them (collective).
Product = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Solution:
    """What a solver found.

    Attributes:
        solution: of H v = b.
        products: Hessian-vector products done.
        residual: |b - H v| / |b|, by one more product, not by the solver's recursion.
        bends_down: whether a direction was met along which H is negative.
    """

    solution: np.ndarray
    products: int
    residual: float
    bends_down: bool


def solve(
    space: ControlSpace,
    product: Product,
    right: np.ndarray,
    method: Literal["cg", "minres"],
    iterations: int,
    tolerance: float,
) -> Solution:
    """Solve H v = b (collective).

    Args:
        space: of the vectors.
        product: H times a vector.
        right: b.
        method: conjugate gradients end where H bends down; minres goes on.
        iterations: at most.
        tolerance: relative residual to reach.
    """
    scale = math.sqrt(space.dot(right, right))
    steps = _cg(space, product, right) if method == "cg" else _minres(space, product, right)
    v, done, bends_down = np.zeros_like(right), 0, False
    for found, left, bends in steps:
        v, bends_down = found, bends_down or bends
        done += 1
        if left <= tolerance * scale or done >= iterations or (bends and method == "cg"):
            break
    rest = right - product(v)
    return Solution(v, done + 1, math.sqrt(space.dot(rest, rest)) / scale, bends_down)


def _cg(
    space: ControlSpace, product: Product, right: np.ndarray
) -> Iterator[tuple[np.ndarray, float, bool]]:
    """Yield after each product: the solution so far, norm of the residual, whether H bends down."""
    v, rest = np.zeros_like(right), right.copy()
    direction, square = rest.copy(), space.dot(rest, rest)
    while square > 0.0:
        image = product(direction)
        bend = space.dot(direction, image)
        if bend <= 0.0:
            yield v, math.sqrt(square), True
            return
        v = v + (square / bend) * direction
        rest -= (square / bend) * image
        before, square = square, space.dot(rest, rest)
        direction = rest + (square / before) * direction
        yield v, math.sqrt(square), False


def _minres(
    space: ControlSpace, product: Product, right: np.ndarray
) -> Iterator[tuple[np.ndarray, float, bool]]:
    """The same for an H of any sign: Lanczos vectors, and rotations that make a triangle."""
    v = np.zeros_like(right)
    beta = left = math.sqrt(space.dot(right, right))
    before, now = np.zeros_like(right), right / beta
    older, old = np.zeros_like(right), np.zeros_like(right)
    cosine, sine, cosine_before, sine_before = 1.0, 0.0, 1.0, 0.0
    below, pivot = 0.0, math.inf
    while True:
        image = product(now)
        alpha = space.dot(now, image)
        # Of the triangle times its mirror image that the Lanczos matrix is: as many are below zero
        # as it has eigenvalues there.
        pivot = alpha - below**2 / pivot if pivot != 0.0 else alpha
        image -= alpha * now + below * before
        following = math.sqrt(space.dot(image, image))
        far = sine_before * below
        near = cosine * (cosine_before * below) + sine * alpha
        middle = cosine * alpha - sine * (cosine_before * below)
        length = math.hypot(middle, following)
        if length == 0.0:
            return
        cosine_before, sine_before = cosine, sine
        cosine, sine = middle / length, following / length
        older, old = old, (now - near * old - far * older) / length
        v = v + cosine * left * old
        left = -sine * left
        yield v, abs(left), pivot < 0.0
        if following == 0.0:
            return
        before, now, below = now, image / following, following
