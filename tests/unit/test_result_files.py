"""Files of a pipeline: inside its folder, and of the format of their suffixes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_stream import Made
from PIL import Image
from pipeline_case import Flow, Lines, stretched

from uzushio.errors import CaseError, OutputError, PipelineError
from uzushio.pipeline.model import load
from uzushio.render import Movie, Picture

LINES: Lines = (stretched(9, -1.0, 1.0), stretched(8), stretched(11))


def refused(folder: Path, action: str) -> str:
    file = folder / "pipeline.yaml"
    file.write_text(f"views:\n  v: {{layers: [{{kind: slice, field: u}}]}}\nactions:\n- {action}\n")
    with pytest.raises(CaseError) as raised:
        load(file)
    assert f"{file}:4: actions.0" in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize(
    "name", ["../precious", "/tmp/precious", "a/../../precious", "~/precious", ".hidden/precious"]
)
@pytest.mark.parametrize(
    "action",
    [
        "{{picture: {{view: v, file: '{}.png'}}}}",
        "{{picture: {{view: v, movie: '{}.mp4'}}}}",
        "{{movie: {{view: v, file: '{}.mp4'}}}}",
        "{{slice: {{field: u, file: '{}.jpg'}}}}",
        "{{count: {{fields: [u], file: '{}.jsonl'}}}}",
        "{{extract: {{fields: [u], to: '{}.zarr'}}}}",
    ],
)
def test_no_action_writes_outside_the_folder_of_results(
    tmp_path: Path, action: str, name: str
) -> None:
    message = refused(tmp_path, action.format(name))
    assert "folder of results" in message or "begin with a full stop" in message


@pytest.mark.parametrize(
    ("action", "sentence"),
    [
        ("{picture: {view: v, file: x.gif}}", "must end in .png, .jpg or .jpeg; 'movie' takes"),
        ("{picture: {view: v, file: x}}", "must end in .png, .jpg or .jpeg"),
        ("{picture: {view: v, movie: x.png}}", "must end in .mp4 or .gif"),
        ("{movie: {view: v, file: x.mkv}}", "must end in .mp4 or .gif"),
        ("{movie: {view: v, file: x.gif, fps: 60}}", "a GIF has at most 50 pictures a second"),
        ("{extract: {fields: [u], to: x.nc}}", "must end in .zarr, .vtkhdf or .hdf"),
        ("{count: {fields: [u], file: summary.json}}", "which the pipeline writes itself"),
        ("{picture: {view: v, file: '{step:999999999d}.png'}}", "with a format such as"),
        ("{picture: {view: v, file: '{step.real}.png'}}", "with a format such as"),
        ("{picture: {view: {layers: [], title: '{time:99999999.1f}'}}}", "with a format such as"),
        ("{picture: v, name: ..}", "begin with a letter, digit or _"),
        ("{plot: {series: {fields: [u]}, format: eps}}", "must be 'png', 'pdf' or 'svg'"),
    ],
)
def test_an_invalid_name_is_refused_with_the_allowed_forms(
    tmp_path: Path, action: str, sentence: str
) -> None:
    assert sentence in refused(tmp_path, action)


def test_pictures_and_movies_have_the_format_of_their_suffix(tmp_path: Path) -> None:
    fields = {"a/../u": ("m", lambda x, y, z, n: n + x * y)}
    Flow({"m": LINES}, fields).inside(
        """\
actions:
- {slice: {field: a/../u, view: {size: [161, 121]}}}
- slice: {field: a/../u, view: {size: [161, 121]}, file: "x{step}.JPG", movie: m/x.gif, fps: 10}
  name: other
