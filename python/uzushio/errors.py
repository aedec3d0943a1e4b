"""Errors that a user can act on: every message is one full sentence that says what to do."""

from __future__ import annotations


class UzushioError(RuntimeError):
    """An expected failure; the command line prints its message without a traceback."""


class CaseError(UzushioError):
    """The case file, an override or the number of ranks is not usable."""


class SolverDivergedError(UzushioError):
    """The solution is no longer finite. Raised on all ranks together by `Solver.step`.

    The message gives the step, the place and the likely cause.
    """


class CheckpointError(UzushioError):
    """A checkpoint is missing, incomplete, damaged, or of another solver."""


class OutputError(UzushioError):
    """The output folder cannot be used or written: it holds another run, or the disk is full."""


class MemoryShortageError(UzushioError):
    """The ranks need more memory than a node, its control group or `ulimit -v` leaves them."""


class LaunchError(UzushioError):
    """The MPI job cannot be started as asked."""


class OtherRankError(UzushioError):
    """Raised on the ranks that were well when another rank failed; nobody prints it."""


class StagingError(UzushioError):
    """A stream cannot be opened, written or read as asked; raised on all ranks that take part."""


class PeerGone(StagingError):  # noqa: N818 - the name that the C++ side has
    """The other side is gone, or was never there: its process ended, or the connection was cut."""


class PeerSilent(StagingError):  # noqa: N818
    """The other side is there, and did not answer in time."""


class QueueTimeout(StagingError):  # noqa: N818
    """No reader made room in time, and the queue's options say to fail then."""


class WaitStopped(StagingError):  # noqa: N818
    """A wait for readers was given up, because the program is to stop; the stream may go on."""


class RenderError(UzushioError):
    """A picture cannot be made as asked: a field is missing, or the machine cannot draw it."""


class PipelineError(UzushioError):
    """A pipeline asks for what there is not, or one of its actions failed; raised on all ranks."""


class ModelError(UzushioError):
    """A model cannot work as asked: parameters, observations, shapes or blocking do not fit."""


class TuningError(UzushioError):
    """A case cannot be tuned as asked: nothing is tunable, or the job that measures is gone."""
