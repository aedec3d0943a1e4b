"""Derived fields: exact for quadratics, of second order otherwise, of the right sign."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from mpi4py import MPI
from PIL import Image
from pipeline_case import Flow, Grab, Lines, grab, stretched

from uzushio import staging
from uzushio.pipeline import stencils
from uzushio.pipeline.model import load
from uzushio.pipeline.pipeline import Pipeline

LINES: Lines = (stretched(9, -1.0, 1.0), stretched(8, 0.0, 2.0, 0.9), stretched(11, 0.0, 3.0, 1.6))
ALL = """\
  omega: {kind: vorticity, of: [u, v, w]}
  q: {kind: q_criterion, of: [u, v, w]}
  l2: {kind: lambda2, of: [u, v, w]}
  div: {kind: divergence, of: [u, v, w]}
  enstrophy: {kind: enstrophy, of: [u, v, w]}
  strain: {kind: strain_rate, of: [u, v, w]}
"""
NAMES = ("omega", "q", "l2", "div", "enstrophy", "strain")


def flow(u, v, w, lines: Lines = LINES, **more) -> Flow:
    return Flow({"m": lines}, {"u": ("m", u), "v": ("m", v), "w": ("m", w)}, **more)


def zero(x, y, z, n):
    return 0 * x


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_solid_body_rotation_has_the_q_of_its_rate_everywhere(tmp_path: Path, dtype) -> None:
    rate = 1.7
    rotation = flow(lambda x, y, z, n: -rate * y, lambda x, y, z, n: rate * x, zero, dtype=dtype)
    omega, q, l2, div, enstrophy, strain = grab(rotation, ALL, *NAMES, folder=tmp_path)
    close = {"atol": 1e-4 if dtype == np.float32 else 1e-12}
    np.testing.assert_allclose(omega, np.broadcast_to([0, 0, 2 * rate], omega.shape), **close)
    np.testing.assert_allclose(q, rate**2, **close)
    np.testing.assert_allclose(l2, -(rate**2), **close)
    np.testing.assert_allclose(enstrophy, 2 * rate**2, **close)
    np.testing.assert_allclose(div, 0, **close)
    np.testing.assert_allclose(strain, 0, atol=5e-3 if dtype == np.float32 else 1e-6)


def test_pure_strain_has_the_negative_q_of_its_rate(tmp_path: Path) -> None:
    rate = 0.8
    strain = flow(lambda x, y, z, n: rate * x, lambda x, y, z, n: -rate * y, zero)
    omega, q, l2, div, enstrophy, magnitude = grab(strain, ALL, *NAMES, folder=tmp_path)
    np.testing.assert_allclose(omega, 0, atol=1e-12)
    np.testing.assert_allclose(q, -(rate**2), rtol=1e-12)
    np.testing.assert_allclose(l2, rate**2, rtol=1e-7)  # two eigenvalues are equal
    np.testing.assert_allclose(div, 0, atol=1e-12)
    np.testing.assert_allclose(enstrophy, 0, atol=1e-20)
    np.testing.assert_allclose(magnitude, 2 * rate, rtol=1e-12)


def test_gradients_of_quadratics_are_exact_up_to_the_ends_of_a_stretched_mesh(
    tmp_path: Path,
) -> None:
    def quadratic(x, y, z, n):
        return 1 + 2 * x - y + 3 * x * x - y * y + 0.5 * z * z + x * y - 2 * y * z + z * x

    made = Flow({"m": LINES}, {"f": ("m", quadratic)})
    sources = "  g: {kind: gradient, of: f}\n  gz: {kind: gradient, of: f, axis: z}\n"
    g, gz, part = grab(made, sources, "g", "gz", "g.y", folder=tmp_path)
    z, y, x = np.meshgrid(*LINES, indexing="ij")
    exact = np.stack([2 + 6 * x + y + z, -1 - 2 * y + x - 2 * z, z - 2 * y + x], axis=-1)
    np.testing.assert_allclose(g, exact, atol=1e-11)
    np.testing.assert_allclose(gz, exact[..., 2], atol=1e-11)
    np.testing.assert_array_equal(part, g[..., 1])


def test_errors_fall_with_the_square_of_the_spacing(tmp_path: Path) -> None:
    def u(x, y, z, n):
        return np.sin(2 * x) * np.cos(y) * np.sin(z)

    def v(x, y, z, n):
        return np.cos(x) * np.sin(2 * y) * np.cos(z)

    errors = []
    for n in (12, 24, 48):
        lines = (stretched(n, -1, 1), stretched(n, 0, 2), stretched(n, 0, 1, 0.7))
        (q,) = grab(flow(u, v, u, lines), ALL, "q", folder=tmp_path / str(n))
        z, y, x = np.meshgrid(*lines, indexing="ij")
        sin, cos = np.sin, np.cos
        ux, uy = 2 * cos(2 * x) * cos(y) * sin(z), -sin(2 * x) * sin(y) * sin(z)
        uz = sin(2 * x) * cos(y) * cos(z)
        vx, vy = -sin(x) * sin(2 * y) * cos(z), 2 * cos(x) * cos(2 * y) * cos(z)
        vz = -cos(x) * sin(2 * y) * sin(z)
        exact = -0.5 * (ux**2 + vy**2 + uz**2) - uy * vx - uz * ux - vz * uy
        errors.append(np.abs(q - exact).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (orders > 1.75).all(), orders


def test_a_staggered_component_is_interpolated_before_it_is_combined(tmp_path: Path) -> None:
    z, y, x = LINES
    faces = np.append(0.5 * (z[1:] + z[:-1]), 1.02)
    made = Flow(
        {"centres": (z, y, x), "faces": (faces, y, x)},
        {
            "u": ("centres", lambda x, y, z, n: -z),
            "v": ("centres", zero),
            "w": ("faces", lambda x, y, z, n: x + z**3),
        },
    )
    sources = "  sum: u + w\n  omega: {kind: vorticity, of: [u, v, w]}\n"
    total, omega = grab(made, sources, "sum", "omega", folder=tmp_path)
    Z, _, X = np.meshgrid(z, y, x, indexing="ij")
    np.testing.assert_allclose(total, X + Z**3 - Z, atol=1e-12)  # exact for cubics
    np.testing.assert_allclose(omega, np.broadcast_to([0, -2, 0], omega.shape), atol=1e-10)


def test_vectors_and_their_components_are_sources_too(tmp_path: Path) -> None:
    def velocity(x, y, z, n):
        return np.stack([-y * z, x * z, x * y], axis=-1)

    made = Flow({"m": LINES}, {"velocity": ("m", velocity)}, attributes={"rho": 2.0})
    sources = """\
  whole: {kind: vorticity, of: velocity}
  apart: {kind: vorticity, of: [velocity.x, velocity.y, velocity.z]}
  speed: {kind: magnitude, of: velocity}
  size: {kind: magnitude, of: whole}
  energy: 0.5 * rho * (velocity.x**2 + velocity.y**2 + velocity.z**2)
  place: where(x < 1 and not z > 0, y, -y) + 0 * velocity.x
