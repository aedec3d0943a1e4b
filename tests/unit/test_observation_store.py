"""Observations in Zarr stores: written values are read, and mismatches are reported."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr
from mpi4py import MPI

from uzushio._base.observations import Observations
from uzushio.assimilation import observation_store
from uzushio.assimilation.case import Observed
from uzushio.assimilation.model import Model, Quantity
from uzushio.assimilation.phasefield.case import PhaseFieldCase
from uzushio.assimilation.phasefield.model import PhaseFieldModel
from uzushio.assimilation.twin import observe
from uzushio.errors import CaseError

STEPS = 10
SHAPE = (9, 7)


@pytest.fixture(scope="module")
def model() -> Model:
    return PhaseFieldModel(case(), MPI.COMM_SELF)


def case() -> PhaseFieldCase:
    return PhaseFieldCase.model_validate(
        {
            "model": "phasefield",
            "grid": {"nx": SHAPE[1], "ny": SHAPE[0]},
            "time": {"steps": STEPS, "dt": 0.1},
            "truth": {"m": 1.0},
            "first_guess": {"m": 0.6},
            "observations": {"first": 0, "every": 5, "sigma": 0.2},
        }
    )


def made(path: Path, **arrays: Any) -> Path:
    """A store written by another tool: default `time` and `values`; None omits an array."""
    given = {"time": np.array([0.0, 0.5, 1.0]), "values": np.full((3, *SHAPE), 0.25)} | arrays
    group = zarr.open_group(path, mode="w")
    for name, values in given.items():
        if values is None:
            continue
        if name == "sigma" and np.ndim(values) == 0:
            group.attrs["sigma"] = values
        else:
            group.create_array(name, data=np.asarray(values))
    return path


def read(path: Path, model: Model) -> Observations:
    return observation_store.read(path, model, STEPS, MPI.COMM_SELF)


def test_a_twin_writes_its_observations(model: Model, tmp_path: Path) -> None:
    truth = model.truth()
    assert truth is not None
    observations = observe(model, truth, case())
    assert not observation_store.is_complete(tmp_path / "seen.zarr", observations, MPI.COMM_SELF)
    observation_store.write(tmp_path / "seen.zarr", model, observations)
    assert observation_store.is_complete(tmp_path / "seen.zarr", observations, MPI.COMM_SELF)
    read_back = read(tmp_path / "seen.zarr", model)
    assert list(read_back.steps) == [0, 5, 10]
    assert read_back.values.tobytes() == observations.values.tobytes()
    assert read_back.weight == pytest.approx(observations.weight, rel=1e-15) == 25.0


def test_unobserved_values_have_no_weight_in_any_form(model: Model, tmp_path: Path) -> None:
    """A mask of a plane, one of each time, and NaN mean the same."""
    hidden = np.zeros(SHAPE, bool)
    hidden[2:5, 1:3] = True
    values = np.random.default_rng(0).normal(size=(3, *SHAPE))
    gaps = np.where(hidden, np.nan, values)
    state = model.first_guess().state
    misfits = []
    for number, arrays in enumerate(
        (
            {"values": gaps},
            {"values": values, "mask": ~hidden},
            {"values": values, "mask": np.broadcast_to(~hidden, (3, *SHAPE)).astype(np.uint8)},
        )
    ):
        observations = read(made(tmp_path / f"{number}.zarr", sigma=0.5, **arrays), model)
        assert np.shape(observations.weight) == SHAPE
        assert np.array_equal(np.asarray(observations.weight) == 0.0, hidden)
        forcing = np.zeros(SHAPE)
        model.forcing(state, 5, observations, forcing)
        misfits.append((model.misfit(state, 5, observations), forcing.tobytes()))
    assert misfits[0] == misfits[1] == misfits[2]
    expected = 0.5 * 4.0 * np.sum((state - values[1])[~hidden] ** 2)
    assert sum(misfits[0][0]) == pytest.approx(expected, rel=1e-14)


def test_a_mask_that_is_added_to_what_a_twin_wrote_counts(model: Model, tmp_path: Path) -> None:
    """Its consolidated metadata, of the arrays that were there at its end, do not name it."""
    truth, path = model.truth(), tmp_path / "seen.zarr"
    assert truth is not None
    observation_store.write(path, model, observe(model, truth, case()))
    hidden = np.zeros(SHAPE, bool)
    hidden[2:5, 1:3] = True
    zarr.open_group(path, mode="r+").create_array("mask", data=~hidden)
    assert np.array_equal(np.asarray(read(path, model).weight) == 0.0, hidden)


@pytest.mark.parametrize(
    "sigma",
    [
        np.full(SHAPE, 0.5),
        np.array([0.5, 0.5, 0.5]),
        np.full((3, *SHAPE), 0.5),
    ],
)
def test_sigma_may_be_a_plane_a_number_a_time_or_all(
    model: Model, tmp_path: Path, sigma: np.ndarray
) -> None:
    uniform = read(made(tmp_path / "one.zarr", sigma=0.5), model)
    many = read(made(tmp_path / "many.zarr", sigma=sigma), model)
    state = model.first_guess().state
    assert model.misfit(state, 10, uniform) == pytest.approx(
        model.misfit(state, 10, many), rel=1e-14
    )


def changed(**arrays: Any) -> Callable[[Path], Path]:
    return lambda path: made(path, **{"sigma": 0.5, **arrays})


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda path: path, "there is no"),
        (changed(time=None), "there is no array time (arrays there: values)"),
        (changed(values=None), "there is no array values"),
        (changed(sigma=None), "there is no sigma"),
        (changed(time=[0.0, 0.5, 1.1]), "1 of 3 times lie outside the run, the first at 1.1"),
        (changed(time=[-0.1, 0.5, 1.0]), "the first at -0.1; it goes from 0 to 1 (10 steps"),
        (changed(time=[0.0, 0.55, 1.0]), "time 0.55 lies between two steps of 0.1"),
        (changed(time=[0.0, 1.0, 0.5]), "time must increase, but 0.5 follows 1"),
        (changed(time=[0.0, 0.5, 0.50000001]), "two times are at one step"),
        (changed(time=np.array([])), "time is empty"),
        (changed(values=np.ones((3, 7, 9))), "values has shape (3, 7, 9), must have (3, 9, 7)"),
        (changed(values=np.ones((2, *SHAPE))), "values has shape (2, 9, 7)"),
        (changed(values=np.full((3, *SHAPE), np.inf)), "infinite"),
        (changed(mask=np.zeros(SHAPE, bool)), "nothing was seen: all values are NaN or masked"),
        (changed(values=np.full((3, *SHAPE), np.nan)), "nothing was seen"),
        (changed(mask=np.ones((7, 9), bool)), "mask has shape (7, 9), must have (3, 9, 7) or"),
        (changed(sigma=0.0), "sigma is 0 where a value was seen; it must be from 1e-100 to"),
        (changed(sigma=1e-300), "sigma is 1e-300 where a value was seen"),
        (changed(sigma=np.full(3, 1e300)), "sigma is 1e+300 where a value was seen"),
        (changed(values=np.ones((3, *SHAPE), complex)), "values has the type complex128; it must"),
        (changed(values=np.full((3, *SHAPE), "0.25")), "values has the type"),
        (changed(time=np.array([0.0, 0.5, 1.0 + 1.0j])), "time has the type complex128"),
        (changed(sigma=np.full(SHAPE, 0.5j)), "sigma has the type complex128"),
        (changed(mask=np.full(SHAPE, 2)), "mask holds 2; it must be 1 at observed points"),
        (changed(mask=np.full(SHAPE, np.nan)), "mask holds nan; it must be 1"),
        (changed(mask=np.full(SHAPE, 1.0j)), "mask has the type complex128; it must be true or"),
        (changed(sigma=np.full(SHAPE, np.nan)), "sigma is nan where a value was seen"),
        (changed(sigma=np.ones(5)), "sigma has shape (5,)"),
    ],
)  # fmt: skip
def test_mismatches_are_one_sentence(
    model: Model, tmp_path: Path, make: Callable[[Path], Path], sentence: str
) -> None:
    with pytest.raises(CaseError) as raised:
        read(make(tmp_path / "seen.zarr"), model)
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value) and str(raised.value).startswith("observations.store: ")


@pytest.mark.parametrize("name", ["time", "values", "mask", "sigma"])
def test_a_damaged_chunk_is_reported_with_its_array(
    model: Model, tmp_path: Path, name: str
) -> None:
    path = made(tmp_path / "seen.zarr", mask=np.ones(SHAPE, bool))
    zarr.open_group(path, mode="r+").create_array("sigma", data=np.full(SHAPE, 0.5))
    chunk = min(file for file in (path / name / "c").rglob("*") if file.is_file())
    chunk.write_bytes(b"not what a codec wrote")
    with pytest.raises(CaseError, match=f"{name} cannot be read .*: a chunk is damaged") as raised:
        read(path, model)
    assert "\n" not in str(raised.value)


def test_a_first_guess_is_read_as_carefully(tmp_path: Path) -> None:
    """Complex numbers lost their imaginary part, a damaged chunk was a traceback."""
    group = zarr.open_group(tmp_path / "guess.zarr", mode="w")
    group.create_array("phi", data=np.ones(SHAPE, complex))
    wanted = {"first_guess": {"m": 0.6, "store": str(tmp_path / "guess.zarr")}}
    values = case().model_dump(exclude={"first_guess"}) | wanted
    of_store = PhaseFieldModel(PhaseFieldCase.model_validate(values), MPI.COMM_SELF)
    with pytest.raises(CaseError, match="phi has the type complex128; it must hold real numbers"):
        of_store.first_guess()
    group.create_array("phi", data=np.ones(SHAPE), overwrite=True)
    (chunk,) = (file for file in (tmp_path / "guess.zarr/phi/c").rglob("*") if file.is_file())
    chunk.write_bytes(b"not what a codec wrote")
    with pytest.raises(CaseError, match="phi cannot be read"):
        of_store.first_guess()


HOLES = np.random.default_rng(1).random((3, *SHAPE)) < 0.3
SEEN = np.random.default_rng(2).normal(0.5, 0.2, (3, *SHAPE)).round(3)


def by_xarray(path: Path, zarr_format: Any = 3, gap: float = np.nan, **encoding: Any) -> Path:
    """A store with unobserved values that xarray encodes."""
    attributes = {} if np.isnan(gap) else {"missing_value": gap}
    values = (("time", "y", "x"), np.where(HOLES, gap, SEEN), attributes)
    whole = xr.Dataset({"values": values}, {"time": [0.0, 0.5, 1.0]}, {"sigma": 0.5})
    whole.to_zarr(path, mode="w", encoding={"values": encoding}, zarr_format=zarr_format)
    return path


@pytest.mark.parametrize(
    "kinds",
    [
        {},
        {"_FillValue": -9999.0},
        {"dtype": "int16", "scale_factor": 0.001, "_FillValue": -32768},
        {"dtype": "int16", "scale_factor": 0.001, "add_offset": 0.5, "_FillValue": -32768},
        {"dtype": ">f4"},
        {"gap": -99.0},
        {"zarr_format": 2},
        {"zarr_format": 2, "_FillValue": -9999.0},
    ],
)
def test_values_are_decoded_as_xarray_decodes_them(
    model: Model, tmp_path: Path, kinds: dict[str, Any]
) -> None:
    observations = read(by_xarray(tmp_path / "seen.zarr", **kinds), model)
    assert np.array_equal(np.asarray(observations.weight) == 0.0, HOLES)
    assert observations.counts.sum() == np.count_nonzero(~HOLES)
    np.testing.assert_allclose(observations.values[~HOLES], SEEN[~HOLES], rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ["values", "time", "sigma"])
def test_a_lost_chunk_is_refused_with_its_place(model: Model, tmp_path: Path, name: str) -> None:
    """A missing chunk has the fill value 0, which would be data."""
    group = zarr.open_group(tmp_path / "seen.zarr", mode="w")
    arrays = {"time": [0.1, 0.5, 1.0], "values": np.ones((3, *SHAPE)), "sigma": [0.5, 0.5, 0.5]}
    for key, values in arrays.items():
        whole = np.asarray(values)
        group.create_array(key, shape=whole.shape, chunks=(1, *whole.shape[1:]), dtype="f8")
        group[key][...] = whole  # type: ignore[index]
    chunk = "c/0/0/0" if name == "values" else "c/0"
    (tmp_path / "seen.zarr" / name / chunk).unlink()
    with pytest.raises(CaseError, match=rf"{name}: its chunk {chunk} is not stored, .* as 0"):
        read(tmp_path / "seen.zarr", model)


def test_a_twin_observed_at_its_start_alone_can_be_read(tmp_path: Path) -> None:
    """Its only time is 0, the fill value; no chunk of it is left out."""
    first = case().model_copy(update={"observations": Observed(first=0, last=0)})
    model = PhaseFieldModel(first, MPI.COMM_SELF)
    truth = model.truth()
    assert truth is not None
    observation_store.write(tmp_path / "seen.zarr", model, observe(model, truth, first))
    assert list(read(tmp_path / "seen.zarr", model).steps) == [0]


def with_coordinates(x: Any, y: Any, **attributes: Any) -> Callable[[Path], Path]:
    def make(path: Path) -> Path:
        whole = xr.Dataset(
            {"values": (("time", "y", "x"), SEEN, attributes.get("values", {}))},
            {
                "time": ("time", attributes.get("times", [0.0, 0.5, 1.0]), attributes.get("t", {})),
                "y": ("y", np.asarray(y)),
                "x": ("x", np.asarray(x), attributes.get("across", {})),
            },
            {"sigma": 0.5},
        )
        whole.to_zarr(path, mode="w")
        return path

    return make


X, Y = np.arange(SHAPE[1]) + 0.5, np.arange(SHAPE[0]) + 0.5
HOURS = np.array([0, 1, 2]).astype("timedelta64[h]").astype("timedelta64[ns]")


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (with_coordinates(0.5 * X, Y), "x goes from 0.25 to 3.25, but from 0.5 to 6.5 in the case"),
        (with_coordinates(X, Y[::-1]), "y goes from 8.5 to 0.5, but from 0.5 to 8.5"),
        (with_coordinates(X + 2.0, Y), "x goes from 2.5 to 8.5"),
        (
            with_coordinates(X, Y, across={"units": "mm"}),
            "x is in 'mm', and has no unit in the model",
        ),
        (with_coordinates(X, Y, values={"units": "K"}), "values is in 'K'"),
        (with_coordinates(X, Y, t={"units": "s"}), "time is in 's'"),
        (with_coordinates(X, Y, times=HOURS), "time is in 'hours'"),
        (changed(values=np.linspace(0.0, 255.0, 3 * 63).reshape(3, *SHAPE)), "from 0 to 255"),
        (changed(values=np.where(SEEN > 0.8, 9.96921e36, SEEN)), "holds 9.96921e+36 or its negat"),
        (
            changed(values=np.where(SEEN.max() - 1e-3 < SEEN, 1e20, SEEN)),
            "holds 1e+20 or its negative, the fill",
        ),
        (changed(values=np.where(SEEN.max() - 1e-9 < SEEN, -1e20, SEEN)), "the fill value of some"),
        (with_coordinates(np.where(X == 2.5, np.nan, X), Y), "x goes from 0.5 to 6.5"),
    ],
)
def test_positions_units_and_grey_values_of_another_case_are_refused(
    model: Model, tmp_path: Path, make: Callable[[Path], Path], sentence: str
) -> None:
    with pytest.raises(CaseError) as raised:
        read(make(tmp_path / "seen.zarr"), model)
    assert sentence in str(raised.value)


def test_positions_of_edges_and_plain_units_are_accepted(model: Model, tmp_path: Path) -> None:
    """Cells may be numbered from 0; single precision rounds positions."""
    made = with_coordinates((X - 0.5).astype("f4"), Y, t={"units": "1"})(tmp_path / "seen.zarr")
    assert list(read(made, model).steps) == [0, 5, 10]


SQUARE = np.full((8, 8), 0.25)


@pytest.mark.parametrize(
    ("name", "order", "right"),
    [
        ("values", ("time", "x", "y"), "time, y, x"),
        ("values", ("t", "x", "row"), "time, y, x"),
        ("mask", ("x", "y"), "y, x"),
        ("sigma", ("x", "y"), "y, x"),
        ("first_guess.store", ("x", "y"), "y, x"),
    ],
)
def test_transposed_arrays_of_a_square_grid_are_refused(
    tmp_path: Path, name: str, order: tuple[str, ...], right: str
) -> None:
    path = tmp_path / "seen.zarr"
    arrays: dict[str, Any] = {
        "values": (("time", "y", "x"), SQUARE[np.newaxis]),
        "mask": (("y", "x"), np.ones((8, 8), bool)),
        "sigma": (("y", "x"), SQUARE),
        "phi": (("y", "x"), SQUARE),
    }
    of_guess = name == "first_guess.store"
    array = "phi" if of_guess else name
    arrays[array] = (order, arrays[array][1])
    guess: dict[str, Any] = {"m": 0.6} | ({"store": str(path)} if of_guess else {})
    given = case().model_dump() | {"grid": {"nx": 8, "ny": 8}, "first_guess": guess}
    model = PhaseFieldModel(PhaseFieldCase.model_validate(given), MPI.COMM_SELF)
    xr.Dataset(arrays, {"time": [0.5]}).to_zarr(path)
    sentence = f"{array} has the dimensions {', '.join(order)}; transpose it to {right}."
    with pytest.raises(CaseError, match=sentence):
        model.first_guess() if of_guess else read(path, model)


def test_a_first_guess_on_another_grid_is_refused(tmp_path: Path) -> None:
    """Its spacing is half of the case's."""
    path, points = tmp_path / "guess.zarr", [0.5 * np.arange(count) for count in SHAPE]
    state = xr.DataArray(np.full(SHAPE, 0.25), dict(zip("yx", points, strict=True)))
    state.to_dataset(name="phi").to_zarr(path)
    given = case().model_dump() | {"first_guess": {"m": 0.6, "store": str(path)}}
    of_store = PhaseFieldModel(PhaseFieldCase.model_validate(given), MPI.COMM_SELF)
    with pytest.raises(CaseError, match=r"y goes from 0 to 4, but from 0.5 to 8.5 in the case"):
        of_store.first_guess()


