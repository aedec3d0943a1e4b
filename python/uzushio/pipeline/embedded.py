"""Work inside the steps of any code: the keys `pipeline` and `python` of staging's options.

`src/staging/in_situ_work.cpp` calls these functions on all ranks of a writer with engine `inproc`,
in a code that is not Python in an interpreter that it starts. They return "" or an error as a
sentence, and are collective. A work is known by its number.
"""

from __future__ import annotations

import gc
import itertools
import sys
from collections.abc import Callable
from pathlib import Path

from mpi4py import MPI

from uzushio import __version__, _core
from uzushio._base.config.user_function import load_function
from uzushio._base.error_text import system_sentence
from uzushio._base.files import write_summary
from uzushio._base.parallel.sync import collective, on_root
from uzushio.errors import StagingError, UzushioError
from uzushio.pipeline.model import load as load_pipeline
from uzushio.pipeline.pipeline import Pipeline
from uzushio.staging.step import Step


class _Work:
    """Pipeline and function of one stream."""

    def __init__(self, stream: str, pipeline: str, python: str, output: str, comm: MPI.Comm):
        self.comm = comm
        self._function = None if not python else load_function(Path(python), "on_step")
        self._pipeline: Pipeline | None = None
        if pipeline:
            loaded = load_pipeline(Path(pipeline))
            wanted = Path(output or f"{stream}-output")
            self._folder = Path(on_root(comm, lambda: str(_free(wanted))))
            self._pipeline = Pipeline(loaded, comm, self._folder, _say, in_situ=True)

    def step(self, step: Step) -> None:
        """Run the function, then the pipeline."""
        if self._function is not None:
            self._function(step)
        if self._pipeline is not None:
            self._pipeline.step(step)

    def finish(self) -> None:
        """Complete the results, and write the summary."""
        pipeline = self._pipeline
        if pipeline is not None:
            pipeline.finish()
            pipeline.close()
            with collective(self.comm):
                if self.comm.rank == 0:
                    summary = {**pipeline.summary(), "ranks": self.comm.size}
                    write_summary(self._folder, summary)
        self.comm.Free()

    def close(self) -> None:
        """Close all files after a failure; not collective."""
        if self._pipeline is not None:
            self._pipeline.close()


_works: dict[int, _Work] = {}


def load(
    version: str, stream: str, pipeline: str, python: str, output: str, number: int, handle: int
) -> str:
    """Load a work.

    Args:
        version: version of the calling library.
        stream: name of the stream.
        pipeline: pipeline file; "" for none.
        python: file with a function `on_step(step)`; "" for none.
        output: folder of the pipeline's results, "" for STREAM-output. If it has files, another
            one is used: its name followed by -2, -3 and so on.
        number: number of the work.
        handle: the writer's communicator; 0 for this process alone.
    """

    def loaded() -> None:
        if version != __version__:
            raise StagingError(
                f"The package uzushio of {sys.prefix} has version {__version__}, and the code's "
                f"libuzushio has {version}: build the code with this package's library."
            )
        comm = MPI.Comm.fromhandle(handle).Dup() if handle else MPI.COMM_SELF.Dup()
        _works[number] = _Work(stream, pipeline, python, output, comm)

    return _error_of(loaded)


def step(*arguments: str | int) -> str:
    """Run a work at the step of the reader with an address; arguments: …, number, address."""
    number, address = map(int, arguments[-2:])

    def ran() -> None:
        core = _core.staging.Reader.at(address)
        step = Step(core, _works[number].comm)
        try:
            _works[number].step(step)
        finally:
            step._invalidate()
        core.invalidate()

    error = _error_of(ran)
    if error:
        _works.pop(number).close()
        gc.collect()
    return error


def finish(*arguments: str | int) -> str:
    """Complete the results of a work; arguments: …, number, 0."""
    error = _error_of(_works.pop(int(arguments[-2])).finish)
    sys.stdout.flush()
    sys.stderr.flush()
    return error


def _error_of(work: Callable[[], None]) -> str:
    """Run a function; return its error as a sentence, or ""."""
    try:
        work()
    except (StagingError, UzushioError, ValueError) as error:
        return f"{'; '.join(str(error).splitlines()).rstrip('.')}."
    except OSError as error:
        return system_sentence(error)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).rstrip('.')}."
    return ""


def _free(folder: Path) -> Path:
    """Return the folder, or the first with a number after its name, that has no files."""
    names = itertools.chain([folder.name], (f"{folder.name}-{n}" for n in itertools.count(2)))
    folders = (folder.with_name(name) for name in names)
    return next(f for f in folders if not f.exists() or (f.is_dir() and not any(f.iterdir())))


def _say(text: str) -> None:
    print(f"uzushio: {text}", file=sys.stderr, flush=True)
