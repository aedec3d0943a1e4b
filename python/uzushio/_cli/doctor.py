"""`uzushio doctor`."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

from rich.table import Table

from uzushio import __version__
from uzushio._base.parallel.console import standard_console
from uzushio._base.parallel.mpi_library import (
    compiler_mismatch,
    linked_mpi,
    mpi_of,
    python_mismatch,
)
from uzushio._base.terminal import print_table
from uzushio._cli.config import installation
from uzushio.errors import UzushioError

#: Packages, and what needs them.
_PACKAGES = (
    ("mpi4py", "all jobs of several ranks"),
    ("numpy", "everything"),
    ("vtk", "layers of whole meshes, and flat meshes, in pictures"),
    ("av", "movies, and H.264 in the live view"),
    ("simplejpeg", "pictures of the live view"),
    ("h5py", "extracts in VTKHDF, CGNS files"),
    ("zarr", "reading stores with zarr-python"),
    ("adios2", "engine adios2"),
    ("optuna", "uzushio tune"),
    ("playwright", "tests of the live view"),
)
#: Programs, and what needs them.
_PROGRAMS = (
    ("mpiexec", "jobs of several ranks"),
    ("mpicc", "codes in C that publish"),
    ("mpifort", "codes in Fortran that publish"),
    ("cmake", "building codes and solvers"),
)


def doctor() -> None:
    """Print what is installed, which MPI is used, and what is missing for what.

    Exits with 1 if MPI libraries do not fit together.
    """
    table = Table("part", "found", "needed for")
    table.add_row("uzushio", f"{__version__}, {Path(__file__).parents[1]}", "")
    table.add_row("Python", f"{platform.python_version()}, {sys.prefix}", "")
    table.add_row("libpython", _libpython(), "engine inproc in C, C++ and Fortran codes")
    problems = []
    try:
        library = installation() / "lib" / "libuzushio.so.0"
        table.add_row(
            "libuzushio", f"with {linked_mpi(library) or 'an unknown MPI'}", "other codes"
        )
        problems.append(compiler_mismatch(library))
    except UzushioError:
        table.add_row("libuzushio", "not installed", "other codes")
    try:
        from mpi4py import MPI

        table.add_row("MPI of mpi4py", mpi_of(MPI.Get_library_version()), "")
        problems.append(python_mismatch())
    except (ImportError, RuntimeError) as error:
        problems.append(f"mpi4py cannot be imported: {error}.")
    for name, use in _PACKAGES:
        table.add_row(name, _version(name), use)
    for name, use in _PROGRAMS:
        table.add_row(name, shutil.which(name) or "missing", use)
    print_table(table, standard_console(highlight=False))
    found = [problem for problem in problems if problem]
    if found:
        raise UzushioError("\n".join(found))


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "missing"


def _libpython() -> str:
    """Return the shared library of this Python, or "missing"."""
    name = f"libpython{sysconfig.get_python_version()}.so.1.0"
    folders = [str(Path(sys.base_prefix) / "lib"), sysconfig.get_config_var("LIBDIR") or ""]
    multiarch = sysconfig.get_config_var("MULTIARCH") or ""
    folders += [f"/usr/lib/{multiarch}", "/usr/lib64"]
    return next((f"{f}/{name}" for f in folders if os.path.exists(f"{f}/{name}")), "missing")
