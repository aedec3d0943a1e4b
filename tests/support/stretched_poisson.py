"""Poisson problems on stretched cells with blocked faces."""

import numpy as np


def widening(cells: int, ratio: float) -> np.ndarray:
    """Return faces on [-1, 1] of cells that are `ratio` times as wide at the ends as inside."""
    s = np.linspace(-1, 1, cells + 1)
    return s if ratio == 1 else np.sinh(np.arccosh(ratio) * s) / np.sinh(np.arccosh(ratio))


def problem(faces, conditions, blocked, seed=3):
    """Return b on faces, of which a share is blocked, random values, and A of them by fluxes."""
    generator = np.random.default_rng(seed)
    shape = tuple(len(line) - 1 for line in reversed(faces))
    exact, f, coefficient = generator.standard_normal(shape), np.zeros(shape), []
    for axis, (line, condition) in enumerate(zip(faces, conditions, strict=True)):
        along = len(faces) - 1 - axis
        wide = tuple(n + (a == along) for a, n in enumerate(shape))
        b = np.moveaxis((generator.random(wide) >= blocked).astype(float), along, 0)
        x, widths = np.moveaxis(exact, along, 0), np.diff(line)
        distance = 0.5 * (np.append(widths, widths[0]) + np.append(widths[-1], widths))
        if condition == "periodic":
            b[-1] = b[0]
            x = np.concatenate([x[-1:], x, x[:1]])
        else:  # the value at the boundary is 0, or the cell's own
            ends = 0.0 if condition == "dirichlet" else 1.0
            distance[[0, -1]] = 0.5 * widths[[0, -1]]
            x = np.concatenate([ends * x[:1], x, ends * x[-1:]])
        column = (-1,) + (1,) * (len(faces) - 1)
        flux = b * np.diff(x, axis=0) / distance.reshape(column)
        f += np.moveaxis(np.diff(flux, axis=0) / widths.reshape(column), 0, along)
        coefficient.append(np.moveaxis(b, 0, along))
    return coefficient, exact, f
