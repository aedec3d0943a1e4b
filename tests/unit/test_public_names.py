"""All that is public can be found, by `dir`, `help` and type checkers, with its docstring."""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import pkgutil
import pydoc
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import uzushio


def packages(package: ModuleType) -> Iterator[str]:
    """The public packages in a package, at any depth, and itself."""
    yield package.__name__
    for name in getattr(package, "__all__", []):
        if isinstance(getattr(package, name), ModuleType):
            yield from packages(importlib.import_module(f"{package.__name__}.{name}"))


FOLDERS = [
    f"uzushio.{module.name}" for module in pkgutil.iter_modules(uzushio.__path__) if module.ispkg
]
ROOMS = sorted({*packages(uzushio), *(name for name in FOLDERS if "._" not in name)})
INSTALLED = Path(uzushio.__file__).parent


@pytest.mark.parametrize("room", ROOMS)
def test_dir_lists_the_public_names_and_each_exists(room: str) -> None:
    module = importlib.import_module(room)
    names = public(module)
    assert set(names) <= set(dir(module))
    for name in names:
        assert getattr(module, name) is not None, name
    with pytest.raises(AttributeError):
        module.no_such_name  # noqa: B018


@pytest.mark.parametrize("room", ROOMS)
def test_public_names_have_a_docstring_and_a_signature(room: str) -> None:
    module = importlib.import_module(room)
    assert inspect.getdoc(module)
    for name in public(module):
        target = inspect.unwrap(getattr(module, name))
        if isinstance(target, ModuleType):
            continue
        if not inspect.isclass(target) and not inspect.isfunction(target):  # a constant, a type
            assert f"`{name}`" in (module.__doc__ or ""), name
            continue
        assert target.__doc__ and not target.__doc__.startswith(f"{name}("), f"{room}.{name}"
        if inspect.isclass(target):
            for method, inherited in methods(target):
                assert inspect.getdoc(inherited), f"{room}.{name}.{method}"
        else:
            assert inspect.signature(target).return_annotation is not inspect.Signature.empty, name


INCLUDE = Path(__file__).parents[2] / "include/uzushio"
SOURCE = INCLUDE.parents[1] / "src"
C_FUNCTION = r"UZ_API .*?(\w+)\("
FORTRAN_PROCEDURE = r" *subroutine ((?:writer|attribute)_\w+)\("
CPP_TYPE = r"(?:class|struct|enum class) (?:UZ\w+ )?(\w+)[^;]*$"


@pytest.mark.parametrize(
    ("file", "declaration", "comment", "least"),
    [
        (INCLUDE / "uzushio.h", C_FUNCTION, r".*\*/$", 20),
        (INCLUDE / "compositing.h", C_FUNCTION, r".*\*/$", 8),
        (INCLUDE / "uzushio.f90.in", FORTRAN_PROCEDURE, r" *!", 15),
        (SOURCE / "staging/writer.hpp", CPP_TYPE, r"///", 1),
        (SOURCE / "staging/reader.hpp", CPP_TYPE, r"///", 1),
        (SOURCE / "domain/block_solver.hpp", CPP_TYPE, r"///", 3),
        (SOURCE / "domain/solver_declaration.hpp", CPP_TYPE, r"///", 3),
    ],
    ids=lambda value: value.name if isinstance(value, Path) else "",
)
def test_public_declarations_of_c_cpp_and_fortran_are_described(
    file: Path, declaration: str, comment: str, least: int
) -> None:
    lines = file.read_text(encoding="utf-8").splitlines()
    pairs = [
        (match[1], above)
        for above, line in itertools.pairwise(lines)
        if (match := re.match(declaration, line))
    ]
    assert len(pairs) >= least
    assert [name for name, above in pairs if not re.match(comment, above)] == []


def test_help_of_staging_lists_open_and_attach() -> None:
    text = pydoc.plain(pydoc.render_doc("uzushio.staging"))
    assert "open(name: 'str'" in text and "attach(" in text
    assert "class Reader(" in text and "Open a stream for writing" in text