"""
    names = ("whole", "apart", "speed", "size", "energy", "place")
    whole, apart, speed, size, energy, place = grab(made, sources, *names, folder=tmp_path)
    z, y, x = np.meshgrid(*LINES, indexing="ij")
    np.testing.assert_array_equal(whole, apart)
    np.testing.assert_allclose(whole[..., 2], 2 * z, atol=1e-12)
    np.testing.assert_allclose(size, np.linalg.norm(whole, axis=-1), rtol=1e-12)
    np.testing.assert_allclose(speed**2, energy, rtol=1e-12)
    np.testing.assert_array_equal(place, np.where((x < 1) & ~(z > 0), y, -y))


def test_a_mesh_may_have_one_or_two_points_along_an_axis(tmp_path: Path) -> None:
    lines = (np.array([0.5]), np.array([0.0, 2.0]), LINES[2])
    made = flow(lambda x, y, z, n: 3 * y, lambda x, y, z, n: x * x, zero, lines)
    (omega,) = grab(made, ALL, "omega", folder=tmp_path)
    x = np.broadcast_to(lines[2], omega.shape[:3])
    np.testing.assert_allclose(omega[..., 2], 2 * x - 3, atol=1e-12)
    np.testing.assert_allclose(omega[..., :2], 0, atol=1e-12)


def test_a_flow_in_a_plane_has_the_vorticity_and_q_of_its_rotation(tmp_path: Path) -> None:
    rate, lines = 1.7, (np.array([0.5]), LINES[1], LINES[2])

    def velocity(x, y, z, n):
        return np.stack([-rate * y, rate * x], axis=-1)

    made = Flow({"m": lines}, {"velocity": ("m", velocity)})
    sources = """\
  omega: {kind: vorticity, of: velocity}
  q: {kind: q_criterion, of: [velocity.x, velocity.y]}
  div: {kind: divergence, of: velocity}
