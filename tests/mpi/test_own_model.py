"""A model of one's own: examples/own_model, its gradient check, and assimilations with it."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from conftest import Run
from mpi4py import MPI

import uzushio
from uzushio.assimilation import check_gradient, gradient_check, load_assimilation
from uzushio.assimilation.model import Model, model_class
from uzushio.assimilation.noise import normal
from uzushio.errors import CaseError

EXAMPLE = Path(__file__).parents[2] / "examples/own_model"
#: The example with fewer points and steps.
SMALL: dict[str, Any] = {
    "shape": [16],
    "time": {"steps": 40, "dt": 0.01},
    "observations": {"first": 4, "every": 4, "sigma": 0.1},
    "output": {"folder": "run", "figures": False},
}
#: Its optional members.
TANGENT = """
    def tangent_step(self, tangent, direction, state, parameters, index):
        (u, kappa), (du, dkappa) = parameters, direction
        change = kappa * self.curvature(tangent) - u * self.slope(tangent)
        change += dkappa * self.curvature(state) - du * self.slope(state)
        return tangent + self.case.time.dt * change
"""
SECOND = """
    def second_order_step(self, tangent, direction, adjoint, state, parameters, index):
        (du, dkappa), weighted = direction, self.case.time.dt * adjoint
        change = dkappa * self.curvature(weighted) + du * self.slope(weighted)
        return change, [-weighted * self.slope(tangent), weighted * self.curvature(tangent)]
"""

#: The example with its points shared by the ranks of one group.
SHARED = """

