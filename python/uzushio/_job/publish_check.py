"""Check of the section `publish` of a case before anything is allocated or removed."""

from __future__ import annotations

import socket
import tempfile
from pathlib import Path

from uzushio._base.config.user_function import check_syntax
from uzushio._base.parallel import launch
from uzushio._job.publish import chosen
from uzushio.case.model import Case, Publish
from uzushio.errors import CaseError, PipelineError
from uzushio.solvers.contract import Offer, Solver


def check_published(case: Case, kind: type[Solver]) -> None:
    """Read the files that the section `publish` names, and check the names of fields in them.

    Names are checked if the solver lists its fields before it is created (`Solver.offer`).

    Raises:
        CaseError: a file cannot be used, or names a field that the solver does not have.
    """
    section = case.publish
    if section is None:
        return
    _check_address(section)
    offer = kind.offer(case)
    if offer is not None:
        offer = Offer(offer.meshes, chosen(section, offer.fields), offer.attributes)
    if section.python is not None:
        try:
            check_syntax(section.python)
        except ValueError as error:
            raise CaseError(f"publish.python: {error}.") from error
    if section.pipeline is not None:
        _check_pipeline(section.pipeline, offer)


def _check_address(section: Publish) -> None:
    """Raise `CaseError` if the address to listen on is none."""
    options = section.options()
    if options.engine != "tcp":
        return
    listen = (section.model_extra or {}).get("tcp", {}).get("listen", "127.0.0.1")
    try:
        socket.getaddrinfo(str(listen), None)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CaseError(
            f"publish.tcp.listen: '{listen}' is no address and no name of a host ({reason})."
        ) from error


def _check_pipeline(file: Path, offer: Offer | None) -> None:
    """Read a pipeline's file, and create its actions for the solver's fields."""
    from uzushio.pipeline.model import load

    loaded = load(file)
    if offer is None:
        return
    launch.prepare_environment()
    from mpi4py import MPI

    from uzushio.pipeline.pipeline import Pipeline
    from uzushio.pipeline.stream import Stream

    with tempfile.TemporaryDirectory() as folder:
        try:
            pipeline = Pipeline(loaded, MPI.COMM_SELF, Path(folder), lambda _: None, in_situ=True)
            try:
                pipeline.prepare(Stream.of_solver(offer.meshes, offer.fields, offer.attributes))
            finally:
                pipeline.close()
        except PipelineError as error:
            raise CaseError(error, error.path) from error
