"""Model of a pipeline's file; see docs/how-to/pictures.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag, create_model, field_validator

from uzushio._base.config.names import unknown
from uzushio._base.config.quantities import Seconds
from uzushio._base.config.section import Section
from uzushio._base.config.yaml_document import Document
from uzushio._base.parallel.sync import WAIT_LIMIT
from uzushio.errors import CaseError, PipelineError
from uzushio.pipeline.action_table import ACTIONS, action_class
from uzushio.pipeline.sources import SourceSettings
from uzushio.pipeline.trigger import TriggerSettings
from uzushio.render.view import View

#: Maximum number of actions of unknown kind in one message.
_MAX_MISTAKES = 20

OnError = Literal["continue", "stop"]


def _field_name(given: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", given):
        raise ValueError("must be letters, digits and _, and not begin with a digit")
    return given


def _file_name(given: str) -> str:
    if not re.fullmatch(r"\w[\w.-]*", given):
        raise ValueError(
            "must be letters, digits, _, - and full stops, and begin with a letter, digit or _"
        )
    return given


#: Name that is valid for a file and for a field in an expression.
Name = Annotated[str, AfterValidator(_field_name)]


class ActionItem(TriggerSettings):
    """Keys of all actions: triggers, name, and behaviour after a failure."""

    name: Annotated[str, AfterValidator(_file_name)] | None = Field(
        None, description="name in messages and in names of files"
    )
    on_error: OnError | None = Field(None, description="overrides that of the pipeline")
    wait_limit: Seconds = Field(
        WAIT_LIMIT,
        description="timeout for the other ranks at the end of the action; then the job ends",
    )


class PipelineFile(Section):
    """Whole file; `load` adds the models of the actions that the file names."""

    title: str = ""
    on_error: OnError = Field(
        "continue", description="after an action fails: continue with the others, or stop"
    )
    sources: dict[Name, SourceSettings] = Field(default_factory=dict)
    views: dict[Name, View] = Field(default_factory=dict)
    actions: list[Any] = Field(min_length=1)

    @field_validator("sources", "views", mode="before")
    @classmethod
    def _none(cls, given: Any) -> Any:
        return {} if given is None else given


class _ViewFile(PipelineFile):
    """File without a section `actions`."""

    actions: list[Any] = Field(default_factory=list)


class PipelineDefinition:
    """Validated pipeline file.

    Attributes:
        path: path of the file.
        document: YAML document with the lines of all keys.
        file: validated content.
        kinds: kinds of the actions, in order.
    """

    def __init__(self, path: Path, document: Document, file: PipelineFile) -> None:
        self.path, self.document, self.file = path, document, file
        self.kinds = [_kind(item) for item in document.values.get("actions", [])]

    def where(self, action: int) -> str:
        """Return file and line of an action."""
        return self.document.where(("actions", action))


def load(path: Path | str, need_actions: bool = True) -> PipelineDefinition:
    """Read and validate a pipeline's file.

    Args:
        path: path of the file.
        need_actions: whether a file without `actions` is invalid.

    Raises:
        CaseError: one line for each mistake, naming the file and line, the key, the value given
            and what is allowed.
    """
    document = Document.read(path, "pipeline")
    document.refuse_other("a pipeline", "actions")
    actions = document.values.get("actions")
    kinds: set[str] = set()
    mistakes = []
    for number, item in enumerate(actions if isinstance(actions, list) else []):
        try:
            kind = _kind_of(item)
            action_class(kind)
            kinds.add(kind)
        except PipelineError as error:
            mistakes.append(f"{document.where(('actions', number))}: actions.{number}: {error}")
            if len(mistakes) == _MAX_MISTAKES:
                break
    if mistakes:
        raise CaseError("\n".join(mistakes))
    with_actions = need_actions or "actions" in document.values
    model = _model(sorted(kinds)) if with_actions else _ViewFile
    return PipelineDefinition(Path(path), document, document.validate(model))


def _model(kinds: list[str]) -> type[PipelineFile]:
    """Make the model of files with these kinds of actions."""
    if not kinds:
        return PipelineFile
    members = [
        Annotated[
            create_model(  # type: ignore[call-overload]
                f"{kind} action",
                __base__=ActionItem,
                **{kind: (action_class(kind).settings_model, ...)},
            ),
            Tag(f"action {kind}"),
        ]
        for kind in kinds
    ]
    union: Any = members[0]
    for member in members[1:]:
        union = union | member
    if len(members) > 1:
        union = Annotated[union, Discriminator(lambda item: f"action {_kind(item)}")]
    return create_model(
        "PipelineFile",
        __base__=PipelineFile,
        actions=(Annotated[list[union], Field(min_length=1)], ...),
    )


def _kind_of(item: Any) -> str:
    """Return the kind of an action in the file; raises `PipelineError` without full stop."""
    if not isinstance(item, dict):
        raise PipelineError(f"got {item!r}, must be a section such as {{picture: NAME, every: 10}}")
    kinds = [key for key in item if key in ACTIONS]
    if len(kinds) > 1:
        raise PipelineError(
            f"has the keys {' and '.join(kinds)}, and an action is of one kind; put its settings "
            "into the section of the kind, as {picture: {view: NAME, movie: FILE}, every: 10}"
        )
    if kinds:
        return str(kinds[0])
    common = list(ActionItem.model_fields)
    others = [str(key) for key in item if key not in common]
    if others:
        raise PipelineError(f"the key '{others[0]}' {unknown(others[0], [*ACTIONS, *common])}")
    raise PipelineError(f"needs a kind of action (allowed: {', '.join(ACTIONS)})")


def _kind(item: Any) -> str:
    """Return the kind of a valid item, or of its model."""
    if isinstance(item, ActionItem):
        return next(key for key in type(item).model_fields if key in ACTIONS)
    return next((str(key) for key in item if key in ACTIONS), "")