""",
        tmp_path,
        3,
    )
    made = sorted(str(path.relative_to(tmp_path / "out")) for path in tmp_path.rglob("out/**/*.*"))
    plain = [f"pictures/slice_a_.._u_{step:08d}.png" for step in range(3)]
    assert made == ["m/x.gif", *plain, *(f"x{step}.JPG" for step in range(3))]
    with Image.open(tmp_path / "out/x2.JPG") as image:
        assert (image.format, image.size) == ("JPEG", (161, 121))
        assert b"step 2" in image.info["comment"]
        jpeg = np.asarray(image).astype(int)
    with Image.open(tmp_path / "out" / plain[2]) as image:
        assert image.format == "PNG"
        assert np.abs(np.asarray(image) - jpeg).mean() < 1.0
    with Image.open(tmp_path / "out/m/x.gif") as image:
        assert (image.format, image.n_frames, image.size) == ("GIF", 3, (161, 121))
        assert (image.info["duration"], image.info["loop"]) == (100, 0)
        image.seek(2)
        last = np.asarray(image.convert("RGB")).astype(int)
    assert np.abs(last - jpeg).mean() < 2.0


def test_a_figure_is_written_in_each_requested_format(tmp_path: Path) -> None:
    made = Made(LINES, {"f": lambda t, z, y, x: z + t})
    settings: Any = {"series": {"fields": ["f"]}, "format": ["pdf", "svg", "pdf"]}
    action = made.action("plot", tmp_path, **settings)
    made.run(action, [(0, 0.0)])
    assert action.files() == ["it.pdf", "it.svg", "it.csv"] == action.summary()["files"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["it.csv", "it.pdf", "it.svg"]
    assert (tmp_path / "it.pdf").read_bytes().startswith(b"%PDF")
    assert "<svg" in (tmp_path / "it.svg").read_text()


def test_python_refuses_the_same_suffixes(tmp_path: Path) -> None:
    picture = Picture(np.zeros((4, 4, 3), np.uint8))
    with pytest.raises(OutputError, match=r"must end in \.png, \.jpg or \.jpeg"):
        picture.save(tmp_path / "x.gif")
    with pytest.raises(OutputError, match=r"must end in \.mp4 or \.gif"):
        Movie(tmp_path / "x.png")
    with pytest.raises(ValueError, match="a GIF has at most 50 pictures a second, not 60"):
        Movie(tmp_path / "x.gif", 60)
    assert list(tmp_path.iterdir()) == []


def test_fields_of_complex_values_are_refused_by_name() -> None:
    made = Made(LINES, {"c": lambda t, z, y, x: z + 1j * x}, dtype=np.complex128)
    with pytest.raises(PipelineError, match="the field 'c' has values of type complex128"):
        made.stream.scalar("c")


def test_plots_and_pictures_have_the_units_of_the_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from matplotlib.figure import Figure

    from uzushio.render.annotate import Caption

    said: list[set[str]] = []
    shown: list[tuple[str, str]] = []
    save, limits = Figure.savefig, Caption.limits

    def look(figure: Figure, *given: Any, **more: Any) -> Any:
        (axes,) = figure.axes
        said.append({axes.get_xlabel(), axes.get_ylabel(), figure.get_suptitle()})
        return save(figure, *given, **more)

    def see(caption: Caption) -> Any:
        shown.append((caption.view.length_unit, caption.view.time_stamp))
        return limits(caption)

    monkeypatch.setattr(Figure, "savefig", look)
    monkeypatch.setattr(Caption, "limits", see)
    line = np.linspace(0.0, 1.0, 9)
    units = {"length_unit": "h", "time_unit": "h/u_τ", "periodic": "x"}
    flow = Flow({"m": (line, line, line)}, {"u": ("m", lambda x, y, z, n: z)}, attributes=units)
    flow.inside(
        """\
sources: {s: {expression: 2*u, unit: u_τ}}
actions:
- {plot: {profile: {fields: [s], along: z}}, name: profile}
- {plot: {series: {fields: [s], reduce: max}}, name: series}
- {plot: {spectrum: {fields: [s], along: x}}, name: spectrum}
- {probe: {fields: [s], lines: {up: {from: [0, 0, 0], to: [0, 0, 1]}}}}
- {slice: {field: s, view: {size: [96, 72]}}}
- {slice: {field: s, view: {size: [96, 72], length_unit: mm, time_stamp: ''}}, name: own}
""",
        tmp_path,
    )
    unit = r"[u$_\mathregular{τ}$]"
    profile, series, spectrum, up = said
    assert profile == {"z [h]", f"s {unit}", "profile,  t = 0 h/u$_\\mathregular{τ}$"}
    assert series == {"time [h/u$_\\mathregular{τ}$]", f"max(s) {unit}", "series"}
    assert "$k_x$ [h⁻¹]" in spectrum
    assert "power spectrum of s per unit of $k$ [u$_\\mathregular{τ}$² h]" in spectrum
    assert {"distance [h]", f"s {unit}"} < up
    assert set(shown) == {("h", "t = {time:.4g} h/u_τ"), ("mm", "")}
