"""Finished picture: pixels, statistics, and files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from uzushio._base.array_values import unmasked
from uzushio._base.error_text import system_sentence
from uzushio._base.files import atomic_file
from uzushio.errors import OutputError

if TYPE_CHECKING:
    from uzushio.raycast import Camera

#: Formats of pictures, by the suffix of the file.
FORMATS = (".png", ".jpg", ".jpeg")
#: zlib's level: 6 takes twice the time and saves a few per cent.
COMPRESSION = 3
#: Quality of JPEG, 1 to 95; without chroma subsampling thin lines and letters are sharp.
QUALITY = 92


@dataclass(frozen=True)
class Picture:
    """Picture, at the root only.

    Attributes:
        pixels: Red, green and blue; shape (height, width, 3). Owned by the picture.
        step: Number of its step.
        time: Time of that step.
        limits: Of the colours of each legend, by label.
        nan_count: Number of values that are not finite.
        notes: Notes for the user, one sentence each, for example on an empty isosurface.
        seconds: Wall-clock time at the root for each part of the work.
        camera: Camera of the picture.
        blank: Whether nothing of the layers is in it.
    """

    pixels: NDArray[np.uint8] = field(repr=False)
    step: int = 0
    time: float = 0.0
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    nan_count: int = 0
    notes: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    camera: Camera | None = field(default=None, repr=False)
    blank: bool = False

    def save(self, path: str | Path) -> Path:
        """Write a PNG or JPEG, by the suffix; the file appears complete or not at all.

        Returns:
            The path.

        Raises:
            OutputError: The file cannot be written, or the suffix is not .png, .jpg or .jpeg.
        """
        suffix, about = Path(path).suffix.lower(), self._about()
        if suffix not in FORMATS:
            raise OutputError(
                f"{path} is not a name of a picture: it must end in .png, .jpg or .jpeg "
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
        """Return the PNG file, which notebooks display."""
        return png(self.pixels, self._about())


def save_png(
    pixels: NDArray[np.uint8], path: str | Path, about: Mapping[str, str] | None = None
) -> Path:
    """Write an array of shape (height, width, 3 or 4) as PNG, completely or not at all.

    Args:
        pixels: array of uint8.
        path: path of the file; its folder is created.
        about: text chunks of the file, by keyword.

    Raises:
        OutputError: The file cannot be written.
    """
    return _save(pixels, Path(path), "PNG", _as_png(about or {}))


def png(pixels: NDArray[np.uint8], about: Mapping[str, str]) -> bytes:
    """Return the content of a PNG file; see `save_png`."""
    from PIL import Image

    file = BytesIO()
    Image.fromarray(pixels).save(file, "PNG", **_as_png(about))
    return file.getvalue()


def _as_png(about: Mapping[str, str]) -> dict[str, Any]:
    """Return Pillow's options for a PNG file with text chunks."""
    from PIL.PngImagePlugin import PngInfo

    text = PngInfo()
    for key, value in ({"Software": "Uzushio"} | dict(about)).items():
        text.add_text(key, value)
    return {"compress_level": COMPRESSION, "pnginfo": text}


def _save(pixels: NDArray[np.uint8], path: Path, form: str, more: Mapping[str, Any]) -> Path:
    """Write an array in a format of Pillow's, completely or not at all."""
    from PIL import Image

    unmasked(pixels, "the array of pixels")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as fresh:
            Image.fromarray(pixels).save(fresh, form, **more)
    except OSError as error:
        raise OutputError(f"The picture was not written: {system_sentence(error)}") from error
    return path
