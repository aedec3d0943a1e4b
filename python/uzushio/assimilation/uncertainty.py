"""Standard deviations of the parameters, from the curvature of J at the estimate.

Near the estimate the posterior probability is approximately Gaussian. Its covariance is the inverse
of J's Hessian H, so that the marginal variance of parameter j is its element (j, j): H v = e_j is
solved for v with a few Hessian-vector products, as by S. Ito et al., Phys. Rev. E 94 (2016) 043307.
Controls at an active bound are excluded, as if they were known.

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

#: Function that multiplies a vector of free elements by the Hessian, in the optimiser's units
#: (collective).
Product = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Solution:
    """Result of a solver.

    Attributes:
        solution: v of H v = b.
        products: number of Hessian-vector products.
        residual: |b - H v| / |b|, from one more product, not from the solver's recursion.
        indefinite: whether H has negative curvature along a direction of the solver.
    """

    solution: np.ndarray
    products: int
    residual: float
    indefinite: bool


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
        space: space of the vectors.
        product: function that returns H times a vector.
        right: b.
        method: conjugate gradients end at negative curvature; minres continues.
        iterations: maximum number of products.
        tolerance: maximum relative residual.
    """
    scale = math.sqrt(space.dot(right, right))
    steps = _cg(space, product, right) if method == "cg" else _minres(space, product, right)
    v, done, indefinite = np.zeros_like(right), 0, False
    for solution, left, bends in steps:
        v, indefinite = solution, indefinite or bends
        done += 1
        if left <= tolerance * scale or done >= iterations or (bends and method == "cg"):
            break
    rest = right - product(v)
    return Solution(v, done + 1, math.sqrt(space.dot(rest, rest)) / scale, indefinite)


def _cg(
    space: ControlSpace, product: Product, right: np.ndarray
) -> Iterator[tuple[np.ndarray, float, bool]]:
    """Yield after each product: solution so far, norm of the residual, whether H is indefinite."""
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
    """Yield the same for any symmetric H: Lanczos vectors, and Givens rotations."""
    v = np.zeros_like(right)
    beta = left = math.sqrt(space.dot(right, right))
    before, now = np.zeros_like(right), right / beta
    older, old = np.zeros_like(right), np.zeros_like(right)
    cosine, sine, cosine_before, sine_before = 1.0, 0.0, 1.0, 0.0
    below, pivot = 0.0, math.inf
    while True:
        image = product(now)
        alpha = space.dot(now, image)
        # Pivots of the LDLᵀ factorisation of the Lanczos matrix: it has as many negative
        # eigenvalues as negative pivots.
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
