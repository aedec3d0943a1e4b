"""Write docs/gallery.md and its pictures: cases and pipelines of `examples` on small grids.

Run as ``python tools/gallery.py`` in .venv. `tests/unit/test_gallery.py`
runs the same and compares the pictures.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from PIL import Image

import uzushio

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs/images/gallery"
#: A picture in the repository has at most this many bytes.
LARGEST = 40_000


class Entry(NamedTuple):
    """Case, pipeline and view, with the values that make its run short."""

    case: str
    pipeline: str
    view: str
    every: int
    small: Mapping[str, Any]


def _cells(end: float, **cells: int) -> dict[str, Any]:
    return {f"grid.{axis}.cells": count for axis, count in cells.items()} | {"time.end": end}


ENTRIES = [
    Entry(
        "channel",
        "channel",
        "vortices",
        200,
        {"grid.nx": 16, "grid.ny": 16, "grid.nz": 36, "time.steps": 200, "checkpoint.every": None},
    ),
    Entry("cavity", "cavity", "speed", 50, _cells(8, x=24, y=24)),
    Entry("heated-cavity", "heated", "temperature", 20, _cells(0.02, x=24, y=24)),
    Entry("heated-channel", "heated", "temperature", 20, _cells(12, x=96, y=12)),
    Entry("cylinder", "cylinder", "vorticity", 50, _cells(20, x=64, y=48)),
    Entry("sphere", "sphere", "velocity", 10, _cells(3, x=32, y=16, z=16)),
    Entry(
        "jet",
        "jet",
        "waves",
        100,
        {
            "grid.jet.core_cells": 5,
            "grid.jet.inner_cells": 5,
            "grid.jet.outer_cells": 12,
            "grid.jet.axial_cells": 36,
            "grid.jet.lip_spacing": 0.06,
            "grid.jet.exit_spacing": 0.12,
            "time.steps": 300,
        },
    ),
    Entry("rayleigh-benard", "rayleigh-benard", "plumes", 20, _cells(0.08, x=24, y=24, z=12)),
    Entry("heated-room", "heated-room", "plume", 20, _cells(20, x=20, y=15, z=12)),
]


#: Other examples, with the picture that a guide has of them.
_OTHERS = [
    ("cases/phasefield.yaml", "assimilation_states.png", "how-to/assimilate.md"),
    ("own_solver/cpp/bubble.yaml", "own_euler.png", "how-to/own-solver.md"),
    ("own_solver/python/jets.yaml", "own_shallow_water.png", "how-to/own-solver.md"),
]
_HEAD = """\
# Gallery

Made by `python tools/gallery.py`. It runs each case of `examples/cases` on a small grid, and draws
it inside the solver's steps by a pipeline of `examples/pipelines`. The pictures are those of the
small grids. A test runs the same and compares the pictures. The commands run the whole cases, in
the folder that contains `examples`. Times are those of the small runs with their pictures, on one
core, when this page was made; they are no benchmark.
"""


def staging(entry: Entry) -> str:
    """Return the section `publish` that draws inside the solver's steps."""
    file = f"examples/pipelines/{entry.pipeline}.yaml"
    return f"{{engine: inproc, every: {entry.every}, pipeline: {file}}}"


def draw(entry: Entry, folder: Path) -> Image.Image:
    """Run a case on its small grid with its pipeline; return its view's last picture."""
    file = ROOT / f"examples/cases/{entry.case}.yaml"
    values = dict(entry.small) | {
        "publish": yaml.safe_load(staging(entry)),
        "output.figures": False,
    }
    with contextlib.chdir(ROOT):
        uzushio.run(uzushio.load_case(str(file), values), out=str(folder), quiet=True)
    last = sorted((folder / "pipeline").rglob(f"{entry.view}_*.png"))[-1]
    picture = Image.open(last).convert("RGB")
    return picture.resize((480, 480 * picture.height // picture.width))


def _section(entry: Entry, seconds: float) -> str:
    case, pipeline = f"cases/{entry.case}.yaml", f"pipelines/{entry.pipeline}.yaml"
    title = yaml.safe_load((ROOT / "examples" / case).read_text(encoding="utf-8"))["title"]
    return f"""
## {title}

![{title}: {entry.view}](images/gallery/{entry.case}.jpg)

[{case}](../examples/{case}), drawn by
[{pipeline}](../examples/{pipeline}); {max(seconds, 0.1):.1f} s.

```sh
uzushio run examples/{case} --set "publish={staging(entry)}"
```
"""


def main() -> None:
    """Write the page and its pictures."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        draw(ENTRIES[1], Path(folder) / "first")  # the first run imports modules
        page = _HEAD
        for entry in ENTRIES:
            start = time.perf_counter()
            picture = draw(entry, Path(folder) / entry.case)
            page += _section(entry, time.perf_counter() - start)
            file = PICTURES / f"{entry.case}.jpg"
            picture.save(file, quality=80, subsampling=0, optimize=True)
            if file.stat().st_size > LARGEST:
                raise SystemExit(f"{file} has {file.stat().st_size} bytes: lower the quality.")
    page += "\n## Other examples\n\nTheir guides show how they are run.\n"
    page += "\n| file | guide |\n|---|---|\n"
    for file_, picture_, guide in _OTHERS:
        name = f"[{file_}](../examples/{file_})"
        page += f"| {name} | [![{file_}](images/{picture_})]({guide}) |\n"
    (ROOT / "docs/gallery.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
