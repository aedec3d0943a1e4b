"""Movie of the pictures that a page shows, in a temporary file of its own."""

from __future__ import annotations

import asyncio
import secrets
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from uzushio.errors import OutputError
from uzushio.render.movie import Movie
from uzushio.viewer.exchange import DrawnPicture

#: Maximum bytes and pictures of a recording; at 25 pictures a second ten minutes.
MAX_BYTES, MAX_PICTURES = 512 << 20, 15_000
#: Pictures that wait for encoding, from which on no further one is drawn.
_MAX_WAITING = 2

State = Literal["recording", "finishing", "ready", "failed"]


class Recording:
    """Movie of the pictures of a page from now on; all calls on one event loop.

    A picture of another size, as while dragging or after the window has changed, is scaled to the
    size of the first. The file is in a folder that only the user can read, until `discard`.

    Args:
        every: `step`: the first picture in full quality of each step; `time`: as on the screen, at
            a constant rate.
        fps: pictures a second of the movie.
        changed: called after each change of the attributes.
        max_bytes: maximum bytes of the file.
        max_pictures: maximum number of pictures.

    Attributes:
        state: `recording`; `finishing` the file; `ready`; `failed`: there is no file.
        text: sentence on an end that the page has not requested; may be empty.
        key: name of the recording that cannot be guessed.
        pictures: number of pictures in the file.
        bytes: size of the file.

    Raises:
        OutputError: there is no encoder, or the file cannot be made.
    """

    def __init__(
        self,
        every: Literal["step", "time"],
        fps: float,
        changed: Callable[[], None],
        max_bytes: int = MAX_BYTES,
        max_pictures: int = MAX_PICTURES,
    ) -> None:
        self.state: State = "recording"
        self.text, self.key = "", secrets.token_urlsafe(16)
        self.pictures = self.bytes = 0
        self._every, self._fps, self._changed = every, fps, changed
        self._max_bytes, self._max_pictures = max_bytes, max_pictures
        self._loop = asyncio.get_running_loop()
        try:
            self._folder = tempfile.TemporaryDirectory(prefix="uzushio-movie-")
        except OSError as error:
            raise OutputError(f"The movie cannot be created: {error}.") from error
        try:
            self._movie = Movie(self.path, fps)
        except OutputError:
            self._folder.cleanup()
            raise
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="uzushio-recording")
        self._waiting = 0
        self._step: int | None = None
        self._newest: NDArray[np.uint8] | None = None
        self._began = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def path(self) -> Path:
        """File of the movie."""
        return Path(self._folder.name) / "movie.mp4"

    @property
    def seconds(self) -> float:
        """Length of the movie."""
        return self.pictures / self._fps

    @property
    def busy(self) -> bool:
        """Whether further pictures should wait, so that none is left out."""
        return self._waiting >= _MAX_WAITING

    def add(self, picture: DrawnPicture) -> None:
        """Take a picture that the page shows."""
        if self.state != "recording":
            return
        if self._every == "step":
            if picture.request.final and picture.step != self._step:
                self._step = picture.step
                self._submit(picture.pixels, 1)
        elif self._newest is not None:
            self._newest = picture.pixels
        elif picture.request.final:  # its size is that of the movie
            self._newest, self._began = picture.pixels, self._loop.time()
            self._tick()

    def stop(self, text: str = "") -> None:
        """End the movie; it is `ready` soon."""
        if self.state != "recording":
            return
        self.state, self.text = "finishing", text
        self._end_timer()
        self._changed()
        future = self._loop.run_in_executor(self._thread, self._finish)
        future.add_done_callback(self._finished)

    def discard(self) -> None:
        """Remove the file; the last call."""
        self._end_timer()
        self.state, self._changed = "failed", lambda: None
        with suppress(RuntimeError):  # the second call
            self._thread.submit(self._remove)
        self._thread.shutdown(wait=False)

    def _end_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _tick(self) -> None:
        """Write the newest picture as often as it is due; a slow encoder writes it later."""
        assert self._newest is not None
        now = self._loop.time()
        due = int((now - self._began) * self._fps) + 1 - self.pictures
        if due > 0 and not self._waiting:
            self._submit(self._newest, due)
        self._timer = self._loop.call_later(1 / self._fps, self._tick)

    def _submit(self, pixels: NDArray[np.uint8], times: int) -> None:
        self._waiting += 1
        times = min(times, self._max_pictures - self.pictures)
        write = partial(self._write, pixels, times)
        future = self._loop.run_in_executor(self._thread, write)
        future.add_done_callback(self._written)

    def _written(self, future: asyncio.Future[tuple[int, int]]) -> None:
        self._waiting -= 1
        error = None if future.cancelled() else future.exception()
        if error is not None:
            self.stop(f"{error}")
            return
        self.pictures, self.bytes = future.result()
        if self.bytes >= self._max_bytes:
            self.stop(f"The movie has reached {self._max_bytes / (1 << 20):g} MB, the maximum.")
        elif self.pictures >= self._max_pictures:
            self.stop(f"The movie has reached {self._max_pictures} pictures, the maximum.")
        self._changed()

    def _finished(self, future: asyncio.Future[int]) -> None:
        if self.state != "finishing":
            return
        error = future.exception()
        self.bytes = 0 if error is not None else future.result()
        self.state = "ready" if self.bytes else "failed"
        self.text = str(error) if error is not None else self.text
        if self.state == "failed" and not self.text:
            self.text = "No picture in full quality was shown; there is no movie."
        self._changed()

    # ---- in the thread

    def _write(self, pixels: NDArray[np.uint8], times: int) -> tuple[int, int]:
        movie = self._movie
        pixels = pixels if movie.shape is None else fitted(pixels, movie.shape)
        for _ in range(times):
            movie.write(pixels)
            if movie.bytes >= self._max_bytes:
                break
        return movie.pictures, movie.bytes

    def _finish(self) -> int:
        self._movie.close()
        return self.path.stat().st_size if self._movie.pictures else 0

    def _remove(self) -> None:
        with suppress(OutputError):
            self._movie.close()
        self._folder.cleanup()


def fitted(pixels: NDArray[np.uint8], shape: tuple[int, int]) -> NDArray[np.uint8]:
    """Return a picture scaled to rows and columns; its shape is kept, and the rest filled."""
    if pixels.shape[:2] == shape:
        return pixels
    from PIL import Image, ImageOps

    image = Image.fromarray(np.ascontiguousarray(pixels[..., :3]))
    color = tuple(int(level) for level in pixels[0, 0, :3])
    scaled = ImageOps.pad(image, shape[::-1], Image.Resampling.BILINEAR, color=color)
    return np.asarray(scaled)
