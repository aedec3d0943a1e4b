"""Runs and jobs without a summary: killed, out of space, or still running."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from uzushio._base.config import yaml_file
from uzushio._base.files import PIPELINE
from uzushio._base.store.checkpoint.folder import FOLDER as CHECKPOINTS
from uzushio._base.store.checkpoint.manifest import NAME as MANIFEST
from uzushio._base.store.checkpoint.manifest import read_manifest
from uzushio._job import run_folder
from uzushio.errors import CheckpointError
from uzushio.report.results import IMAGES, MOVIES, Action, Run, figures_in

#: Contents of the folder of a reader job.
_JOB = ".uzushio-render"
_PICTURE = re.compile(r"(.+?)[_-]?\d+")
_PAGE = re.compile(r".*\.html")


def cut_off(folder: Path) -> Run | None:
    """Return the run of a folder without a summary, from its files; None if there is none."""
    if (folder / run_folder.MARK).is_file():
        return Run(folder, _solver(folder), ended=False, figures=figures_in(folder))
    inside = folder.name.startswith(PIPELINE) and (folder.parent / run_folder.MARK).is_file()
    if not inside and not (folder / _JOB).is_file():
        return None
    return Run(folder, {}, ended=False, actions=_actions(folder))


def _solver(folder: Path) -> dict[str, Any]:
    """Return the values of the case and of the newest checkpoint."""
    entry: dict[str, Any] = {"solver": "", "title": "", "step": None, "time": None}
    try:
        case = yaml_file.parse_value((folder / run_folder.CASE).read_text(encoding="utf-8"))
        entry["title"] = str(case.get("title", ""))
        entry["solver"] = str(case["model" if "model" in case else "solver"])
        if "model" in case:
            entry["kind"] = "assimilation"
    except (OSError, ValueError, LookupError, TypeError, AttributeError, yaml.YAMLError):
        pass
    for manifest in sorted((folder / CHECKPOINTS).glob(f"*/{MANIFEST}"), reverse=True):
        try:
            content = read_manifest(manifest.parent)
        except CheckpointError:
            continue
        return entry | {"step": content.step, "time": content.time}
    return entry


def _actions(folder: Path) -> list[Action]:
    """Return the files, grouped by action according to their names."""
    actions: dict[str, Action] = {}
    paths = [path for path in folder.iterdir() if path.name != "pictures"]
    if (folder / "pictures").is_dir():
        paths += (folder / "pictures").iterdir()
    for path in sorted(paths):
        if path.name.startswith(".") or _PAGE.fullmatch(path.name):
            continue
        numbered = _PICTURE.fullmatch(path.stem) if path.suffix in IMAGES else None
        name = numbered[1] if numbered else path.stem
        action = actions.setdefault(name, Action(name, {}))
        if numbered or path.suffix in MOVIES:
            action.entry = {"view": name}
        action.add(path)
    return list(actions.values())
