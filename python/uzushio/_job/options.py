"""Options of a run on the command line, besides its case."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uzushio._base.config.paths import expanded
from uzushio._base.parallel.affinity import Policy
from uzushio.errors import UzushioError


@dataclass(frozen=True)
class Options:
    """Options of a run that are not in the case file.

    Attributes:
        restart: folder of a run or of one checkpoint to continue from.
        fallback: restart from the checkpoint before if that one is damaged.
        out: folder of the run instead of the case's.
        overwrite: remove the run that the folder holds.
        reset_statistics: discard the averages at a restart.
        interpolate: interpolate a checkpoint of another grid at a restart.
        quiet: print errors only.
        case_file: the file that the case was read from.
        overrides: overrides of the case, "section.key=value" each.
        tuned: overrides that leave the run's tuned values to the tuner again, for a restart on
            another number of ranks.
        figures: draw figures at the end, unless the case forbids it.
        command: command that continues such a run.
        ranks: number of ranks to start.
        trace: file of the trace of the run's sections.
        affinity: binding of ranks and threads to cores.
    """

    restart: Path | None = None
    fallback: bool = False
    out: Path | None = None
    overwrite: bool = False
    quiet: bool = False
    reset_statistics: bool = False
    interpolate: bool = False
    case_file: Path | None = None
    overrides: tuple[str, ...] = ()
    tuned: tuple[str, ...] = ()
    figures: bool = True
    command: str = "run"
    ranks: int | None = None
    trace: Path | None = None
    affinity: Policy = Policy.NONE

    @classmethod
    def of_call(
        cls, case: object, restart: Path | str | None, out: Path | str | None, **flags: Any
    ) -> Options:
        """Return the options of a call from Python; `case` may be the path of its file."""
        return cls(
            restart=None if restart is None else expanded(restart),
            out=None if out is None else expanded(out),
            case_file=Path(case) if isinstance(case, str | Path) else None,
            **flags,
        )

    def check(self) -> None:
        """Raise `UzushioError` if an option lacks another one, or the trace a folder."""
        given = {
            "--reset-statistics": self.reset_statistics,
            "--interpolate": self.interpolate,
            "--restart-fallback": self.fallback,
        }
        for name in (name for name, asked in given.items() if asked and self.restart is None):
            raise UzushioError(f"{name} is for a restart: add --restart DIR, or leave it out.")
        if self.trace is not None and not self.trace.absolute().parent.is_dir():
            raise UzushioError(
                f"--trace {self.trace}: there is no folder {self.trace.absolute().parent}; make it "
                "before the run, or name a file in another one."
            )

    def going_on(self, run: Path) -> str:
        """Return the command that continues a run, with its case, in its folder."""
        ranks = "" if self.ranks is None else f" --ranks {self.ranks}"
        bound = "" if self.affinity is Policy.NONE else f" --affinity {self.affinity}"
        options = f"{ranks}{bound} --restart {shlex.quote(str(run))}"
        return f"continue with: uzushio {self.command}{options}"
