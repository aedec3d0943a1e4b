"""Action `movie`: movie of a view, without files of single pictures."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from uzushio._base.config.section import Section
from uzushio.pipeline.actions.movie_writer import Fps, check_fps
from uzushio.pipeline.actions.picture import ViewAction
from uzushio.pipeline.result_files import MovieFile
from uzushio.render.view import View


class MovieSettings(Section):
    """View and file of a movie."""

    view: str | View = Field(description="name of one of the views, or a section as there")
    movie: MovieFile = Field(
        "", alias="file", description=".mp4 or .gif; the view's name with .mp4 if not given"
    )
    fps: Fps = Field(12.0, description="pictures a second")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, given: Any) -> Any:
        given = {"view": given} if isinstance(given, str) else given
        if isinstance(given, dict) and "file" not in given:
            view = given.get("view")
            given = given | {"file": f"{view if isinstance(view, str) else 'movie'}.mp4"}
        return given

    @model_validator(mode="after")
    def _movie_can_be(self) -> Self:
        check_fps(self.movie, self.fps)
        return self


class Movie(ViewAction):
    """Movie of a view."""

    settings_model: ClassVar[type[Section]] = MovieSettings

    @classmethod
    def default_name(cls, settings: Any) -> str:
        """Return the name of the view, followed by "_movie"."""
        return f"{settings.view}_movie" if isinstance(settings.view, str) else ""
