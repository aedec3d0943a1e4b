"""What a compiler needs to build another code with the staging that this package holds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from uzushio.errors import UzushioError


@dataclass(frozen=True)
class Installation:
    """Where headers and libuzushio are: `include` and `lib` of one folder.

    Attributes:
        prefix: The folder; also what CMake's `CMAKE_PREFIX_PATH` takes for `find_package(uzushio)`.
    """

    prefix: Path

    @classmethod
    def of_package(cls) -> Installation:
        """The one inside the installed package.

        Raises:
            UzushioError: The package is not an installed one, and has no library.
        """
        prefix = Path(__file__).resolve().parents[1]
        if not (prefix / "lib" / "libuzushio.so").is_file():
            raise UzushioError(
                f"{prefix} holds no libuzushio: install the package (make build, or pip install)."
            )
        return cls(prefix)

    @property
    def cflags(self) -> list[str]:
        """For C, and for C++ that uses the C interface."""
        return [f"-I{self.prefix / 'include'}"]

    @property
    def cxxflags(self) -> list[str]:
        """For C++ with the classes themselves."""
        return ["-std=c++20", *self.cflags, f"-I{self.prefix / 'include' / 'uzushio' / 'cpp'}"]

    @property
    def libs(self) -> list[str]:
        """To link, whatever the language. The library is found at run time where it is now."""
        folder = self.prefix / "lib"
        return [f"-L{folder}", f"-Wl,-rpath,{folder}", "-luzushio"]

    @property
    def fortran_source(self) -> Path:
        """The module `uzushio`, to be compiled with the code that uses it."""
        return self.prefix / "include" / "uzushio" / "uzushio.f90"
