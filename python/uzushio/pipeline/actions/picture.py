"""Action `picture`: PNG or JPEG files of a view, one for each step, and optionally a movie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from uzushio._base.config.names import unknown
from uzushio._base.config.section import Section
from uzushio._base.parallel.sync import collective
from uzushio.errors import PipelineError
from uzushio.pipeline.action import Action
from uzushio.pipeline.actions.movie_writer import Fps, MovieWriter, check_fps
from uzushio.pipeline.context import Context, Setup
from uzushio.pipeline.drawing import Drawing
from uzushio.pipeline.need import Need
from uzushio.pipeline.result_files import MovieFile, PicturePattern, pictures_after
from uzushio.pipeline.stream import Stream
from uzushio.render.view import View


class PictureFiles(Section):
    """Files of pictures."""

    file: PicturePattern | None = Field(
        "pictures/{name}_{step:08d}.png",
        description="of each picture, .png or .jpg, in the folder of results; may hold {name}, "
        "{step} and {time}; null for none",
    )
    movie: MovieFile | None = Field(
        None, description="file of a movie of these pictures, .mp4 or .gif"
    )
    fps: Fps = Field(12.0, description="pictures a second of the movie")

    @model_validator(mode="after")
    def _movie_can_be(self) -> Self:
        check_fps(self.movie, self.fps)
        return self


class PictureSettings(PictureFiles):
    """View and files of pictures."""

    view: str | View = Field(description="name of one of the views, or a section as there")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, given: Any) -> Any:
        return {"view": given} if isinstance(given, str) else given


def view_of(view: str | View, setup: Setup) -> View:
    """Return a view given by name or as a section; raises `PipelineError` for unknown names."""
    if isinstance(view, View):
        return view
    views = setup.views
    if view not in views:
        raise PipelineError(f"the view '{view}' {unknown(view, list(views))}")
    return views[view]


class ViewAction(Action[Any]):
    """Base of the actions that draw a view and write pictures and movies of it.

    Subclasses return their view in `view`.
    """

    def __init__(self, settings: Any, name: str, setup: Setup) -> None:
        super().__init__(settings, name, setup)
        self._drawing: Drawing | None = None
        self._files: list[str] = []
        self._drawn = self._blank = 0  # pictures, and those that are blank, on rank 0
        file = settings.movie
        self._movie_writer = None if file is None else MovieWriter(setup, file, settings.fps)

    def view(self) -> View:
        """Return the view; raises `PipelineError`."""
        return view_of(self.settings.view, self.setup)

    def files(self) -> Sequence[str]:
        """Return the picture of step 0 and the movie."""
        pattern = getattr(self.settings, "file", None)
        pictures = [] if pattern is None else [pattern.format(name=self.name, step=0, time=0.0)]
        return pictures if self.settings.movie is None else [*pictures, self.settings.movie]

    def prepare(self, stream: Stream) -> Sequence[Need]:
        """Return the needs of all layers."""
        self._drawing = Drawing.of(self.view(), self.setup)
        return self._drawing.prepare(stream)

    def truncate(self, step: int) -> None:
        """Remove the pictures of later steps; an earlier movie is kept under another name."""
        pattern = getattr(self.settings, "file", None)
        if pattern is not None:
            for path in pictures_after(self.setup.folder, pattern, self.name, step):
                path.unlink()

    def run(self, context: Context) -> None:
        """Draw the picture, and write it."""
        assert self._drawing is not None
        picture = self._drawing.picture(context)
        with context.section("write"), collective(context.comm):
            if picture is None:
                return
            self._drawn, self._blank = self._drawn + 1, self._blank + picture.blank
            pattern = getattr(self.settings, "file", None)
            if pattern is not None:
                named = pattern.format(name=self.name, step=context.index, time=context.time)
                picture.save(context.folder / named)
                self._files.append(named)
            if self._movie_writer is not None:
                self._movie_writer.add(picture)

    def finish(self) -> None:
        """Raise `PipelineError` if all pictures are blank (collective)."""
        with collective(self.setup.comm):
            if self._drawn and self._blank == self._drawn:
                which = "The picture is" if self._drawn == 1 else f"All {self._drawn} pictures are"
                raise PipelineError(f"{which} blank: nothing of the layers is in view.")

    def close(self) -> None:
        """Finish the movie."""
        if self._movie_writer is not None:
            self._movie_writer.close()
        if self._drawing is not None:
            self._drawing.close()

    def summary(self) -> Mapping[str, Any]:
        """Return the files and the number of non-finite values."""
        movie = {} if self._movie_writer is None else self._movie_writer.summary()
        nan = 0 if self._drawing is None else self._drawing.nan
        view = self.settings.view if isinstance(getattr(self.settings, "view", None), str) else None
        return {"view": view, "files": self._files, "nan": nan, **movie}


class Picture(ViewAction):
    """Picture of a view."""

    settings_model: ClassVar[type[Section]] = PictureSettings

    @classmethod
    def default_name(cls, settings: Any) -> str:
        """Return the name of the view."""
        return settings.view if isinstance(settings.view, str) else ""
