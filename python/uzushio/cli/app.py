"""The command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from os.path import expanduser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from rich.console import Console

from uzushio import __version__
from uzushio.case.model import load_case, read_document
from uzushio.cli.compiler_flags import Installation
from uzushio.cli.plan_report import print_report, to_json
from uzushio.config.paths import expanded
from uzushio.errors import LaunchError, MemoryShortageError, OutputError, UzushioError
from uzushio.job.check import check_run
from uzushio.job.options import Options
from uzushio.parallel import launch
from uzushio.parallel.collective import guarded, memory_sentence, system_sentence
from uzushio.parallel.signals import interrupt_as_usual, leave_at_once, stop_signals
from uzushio.staging.plan import load_plan
from uzushio.staging.plan_rates import assess
from uzushio.terminal import tell

if TYPE_CHECKING:
    from mpi4py import MPI

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Massively parallel flow simulation.",
)


def _path(text: str) -> Path:
    """A path of the command line."""
    try:
        return expanded(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text} {error}.") from None


CaseFile = Annotated[
    Path, typer.Argument(metavar="CASE.yaml", parser=_path, help="The case to read.")
]
RestartedCase = Annotated[
    Path | None,
    typer.Argument(
        metavar="CASE.yaml",
        parser=_path,
        help="The case to read; not needed with --restart, which takes the case of the run.",
    ),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a value of the case, as time.steps=200. Repeatable.",
    ),
]

Ranks = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Start an MPI job of this many ranks. Without: run here, on one rank, or on those of "
        "the mpiexec or srun that this runs in.",
    ),
]
Restart = Annotated[
    Path | None,
    typer.Option(
        parser=_path,
        metavar="DIR",
        help="Go on from the newest checkpoint of a run's folder, or from one checkpoint's "
        "folder. Any number of ranks will do.",
    ),
]
Fallback = Annotated[
    bool,
    typer.Option(
        "--restart-fallback", help="If that checkpoint is damaged, restart from the one before."
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(parser=_path, metavar="DIR", help="Folder of the run instead of output.folder."),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Remove the run that the folder holds.")
]
NoFigures = Annotated[
    bool, typer.Option("--no-figures", help="Leave out the figures, as output.figures: false does.")
]
NoVerify = Annotated[
    bool,
    typer.Option(
        "--no-verify", help="Of stored steps: read them without checking their checksums."
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print errors only.")]
Debug = Annotated[bool, typer.Option("--debug", help="Print tracebacks of errors.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"uzushio {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_print_version, help="Print the version."
        ),
    ] = False,
) -> None:
    pass


@app.command()
def run(
    case: RestartedCase = None,
    ranks: Ranks = None,
    overrides: Overrides = None,
    restart: Restart = None,
    restart_fallback: Fallback = False,
    reset_statistics: Annotated[
        bool,
        typer.Option("--reset-statistics", help="Begin the averages over time anew at a restart."),
    ] = False,
    interpolate: Annotated[
        bool,
        typer.Option(
            "--interpolate", help="Take a checkpoint of another grid in the same box at a restart."
        ),
    ] = False,
    out: Out = None,
    overwrite: Overwrite = False,
    no_figures: NoFigures = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Run a case.

    Ctrl-C, SIGTERM and SIGUSR1 finish the step, write a checkpoint and stop; a second one stops at
    once. Inside your own mpiexec send SIGUSR1 to it: on the other two it kills its ranks.

    To go on with a run: uzushio run --restart DIR; docs/how-to/run.md.
    """
    leave_at_once()
    _need_case(case, restart)
    options = Options(
        restart=restart,
        fallback=restart_fallback,
        out=out,
        overwrite=overwrite,
        quiet=quiet,
        reset_statistics=reset_statistics,
        figures=not no_figures,
        ranks=ranks,
        interpolate=interpolate,
    )
    _start_job(ranks)
    raise SystemExit(_run_here(case, overrides or [], options, ranks, debug))


def _need_case(case: Path | None, restart: Path | None) -> None:
    if case is None and restart is None:
        raise typer.BadParameter(
            "name the case; only --restart DIR does without one.", param_hint="'CASE.yaml'"
        )


def _start_job(ranks: int | None) -> None:
    """Start this very command as an MPI job and leave with its status, if `--ranks` wants one."""
    try:
        if launch.wants_job(ranks) and ranks is not None:
            raise SystemExit(launch.run_job(ranks, sys.argv[1:]))
    except UzushioError as error:
        _fail(error)