def test_a_first_guess_is_decoded_too(tmp_path: Path) -> None:
    state = np.random.default_rng(3).random(SHAPE).round(3)
    packed = {"phi": {"dtype": "int16", "scale_factor": 0.001, "_FillValue": -32768}}
    whole = xr.Dataset({"phi": (("y", "x"), state)})
    whole.to_zarr(tmp_path / "guess.zarr", encoding=packed)
    wanted = {"first_guess": {"m": 0.6, "store": str(tmp_path / "guess.zarr")}}
    made = PhaseFieldCase.model_validate(case().model_dump(exclude={"first_guess"}) | wanted)
    of_store = PhaseFieldModel(made, MPI.COMM_SELF)
    np.testing.assert_allclose(of_store.first_guess().state, state, rtol=0, atol=1e-6)
    whole.assign(phi=whole["phi"].where(state > 0.1)).to_zarr(
        tmp_path / "guess.zarr", mode="w", encoding=packed
    )
    with pytest.raises(CaseError, match=r"phi in .* has values that are missing"):
        of_store.first_guess()


def test_values_under_a_mask_may_be_anything(model: Model, tmp_path: Path) -> None:
    observed = SEEN > 0.8
    given = np.where(observed, SEEN, np.where(SEEN > 0.4, 1e20, np.inf))
    read_back = read(made(tmp_path / "seen.zarr", values=given, mask=observed, sigma=0.5), model)
    assert np.array_equal(read_back.values, np.where(observed, SEEN, 0.0))


@pytest.mark.parametrize("unit", [1e16, 1e31, 1e35])
def test_large_values_in_a_small_unit_are_no_fill_values(
    model: Model, tmp_path: Path, unit: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Real values lie among others of similar magnitude."""
    any_value = Quantity("phi", "number density")
    monkeypatch.setattr(PhaseFieldModel, "state", any_value)
    path = made(tmp_path / "seen.zarr", values=SEEN * unit, sigma=0.5 * unit)
    assert np.array_equal(read(path, model).values, SEEN * unit)
    filled = np.where(SEEN > 0.8, 1e9 * unit, SEEN * unit)
    with pytest.raises(CaseError, match="the fill value of some program"):
        read(made(tmp_path / "filled.zarr", values=filled, sigma=0.5 * unit), model)
