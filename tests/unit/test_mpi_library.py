"""Comparison of MPI libraries: of this package, of compilers, and of mpi4py."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Run

from uzushio import _core
from uzushio._base.parallel.mpi_library import (
    compiler_mismatch,
    linked_mpi,
    mpi_of,
    python_mismatch,
)
from uzushio._cli.config import LIBRARY, installation

DEBIAN = "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022"
MPICH = "MPICH Version:      4.0.2\nMPICH Release date: Thu Apr  7 12:34:45 CDT 2022\n"


def foreign(folder: Path) -> Path:
    """Make an mpifort of another MPI; return its folder."""
    (folder / "bin").mkdir()
    (folder / "lib").mkdir()
    (folder / "lib" / "libmpi.so").touch()
    wrapper = folder / "bin" / "mpifort"
    wrapper.write_text(f"#!/bin/sh\necho gfortran -I/x -L{folder}/lib -lmpi_mpifh -lmpi\n")
    wrapper.chmod(0o755)
    return folder / "bin"


def test_texts_of_libraries_become_family_and_version() -> None:
    assert mpi_of(DEBIAN) == "Open MPI 4.1.4"
    assert mpi_of(MPICH) == "MPICH 4.0.2"


def test_the_library_states_the_mpi_that_it_was_not_built_for() -> None:
    assert _core.parallel.mpi_mismatch(_core.parallel.mpi_library_version()) == ""
    own = mpi_of(_core.parallel.mpi_library_version())
    for text in (DEBIAN, MPICH):
        if mpi_of(text).split(".")[0] != own.split(".")[0]:
            sentence = _core.parallel.mpi_mismatch(text)
            assert text[:12] in sentence and "UZUSHIO_MPI=site" in sentence
    assert python_mismatch() == ""


def test_a_compiler_of_another_mpi_is_named_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uzushio: Run, job_environment: dict[str, str]
) -> None:
    library = installation() / "lib" / LIBRARY
    if linked_mpi(library) is None:
        pytest.skip("ldd does not show the MPI of libuzushio")
    own = f"{Path(sys.executable).parent}{os.pathsep}/usr/bin:/bin"
    monkeypatch.setenv("PATH", own)
    assert compiler_mismatch(library) == ""
    path = f"{foreign(tmp_path)}{os.pathsep}{own}"
    monkeypatch.setenv("PATH", path)
    sentence = compiler_mismatch(library)
    assert f"{tmp_path}/bin/mpifort links {tmp_path}/lib/libmpi.so" in sentence
    assert "UZUSHIO_MPI=site" in sentence
    monkeypatch.setitem(job_environment, "PATH", path)
    printed = uzushio("config", "--libs")
    assert "MPI_Init" in printed.stderr and printed.stdout.startswith("-L")


def test_doctor_lists_the_parts_and_what_is_missing(uzushio: Run) -> None:
    listed = uzushio("doctor").stdout
    for part in ("libuzushio", "libpython", "MPI of mpi4py", "vtk", "mpifort", "engine inproc"):
        assert part in listed


def test_find_package_warns_of_another_mpi(tmp_path: Path) -> None:
    foreign(tmp_path)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES NONE)\n"
        f"set(MPI_Fortran_LIBRARIES {tmp_path}/lib/libmpi.so)\nfind_package(uzushio REQUIRED)\n"
    )
    if linked_mpi(installation() / "lib" / LIBRARY) is None:
        pytest.skip("ldd does not show the MPI of libuzushio")
    command = ["cmake", "-B", tmp_path / "b", f"-DCMAKE_PREFIX_PATH={installation()}", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert f"the MPI of {tmp_path}/lib" in " ".join(done.stderr.split())
