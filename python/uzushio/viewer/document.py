"""Views and plots that the pages edit: sections of a pipeline file."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, ValidationError, model_validator

from uzushio._base.config import yaml_file
from uzushio._base.config.case_errors import mistakes_of
from uzushio._base.config.section import Section
from uzushio._base.config.yaml_file import KeyPath
from uzushio.errors import ViewerError
from uzushio.pipeline import load
from uzushio.pipeline.actions.plot import PlotSettings
from uzushio.pipeline.model import PipelineFile
from uzushio.pipeline.sources import SourceSettings
from uzushio.pipeline.stream import Stream
from uzushio.render.casting import colouring
from uzushio.render.view import View
from uzushio.viewer.document_limits import RefusedChange, check_limits, check_sources
from uzushio.viewer.plot_state import PlotRequest

#: Maximum samples of a picture: pixels times samples of each.
MAX_SAMPLES = 4 * 3840 * 2160
#: Maximum number of plots.
MAX_PLOTS = 8
#: Maximum number of changed paths that are kept to find conflicts.
_MAX_CHANGED = 1000


class PlotItem(Section):
    """Action `plot` of every step."""

    name: Annotated[str, Field(pattern=r"^\w[\w.-]*$", max_length=64)]
    plot: PlotSettings

    @model_validator(mode="after")
    def _no_files(self) -> Self:
        if self.plot.compare:
            raise ValueError(
                "reference curves are files of the viewer's machine; add them to the saved "
                "pipeline file"
            )
        return self


class _Sections(PipelineFile):
    """The sections that pages edit; plots are the only actions."""

    actions: list[PlotItem] = Field(default_factory=list, max_length=MAX_PLOTS)

    @model_validator(mode="after")
    def _unique_names(self) -> Self:
        names = [item.name for item in self.actions]
        if len(set(names)) < len(names):
            raise ValueError("two plots have the same name; choose another one")
        return self


@dataclass
class DocumentView:
    """View in the document.

    Attributes:
        settings: validated section.
        values: the section in YAML's types, without keys that have their defaults.
        revision: revision of the document when the view or `sources` changed last.
        changed_by: page that made this change; None: no page.
    """

    settings: View
    values: dict[str, Any]
    revision: int
    changed_by: str | None = None


class ViewDocument:
    """Sections `sources`, `views` and `actions` with a revision, which each change increases.

    Sources and plots, the only actions, are common to all pages; a view belongs to a page.

    A change is validated by the models of a pipeline file, and applied as a whole or not at all.

    Attributes:
        stream: content of the stream, for which changed sources are checked; None: not known.
    """

    def __init__(self) -> None:
        self.revision = 0
        self.stream: Stream | None = None
        self.sources: dict[str, SourceSettings] = {}
        self.source_values: dict[str, Any] = {}
        self.plots: list[PlotItem] = []
        self.plot_values: list[dict[str, Any]] = []
        self.views: dict[str, DocumentView] = {}
        self._changed: dict[KeyPath, tuple[int, str]] = {}
        self._discarded = 0  # revision of the newest change that is no longer kept

    def load(self, path: Path | str) -> list[str]:
        """Add sources, views and plots of a pipeline file; return the names of its views.

        Other actions, triggers and reference curves are left out.

        Raises:
            CaseError: the file is not valid, with a line for each mistake.
            ViewerError: the file has no views.
        """
        definition = load(path, need_actions=False)
        file, document = definition.file, definition.document
        if not file.views:
            raise ViewerError(f"{path} has no views; name a pipeline file with a section `views`.")
        base = Path(path).parent
        views = {
            name: view
            if view.font is None
            else view.model_copy(update={"font": (base / view.font.expanduser()).resolve()})
            for name, view in file.views.items()
        }
        items = [yaml_file.plain(item) for item in _plots_of(document.values.get("actions"))]
        plots = [*self.plots, *(PlotItem.model_validate(item) for item in items)][:MAX_PLOTS]
        self._accept({**self.sources, **file.sources}, views, None, plots)
        return list(views)

    def requested_plots(self) -> PlotRequest:
        """Return the plots for the drawing side."""
        return PlotRequest(self.sources, {item.name: item.plot for item in self.plots})

    def add(self, name: str, settings: Mapping[str, Any]) -> None:
        """Add or replace a view.

        Raises:
            RefusedChange: the settings are not valid.
        """
        checked = _validate({}, {name: yaml_file.plain(settings)}, [])
        self._accept(None, checked.views, None)

    def remove(self, name: str) -> None:
        """Remove a view."""
        self.views.pop(name, None)
        self._changed = {path: was for path, was in self._changed.items() if path[1:2] != (name,)}

    def apply(
        self, view: str, changes: Iterable[tuple[KeyPath, Any]], base: int, author: str
    ) -> None:
        """Apply changes of a page to `sources`, `actions` and the view that it shows.

        Args:
            view: name of the view.
            changes: path and new value of each; None removes a key or an entry of a list.
            base: revision of the view that the page has seen.
            author: name of the page; its own changes after `base` are no conflict.

        Raises:
            RefusedChange: a path or a value is not valid, or another page has changed it after
                `base`. Nothing is changed.
        """
        changes = list(changes)
        document: dict[str, Any] = {
            "sources": copy.deepcopy(self.source_values),
            "views": {view: copy.deepcopy(self.views[view].values)},
            "actions": copy.deepcopy(self.plot_values),
        }
        for path, value in changes:
            self._check_path(path, view)
            self._check_conflict(path, base, author)
            _assign(document, path, value)
        if view not in document["views"]:
            raise RefusedChange("a view cannot be removed", ("views", view))
        new_sources, new_plots = (
            any(path[0] == key for path, _ in changes) for key in ("sources", "actions")
        )
        try:
            checked = _validate(
                document.get("sources", {}) if new_sources else {},
                document["views"],
                document.get("actions", []) if new_plots else [],
            )
            if new_sources:
                check_sources(checked.sources, self.sources, self.stream)
        except RefusedChange as error:
            # A mistake in a section as a whole is that of the only change in it.
            inside = [path for path, _ in changes if path[: len(error.path)] == error.path]
            error.path = inside[0] if len(inside) == 1 else error.path
            raise
        if checked.views[view].font != self.views[view].settings.font:
            raise RefusedChange(
                "the font is a file of the viewer's machine and is set in the pipeline file alone",
                ("views", view, "font"),
            )
        self._accept(
            checked.sources if new_sources else None,
            checked.views,
            author,
            checked.actions if new_plots else None,
        )
        for path, _ in changes:
            self._remember(path, author)

    def changes_of(self, text: str, view: str, name: str | None) -> list[tuple[KeyPath, Any]]:
        """Return the changes that replace a view, and the plots, by those of a pipeline file.

        Args:
            text: text of the file.
            view: the view to replace.
            name: name of the view in the file; None: the first.

        Raises:
            CaseError: the text is not YAML.
            RefusedChange: it has no such view.
        """
        values, _ = yaml_file.parse(text, "the file", "pipeline")
        views, sources = values.get("views"), values.get("sources") or {}
        if not isinstance(views, dict) or not views or not isinstance(sources, dict):
            raise RefusedChange("the file has no section `views` with a view")
        name = name or str(next(iter(views)))
        if name not in views:
            raise RefusedChange(
                f"the file has no view '{name}'; it has {', '.join(map(str, views))}"
            )
        plain = yaml_file.plain(sources)
        changes: list[tuple[KeyPath, Any]] = [(("sources", key), plain[key]) for key in plain]
        plots = [yaml_file.plain(item) for item in _plots_of(values.get("actions"))][:MAX_PLOTS]
        if plots:
            changes.append((("actions",), plots))
        return [*changes, (("views", view), yaml_file.plain(views[name]))]

    def save(self, view: str, limits: Mapping[str, tuple[float, float]] | None = None) -> str:
        """Return a pipeline file that makes the picture of a view, and the plots, at each step.

        Args:
            view: name of the view.
            limits: limits of the colours of its picture, by label; written where they follow the
                values.
        """
        content: dict[str, Any] = {"sources": self.source_values} if self.source_values else {}
        values = copy.deepcopy(self.views[view].values)
        for layer, section in zip(self.views[view].settings.layers, values["layers"], strict=True):
            if (colored := colouring(layer)) is None or colored[0].fixed:
                continue
            colors, field = colored
            source = self.sources.get(field)
            label = colors.label or (source.label if source is not None else "") or field
            if limits and label in limits:
                section["color"] = {**section.get("color", {}), "limits": list(limits[label])}
        content |= {"views": {view: values}, "actions": [{"picture": view}]}
        content["actions"] += self.plot_values
        return yaml_file.dump(content)

    def _accept(
        self,
        sources: dict[str, SourceSettings] | None,
        views: Mapping[str, View],
        author: str | None,
        plots: list[PlotItem] | None = None,
    ) -> None:
        """Store validated views, and sources and plots unless None, as a new revision."""
        self.revision += 1
        if sources is not None:
            self.sources = sources
            self.source_values = {name: _values(source) for name, source in sources.items()}
        if plots is not None:
            self.plots, self.plot_values = plots, [_values(plot) for plot in plots]
        if sources is not None or plots is not None:
            for view in self.views.values():
                view.revision, view.changed_by = self.revision, author
        for name, settings in views.items():
            self.views[name] = DocumentView(settings, _values(settings), self.revision, author)

    def _check_path(self, path: KeyPath, view: str) -> None:
        if path[:2] != ("views", view) and path[:1] not in (("sources",), ("actions",)):
            raise RefusedChange(
                "a path begins with sources, with actions, or with views and "
                f"{view}, the view that is shown",
                path,
            )

    def _check_conflict(self, path: KeyPath, base: int, author: str) -> None:
        """Raise `RefusedChange` if another page has changed `path` after `base`."""
        if base < self._discarded:
            raise RefusedChange("the page has an old view; the newest one comes with this answer")
        for other, (revision, by) in self._changed.items():
            common = min(len(path), len(other))
            if revision > base and by != author and path[:common] == other[:common]:
                raise RefusedChange(
                    f"{by} has changed this meanwhile; the newest view comes with this answer", path
                )

    def _remember(self, path: KeyPath, author: str) -> None:
        self._changed.pop(path, None)  # so that the oldest change is the first
        self._changed[path] = self.revision, author
        if len(self._changed) > _MAX_CHANGED:
            oldest = next(iter(self._changed))
            self._discarded, _ = self._changed.pop(oldest)


def _plots_of(actions: Any) -> list[dict[str, Any]]:
    """Return the plots among the actions of a file, with names, without reference curves."""
    items = []
    for number, item in enumerate(actions if isinstance(actions, list) else [], 1):
        if isinstance(item, dict) and isinstance(item.get("plot"), dict):
            plot = {key: value for key, value in item["plot"].items() if key != "compare"}
            items.append({"name": item.get("name") or f"plot-{number}", "plot": plot})
    return items


def _validate(sources: Any, views: Any, actions: Any) -> _Sections:
    """Return the validated sections, or raise `RefusedChange` for the first mistake."""
    values = {"sources": sources, "views": views, "actions": actions}
    for path, section in (
        (("sources",), sources),
        (("actions",), actions),
        *((("views", n), view) for n, view in views.items()),
    ):
        check_limits(section, path)
    try:
        checked = _Sections.model_validate(values)
    except ValidationError as error:
        path, message = mistakes_of(error, _Sections, values)[0]
        raise RefusedChange(message, path) from error
    for name, view in checked.views.items():
        if view.size[0] * view.size[1] * view.samples**2 > MAX_SAMPLES:
            raise RefusedChange(
                f"a live picture has at most {MAX_SAMPLES} samples (columns x rows x samples²); "
                "choose a smaller size or fewer samples",
                ("views", name, "samples" if view.samples > 1 else "size"),
            )
    return checked


def sections_schema() -> dict[str, Any]:
    """Return the JSON schema of the sections, for the page's controls."""
    schema = _Sections.model_json_schema()
    schema["properties"] = {
        key: schema["properties"][key] for key in ("sources", "views", "actions")
    }
    return schema


def _values(section: View | SourceSettings | PlotItem) -> dict[str, Any]:
    """Return a section in YAML's types, without keys that were not given."""
    values: dict[str, Any] = section.model_dump(mode="json", exclude_unset=True)
    return values


def _assign(document: dict[str, Any], path: KeyPath, value: Any) -> None:
    """Set or, with None, remove the value at `path`; missing sections on the way are made.

    Raises:
        RefusedChange: there is no such place.
    """
    inside: Any = document
    for depth, key in enumerate(path):
        last = depth == len(path) - 1
        place: Any = key
        if isinstance(inside, list):
            if not isinstance(key, int) or not 0 <= key <= len(inside):
                raise RefusedChange(f"has {len(inside)} entries and no entry {key!r}", path[:depth])
            if key == len(inside):
                inside.append({})
        elif isinstance(inside, dict):
            place = str(key)
            if not last or value is None:
                inside.setdefault(place, {})
        else:
            raise RefusedChange("is a value, and no section", path[:depth])
        if not last:
            inside = inside[place]
        elif value is None:
            del inside[place]
        else:
            inside[place] = value
