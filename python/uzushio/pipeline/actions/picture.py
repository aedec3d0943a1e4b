"""Action `picture`: a view as a PNG or JPEG file for each step, and as a movie too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from uzushio.config.names import unknown
from uzushio.config.section import Section
from uzushio.errors import PipelineError
from uzushio.pipeline.action import Action
from uzushio.pipeline.actions.reel import Fps, Reel, check_fps
from uzushio.pipeline.context import Context, Setup
from uzushio.pipeline.drawing import Drawing
from uzushio.pipeline.need import Need
from uzushio.pipeline.result_files import MovieFile, PicturePattern
from uzushio.pipeline.stream import Stream
from uzushio.render.view import View


class Files(Section):
    """Which files pictures go to."""

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


class PictureSettings(Files):
    """Which view, and where to."""

    view: str | View = Field(description="name of one of the views, or a section as there")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, given: Any) -> Any:
        return {"view": given} if isinstance(given, str) else given


def view_of(view: str | View, setup: Setup) -> View:
    """The view that is meant; raises `PipelineError`."""
    if isinstance(view, View):
        return view
    views = setup.views
    if view not in views:
        raise PipelineError(f"the view '{view}' {unknown(view, list(views))}")
    return views[view]


class ShowsView(Action[Any]):
    """What draws a view and writes pictures and movies of it.

    Subclasses say which view their settings mean.
    """

    def __init__(self, settings: Any, name: str, setup: Setup) -> None:
        super().__init__(settings, name, setup)
        self._drawing: Drawing | None = None
        self._files: list[str] = []
        file = settings.movie
        self._reel = None if file is None else Reel(setup, file, settings.fps)

    def view(self) -> View:
        """What is shown; raises `PipelineError`."""
        return view_of(self.settings.view, self.setup)

    def files(self) -> Sequence[str]:
        """The pictures, and the movie."""
        pattern = getattr(self.settings, "file", None)
        pictures = [] if pattern is None else [pattern.format(name=self.name, step=0, time=0.0)]
        return pictures if self.settings.movie is None else [*pictures, self.settings.movie]

    def prepare(self, stream: Stream) -> Sequence[Need]:
        """The fields of all layers."""
        self._drawing = Drawing.of(self.view(), self.setup)
        return self._drawing.prepare(stream)

    def run(self, context: Context) -> None:
        """Draw and write."""
        assert self._drawing is not None
        picture = self._drawing.picture(context)
        with context.stage("write"), context.together():
            if picture is None:
                return
            pattern = getattr(self.settings, "file", None)
            if pattern is not None:
                named = pattern.format(name=self.name, step=context.index, time=context.time)
                picture.save(context.folder / named)
                self._files.append(named)
            if self._reel is not None:
                self._reel.add(picture)

    def close(self) -> None:
        """Finish the movie."""
        if self._reel is not None:
            self._reel.close()
        if self._drawing is not None:
            self._drawing.close()

    def summary(self) -> Mapping[str, Any]:
        """Files, and values that were not numbers."""
        movie = {} if self._reel is None else self._reel.summary()
        nan = 0 if self._drawing is None else self._drawing.nan
        view = self.settings.view if isinstance(getattr(self.settings, "view", None), str) else None
        return {"view": view, "files": self._files, "nan": nan, **movie}


class Picture(ShowsView):
    """A picture of a view."""

    settings_model: ClassVar[type[Section]] = PictureSettings

    @classmethod
    def default_name(cls, settings: Any) -> str:
        """That of the view."""
        return settings.view if isinstance(settings.view, str) else ""