class Shared(Advection):
    def __init__(self, case, comm):
        super().__init__(case, comm)
        ends = [rank * self.shape[0] // comm.size for rank in range(comm.size + 1)]
        self.own = (slice(ends[comm.rank], ends[comm.rank + 1]),)

    @classmethod
    def groups(cls, case, ranks):
        return 1

    def first_guess(self):
        whole = super().first_guess()
        return Guess(whole.state[self.own], whole.parameters)

    def truth(self):
        whole = super().truth()
        return Guess(whole.state[self.own], whole.parameters)

    def neighbours(self, c):
        left, right = (self.comm.rank - 1) % self.comm.size, (self.comm.rank + 1) % self.comm.size
        before = self.comm.sendrecv(c[-1], dest=right, source=left)
        after = self.comm.sendrecv(c[0], dest=left, source=right)
        return np.append(before, c[:-1]), np.append(c[1:], after)

    def slope(self, c):
        before, after = self.neighbours(c)
        return 0.5 * self.shape[0] * (after - before)

    def curvature(self, c):
        before, after = self.neighbours(c)
        return self.shape[0] ** 2 * (after - 2.0 * c + before)
"""


@pytest.fixture(autouse=True)
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the example's model, in the test's folder with a small case."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(EXAMPLE / "advection.py", tmp_path)
    case = load_assimilation(EXAMPLE / "advection.yaml", SMALL)
    text = (
        case.to_yaml().replace(str(EXAMPLE.resolve()), "").replace("/advection.py", "advection.py")
    )
    (tmp_path / "case.yaml").write_text(text)
    return tmp_path / "advection.py"


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def orders(printed: str, control: str) -> list[float]:
    """Orders of the remainders of a Taylor test, from the largest step on."""
    rows = [line.split() for line in printed.splitlines() if line.startswith(control)]
    return [float(row[5]) for row in rows if len(row) == 6]


def test_the_check_of_the_example_passes_with_the_same_figures_on_any_ranks(uzushio: Run) -> None:
    done = uzushio("assimilate", "case.yaml", "--check-gradient")
    assert done.returncode == 0, done.stderr
    for control in ("c", "u", "kappa"):
        assert np.allclose(orders(done.stdout, f"{control} ")[1:4], 2.0, atol=0.02)
    assert done.stdout.endswith("Passed: g is the gradient.\n")
    assert "no tangent_step and no second_order_step: central differences" in done.stdout
    assert not Path("run").exists()
    on_three = uzushio("assimilate", "case.yaml", "--check-gradient", "--ranks", 3)
    assert (on_three.returncode, on_three.stdout) == (0, done.stdout)


@pytest.mark.parametrize(
    ("old", "new", "control"),
    [
        ("+ u * self.slope(weighted)", "- u * self.slope(weighted)", "c"),
        ("[-weighted * self.slope(state)", "[weighted * self.slope(state)", "u"),
        (
            "weighted * self.curvature(state)]",
            "1.0001 * weighted * self.curvature(state)]",
            "kappa",
        ),
    ],
)
def test_a_wrong_adjoint_is_found(
    uzushio: Run, example: Path, old: str, new: str, control: str
) -> None:
    change(example, old, new)
    done = uzushio("assimilate", "case.yaml", "--check-gradient")
    assert done.returncode == 1
    verdict = done.stdout.splitlines()[-1]
    assert verdict.startswith("Failed: the adjoint is not the transpose")
    assert f"tangent-linear model for {control}" in verdict
    assert f"the derivative of J with respect to {control}" in verdict
    assert min(orders(done.stdout, f"{control} ")) == pytest.approx(1.0, abs=0.05)


def test_own_tangent_and_second_order_steps_are_checked(example: Path) -> None:
    whole = example.read_text() + TANGENT + SECOND
    example.write_text(whole)
    checked = check_gradient("case.yaml", MPI.COMM_SELF)
    assert checked.passed
    assert not checked.by_differences
    assert max(product.difference for product in checked.dot_products) < 1e-12
    assert checked.hessian is not None and checked.hessian < 1e-7
    example.write_text(
        whole.replace("du * self.slope(weighted)", "2.0 * du * self.slope(weighted)")
    )
    checked = check_gradient("case.yaml", MPI.COMM_SELF)
    assert not checked.passed
    assert str(checked).endswith("the second-order adjoint is not the derivative of the adjoint.")


def test_tangent_and_adjoint_of_another_model_are_found(example: Path) -> None:
    # Transposes of each other, but not the derivatives of the step.
    change(
        example, "state + self.case.time.dt * (kappa", "state + self.case.time.dt * (0.5 * kappa"
    )
    example.write_text(example.read_text() + TANGENT)
    checked = check_gradient("case.yaml", MPI.COMM_SELF)
    assert all(product.passed for product in checked.dot_products)
    assert "tangent-linear and adjoint model are not those of the forward model" in str(checked)
    assert not checked.passed


def test_a_check_of_a_long_run_is_shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradient_check, "_SECONDS", 0.0)
    checked = check_gradient("case.yaml", MPI.COMM_SELF)
    assert (checked.steps, checked.dot_steps, checked.passed) == (8, 8, True)
    assert "the first 8 of 40 steps" in str(checked)


def test_the_phase_field_passes() -> None:
    case = model_class("phasefield").case_model.example
    small = {
        **case,
        "model": "phasefield",
        "grid": {"nx": 12, "ny": 9},
        "time": {"steps": 12, "dt": 0.1},
    }
    small["observations"] = {"last": 12}
    checked = check_gradient(small, MPI.COMM_SELF)
    assert checked.passed, str(checked)
    assert checked.hessian is not None and checked.hessian < 1e-7
    assert max(product.difference for product in checked.dot_products) < 1e-12


def test_a_twin_finds_its_parameters_within_their_deviations(uzushio: Run, tmp_path: Path) -> None:
    done = uzushio("assimilate", "case.yaml", "--ranks", 2)
    assert done.returncode == 0, done.stderr
    assert "no tangent_step and no second_order_step: central differences" in done.stdout
    case = load_assimilation("case.yaml")
    model = model_class(case.model)(case, MPI.COMM_SELF)
    results = json.loads(Path("run/summary.json").read_text())["results"]
    parameters, expected = results["parameters"], deviations(model)
    for name, truth, sd in zip(("u", "kappa"), (1.0, 0.005), expected, strict=True):
        assert parameters[name]["truth"] == truth
        assert abs(parameters[name]["estimate"] - truth) < 3.0 * sd
        # The curvature differs from that of the linearised run by the residuals.
        assert parameters[name]["sd"] == pytest.approx(sd, rel=0.1)
    estimate = xr.open_zarr("run/estimate.zarr")["c"]
    assert estimate.dims == ("x",)
    # On any number of ranks, and after a restart from another folder, the result is the same.
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    stopped = uzushio(
        "assimilate", "case.yaml", "--out", "other", "--set", "optimiser.iterations=4"
    )
    assert stopped.returncode == 0, stopped.stderr
    again = uzushio("assimilate", "--restart", "other", "--set", "optimiser.iterations=300")
    assert again.returncode == 0, again.stderr
    others = json.loads(Path("other/summary.json").read_text())["results"]
    assert others["J"] == results["J"]
    assert others["parameters"] == parameters


def deviations(model: Model) -> np.ndarray:
    """Deviations of both parameters, from the dense Jacobian of the observations at the truth."""
    truth, points = model.truth(), model.shape[0]
    assert truth is not None
    controls = np.concatenate([truth.state, truth.parameters])
    steps = range(4, 41, 4)

    def observed(controls: np.ndarray) -> np.ndarray:
        state, seen = controls[:points], []
        for index in range(40):
            state = model.step(state, controls[points:], index)
            seen += [state] if index + 1 in steps else []
        return np.concatenate(seen)

    columns = [
        (observed(controls + e) - observed(controls - e)) / 2e-6 for e in 1e-6 * np.eye(points + 2)
    ]
    jacobian = np.array(columns).T / 0.1
    background = np.diag([1.0] * points + [1.0, 1e4])
    covariance = np.linalg.inv(jacobian.T @ jacobian + background)
    return np.sqrt(np.diag(covariance)[-2:])


def test_a_grid_shared_by_ranks_gives_the_same_bits(uzushio: Run, example: Path) -> None:
    example.write_text(example.read_text() + SHARED)
    change(Path("case.yaml"), "advection.py:Advection", "advection.py:Shared")
    checks, results = [], []
    short = ("--set", "time.steps=12")
    for ranks in (1, 3):
        words = ("assimilate", "case.yaml", *short, "--ranks", ranks)
        checks.append(uzushio(*words, "--check-gradient"))
        assert checks[-1].returncode == 0, checks[-1].stderr
        done = uzushio(*words, "--out", f"on{ranks}", "--set", "uncertainty.iterations=4")
        assert done.returncode == 0, done.stderr
        results.append(json.loads(Path(f"on{ranks}/summary.json").read_text())["results"])
    assert checks[0].stdout == checks[1].stdout
    assert (results[0]["J"], results[0]["parameters"]) == (
        results[1]["J"],
        results[1]["parameters"],
    )


def test_states_of_three_dimensions(tmp_path: Path) -> None:
    cube = {"shape": [3, 4, 6], "uncertainty.iterations": 4, "time.steps": 16}
    case = load_assimilation("case.yaml", {**cube, "output.figures": ["png"]})
    checked = check_gradient(case, MPI.COMM_SELF)
    assert checked.passed, str(checked)
    done = uzushio.assimilate(case, quiet=True, comm=MPI.COMM_SELF)
    assert done.status == 0
    assert done.estimate is not None
    assert done.estimate["c"].dims == ("z", "y", "x")
    # The truth has no gradient along z and y: the speed along x is that of all.
    assert abs(done.parameters["u"].value - 1.0) < 4.0 * (done.parameters["u"].sd or 0.0)
    # A store of the same observations leads to the same estimate.
    stored = tmp_path / "run/observations.zarr"
    assert xr.open_zarr(stored)["values"].dims == ("time", "z", "y", "x")
    again = load_assimilation("case.yaml", {**cube, "observations.store": str(stored)})
    other = uzushio.assimilate(again, out="other", quiet=True, comm=MPI.COMM_SELF)
    assert other.parameters["u"].value == done.parameters["u"].value


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("def adjoint_step", "def adjoint", "Advection needs adjoint_step"),
        (
            "class Advection(Model)",
            "class Advection",
            "not a subclass of uzushio.assimilation.Model",
        ),
        ("class Advection(", "class Other(", "has no class Advection"),
        ("import numpy", "import nonumpy", "advection.py, line 5: ModuleNotFoundError"),
        ('Quantity("c"', 'Quantity("time"', "rename 'time'"),
        ('Quantity("u"', 'Quantity("J"', "rename 'J'"),
        ('Quantity("u"', 'Quantity("kappa"', "rename 'kappa' and 'kappa'"),
    ],
)
def test_a_model_that_is_not_complete_is_refused(
    example: Path, old: str, new: str, sentence: str
) -> None:
    change(example, old, new)
    with pytest.raises(CaseError, match=re.escape(sentence)):
        load_assimilation("case.yaml")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("return state + self", "state + self", "step returned nothing"),
        (
            "np.zeros(self.shape)",
            "np.zeros(3)",
            "first_guess: the model gives a state of shape (3,)",
        ),
        ("def truth", "def no_truth", "for which the model needs a truth"),
        ("u, kappa = parameters\n", "state *= 0.5\n", "ValueError: output array is read-only."),
        (", weighted * self.curvature(state)]", "]", "returned 1 derivatives"),
        ("return before, [", "return [", "adjoint_step must return two values"),
        ("return Guess(np.zeros", "return (np.zeros", "returned tuple, must return a Guess"),
    ],
)
def test_mistakes_of_a_model_are_reported(
    uzushio: Run, example: Path, old: str, new: str, sentence: str
) -> None:
    change(example, old, new)
    done = uzushio("assimilate", "case.yaml", "--check-gradient")
    assert done.returncode != 0
    assert sentence in done.stderr and "Traceback" not in done.stderr


def parts_of(shape: tuple[int, ...]) -> Iterator[tuple[slice, ...]]:
    for cut in range(1, shape[0]):
        yield slice(cut, shape[0]), *(slice(1, n) for n in shape[1:])


@pytest.mark.parametrize("shape", [(7,), (3, 9), (3, 4, 5)])
def test_noise_of_a_part_is_that_of_the_whole(shape: tuple[int, ...]) -> None:
    whole = normal(3, 5, shape, tuple(slice(0, n) for n in shape))
    assert whole.shape == shape
    assert len(np.unique(whole)) == whole.size
    for part in parts_of(shape):
        assert np.array_equal(normal(3, 5, shape, part), whole[part])
