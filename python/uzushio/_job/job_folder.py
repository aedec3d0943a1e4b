"""Folder of a job: its mark, its lock, and protection of files of others."""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from uzushio._base.files import atomic_write, dangling
from uzushio._job.folder_lock import FILE as LOCK
from uzushio._job.folder_lock import FolderLock, check_free
from uzushio.errors import OutputError


class JobFolder:
    """Folder of the jobs of one kind, marked by a small file and locked while a job works there.

    Files are removed or replaced only in a folder with the mark.

    Args:
        path: path of the folder.
        mark: name of the marking file.
        writer: name of such a job in messages.
        written: names of the files that such a job writes; None: all files in the folder.
        shared: whether the folder may hold files of others before it is marked.
    """

    def __init__(
        self,
        path: Path,
        mark: str,
        writer: str,
        written: Collection[str] | None = None,
        shared: bool = False,
    ) -> None:
        self.path, self.mark = path, path / mark
        self._writer, self._written, self._shared = writer, written, shared
        self._lock = FolderLock()

    @property
    def marked(self) -> bool:
        """Whether a job of the kind has used the folder."""
        return self.mark.exists()

    def require_folder(self) -> None:
        """Raise `OutputError` if the path is a file, or the root of the file system."""
        if self.path.resolve() == Path(self.path.anchor or "/"):
            raise OutputError(
                f"{self.path} is the root of the file system; choose a folder with --out."
            )
        if (self.path.exists() or self.path.is_symlink()) and not self.path.is_dir():
            what = dangling(self.path) or f"{self.path} is a file"
            raise OutputError(f"{what}; choose another folder with --out.")

    def existing(self) -> list[str]:
        """Return names of files of an earlier job of the kind, without mark and lock.

        Raises:
            OutputError: as `require_folder`, or the folder holds files and no mark.
        """
        self.require_folder()
        path, ours = self.path, (self.mark.name, LOCK)
        there = sorted(entry.name for entry in path.iterdir()) if path.exists() else []
        there = [name for name in there if name not in ours]
        existing = [name for name in self._written or there if name in there]
        others = existing if self._shared else there
        if others and not self.marked:
            raise OutputError(
                f"{path} holds {', '.join(others[:3])}, and no {self.mark.name} that says that "
                f"{self._writer} wrote it; choose another folder with --out, or move it away."
            )
        return existing

    def check_free(self) -> None:
        """Raise `OutputError` if another job works in the folder now."""
        check_free(self.path)

    def lock(self) -> None:
        """Make the folder and lock it; raises `OutputError` if another job works there."""
        self.path.mkdir(parents=True, exist_ok=True)
        self._lock.take(self.path)

    def release(self) -> None:
        """Unlock the folder."""
        self._lock.release()

    def clear(self) -> None:
        """Remove the files of an earlier job; raises `OutputError` as `found`."""
        for name in self.existing():
            path = self.path / name
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def write_mark(self, content: Mapping[str, Any]) -> None:
        """Mark the folder, with facts about the job."""
        atomic_write(self.mark, json.dumps(content) + "\n")
