"""Errors with a message for users: one complete sentence with advice."""

from __future__ import annotations


class UzushioError(RuntimeError):
    """Base class of expected errors; the command line prints the message without a traceback.

    Attributes:
        path: keys of the value that caused it, from the top of its file; empty if there is none.
    """

    def __init__(self, message: object = "", path: tuple[str | int, ...] = ()) -> None:
        super().__init__(message)
        self.path = path


class CaseError(UzushioError):
    """The case file, an override or the number of ranks is not usable."""


class SettingsError(CaseError, ValueError):
    """A value of a section is not valid. Validators raise it with the path below the section."""


class SolverDivergedError(UzushioError):
    """The solution is no longer finite. Raised on all ranks together by `Solver.step`.

    The message gives the step, the place and the likely cause.
    """


class StepCollapsedError(SolverDivergedError):
    """The stable step has become tiny, before a step. Fields are those of the last good step."""


class CheckpointError(UzushioError):
    """A checkpoint is missing, incomplete, damaged, or of another solver."""


class OutputError(UzushioError):
    """The output folder cannot be used or written: it holds another run, or the disk is full."""


class MemoryShortageError(UzushioError):
    """The ranks need more memory than a node, its control group or `ulimit -v` has free."""


class LaunchError(UzushioError):
    """The MPI job cannot be started with these options."""


class OtherRankError(UzushioError):
    """Another rank failed and prints its error; this error is not printed."""


class StagingError(UzushioError):
    """A stream cannot be opened, written or read; raised on all its ranks."""


class PeerGone(StagingError):  # noqa: N818 - the name in C++
    """The peer's process ended, its connection was cut, or there was no peer."""


class PeerSilent(StagingError):  # noqa: N818
    """The peer is connected, and did not answer before the timeout."""


class QueueTimeout(StagingError):  # noqa: N818
    """The queue stayed full until its timeout, and its policy is to fail."""


class WaitStopped(StagingError):  # noqa: N818
    """A wait for readers was cancelled because the program stops; the stream can continue."""


class RenderError(UzushioError):
    """A picture cannot be drawn: a field is missing, or the machine lacks a library for it."""


class PipelineError(UzushioError):
    """A pipeline names a missing field, or one of its actions failed; raised on all ranks."""


class ViewerError(UzushioError):
    """The live view cannot be served, or a page's request is refused."""


class ModelError(UzushioError):
    """Parameters, observations, shapes or blocking of a model do not fit."""


class TuningError(UzushioError):
    """A case cannot be tuned: it has no tunables, or the measuring job ended."""


class PlacementError(UzushioError):
    """Coordinates, a traffic file or sizes that do not fit the machine or the job."""


class GridError(UzushioError):
    """A grid cannot be made, read or used; the message names zone, face and cells."""
