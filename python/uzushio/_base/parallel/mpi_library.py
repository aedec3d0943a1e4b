"""MPI library of this package, beside those of compilers and of mpi4py."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

_LIBRARY = re.compile(r"^\s*(libmpi(?:ch|_cxx|)?\.so[.\d]*) => (\S+)", re.MULTILINE)


def linked_mpi(library: Path) -> Path | None:
    """Return the file of the MPI library that a shared library loads; None if it is not known."""
    try:
        listed = subprocess.run(
            ["ldd", library], capture_output=True, text=True, timeout=20, check=False
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    found = _LIBRARY.search(listed)
    return None if found is None or found[2] == "not" else Path(found[2]).resolve()


def wrapper_mpi(wrapper: str) -> Path | None:
    """Return the file of the MPI library that a compiler such as mpifort links; None if unknown."""
    try:
        shown = subprocess.run(
            [wrapper, "-show"], capture_output=True, text=True, timeout=20, check=False
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    words = shlex.split(shown)
    folders = [Path(word[2:]) for word in words if word.startswith("-L")]
    if Path(sys.prefix) in Path(wrapper).parents:
        folders.append(Path(sys.prefix) / "lib")
    for name in ("libmpich.so", "libmpi.so") if "-lmpich" in words else ("libmpi.so",):
        for folder in [*folders, *map(Path, ("/usr/lib", "/usr/lib64", "/usr/local/lib"))]:
            if (folder / name).exists():
                return (folder / name).resolve()
    return None


def mpi_of(text: str) -> str:
    """Return family and version from the text of MPI_Get_library_version."""
    found = re.search(r"(Open MPI) v?([\d.]+)|(MPICH) Version:\s*([\d.]+)|(Intel\S* MPI)", text)
    return " ".join(filter(None, found.groups())) if found else text.splitlines()[0][:60]


def compiler_mismatch(library: Path) -> str:
    """Return a sentence if mpicc or mpifort on PATH link another MPI than libuzushio, or ""."""
    own = linked_mpi(library)
    for compiler in ("mpicc", "mpifort"):
        wrapper = shutil.which(compiler)
        other = wrapper_mpi(wrapper) if wrapper else None
        # The file of the linker and that of the loader differ in wheels.
        if wrapper and own and other and _identity(own) != _identity(other):
            environment = Path(sys.prefix) / "bin"
            use = (
                f"compile with the mpicc of {environment} (put it first on PATH; for Fortran see "
                "examples/instrument/fortran)"
                if (environment / "mpicc").exists()
                else f"compile with the wrapper of {own.parent}"
            )
            return (
                f"{wrapper} links {other}, and libuzushio uses {own}: a program with both fails in "
                f"MPI_Init. Either {use}, or build Uzushio for that MPI: UZUSHIO_MPI=site with its "
                "mpicxx on PATH."
            )
    return ""


def _identity(library: Path) -> tuple[Path, str]:
    return library.parent, library.name.partition(".")[0]


@cache
def python_mismatch() -> str:
    """Return a sentence if mpi4py and the compiled core use different MPI libraries, or ""."""
    from mpi4py import MPI

    from uzushio import _core

    own = mpi_of(_core.parallel.mpi_library_version())
    other = mpi_of(MPI.Get_library_version())
    if own == other:
        return ""
    return (
        f"mpi4py uses {other}, and the core of Uzushio {own}: install mpi4py for "
        "the same MPI (pip install --no-binary mpi4py mpi4py, with its mpicc on PATH), or build "
        f"Uzushio for that of mpi4py ({os.environ.get('MPI4PY_LIBMPI') or 'UZUSHIO_MPI=site'})."
    )
