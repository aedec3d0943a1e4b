"""Movies that can be played while they are written, and after a killed run.

While it is written, a movie is a fragmented MP4: each picture has its own index, so a killed run
loses at most the last picture. `close` remuxes it, without encoding again, to an ordinary MP4 for
players and slide programs. A GIF consists of whole pictures in any case.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

from uzushio._base.array_values import unmasked
from uzushio._base.error_text import system_sentence
from uzushio._base.files import atomic_file, free_name
from uzushio.errors import OutputError
from uzushio.render.picture import Picture
from uzushio.render.video_frame import FrameConverter, set_format

if TYPE_CHECKING:
    from av.container import OutputContainer
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

#: Formats of movies, by the suffix of the file.
FORMATS = (".mp4", ".gif")
#: Maximum pictures a second of a GIF: times are in hundredths, and browsers slow down faster ones.
MAX_GIF_FPS = 50.0
_FRAGMENTED = "frag_every_frame+empty_moov+default_base_moof"


class Encoder(NamedTuple):
    """Encoder of FFmpeg, which PyAV may include."""

    name: str
    options: dict[str, str]
    remark: str  # limits of playback; empty if there are none


#: In order of preference, without look-ahead: each picture is written at once.
ENCODERS = (
    Encoder("libx264", {"preset": "superfast", "tune": "zerolatency", "crf": "18"}, ""),
    Encoder("libopenh264", {"b": "12M", "allow_skip_frames": "0"}, ""),
    Encoder(
        "libvpx-vp9",
        {"crf": "24", "b": "0", "deadline": "realtime", "cpu-used": "5", "lag-in-frames": "0"},
        "VP9, which browsers play and some slide programs do not",
    ),
    Encoder(
        "mpeg4", {"q:v": "3"}, "MPEG-4 part 2, which players such as VLC play and browsers do not"
    ),
)


GIF = Encoder("gif", {}, "")


class Movie:
    """Movie of pictures of one size.

    Use it on one rank, in a ``with`` statement, or `close` it. An odd width or height is padded by
    one column or row, as H.264 requires. A GIF has 256 colours, chosen for each picture.

    Args:
        path: Path of the MP4 or GIF file; its folder is created, an existing file replaced.
        fps: Pictures a second, from 0.1 to 240; of a GIF up to 50.
        encoder: Encoder of an MP4, one of `ENCODERS` by name; the first available one if None.
        threads: Number of threads for encoding, which compete with a solver.
        keep: Whether to keep an existing movie, such as that of a run before a restart, as
            NAME.1.mp4 or with the next free number.

    Attributes:
        encoder: Name of the encoder in use.
        remark: Limits of playback for the user; empty if there are none.
        pictures: Number of pictures written.
        shape: Rows and columns; None before the first picture.
        bytes: Size of the pictures in the file so far.

    Raises:
        OutputError: The encoder is not available, the file cannot be created, or its suffix is
            neither .mp4 nor .gif.
        ValueError: `fps` is out of range.
    """

    def __init__(
        self,
        path: str | Path,
        fps: float = 25.0,
        *,
        encoder: str | None = None,
        threads: int = 1,
        keep: bool = False,
    ) -> None:
        if not 0.1 <= fps <= 240:
            raise ValueError(f"a movie has 0.1 to 240 pictures a second, not {fps:g}")
        self.path = Path(path)
        self.fps = fps
        suffix = self.path.suffix.lower()
        if suffix not in FORMATS:
            raise OutputError(
                f"{self.path} is not a name of a movie: it must end in .mp4 or .gif "
                "(Picture.save writes .png and .jpg)."
            )
        self._gif = suffix == ".gif"
        if self._gif and fps > MAX_GIF_FPS:
            raise ValueError(f"a GIF has at most {MAX_GIF_FPS:g} pictures a second, not {fps:g}")
        chosen = choose_encoder((GIF,) if self._gif else ENCODERS, encoder)
        self.encoder = chosen.name
        self.remark = f"{self.path.name} is {chosen.remark}." if chosen.remark else ""
        self.pictures = 0
        self._options = chosen.options
        self._rate = Fraction(fps).limit_denominator(1000)
        self._threads = threads
        self.shape: tuple[int, int] | None = None
        self._stream: VideoStream | None = None
        self._container: OutputContainer | None = None
        self._convert: FrameConverter | None = None
        self.bytes = 0
        self._failed = False
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if keep and self.path.exists():
                self.path.rename(free_name(self.path))
            self._file = self.path.open("wb")
        except OSError as error:
            raise OutputError(f"The movie cannot be created: {system_sentence(error)}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, picture: Picture | NDArray[np.uint8]) -> None:
        """Append a picture; the file can then be played at least up to the picture before it.

        After a failure the movie keeps its complete pictures, and later calls do nothing.

        Raises:
            OutputError: The picture cannot be written, for example because the disk is full.
            ValueError: The picture has another size than the first.
        """
        pixels = picture.pixels if isinstance(picture, Picture) else picture
        height, width = unmasked(pixels, "the array of pixels").shape[:2]
        if self.shape not in (None, (height, width)):
            assert self.shape is not None
            raise ValueError(
                f"{self.path.name} has pictures of {self.shape[1]} × {self.shape[0]} pixels; "
                f"one of {width} × {height} cannot follow"
            )
        if self._failed:
            return
        try:
            if self._stream is None:
                self._begin(height, width)
            self._append(pixels)
        except OSError as error:
            self._truncate()
            raise OutputError(
                f"{self.path.name} ends after {self.pictures} pictures, further ones are left out: "
                f"{_sentence(error, self.path)}"
            ) from error

    def close(self) -> None:
        """End the file. Further calls do nothing; a failure loses no complete picture.

        Raises:
            OutputError: The last picture cannot be written.
        """
        if self._file.closed:
            return
        if self._failed or not self.pictures:
            self._file.close()
            if self.pictures == 0:
                self.path.unlink(missing_ok=True)
            return
        assert self._container is not None and self._stream is not None
        try:
            self._container.mux(self._stream.encode(None))
            self._container.close()
            self._file.close()
        except OSError as error:
            self._truncate()
            raise OutputError(
                f"{self.path.name} may lack its last picture: {_sentence(error, self.path)}"
            ) from error
        if not self._gif:
            _remux(self.path, self._rate)

    def _begin(self, height: int, width: int) -> None:
        import av

        self.shape = height, width
        flags = {"flush_packets": "1"} | ({} if self._gif else {"movflags": _FRAGMENTED})
        form = "gif" if self._gif else "mp4"
        self._container = av.open(self._file, "w", format=form, options=flags)
        stream = self._stream = cast(
            "VideoStream",
            self._container.add_stream(self.encoder, rate=self._rate, options=dict(self._options)),
        )
        if self._gif:
            stream.width, stream.height, stream.pix_fmt = width, height, "pal8"
            return
        self._convert = FrameConverter(self._threads)
        codec = stream.codec_context
        set_format(codec, width, height, self._threads)
        codec.gop_size = max(1, round(2 * self.fps))  # a player can jump to every other second

    def _append(self, pixels: NDArray[np.uint8]) -> None:
        assert self._stream is not None and self._container is not None
        frame = _indexed(pixels) if self._convert is None else self._convert(pixels)
        frame.pts = self.pictures
        frame.time_base = 1 / self._rate
        self._container.mux(self._stream.encode(frame))
        self._file.flush()
        self.bytes = self._file.tell()
        self.pictures += 1

    def _truncate(self) -> None:
        """Truncate the file to its complete pictures; the last one is incomplete."""
        self._failed = True
        self.pictures = max(0, self.pictures - 1)
        with contextlib.suppress(OSError, ValueError):  # it may be closed
            self._file.flush()
        with contextlib.suppress(OSError):
            os.truncate(self.path, self.bytes)
        with contextlib.suppress(OSError):
            self._file.close()
        if not self.pictures:
            self.path.unlink(missing_ok=True)


def _indexed(pixels: NDArray[np.uint8]) -> VideoFrame:
    """Convert a picture to its own palette of 256 colours, without dithering."""
    from av.video.frame import VideoFrame
    from PIL import Image

    indexed = Image.fromarray(np.ascontiguousarray(pixels[..., :3])).quantize(
        256, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE
    )
    palette = np.zeros((256, 4), np.uint8)
    palette[:, 0] = 255  # opaque: the order is alpha, red, green, blue
    colors = np.array(indexed.getpalette(), np.uint8).reshape(-1, 3)
    palette[: len(colors), 1:] = colors
    paletted: Any = (np.asarray(indexed), palette)  # PyAV's stubs lack palettes
    return VideoFrame.from_ndarray(paletted, format="pal8")


def choose_encoder(encoders: Sequence[Encoder], name: str | None = None) -> Encoder:
    """Return the first available encoder, or the one of a name.

    Raises:
        OutputError: The encoder is not available, or none is.
    """
    try:
        from av.codec import Codec
        from av.codec.codec import UnknownCodecError
    except ImportError as error:
        raise OutputError(
            f"Movies need PyAV; install it with `pip install av` ({error})."
        ) from error

    there = []
    for encoder in encoders:
        with contextlib.suppress(UnknownCodecError):
            Codec(encoder.name, "w")
            there.append(encoder)
    names = ", ".join(encoder.name for encoder in there)
    if name is not None:
        for encoder in there:
            if encoder.name == name:
                return encoder
        raise OutputError(f"This PyAV has no encoder {name}; it has {names or 'none for movies'}.")
    if not there:
        raise OutputError(
            "This PyAV has no encoder for movies; install the wheel from PyPI (`pip install av`), "
            "or write pictures only."
        )
    return there[0]


def _remux(path: Path, rate: Fraction) -> None:
    """Replace a fragmented MP4 by one with its index at the beginning; keep it on failure."""
    import av

    try:
        with (
            atomic_file(path) as fresh,
            av.open(str(path)) as source,
            av.open(str(fresh), "w", format="mp4", options={"movflags": "faststart"}) as target,
        ):
            video = source.streams.video[0]
            copy = target.add_stream_from_template(video)
            for packet in source.demux(video):
                if packet.dts is not None:
                    # Fragments have no duration, and players skip a last picture without one.
                    assert packet.time_base is not None
                    packet.duration = packet.duration or round(1 / (rate * packet.time_base))
                    packet.stream = copy
                    target.mux(packet)
    except (OSError, av.FFmpegError):  # no space for a copy: the fragmented file can be played
        pass


def _sentence(error: OSError, path: Path) -> Any:
    error.filename = error.filename or str(path)
    return system_sentence(error)
