"""A finished picture: its pixels, what was found while it was made, and its PNG file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from uzushio.collective import system_sentence
from uzushio.errors import OutputError

#: zlib's level: 6 takes twice the time and saves a few per cent.
COMPRESSION = 3


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

    pixels: NDArray[np.uint8]
    step: int = 0
    time: float = 0.0
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    nan_count: int = 0
    notes: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)

    def save(self, path: str | Path) -> Path:
        """Write it as PNG; the file appears whole, or not at all. Returns the path.

        Raises:
            OutputError: It cannot be written; the message says why.
        """
        return save_png(self.pixels, path, {"time": repr(self.time), "step": str(self.step)})


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
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    path = Path(path)
    text = PngInfo()
    for key, value in ({"Software": "Uzushio"} | dict(about or {})).items():
        text.add_text(key, value)
    # Hidden until it is whole: whoever watches the folder sees finished pictures only.
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            Image.fromarray(pixels).save(part, "PNG", compress_level=COMPRESSION, pnginfo=text)
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except OSError as error:
        error.filename = error.filename or str(path)
        raise OutputError(f"The picture was not written: {system_sentence(error)}") from error
    return path