def _run_here(
    file: Path | None, overrides: list[str], options: Options, ranks: int | None, debug: bool
) -> int:
    """Run a case on the ranks of the MPI job that this process is in, or on one."""

    def work(comm: MPI.Intracomm) -> int:
        from uzushio.job.case_run import run as run_case
        from uzushio.job.restart import source_of_case

        source = source_of_case(file, overrides, options, comm)
        return run_case(load_case(source.file, source.overrides), comm, source.options)

    return _here(work, ranks, debug)


def _here(work: Callable[[MPI.Intracomm], int], ranks: int | None, debug: bool) -> int:
    """Do `work` on the ranks of the MPI job that this process is in, or on one."""
    launch.prepare_environment()
    from mpi4py import MPI

    comm = launch.program_comm(MPI.COMM_WORLD)

    def checked() -> int:
        launch.check_size(MPI.COMM_WORLD.size, MPI.Get_library_version())
        if ranks not in (None, comm.size):
            raise LaunchError(
                f"--ranks {ranks} was given, but the MPI job has {comm.size}; leave --ranks out."
            )
        return work(comm)

    return guarded(comm, checked, debug)


@app.command()
def assimilate(
    case: RestartedCase = None,
    ranks: Ranks = None,
    overrides: Overrides = None,
    restart: Restart = None,
    restart_fallback: Fallback = False,
    out: Out = None,
    overwrite: Overwrite = False,
    no_tuned: Annotated[
        bool,
        typer.Option("--no-tuned", help="Leave out what `uzushio tune` found for this machine."),
    ] = False,
    no_figures: NoFigures = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Estimate a model's initial state and parameters from observations.

    Ctrl-C, SIGTERM and SIGUSR1 finish the iteration, write a checkpoint and stop; a second one
    stops at once. docs/how-to/assimilate.md says what is in the case and in the folder.

    To go on with one: uzushio assimilate --restart DIR; docs/how-to/run.md.
    """
    leave_at_once()
    _need_case(case, restart)
    options = Options(
        restart=restart,
        fallback=restart_fallback,
        out=out,
        overwrite=overwrite,
        quiet=quiet,
        figures=not no_figures,
        command="assimilate",
        ranks=ranks,
    )
    _start_job(ranks)

    def work(comm: MPI.Intracomm) -> int:
        from uzushio.assimilation.case import load_assimilation
        from uzushio.assimilation.run import run as assimilate_case
        from uzushio.job.restart import source_of_case
        from uzushio.tuning.use import tuned_overrides

        source = source_of_case(case, overrides or [], options, comm)
        file, given = source.file, source.overrides
        say = (lambda _: None) if quiet else tell
        tuned = [] if no_tuned else tuned_overrides(file, given, comm, say)
        return assimilate_case(load_assimilation(file, [*given, *tuned]), comm, source.options)

    raise SystemExit(_here(work, ranks, debug))


@app.command()
def check(
    case: CaseFile,
    ranks: Annotated[int, typer.Option(min=1, help="Number of ranks to plan for.")] = 1,
    overrides: Overrides = None,
) -> None:
    """Validate a case and say what it needs, without running it."""
    try:
        if "model" in read_document(case, overrides).values:
            from uzushio.assimilation.check import check as check_assimilation

            check_assimilation(case, overrides, ranks)
            return
        check_run(case, overrides, ranks)
    except UzushioError as error:
        _fail(error)


CaseName = Annotated[
    str, typer.Argument(metavar="NAME", help="A solver or model: channel, phasefield, …")
]


@app.command()
def init(
    name: CaseName,
    file: Annotated[
        Path, typer.Argument(metavar="CASE.yaml", help="The file to write; - prints it.")
    ] = Path("case.yaml"),
) -> None:
    """Write a commented case of a solver or model, to begin with.

    It can be computed as it is. Every other key is there as a comment, with its default.
    """
    from uzushio.case.template import template

    try:
        text = template(name)
        if str(file) == "-":
            print(text, end="")
            return
        with file.open("x", encoding="utf-8") as new:
            new.write(text)
    except FileExistsError:
        _fail(OutputError(f"{file} exists; name another file, or remove it."))
    except OSError as error:
        _fail(OutputError(system_sentence(error)))
    except UzushioError as error:
        _fail(error)
    print(f"Wrote {file}. Next: uzushio check {file}")


@app.command()
def schema(name: CaseName) -> None:
    """Print the JSON schema of the cases of a solver or model, for editors.

    An editor with a YAML language server completes and checks a case that begins with
    # yaml-language-server: $schema=FILE
    """
    from uzushio.case.schema import json_schema

    try:
        print(json.dumps(json_schema(name), indent=2, ensure_ascii=False))
    except UzushioError as error:
        _fail(error)


@app.command()
def plan(
    file: Annotated[
        Path, typer.Argument(parser=_path, metavar="PLAN.yaml", help="The plan to read.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, in SI units.")] = False,
) -> None:
    """Say whether staged steps reach their readers in time, and what holds them up."""
    try:
        planned = load_plan(file)
        assessment = assess(planned)
    except UzushioError as error:
        _fail(error)
    if as_json:
        print(to_json(assessment))
    else:
        print_report(planned, assessment, Console(highlight=False))


@app.command()
def config(
    cflags: Annotated[bool, typer.Option("--cflags", help="Flags to compile C.")] = False,
    cxxflags: Annotated[bool, typer.Option("--cxxflags", help="Flags to compile C++.")] = False,
    fortran_source: Annotated[
        bool, typer.Option("--fortran-source", help="File of the module to compile with Fortran.")
    ] = False,
    libs: Annotated[bool, typer.Option("--libs", help="Flags to link any of these.")] = False,
    prefix: Annotated[
        bool, typer.Option("--prefix", help="Folder for CMake's CMAKE_PREFIX_PATH.")
    ] = False,
) -> None:
    """Print what mpicc, mpicxx or mpifort need to instrument a code, on one line.

    mpicc $(uzushio config --cflags) solver.c $(uzushio config --libs)
    """
    try:
        here = Installation.of_package()
    except UzushioError as error:
        _fail(error)
    words = [
        *(here.cflags if cflags else []),
        *(here.cxxflags if cxxflags else []),
        *([str(here.fortran_source)] if fortran_source else []),
        *(here.libs if libs else []),
        *([str(here.prefix)] if prefix else []),
    ]
    if not words:
        _fail(
            UzushioError(
                "config needs to be told what to print: --cflags, --cxxflags, --fortran-source, "
                "--libs or --prefix."
            )
        )
    print(*words)


@app.command()
def inspect(
    contact: Annotated[
        str,
        typer.Argument(
            parser=expanduser,
            metavar="CONTACT",
            help="A contact file, host:port, or a folder of stored steps.",
        ),
    ],
    steps: Annotated[
        int, typer.Option(min=0, help="How many steps to look at; 0: until the stream ends.")
    ] = 1,
    limit: Annotated[
        float, typer.Option(min=0.0, help="Seconds to wait for the writer, and for each step.")
    ] = 60.0,
    secret: Annotated[
        str, typer.Option(envvar="UZUSHIO_SECRET", help="In hexadecimal, for host:port.")
    ] = "",
    no_verify: NoVerify = False,
) -> None:
    """Say what a running or stored stream offers: meshes, fields, blocks, and what is in them."""
    from uzushio.cli.inspect import inspect as look

    try:
        look(contact, Console(highlight=False), steps, limit, secret, False if no_verify else None)
    except UzushioError as error:
        _fail(error)


@app.command()
def relay(
    source: Annotated[
        str,
        typer.Option(
            "--from",
            parser=expanduser,
            metavar="CONTACT",
            help="Contact file of the writer or of another relay; or host:port.",
        ),
    ],
    target: Annotated[
        Path,
        typer.Option(
            "--to",
            parser=_path,
            metavar="CONTACT",
            help="Contact file to write, for readers or relays.",
        ),
    ],
    listen: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 or :: for all.")
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            min=0, max=65535, help="Of rank 0, the next ones after it; 0: any that is free."
        ),
    ] = 0,
    advertise: Annotated[
        str, typer.Option(metavar="HOST", help="Name that readers are told to connect to.")
    ] = "",
    tls: Annotated[bool, typer.Option("--tls", help="Use TLS 1.3 towards readers.")] = False,
    secret: Annotated[
        str,
        typer.Option(envvar="UZUSHIO_SECRET", help="In hexadecimal, for --from host:port."),
    ] = "",
    from_tls: Annotated[
        bool, typer.Option("--from-tls", help="With --from host:port: it uses TLS.")
    ] = False,
    memory: Annotated[
        str, typer.Option(metavar="SIZE", help="Bytes that a rank holds at most.")
    ] = "64 MiB",
    once: Annotated[
        bool, typer.Option("--once", help="End with the writer; do not wait for the next one.")
    ] = False,
    wait: Annotated[
        float, typer.Option(min=0.0, help="With --once: seconds to wait for the writer.")
    ] = 60.0,
    ranks: Annotated[
        int | None,
        typer.Option(
            min=1, help="Start an MPI job of this many ranks, which share the writer's ranks."
        ),
    ] = None,
    verbose: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Say on stderr so often what goes through."),
    ] = None,
    summary: Annotated[
        Path | None,
        typer.Option(
            parser=_path,
            metavar="FILE",
            help="Write what was passed on as JSON at the end; relay*.json for uzushio report.",
        ),
    ] = None,
) -> None:
    """Join the network of a writer to that of its readers.

    Readers attach to the contact file that --to names. Bytes go on as they come, and no step is
    ever held. Either side may come and go; Ctrl-C or SIGTERM ends the relay.

    On a gateway between the two: uzushio relay --from flow.contact --to outside.contact
    --listen 0.0.0.0 --port 47000 --tls; then copy outside.contact to where the readers are.
    """
    from uzushio.cli import relay as relay_command
    from uzushio.staging.relay import RelayOptions

    try:
        if launch.wants_job(ranks) and ranks is not None:
            status = launch.run_job(ranks, sys.argv[1:])
            raise SystemExit(0 if status - 128 in stop_signals() else status)
        size = relay_command.size_of(memory)
        options = RelayOptions(
            source, target, secret, from_tls, listen, port, advertise, tls, size, once, wait
        )
        raise SystemExit(relay_command.relay(options, ranks, verbose, summary))
    except UzushioError as error:
        _fail(error)


@app.command()
def render(
    pipeline: Annotated[
        Path,
        typer.Argument(
            parser=_path, metavar="PIPELINE.yaml", help="What is to be made of the steps."
        ),
    ],
    source: Annotated[
        str,
        typer.Option(
            "--from",
            parser=expanduser,
            metavar="CONTACT|STORE",
            help="Contact file of the writer or of a relay; host:port; or a folder of stored "
            "steps, during or after the run.",
        ),
    ],
    ranks: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Start an MPI job of this many ranks, which share the mesh. Without: work here, "
            "or on the ranks of the mpiexec or srun that this runs in.",
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(parser=_path, metavar="DIR", help="Folder of the results: the job's alone."),
    ] = Path("rendered"),
    overwrite: Annotated[
        bool,
        typer.Option("--overwrite", help="Remove what an earlier job left in that folder."),
    ] = False,
    stream: Annotated[
        str, typer.Option(help="Name of the stream, if another one there would be a mistake.")
    ] = "",
    wait: Annotated[
        float, typer.Option(min=0.0, help="Seconds to wait for a writer that is not there yet.")
    ] = 60.0,
    limit: Annotated[float, typer.Option(min=0.0, help="Seconds to wait for each step.")] = 3600.0,
    secret: Annotated[
        str, typer.Option(envvar="UZUSHIO_SECRET", help="In hexadecimal, for host:port.")
    ] = "",
    tls: Annotated[bool, typer.Option("--tls", help="For host:port: the writer uses TLS.")] = False,
    no_verify: NoVerify = False,
    progress: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="Between lines of progress.")
    ] = 5.0,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print warnings and errors only.")] = False,
    debug: Debug = False,
) -> None:
    """Make pictures, movies and more of the steps of a running solver, or of stored ones.

    PIPELINE.yaml says what, and when; docs/how-to/pictures.md describes it. The job may be started
    before the solver, or while it runs. It ends with the stream; Ctrl-C and SIGTERM finish the
    movies and end it before. DIR/summary.json says what was made, and what took how long.

    Live: uzushio render pipeline.yaml --from runs/channel/channel.contact --ranks 2

    Later: uzushio render pipeline.yaml --from runs/channel/published/channel.zarr
    """
    leave_at_once()
    _start_job(ranks)
    from uzushio.cli import render as render_command

    options = render_command.RenderOptions(
        pipeline,
        source,
        out,
        overwrite,
        stream,
        wait,
        limit,
        secret,
        tls,
        progress,
        quiet,
        False if no_verify else None,
    )
    raise SystemExit(render_command.render(options, ranks, debug))


@app.command()
def report(
    folders: Annotated[
        list[Path],
        typer.Argument(
            parser=_path,
            metavar="FOLDER...",
            help="Of a run, and of jobs that looked at it; and below them.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            parser=_path, metavar="FILE", help="The page; FOLDER/report.html if not given."
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option(help="Above the page; the run's own if not given.")
    ] = None,
    embed: Annotated[
        str,
        typer.Option(metavar="SIZE", help="Larger files are linked, and must stay where they are."),
    ] = "16 MB",
) -> None:
    """Write one HTML page of a run: pictures, movies, plots, figures, staging, timings.

    It needs no network and no other file, but for those that are too large to be put into it.
    """
    from uzushio.config.quantities import parse_size
    from uzushio.report import write_report

    try:
        try:
            most = parse_size(embed)
        except ValueError as error:
            raise UzushioError(f"--embed {embed}: {error}.") from None
        assert isinstance(most, float)
        print(write_report(folders, out, title, int(most), 4 * int(most)))
    except UzushioError as error:
        _fail(error)


@app.command()
def figures(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="RUN",
            parser=_path,
            help="Folder of a run or an assimilation, or of one of its checkpoints.",
        ),
    ],
    ranks: Ranks = None,
    restart_fallback: Fallback = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write statistics, figures and the summary of a run again, from its newest checkpoint.

    For a run that was killed, ran with --no-figures, or had no space for them. No step is done.
    Of an assimilation: the estimate, history, figures and summary; no iteration is done.
    uzushio report makes a page of all of them.
    """
    leave_at_once("Stopped before the first figure; nothing was written.")
    options = Options(restart=folder, fallback=restart_fallback, quiet=quiet)
    _start_job(ranks)

    def work(comm: MPI.Intracomm) -> int:
        from uzushio.cli.figures import write_again

        return write_again(comm, options)

    raise SystemExit(_here(work, ranks, debug))


@app.command()
def tune(
    case: CaseFile,
    ranks: Annotated[
        int, typer.Option(min=1, help="Ranks of the runs that it is for; a job of them is started.")
    ] = 1,
    overrides: Overrides = None,
    budget: Annotated[
        str,
        typer.Option(
            metavar="TRIALS|TIME", help="Trials, as 40; or a time for all of it, as '5 min'."
        ),
    ] = "40",
    out: Annotated[
        Path | None,
        typer.Option(
            parser=_path,
            metavar="DIR",
            help="Folder of the tuning: tuned/CASE-RANKS if not given. A tuning of the same that "
            "was interrupted goes on there.",
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Begin anew in that folder.")
    ] = False,
    repetitions: Annotated[
        int, typer.Option(min=2, help="Of each point; twice as many in the finals.")
    ] = 4,
    baseline: Annotated[
        bool, typer.Option(help="A random search of as many trials beside, to compare with.")
    ] = True,
    limit: Annotated[
        float, typer.Option(min=1.0, metavar="SECONDS", help="For one repetition of a point.")
    ] = 120.0,
    seed: Annotated[int, typer.Option(min=0, help="Of what is drawn at random.")] = 0,
    keep: Annotated[bool, typer.Option(help="Have later runs use what is found.")] = True,
    quiet: Quiet = False,
) -> None:
    """Find the values with which a case runs fastest on this machine, and keep them for its runs.

    What can be tuned is what the case leaves open of what its room declares, as tiles, time
    blocking and threads; docs/how-to/tune.md. A model of cost leaves out what cannot be the best;
    the rest is measured, interleaved, in one MPI job. Runs on as many ranks at the same size use
    what was found, unless they say --no-tuned or the case says otherwise.
    """
    from uzushio.cli import tune as command

    interrupt_as_usual()
    options = command.TuneOptions(
        case,
        overrides or [],
        ranks,
        budget,
        out,
        overwrite,
        repetitions,
        baseline,
        limit,
        seed,
        keep,
        quiet,
    )
    try:
        raise SystemExit(command.tune(options))
    except UzushioError as error:
        _fail(error)
    except KeyboardInterrupt:
        print("\nStopped; the same command goes on from here.")
        raise SystemExit(130) from None


@app.command(hidden=True)
def tuning_worker(case: CaseFile, overrides: Overrides = None) -> None:
    """Time points for `uzushio tune`, which starts this on all ranks."""
    from uzushio.cli.tune import work_on_ranks

    raise SystemExit(work_on_ranks(case, overrides or []))


def _fail(error: UzushioError) -> NoReturn:
    print(f"uzushio: error: {error}", file=sys.stderr)
    raise SystemExit(1)


def _flowing(text: str) -> str:
    """A docstring with a line for each paragraph: terminals break them where they end."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def main() -> None:
    """Run the command line."""
    for command in app.registered_commands:
        command.help = command.help or _flowing(getattr(command.callback, "__doc__", None) or "")
    try:
        app(prog_name="uzushio")
    except MemoryError as error:
        _fail(MemoryShortageError(memory_sentence(error)))
    except OSError as error:
        if error.filename is not None:
            _fail(OutputError(system_sentence(error)))
        _fail(OutputError(f"the output cannot be written ({error.strerror})."))