"""
    omega, q, div = grab(made, sources, "omega", "q", "div", folder=tmp_path)
    assert omega.shape == (1, len(lines[1]), len(lines[2]))
    np.testing.assert_allclose(omega, 2 * rate, rtol=1e-12)
    np.testing.assert_allclose(q, rate**2, rtol=1e-12)
    np.testing.assert_allclose(div, 0, atol=1e-12)
    with pytest.raises(Exception, match="two on a mesh with one layer along z"):
        grab(flow(zero, zero, zero), "  s: {kind: vorticity, of: [u, v]}", "s", folder=tmp_path)


def annulus(folder: Path, text: str) -> None:
    """Solid-body rotation on a mesh around a pipe, with curvilinear coordinates."""
    radius, angle, height = stretched(7, 1.0, 2.0), np.linspace(0.0, 3.0, 13), np.linspace(0, 1, 5)
    z, a, r = np.meshgrid(height, angle, radius, indexing="ij")
    corners = np.stack([r * np.cos(a), r * np.sin(a), z + 0.1 * r * a], axis=-1)
    (folder / "p.yaml").write_text(text)
    pipeline = Pipeline(load(folder / "p.yaml"), MPI.COMM_SELF, folder / "out", print, in_situ=True)
    with staging.open("annulus", MPI.COMM_SELF, {"engine": "inproc"}) as writer:
        writer.on_step(pipeline.step)
        writer.curvilinear_mesh("pipe", (4, 12, 6), "corners")
        writer.field("u", "pipe", "vertex")
        writer.field("v", "pipe", "vertex")
        writer.field("w", "pipe", "vertex")
        writer.block(0, "pipe", (4, 12, 6))
        with writer.step(0, 0.0):
            writer.put("corners", corners)
            writer.put("u", -3.0 * corners[..., 1])
            writer.put("v", 3.0 * corners[..., 0])
            writer.put("w", 0.5 * corners[..., 2])
    pipeline.finish()
    pipeline.close()
    assert pipeline.failures == 0, pipeline.summary()


def test_on_a_curvilinear_mesh_derivatives_are_those_by_its_coordinates(tmp_path: Path) -> None:
    annulus(tmp_path, f"sources:\n{ALL}\nactions:\n- {{grab: {{fields: [q, omega, div]}}}}\n")
    np.testing.assert_allclose(Grab.values["q", 0], 9.0 - 0.5 * 0.25, rtol=1e-11)
    omega = Grab.values["omega", 0]
    np.testing.assert_allclose(omega, np.broadcast_to([0, 0, 6], omega.shape), atol=1e-11)
    np.testing.assert_allclose(Grab.values["div", 0], 0.5, rtol=1e-10)


def test_a_curvilinear_mesh_is_drawn_by_vtk(tmp_path: Path) -> None:
    text = """\
actions:
- slice: {field: u, normal: z, at: 0.7, view: {size: [96, 72], camera: top, axes: false}}
"""
    annulus(tmp_path, text)
    pixels = np.asarray(Image.open(tmp_path / "out/pictures/slice_u_00000000.png"))
    assert len(np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0)) > 50


@pytest.mark.parametrize(
    ("sources", "sentence"),
    [
        ("  q: {kind: q_criterion, of: [u, v, ww]}", "'ww' is not known; did you mean"),
        ("  a: b + u\n  b: a - u", "depends on itself: a -> b -> a"),
        ("  u: 2 * v", "the stream has a field 'u' already"),
        ("  s: sqrt(uu)", "'uu' is not known; did you mean 'u'?"),
        ("  s: sqroot(u)", "the function 'sqroot' is not known; did you mean 'sqrt'?"),
        ("  s: u.__class__", "'u.__class__' is not known"),
        ("  s: __import__('os')", "the function '__import__' is not known"),
        ("  s: u[0]", "is not arithmetic"),
        ("  s: max(u) * u", "max reduces a field to one number"),
        ("  s: {kind: vorticity, of: u}", "is of a velocity: three fields"),
        ("  o: {kind: vorticity, of: [u, v, w]}\n  s: 2 * o", "has 3 components; choose one"),
        ("  s: 1 + time", "names no field"),
    ],
)
def test_impossible_sources_are_reported_with_file_and_line(
    tmp_path: Path, sources: str, sentence: str
) -> None:
    with pytest.raises(Exception) as caught:
        grab(flow(zero, zero, zero), sources, "u", folder=tmp_path)
    assert sentence in str(caught.value)
    assert "pipeline.yaml:" in str(caught.value) and "sources." in str(caught.value)


def test_stencils_of_parts_are_those_of_the_whole() -> None:
    line = stretched(17)
    whole = stencils.derivative(line, start=5)
    first, count = whole.reach(5 + 3, 6)
    assert (first, count) == (5 + 2, 8)
    assert whole.reach(5, 1) == (5, 3) and whole.reach(5 + 16, 1) == (5 + 14, 3)
    table = whole.table(5 + 3, 6, first)
    np.testing.assert_array_equal(table[0], np.arange(6))
    np.testing.assert_array_equal(table[1], whole.weights[:, 3:9])
