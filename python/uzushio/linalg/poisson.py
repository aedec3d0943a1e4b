"""Solvers of Poisson and Helmholtz equations for NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uzushio import _core
from uzushio._base.array_values import real, unmasked
from uzushio._base.parallel.section_monitor import SectionMonitor
from uzushio._base.parallel.sync import collective
from uzushio.domain.box import Box

if TYPE_CHECKING:
    from mpi4py import MPI

Condition = Literal["periodic", "dirichlet", "neumann"]
#: Conditions at the ends of an axis; one for both.
Ends = Condition | tuple[Condition, Condition]


@dataclass(frozen=True)
class SolveReport:
    """Result of a solve.

    Attributes:
        solver: Solver that was used, with its preconditioner.
        iterations: Number of iterations; 0 for the direct solver.
        residual: Norm of f - A x over the norm of f; 0 for the direct solver.
        converged: Whether the residual is at most the tolerance.
    """

    solver: str
    iterations: int
    residual: float
    converged: bool


def solver_names() -> list[str]:
    """Return the values of `solver=`."""
    names: list[str] = _core.linalg.solver_names()
    return names


class PoissonSolver:
    """Solver of div(b grad x) - s x = f in the cells of a box, second order in the cell widths.

    The ranks of `comm` hold blocks of cells, one each. Methods are collective. The number of
    iterations does not depend on the number of ranks.

    Args:
        comm: The ranks. The solver duplicates it.
        cells: Number of cells along x, y and z; two numbers for a plane.
        lengths: Lengths of the box. Cells are uniform.
        faces: Instead of `cells` and `lengths`: ascending positions of the cell faces along each
            axis, one more than cells.
        conditions: For each axis ``periodic``, or ``dirichlet`` (x is 0 at the boundary) or
            ``neumann`` (its normal derivative is 0), or a pair of the latter.
        s: Coefficient of the Helmholtz equation, not negative.
        b: Function of `box` that returns the coefficient on the faces of its cells: arrays
            (z, y, x) for the faces normal to x, y and z, each with one more value along its axis.
            None: 1.
        solver: One of `solver_names`: ``fft``, direct, for constant b and at most one periodic axis
            with stretched cells; ``fft/partitioned``, the same with less communication; ``cg/fft``,
            preconditioned by ``fft``, for b that is 0 or 1 on each
            face; ``multigrid``; ``cg``, ``pipelined_cg`` and ``bicgstab``,
            preconditioned by multigrid, or, with ``/diagonal`` behind the name, by the diagonal;
            ``jacobi``; ``sor``; ``auto``, the fastest that applies, by the iterations that it takes
            in the set-up; if a solve stalls, another one continues it.
        tolerance: Norm of f - A x, relative to that of f, at which an iteration ends.
        max_iterations: Number of iterations after which it ends.
        sections: Monitor to which the solver adds its sections; None: one of its own.

    Attributes:
        box: This rank's cells along z, y, x (y, x for a plane).
        sections: Monitor of the solver's sections, with the bytes that its passes move by theory.

    Raises:
        ValueError: An argument is not valid, or the solver does not apply.
    """

    def __init__(
        self,
        comm: MPI.Comm,
        cells: Sequence[int] | None = None,
        lengths: Sequence[float] | None = None,
        *,
        faces: Sequence[ArrayLike] | None = None,
        conditions: Sequence[Ends],
        s: float = 0.0,
        b: Callable[[Box], Sequence[NDArray[np.float64]]] | None = None,
        solver: str = "auto",
        tolerance: float = 1e-8,
        max_iterations: int = 500,
        sections: SectionMonitor | None = None,
    ) -> None:
        positions = _positions(cells, lengths, faces)
        self.dimension = len(positions)
        if len(conditions) != self.dimension:
            raise ValueError(f"{len(conditions)} conditions for {self.dimension} axes")
        ends = [ends_of(condition) for condition in conditions]
        if self.dimension == 2:
            positions.append(np.array([0.0, 1.0]))
            ends.append(("neumann", "neumann"))
        if not tolerance > 0.0 or max_iterations < 1:
            raise ValueError(
                f"tolerance is {tolerance} and max_iterations {max_iterations}: both are above 0"
            )
        self.sections = SectionMonitor() if sections is None else sections
        self._solver = _core.linalg.BoxSolver(
            comm.handle,
            [list(axis) for axis in positions],
            ends,
            self.dimension,
            s,
            solver,
            tolerance,
            max_iterations,
            self.sections.core,
        )
        start, count = self._solver.box
        skipped = 3 - self.dimension
        self.box = Box(tuple(start[skipped:]), tuple(count[skipped:]))
        self._comm = comm
        coefficient = None
        with collective(comm):
            if b is not None:
                coefficient = self._coefficient(b(self.box))
        self._solver.prepare(coefficient)

    def solve(
        self, f: NDArray[np.float64], x: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.float64], SolveReport]:
        """Solve for this rank's cells (collective).

        Args:
            f: Right-hand side, with the shape of `box`.
            x: First estimate of an iteration, overwritten with the solution; None: a new array.

        Returns:
            The solution and a report. If no value is given at any boundary and s is 0, the solution
            has zero mean; in each region, if faces with b = 0 close off several.

        Raises:
            ValueError: A shape is wrong (`OtherRankError` on ranks where it is not), f is not
                finite, masked or complex, or the equation has no solution: no value is given at any
                boundary, s is 0, and f has a mean, over the box or over a region that faces with
                b = 0 close off.
            RuntimeError: The iteration diverged.
        """
        result = np.zeros(self.box.count) if x is None else x
        with collective(self._comm):
            source = np.ascontiguousarray(real(f, "f"))
            for name, array in (("f", source), ("x", unmasked(result, "x"))):
                _check_shape(name, array, self.box.count)
            if result.dtype != np.float64 or not result.flags.c_contiguous:
                raise ValueError("x is an array of float64 in C order")
        shape = (1,) * (3 - self.dimension)
        report = self._solver.solve(
            source.reshape(shape + source.shape), result.reshape(shape + result.shape)
        )
        # Iterations end with an error of their own. The direct solver spreads such a value to all.
        if report.iterations == 0 and not np.isfinite(result.flat[0]):
            raise ValueError("f has values that are not finite, or too large")
        return result, SolveReport(
            report.solver, report.iterations, report.residual, report.converged
        )

    @property
    def name(self) -> str:
        """Name of the method that a solve begins with, one of `solver_names`."""
        name: str = self._solver.name
        return name

    @property
    def bytes(self) -> int:
        """Bytes of this rank's arrays."""
        size: int = self._solver.bytes
        return size

    def _coefficient(self, b: Sequence[NDArray[np.float64]]) -> Any:
        """Return the arrays of b with three axes."""
        if len(b) != self.dimension:
            raise ValueError(f"b has {len(b)} arrays for {self.dimension} axes")
        shape = (1,) * (3 - self.dimension)
        arrays = [np.ascontiguousarray(real(component, "b")) for component in b]
        for n, array in enumerate(arrays):
            faces = list(self.box.count)
            faces[-1 - n] += 1
            _check_shape(f"b along {'xyz'[n]}", array, faces)
        arrays = [component.reshape(shape + component.shape) for component in arrays]
        return tuple(arrays + [np.zeros((1, 1, 1))] * (3 - self.dimension))


