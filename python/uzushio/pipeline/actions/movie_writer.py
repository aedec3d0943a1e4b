"""Writer of a movie, on rank 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from uzushio.pipeline.context import Setup
from uzushio.render.movie import MAX_GIF_FPS

if TYPE_CHECKING:
    from uzushio.render.movie import Movie
    from uzushio.render.picture import Picture

Fps = Annotated[float, Field(ge=0.1, le=240.0)]


def check_fps(file: str | None, fps: float) -> None:
    """Raise `ValueError` if the format of the file does not support the frame rate."""
    if file is not None and file.lower().endswith(".gif") and fps > MAX_GIF_FPS:
        raise ValueError(f"a GIF has at most {MAX_GIF_FPS:g} pictures a second, not {fps:g}")


class MovieWriter:
    """Movie that is opened with its first picture."""

    def __init__(self, setup: Setup, file: str, fps: float) -> None:
        self._setup, self._file, self._fps = setup, file, fps
        self._movie: Movie | None = None

    def add(self, picture: Picture) -> None:
        """Append a picture.

        Raises:
            OutputError: the movie cannot be written: no encoder, no space.
        """
        if self._movie is None:
            from uzushio.render.movie import Movie

            self._movie = Movie(self._setup.folder / self._file, self._fps, keep=True)
            if self._movie.remark:
                self._setup.say(self._movie.remark)
        self._movie.write(picture)

    def close(self) -> None:
        """Finish the file; raises `OutputError`."""
        if self._movie is not None:
            self._movie.close()

    def summary(self) -> dict[str, Any]:
        """Return the file, the number of its pictures and the encoder."""
        if self._movie is None:
            return {"movie": None, "movie_pictures": 0}
        return {
            "movie": self._file,
            "movie_pictures": self._movie.pictures,
            "encoder": self._movie.encoder,
        }
