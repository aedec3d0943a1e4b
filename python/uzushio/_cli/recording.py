"""`uzushio record`: stores the fields of a stream by extracts, until its end or a signal."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from uzushio import __version__
from uzushio._base.config.names import unknown
from uzushio._base.files import PIPELINE, atomic_write, write_summary
from uzushio._base.parallel.sync import collective
from uzushio._job.job import Job
from uzushio._job.job_folder import JobFolder
from uzushio.errors import OutputError, PeerSilent, StagingError
from uzushio.pipeline.model import load
from uzushio.pipeline.pipeline import Pipeline
from uzushio.staging.step import Step

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio.staging.contact import Contact

#: Mark of a folder of recorded steps.
MARK = ".uzushio-record"


def record_stream(
    contact: Contact,
    out: Path,
    form: str,
    fields: Sequence[str],
    every: int,
    limit: float,
    comm: MPI.Comm,
) -> int:
    """Store the fields of a stream on the ranks of `comm` (collective).

    Returns:
        The exit status: 0 at the stream's end, 128 plus the signal when stopped, 1 if a step could
        not be stored.
    """
    folder = JobFolder(out, MARK, "a recording")
    job = Job(comm, folder, quiet=False)
    comm = job.comm
    with collective(comm):
        if comm.rank == 0:
            folder.check_free()
            if folder.existing():
                raise OutputError(f"{out} has files already; choose another folder with --out.")
    reader = contact.attach(comm)
    job.say(f"Attached to {contact.contact}; results go to {out}.")
    pipeline: Pipeline | None = None
    received, heard = 0, time.monotonic()
    failure: StagingError | None = None
    with job:
        try:
            while not (received or reader.ended):
                step = reader.next(0.5)
                if step is not None:
                    if pipeline is None:
                        pipeline = _prepare(step, folder, form, fields, every, job)
                    pipeline.step(step, reader.release)
                    reader.release()
                    heard = time.monotonic()
                elif comm.allreduce(time.monotonic() - heard) > limit * comm.size:
                    raise PeerSilent(f"No step was received within {limit:g} s.")
                received = job.take_vote()
        except StagingError as error:
            failure = error
        if pipeline is not None:
            pipeline.finish()
            pipeline.close()
            with collective(comm):
                if comm.rank == 0:
                    write_summary(out, {**pipeline.summary(), "ranks": comm.size})
    if failure is not None:
        raise failure
    reader.detach()
    stored = pipeline.counts.used if pipeline is not None else 0
    job.say(f"Stored {stored} steps in {out}.")
    failures = 0 if pipeline is None else comm.allreduce(pipeline.failures)
    return 128 + received if received else int(failures > 0)


def _prepare(
    step: Step, folder: JobFolder, form: str, fields: Sequence[str], every: int, job: Job
) -> Pipeline:
    """Mark the folder, and make the pipeline of extracts that stores a stream (collective)."""
    file = folder.path / f"{PIPELINE}.yaml"
    actions = _extracts(step, form, fields, every)
    with collective(job.comm):
        if job.rank == 0:
            folder.lock()
            folder.write_mark({"uzushio": __version__})
            atomic_write(file, yaml.safe_dump({"actions": actions}, sort_keys=False))
    return Pipeline(load(file), job.comm, folder.path, job.warn)


def _extracts(step: Step, form: str, fields: Sequence[str], every: int) -> list[dict[str, Any]]:
    """Return one extract for the fields at the same points.

    Raises:
        StagingError: a field is not in the stream.
    """
    for name in fields:
        if name not in step.fields:
            raise StagingError(f"The field '{name}' {unknown(name, list(step.fields))}.")
    coordinates = {mesh.coordinate_field for mesh in step.meshes.values()}
    groups: dict[str, list[str]] = {}
    for name, field in step.fields.items():
        if name in fields or (not fields and name not in coordinates):
            groups.setdefault(field.grid, []).append(name)
    files = {grid: "".join(c if c.isalnum() else "_" for c in grid).strip("_") for grid in groups}
    return [
        {"extract": {"fields": names, "to": f"{files[grid]}.{form}"}, "every": every}
        for grid, names in groups.items()
    ]
