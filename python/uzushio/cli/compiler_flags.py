"""Compiler and linker flags for codes that use the staging library of this package."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from uzushio.errors import UzushioError


@dataclass(frozen=True)
class Installation:
    """Installation of headers and libuzushio, in `include` and `lib` of one folder.

    Attributes:
        prefix: The folder, for CMake's `CMAKE_PREFIX_PATH` and `find_package(uzushio)`.
    """

    prefix: Path

    @classmethod
    def of_package(cls) -> Installation:
        """Return the installation inside the installed package.

        Raises:
            UzushioError: The package is not installed, and has no library.
        """
        prefix = Path(__file__).resolve().parents[1]
        if not (prefix / "lib" / "libuzushio.so").is_file():
            raise UzushioError(
                f"{prefix} holds no libuzushio: install the package (make build, or pip install)."
            )
        return cls(prefix)

    @property
    def cflags(self) -> list[str]:
        """Return the flags for C, and for C++ with the C interface."""
        return [f"-I{self.prefix / 'include'}"]

    @property
    def cxxflags(self) -> list[str]:
        """Return the flags for C++ with the C++ classes."""
        return ["-std=c++20", *self.cflags, f"-I{self.prefix / 'include' / 'uzushio' / 'cpp'}"]

    @property
    def libs(self) -> list[str]:
        """Return the link flags of any language; they include the library's run-time path."""
        folder = self.prefix / "lib"
        return [f"-L{folder}", f"-Wl,-rpath,{folder}", "-luzushio"]

    @property
    def fortran_source(self) -> Path:
        """Return the source of the Fortran module `uzushio`, to compile with the user's code."""
        return self.prefix / "include" / "uzushio" / "uzushio.f90"
