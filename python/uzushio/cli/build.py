"""`uzushio config`."""

from __future__ import annotations

from typing import Annotated

import typer

from uzushio.cli.compiler_flags import Installation
from uzushio.errors import UzushioError


def config(
    cflags: Annotated[bool, typer.Option("--cflags", help="Flags to compile C.")] = False,
    cxxflags: Annotated[bool, typer.Option("--cxxflags", help="Flags to compile C++.")] = False,
    fortran_source: Annotated[
        bool, typer.Option("--fortran-source", help="File of the module to compile with Fortran.")
    ] = False,
    libs: Annotated[bool, typer.Option("--libs", help="Flags to link any of these.")] = False,
    prefix: Annotated[
        bool, typer.Option("--prefix", help="Folder for CMake's CMAKE_PREFIX_PATH.")
    ] = False,
) -> None:
    """Print the flags that mpicc, mpicxx or mpifort need to instrument a code, on one line.

    mpicc $(uzushio config --cflags) solver.c $(uzushio config --libs)
    """
    here = Installation.of_package()
    words = [
        *(here.cflags if cflags else []),
        *(here.cxxflags if cxxflags else []),
        *([str(here.fortran_source)] if fortran_source else []),
        *(here.libs if libs else []),
        *([str(here.prefix)] if prefix else []),
    ]
    if not words:
        raise UzushioError(
            "config prints nothing by default; give --cflags, --cxxflags, --fortran-source, "
            "--libs or --prefix."
        )
    print(*words)
