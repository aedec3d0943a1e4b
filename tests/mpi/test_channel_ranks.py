"""The channel flow is the same on any number of ranks, and sends the estimated messages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import channel_job
import numpy as np
import pytest
from channel_cases import core, parameters
from conftest import Run

JOB = Path(__file__).with_name("channel_job.py")
Result = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def known() -> dict[tuple[object, ...], Result]:
    """Cache of completed runs."""
    return {}


@pytest.fixture
def flow(
    mpi_run: Run, tmp_path: Path, known: dict[tuple[object, ...], Result]
) -> Callable[..., Result]:
    """A flow on py x pz ranks, run once for all tests."""

    def go(
        py: int,
        pz: int,
        scheme: str = "pipelined",
        forcing: str = "pressure_gradient",
        precision: str = "double",
        transposes: str = "messages",
    ) -> Result:
        which = (py, pz, scheme, forcing, precision, transposes)
        if which not in known:
            out = tmp_path / "flow.npz"
            done = mpi_run(py * pz, [JOB, *which, out], timeout=90)
            assert done.returncode == 0, done.stderr
            with np.load(out) as file:
                known[which] = dict(file)
        return known[which]

    return go


def expect_same(result: Result, other: Result) -> None:
    for name, values in result.items():
        if name.startswith("traffic") or name == "bytes":
            continue
        scale = max(1.0, float(abs(values).max()))
        np.testing.assert_allclose(other[name], values, rtol=0, atol=2e-12 * scale, err_msg=name)


@pytest.mark.parametrize(
    ("py", "pz", "scheme"),
    [
        (2, 1, "pipelined"),
        (1, 2, "pipelined"),
        (2, 2, "pipelined"),
        (4, 2, "pipelined"),
        (3, 2, "pipelined"),
        (1, 5, "pipelined"),
        (1, 2, "transpose"),
        (2, 2, "transpose"),
        (3, 2, "transpose"),
        (1, 2, "partitioned"),
        (2, 3, "partitioned"),
    ],
)
def test_the_same_fields_samples_and_figures_on_any_ranks(
    flow: Callable[..., Result], py: int, pz: int, scheme: str
) -> None:
    expect_same(flow(1, 1), flow(py, pz, scheme))


def test_a_held_flow_rate_is_the_same_on_any_ranks(flow: Callable[..., Result]) -> None:
    on_one = flow(1, 1, forcing="flow_rate")
    assert on_one["figures"][0] == pytest.approx(0.5, rel=1e-13)
    expect_same(on_one, flow(2, 2, forcing="flow_rate"))


@pytest.mark.parametrize(("py", "pz"), [(2, 1), (3, 2)])
def test_a_flow_is_the_same_however_planes_are_exchanged(mpi_run: Run, py: int, pz: int) -> None:
    done = mpi_run(py * pz, [JOB.with_name("channel_transposes_job.py"), py, pz], timeout=90)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "same"


@pytest.mark.parametrize(
    ("py", "pz", "scheme", "transposes"),
    [
        (1, 1, "pipelined", "messages"),
        (1, 2, "pipelined", "messages"),
        (1, 3, "transpose", "messages"),
        (1, 2, "partitioned", "messages"),
        (2, 1, "pipelined", "messages"),
        (2, 2, "pipelined", "overlapped"),
        (3, 1, "pipelined", "shared_memory"),
    ],
)
def test_threads_change_no_bit(
    mpi_run: Run, py: int, pz: int, scheme: str, transposes: str
) -> None:
    job = JOB.with_name("channel_threads_job.py")
    done = mpi_run(py * pz, [job, py, pz, scheme, transposes], timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "same"


def deviation(result: Result, other: Result) -> float:
    """Maximum difference of the velocities, over the maximum of each."""
    return max(float(abs(result[c] - other[c]).max() / abs(result[c]).max()) for c in "uvw")


def test_values_sent_in_single_precision_are_rounded_alike_on_any_ranks(
    flow: Callable[..., Result],
) -> None:
    exact, rounded = flow(1, 1), flow(1, 1, precision="single")
    rounding = deviation(exact, rounded)
    assert 1e-9 < rounding < 1e-6
    for py, pz in ((2, 1), (1, 2), (3, 2)):
        for transposes in ("messages", "shared_memory"):
            other = flow(py, pz, precision="single", transposes=transposes)
            # Round-off of transforms may change the rounding of some values: far fewer than all.
            assert deviation(rounded, other) < 0.05 * rounding


def test_values_sent_in_single_precision_are_half_the_bytes(flow: Callable[..., Result]) -> None:
    double, single = flow(2, 2), flow(2, 2, precision="single")
    for kind in (name for name in double if name.startswith("traffic")):
        exchanges, messages, sent = double[kind]
        halved = sent / 2 if kind == "traffic transpose xy" else sent
        assert single[kind].tolist() == [exchanges, messages, halved]
    assert double["traffic transpose xy"][2] > 0
    assert single["bytes"] < double["bytes"]


def estimate(
    py: int,
    pz: int,
    scheme: str,
    forcing: str,
    precision: str = "double",
    transposes: str = "messages",
) -> core.Estimate:
    chosen = parameters(channel_job.SIZE, (py, pz), scheme, transposes)
    chosen.forcing = getattr(core.Forcing, forcing)
    chosen.transpose_precision = core.SentPrecision[precision]
    return core.estimate(chosen)


@pytest.mark.parametrize(
    "which",
    [
        (1, 1, "pipelined", "pressure_gradient"),
        (2, 2, "pipelined", "pressure_gradient"),
        (2, 2, "pipelined", "pressure_gradient", "single"),
        (2, 2, "pipelined", "pressure_gradient", "double", "overlapped"),
        (3, 1, "pipelined", "pressure_gradient", "single", "shared_memory"),
        (2, 2, "transpose", "pressure_gradient"),
        (3, 2, "transpose", "flow_rate"),
        (2, 3, "partitioned", "pressure_gradient"),
        (2, 4, "pipelined", "flow_rate"),
    ],
)
def test_the_estimate_equals_memory_and_messages_of_a_run(
    flow: Callable[..., Result], which: tuple[Any, ...]
) -> None:
    ran = flow(*which)
    estimated = estimate(*which)
    assert estimated.bytes == ran["bytes"]
    for kind, sent in estimated.traffic.items():
        assert ran[f"traffic {kind}"].tolist() == list(sent), kind


def test_transposed_takes_two_all_to_alls_more_for_each_of_four_solves_a_substep(
    flow: Callable[..., Result],
) -> None:
    pipelined, transposed = flow(2, 2, "pipelined"), flow(2, 2, "transpose")
    assert pipelined["traffic transpose z"].tolist() == [0, 0, 0]
    assert transposed["traffic transpose z"][0] == 3 * 4 * 2
    assert pipelined["traffic transpose xy"].tolist() == transposed["traffic transpose xy"].tolist()


def test_bytes_of_other_solves_do_not_grow_with_the_cells_in_z() -> None:
    def sent(nz: int, scheme: str, kind: str) -> int:
        chosen = parameters((64, 64, nz), (1, 4), scheme, "messages")
        return int(core.estimate(chosen).traffic[kind][2])

    assert sent(64, "pipelined", "pipeline z") == sent(256, "pipelined", "pipeline z")
    assert sent(64, "partitioned", "interfaces z") == sent(256, "partitioned", "interfaces z")
    transposed = [sent(nz, "transpose", "transpose z") for nz in (64, 256)]
    assert transposed[1] == pytest.approx(4 * transposed[0], rel=0.05)
    assert sent(64, "pipelined", "pipeline z") < 0.2 * transposed[0]
    assert sent(64, "partitioned", "interfaces z") < 0.3 * transposed[0]


def test_values_at_points_are_the_sums_of_the_modes(flow: Callable[..., Result]) -> None:
    ran = flow(2, 1)
    nx, ny, _ = channel_job.SIZE
    for name in "uvw":
        modes = np.zeros((channel_job.SIZE[2], ny, nx // 2 + 1), complex)
        values = ran[name][:, 0] + 1j * ran[name][:, 1]
        kept = ny // 2
        modes[:, :kept, : nx // 2] = values[:, :kept]
        modes[:, -(kept - 1) :, : nx // 2] = values[:, kept:]
        expected = np.fft.irfft2(modes, s=(ny, nx), norm="forward")
        np.testing.assert_allclose(ran[f"{name}_points"], expected, rtol=0, atol=1e-12)
