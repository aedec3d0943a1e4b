"""A finished picture: its pixels, what was found while it was made, and its file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uzushio.errors import OutputError
from uzushio.parallel.collective import system_sentence

#: Formats of pictures, by the suffix of the file.
FORMATS = (".png", ".jpg", ".jpeg")
#: zlib's level: 6 takes twice the time and saves a few per cent.
COMPRESSION = 3
#: JPEG's, from 1 to 95, with colours at full resolution: thin lines and letters stay sharp.
QUALITY = 92


@dataclass(frozen=True)
class Picture:
    """A picture, at the root only.

    Attributes:
        pixels: Red, green and blue; shape (height, width, 3). Its own memory.
        step: Number of the step that it shows.
        time: Time of that step.
        limits: Of the colours of each legend, by label.
        nan_count: Values that were not finite and drawn in their colour.
        notes: What a user may want to know, a sentence each: an iso-value that nothing has.
        seconds: Wall-clock time at the root for each part of the work.
    """

    pixels: NDArray[np.uint8] = field(repr=False)
    step: int = 0
    time: float = 0.0
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    nan_count: int = 0
    notes: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)

    def save(self, path: str | Path) -> Path:
        """Write it as PNG or JPEG, as the suffix says; the file appears whole, or not at all.

        Returns:
            The path.

        Raises:
            OutputError: It cannot be written, or the suffix is another one than .png, .jpg and
                .jpeg; the message says why.
        """
        suffix, about = Path(path).suffix.lower(), self._about()
        if suffix not in FORMATS:
            raise OutputError(
                f"{path} is no name of a picture: it must end in .png, .jpg or .jpeg "
                "(uzushio.render.Movie writes .mp4 and .gif)."
            )
        if suffix == ".png":
            return save_png(self.pixels, path, about)
        comment = ", ".join(f"{key} {value}" for key, value in about.items())
        more = {"quality": QUALITY, "subsampling": 0, "comment": f"Uzushio: {comment}".encode()}
        return _save(self.pixels, Path(path), "JPEG", more)

    def _about(self) -> dict[str, str]:
        return {"time": repr(self.time), "step": str(self.step)}

    def _repr_png_(self) -> bytes:
        """The PNG file, which notebooks show."""
        from PIL import Image

        file = BytesIO()
        Image.fromarray(self.pixels).save(file, "PNG", **_as_png(self._about()))
        return file.getvalue()


def save_png(
    pixels: NDArray[np.uint8], path: str | Path, about: Mapping[str, str] | None = None
) -> Path:
    """Write an array of shape (height, width, 3 or 4) as PNG, whole or not at all.

    Args:
        pixels: of type uint8.
        path: of the file; its folder is made.
        about: text that goes into the file.

    Raises:
        OutputError: It cannot be written; the message says why.
    """
    return _save(pixels, Path(path), "PNG", _as_png(about or {}))


def _as_png(about: Mapping[str, str]) -> dict[str, Any]:
    """What Pillow is told of a PNG file with such text in it."""
    from PIL.PngImagePlugin import PngInfo

    text = PngInfo()
    for key, value in ({"Software": "Uzushio"} | dict(about)).items():
        text.add_text(key, value)
    return {"compress_level": COMPRESSION, "pnginfo": text}


def _save(pixels: NDArray[np.uint8], path: Path, form: str, more: Mapping[str, Any]) -> Path:
    """Write an array as a file of a format of Pillow's, whole or not at all."""
    from PIL import Image

    # Hidden until it is whole: whoever watches the folder sees finished pictures only.
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            Image.fromarray(pixels).save(part, form, **more)
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except OSError as error:
        error.filename = error.filename or str(path)
        raise OutputError(f"The picture was not written: {system_sentence(error)}") from error
    return path
