"""Fixtures of codes that link libuzushio: compiled examples, and their launches."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_server import CommandServer

from uzushio._cli.config import installation

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "instrument"
BINARIES = Path(sys.executable).parent


@pytest.fixture(scope="session")
def build_environment(job_environment: dict[str, str]) -> dict[str, str]:
    """With the environment's own mpicc, mpicxx and uzushio first."""
    path = os.pathsep.join([str(BINARIES), job_environment.get("PATH", os.defpath)])
    flags = {"CFLAGS": "", "CXXFLAGS": "", "FFLAGS": "", "LDFLAGS": ""}
    return job_environment | flags | {"PATH": path}


@pytest.fixture(scope="session")
def shell(build_environment: dict[str, str]) -> Callable[..., str]:
    """Run a command to its end, and return its output."""

    def go(*command: object, cwd: Path | None = None) -> str:
        done = subprocess.run(
            [str(word) for word in command],
            cwd=cwd,
            env=build_environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
        return done.stdout

    return go


@pytest.fixture(scope="session")
def site(shell: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for CMAKE_PREFIX_PATH: a site's own, if this is a checkout that has a build."""
    build = ROOT / "build" / "release"
    if not (build / "cmake_install.cmake").is_file():
        return installation()
    prefix = tmp_path_factory.mktemp("prefix")
    shell("cmake", "--install", build, "--component", "site", "--prefix", prefix)
    return prefix


@pytest.fixture(scope="session")
def executable(
    shell: Callable[..., str],
    command_server: CommandServer,
    site: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[Any], list[object]]:
    """The command that runs an example, which is compiled at its first use."""
    made: dict[str, list[object]] = {}

    def make(example: Any) -> list[object]:
        folder = tmp_path_factory.mktemp(example.name) / "source"
        shutil.copytree(EXAMPLES / example.folder, folder)
        if example.folder == "python":
            return [command_server.python, folder / f"{example.name}.py"]
        if example.folder == "c":
            shell("make", "CFLAGS=-std=c99 -O2 -Wall -Wextra -Wpedantic -Werror", cwd=folder)
            return [folder / example.name]
        # C++ as from a site's installation, Fortran as from the Python package.
        package = shell("uzushio", "config", "--prefix").strip()
        prefix = site if example.folder == "cpp" else package
        shell("cmake", "-B", "build", f"-DCMAKE_PREFIX_PATH={prefix}", cwd=folder)
        shell("cmake", "--build", "build", cwd=folder)
        return [folder / "build" / example.name]

    def get(example: Any) -> list[object]:
        if example.name not in made:
            made[example.name] = make(example)
        return made[example.name]

    return get


@pytest.fixture
def on_ranks(start: Callable[..., subprocess.Popen[str]]) -> Callable[..., subprocess.Popen[str]]:
    """Start a command on `n` ranks, in the test's folder."""

    def go(n: int, *command: object) -> subprocess.Popen[str]:
        mpiexec = BINARIES / "mpiexec"
        launcher = [mpiexec if mpiexec.exists() else "mpiexec", "-n", n]
        if n > len(os.sched_getaffinity(0)):
            launcher += ["--oversubscribe", "--bind-to", "none"]
        return start(*launcher, *command)

    return go
