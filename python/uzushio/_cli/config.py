"""`uzushio config`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from uzushio._base.parallel.mpi_library import compiler_mismatch
from uzushio._base.terminal import warn
from uzushio.errors import UzushioError

#: Library for other codes; libuzushio.so is a script of the linker.
LIBRARY = "libuzushio.so.0"
#: Library that records traffic.
RECORDER = "libuzushio_traffic.so"


def installation() -> Path:
    """Return the folder inside the installed package that has `include` and `lib`.

    Raises:
        UzushioError: the package is not installed, and has no library.
    """
    folder = Path(__file__).resolve().parents[1]
    if not (folder / "lib" / "libuzushio.so").is_file():
        raise UzushioError(
            f"{folder} holds no libuzushio: install the package (make build, or pip install)."
        )
    return folder


def config(
    cflags: Annotated[bool, typer.Option("--cflags", help="Flags to compile C.")] = False,
    cxxflags: Annotated[bool, typer.Option("--cxxflags", help="Flags to compile C++.")] = False,
    fortran_source: Annotated[
        bool, typer.Option("--fortran-source", help="File of the module to compile with Fortran.")
    ] = False,
    libs: Annotated[bool, typer.Option("--libs", help="Flags to link any of these.")] = False,
    traffic: Annotated[
        bool, typer.Option("--traffic", help="Library that records traffic, for LD_PRELOAD.")
    ] = False,
    prefix: Annotated[
        bool, typer.Option("--prefix", help="Folder for CMake's CMAKE_PREFIX_PATH.")
    ] = False,
) -> None:
    """Print the flags that mpicc, mpicxx or mpifort need to instrument a code, on one line.

    mpicc $(uzushio config --cflags) solver.c $(uzushio config --libs)
    """
    folder = installation()
    include, lib = folder / "include", folder / "lib"
    words = [
        *([f"-I{include}"] if cflags else []),
        *(["-std=c++20", f"-I{include}", f"-I{include / 'uzushio/cpp'}"] if cxxflags else []),
        *([str(include / "uzushio/uzushio.f90")] if fortran_source else []),
        *([f"-L{lib}", f"-Wl,-rpath,{lib}", "-luzushio"] if libs else []),
        *([str(lib / RECORDER)] if traffic else []),
        *([str(folder)] if prefix else []),
    ]
    if not words:
        raise UzushioError(
            "config prints nothing by default; give --cflags, --cxxflags, --fortran-source, "
            "--libs, --traffic or --prefix."
        )
    if libs and (problem := compiler_mismatch(lib / LIBRARY)):
        warn(problem)
    print(*words)