def _check_shape(name: str, array: NDArray[np.float64], shape: Sequence[int]) -> None:
    """Raise ValueError if an array has another shape."""
    if array.shape != tuple(shape):
        raise ValueError(f"{name} has the shape {array.shape}, this rank's part {tuple(shape)}")


def _positions(
    cells: Sequence[int] | None,
    lengths: Sequence[float] | None,
    faces: Sequence[ArrayLike] | None,
) -> list[NDArray[np.float64]]:
    """Return the positions of the faces along each axis."""
    if faces is not None:
        if cells is not None or lengths is not None:
            raise ValueError("give either faces, or cells and lengths")
        positions = [real(axis, "faces") for axis in faces]
    elif cells is None or lengths is None or len(cells) != len(lengths):
        raise ValueError("give faces, or cells and lengths of as many axes")
    else:
        if min(cells) < 1 or min(lengths) <= 0:
            raise ValueError("an axis has at least one cell, and a length above 0")
        positions = [
            np.linspace(0.0, length, count + 1)
            for count, length in zip(cells, lengths, strict=True)
        ]
    if len(positions) not in (2, 3) or any(axis.size < 2 for axis in positions):
        raise ValueError("a box has two or three axes, each with at least two faces")
    return positions


def ends_of(condition: Ends | tuple[str, ...] | str) -> tuple[Condition, Condition]:
    """Return the conditions at both ends of an axis. Raises ValueError for others."""
    ends = (condition, condition) if isinstance(condition, str) else tuple(condition)
    known = ("periodic", "dirichlet", "neumann")
    if len(ends) != 2 or any(end not in known for end in ends):
        raise ValueError(f"conditions of an axis are {', '.join(known)}, not {condition!r}")
    if "periodic" in ends and ends[0] != ends[1]:
        raise ValueError("an axis is periodic at both ends or at none")
    return cast("tuple[Condition, Condition]", ends)
