"""Statistics of the flow from averaged moments.

The moments are those of `src/solvers/channel/sampler.cpp`. Moments of u, v and p are at cell
centres (z). Moments with one w or one derivative in z are at cell faces (zf), walls included.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio.solvers.channel.case import ChannelCase
from uzushio.solvers.contract import Sample

if TYPE_CHECKING:
    import xarray as xr

COMPONENTS = ["u", "v", "w"]


def spectra_cells(case: ChannelCase) -> list[int]:
    """Return the cells nearest to the heights of spectra."""
    faces = case.grid.wall_faces()
    centres = 0.5 * (faces[1:] + faces[:-1])
    return [int(np.argmin(np.abs(centres - z))) for z in case.statistics.spectra_at]


def samples(raw: Mapping[str, Any]) -> dict[str, Sample]:
    """Label the core's samples with the names of their axes."""
    labelled = {}
    for name, value in raw.items():
        if name.startswith("spectra_"):
            axis = "kx" if name == "spectra_x" else "ky"
            labelled[name] = Sample(("height", "component", axis), value)
        else:
            at_faces, values = value
            labelled[name] = Sample(("zf" if at_faces else "z",), values)
    return labelled


def dataset(case: ChannelCase, mean: Mapping[str, Sample], count: int) -> xr.Dataset:
    """Derive variances, stresses, vorticity, the energy budget and spectra from averaged moments.

    All in the case's units (h and its velocity). The kinetic-energy budget is
    0 = production - dissipation + viscous_diffusion + turbulent_transport + pressure_transport;
    `budget_residual` is its sum.

    Args:
        case: the case.
        mean: time averages of `samples`.
        count: number of samples in them.
    """
    import xarray as xr  # slow to import, and needed on one rank only

    faces = case.grid.wall_faces()
    z = 0.5 * (faces[1:] + faces[:-1])
    height = np.diff(faces)
    m = {name: np.asarray(sample.values) for name, sample in mean.items()}
    nu = case.flow.viscosity

    def slope(profile: np.ndarray) -> np.ndarray:
        """Return the derivative at faces of a profile at centres that is zero on the walls."""
        jumps = np.diff(profile, prepend=0.0, append=0.0)
        return np.asarray(jumps / np.diff(z, prepend=0.0, append=2.0))

    def at_centres(profile: np.ndarray) -> np.ndarray:
        return np.asarray(0.5 * (profile[1:] + profile[:-1]))

    def divergence(flux: np.ndarray) -> np.ndarray:
        return np.asarray(np.diff(flux) / height)

    def beside(profile: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the values below and above each face; those on the walls are 0."""
        return np.concatenate([[0.0], profile]), np.concatenate([profile, [0.0]])

    u, v = m["u"], m["v"]
    uu, vv, ww = m["uu"] - u**2, m["vv"] - v**2, m["ww"]
    pp = m["pp"] - m["p"] ** 2
    uw = 0.5 * (m["ulo_w"] + m["uup_w"])
    u_below, u_above = beside(u)
    v_below, v_above = beside(v)
    uuw = m["ulo_uup_w"] - u_below * m["uup_w"] - u_above * m["ulo_w"]
    vvw = m["vlo_vup_w"] - v_below * m["vup_w"] - v_above * m["vlo_w"]

    # Terms are those of the discrete equations, so that the budget closes up to sampling and
    # discretisation errors: a cell receives the part of a face's term that its value multiplies.
    du, dv = slope(u), slope(v)
    distance = np.diff(z, prepend=-z[0], append=4.0 - z[-1])
    jump_u, jump_v = np.diff(u, prepend=0.0, append=0.0), np.diff(v, prepend=0.0, append=0.0)
    work_above = m["ulo_w"] * jump_u + m["vlo_w"] * jump_v
    work_below = m["uup_w"] * jump_u + m["vup_w"] * jump_v
    production = -0.5 * (work_above[1:] + work_below[:-1]) / height
    across = distance * (m["dudz2"] - du**2 + m["dvdz2"] - dv**2)
    dissipation = nu * (
        m["grad_uv"]
        + 0.5 * (across[1:] + across[:-1]) / height
        + at_centres(m["grad_w"])
        + m["dwdz2"]
    )
    tke = 0.5 * (uu + vv + at_centres(ww))
    turbulent = -divergence(0.5 * (uuw + vvw)) - 0.5 * at_centres(_faces_slope(m["www"], z))
    pressure = -divergence(m["pw"])
    diffusion = nu * divergence(_inside(slope(tke)))  # the energy's slope at a wall is 0

    shear = 0.5 * nu * (du[0] - du[-1])
    u_tau = float(np.sqrt(max(shear, 0.0)))
    profiles = {
        "u": ("z", u, "mean streamwise velocity"),
        "v": ("z", v, "mean spanwise velocity"),
        "p": ("z", m["p"], "mean pressure over density"),
        "uu": ("z", uu, "variance of u"),
        "vv": ("z", vv, "variance of v"),
        "ww": ("zf", ww, "variance of w"),
        "uw": ("zf", uw, "Reynolds shear stress <u'w'>"),
        "u_rms": ("z", np.sqrt(np.maximum(uu, 0.0)), "r.m.s. of u"),
        "v_rms": ("z", np.sqrt(np.maximum(vv, 0.0)), "r.m.s. of v"),
        "w_rms": ("zf", np.sqrt(np.maximum(ww, 0.0)), "r.m.s. of w"),
        "p_rms": ("z", np.sqrt(np.maximum(pp, 0.0)), "r.m.s. of p"),
        "vorticity_x_rms": ("zf", _rms(m["vorticity_x"] - dv**2), "r.m.s. vorticity in x"),
        "vorticity_y_rms": ("zf", _rms(m["vorticity_y"] - du**2), "r.m.s. vorticity in y"),
        "vorticity_z_rms": ("z", _rms(m["vorticity_z"]), "r.m.s. vorticity in z"),
        "tke": ("z", tke, "turbulent kinetic energy"),
        "production": ("z", production, "production of tke"),
        "dissipation": ("z", dissipation, "dissipation of tke (positive)"),
        "viscous_diffusion": ("z", diffusion, "viscous diffusion of tke"),
        "turbulent_transport": ("z", turbulent, "transport of tke by the fluctuations"),
        "pressure_transport": ("z", pressure, "transport of tke by the pressure"),
        "budget_residual": (
            "z",
            production - dissipation + diffusion + turbulent + pressure,
            "sum of the terms of the tke budget",
        ),
    }
    data = {
        name: (axis, values, {"long_name": text}) for name, (axis, values, text) in profiles.items()
    }
    spectra = {
        "spectrum_x": (("height", "component", "kx"), m["spectra_x"]),
        "spectrum_y": (("height", "component", "ky"), m["spectra_y"]),
    }
    return xr.Dataset(
        data | spectra,
        coords={
            "z": ("z", z, {"long_name": "cell centres", "units": "h"}),
            "zf": ("zf", faces, {"long_name": "cell faces", "units": "h"}),
            "kx": 2 * np.pi / case.grid.lx * np.arange(m["spectra_x"].shape[-1]),
            "ky": 2 * np.pi / case.grid.ly * np.arange(m["spectra_y"].shape[-1]),
            "height": z[spectra_cells(case)],
            "component": COMPONENTS,
        },
        attrs={
            "title": case.title,
            "u_tau": u_tau,
            "re_tau": u_tau / nu,
            "viscosity": nu,
            "bulk_velocity": float(0.5 * np.sum(u * height)),
            "samples": count,
            "time_unit": f"h/{case.flow.velocity_unit}",
            "units": "half width h and the velocity unit of the case",
        },
    )


def _rms(square: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt(np.maximum(square, 0.0)))


def _faces_slope(profile: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return the derivative at faces of a flux of w-energy at centres; it is 0 at the walls."""
    inner = np.diff(profile) / np.diff(z)
    return np.concatenate([[0.0], inner, [0.0]])


def _inside(flux: np.ndarray) -> np.ndarray:
    """Return a flux at faces with its values on the walls set to 0."""
    return np.concatenate([[0.0], flux[1:-1], [0.0]])