def test_importing_uzushio_imports_neither_mpi_nor_numpy_nor_matplotlib() -> None:
    heavy = "{'mpi4py', 'numpy', 'matplotlib', 'xarray', 'zarr', 'pydantic', 'vtk'}"
    program = f"import sys, uzushio; print(dir(uzushio), {heavy} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip().endswith("set()"), done.stdout + done.stderr


def test_stubs_name_what_the_compiled_module_has() -> None:
    from uzushio import _core

    compared = 0
    for path, module in compiled(_core, INSTALLED / "_core"):
        stub = names_in(ast.parse(path.read_text()).body)
        compared += same(module, stub, module.__name__)
    assert compared > 200
    assert (INSTALLED / "py.typed").exists()


WRONG = """\
import uzushio
from uzushio import _core, staging

staging.opne("x")
uzushio.run(3)
uzushio.Simulation({}).step().tim
staging.attach(3.0)
_core.channel.Solver(1)
_core.raycast.nothing
uzushio.nothing
"""


#: Types of the package, NumPy and MPI are checked; others take twice as long.
SETTINGS = """\
[mypy]
strict = true
[mypy-aiohttp.*,matplotlib.*,optuna.*,pandas.*,PIL.*,pyvista.*,rich.*,scipy.*,typer.*,vtk.*,vtkmodules.*,xarray.*,zarr.*]
follow_imports = skip
"""


def test_a_user_s_project_passes_mypy_strict_and_mistakes_are_found(tmp_path: Path) -> None:
    shutil.copy(Path(__file__).with_name("typed_project") / "study.py", tmp_path)
    (tmp_path / "wrong.py").write_text(WRONG)
    (tmp_path / "mypy.ini").write_text(SETTINGS)
    # Without a cache of an earlier run, type checking of NumPy and others takes 7 s.
    cache = Path(__file__).parents[2] / "build/mypy-project"
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(cache)]
    done = subprocess.run(
        [*command, "study.py", "wrong.py"], cwd=tmp_path, capture_output=True, text=True
    )
    lines = done.stdout.splitlines()[:-1]
    assert not [line for line in lines if not line.startswith("wrong.py")], done.stdout
    lines_of_mistakes = {int(line.split(":")[1]) for line in lines}
    assert lines_of_mistakes == set(range(4, 11)), done.stdout


def public(module: ModuleType) -> list[str]:
    """`__all__`, or the names that a module without it defines."""
    names = getattr(module, "__all__", None)
    if names is not None:
        return list(names)
    return [
        name
        for name, value in vars(module).items()
        if getattr(value, "__module__", None) == module.__name__ and not name.startswith("_")
    ]


def methods(cls: type) -> Iterator[tuple[str, Any]]:
    """The public functions and properties that a class itself defines."""
    for name, value in vars(cls).items():
        if name.startswith("_") or name in ("model_config", "model_post_init"):
            continue
        if inspect.isfunction(value) or isinstance(value, property):
            yield name, getattr(cls, name)


def compiled(module: ModuleType, folder: Path) -> Iterator[tuple[Path, ModuleType]]:
    """A compiled package and its modules, each with its stub."""
    yield folder / "__init__.pyi", module
    for name, value in vars(module).items():
        if isinstance(value, ModuleType):
            yield folder / f"{name}.pyi", value


def names_in(body: list[ast.stmt]) -> dict[str, dict[str, Any]]:
    """The public names that statements of a stub define, and those inside of classes."""
    names: dict[str, dict[str, Any]] = {}
    for node in body:
        if isinstance(node, ast.ClassDef):
            names[node.name] = names_in(node.body)
        elif isinstance(node, ast.FunctionDef):
            names[node.name] = {}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {ast.unparse(target): {} for target in targets}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("uzushio._core"):
            names |= {alias.asname: {} for alias in node.names if alias.asname}
    return {name: inner for name, inner in names.items() if not name.startswith("_")}


def same(owner: Any, stub: dict[str, dict[str, Any]], where: str) -> int:
    """Compare names, and those of classes in turn; returns how many."""
    there = {name for name in vars(owner) if not name.startswith("_")}
    assert stub.keys() == there, where
    inner = (name for name in there if inspect.isclass(getattr(owner, name)))
    return len(there) + sum(
        same(getattr(owner, name), stub[name], f"{where}.{name}") for name in inner
    )
