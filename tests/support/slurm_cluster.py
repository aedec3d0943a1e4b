"""Slurm on this machine: munge, a controller and a daemon for each of several nodes.

    python cluster.py FOLDER NODES

prints `ready`, or one line with the reason why there is no cluster. It ends when its standard input
is closed, so also when its parent process is killed. Then all processes of the cluster and of its
jobs are killed: those whose environment names the configuration file in FOLDER.
"""

from __future__ import annotations

import contextlib
import ctypes
import getpass
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun")
#: Seconds within which all nodes must be idle.
START_LIMIT = 240.0
CORES = 8

CONFIGURATION = """\
ClusterName=uzushio
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
TmpFS={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=sched_min_interval=0,batch_sched_delay=0
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
KillWait=3
ReturnToService=2
TopologyPlugin=topology/tree
"""
#: The nodes with odd numbers share a switch, and those with even ones.
TOPOLOGY = """\
SwitchName=odd Nodes=n[1,3]
SwitchName=even Nodes=n[2,4]
SwitchName=top Switches=odd,even
"""


def missing() -> str | None:
    """Return why there can be no cluster here, or None."""
    absent = [name for name in PROGRAMS if shutil.which(name, path=_path()) is None]
    return f"Slurm is not installed here ({', '.join(absent)} missing)" if absent else None


def _path() -> str:
    return os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def _free_ports(count: int) -> list[int]:
    opened = [socket.socket() for _ in range(count)]
    for listener in opened:
        listener.bind(("127.0.0.1", 0))
    ports = [listener.getsockname()[1] for listener in opened]
    for listener in opened:
        listener.close()
    return ports


def _end_with_parent() -> None:
    set_death_signal = 1
    ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)


def _adopt_orphans() -> None:
    """Become the parent of daemons whose parent has ended."""
    set_child_subreaper = 36
    ctypes.CDLL(None).prctl(set_child_subreaper, 1)


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _processes(configuration: Path) -> Iterator[int]:
    """Yield the processes of the cluster, but for this one and its parent's."""
    mark = f"SLURM_CONF={configuration}".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    yield int(entry.name)
            except OSError:
                continue  # it has ended, or is another user's


class Cluster:
    """Daemons of a cluster of `count` nodes n1, n2, … in a folder."""

    def __init__(self, folder: Path, count: int) -> None:
        self.folder, self.count = folder, count
        self.configuration = folder / "slurm.conf"
        self.environment = os.environ | {"SLURM_CONF": str(self.configuration), "PATH": _path()}

    def configure(self) -> None:
        """Write the configuration and the key."""
        (self.folder / "state").mkdir()
        key = self.folder / "key"
        key.touch(0o600)
        key.write_bytes(os.urandom(1024))
        self.folder.chmod(0o755)  # munge insists that its socket can be reached
        controller, *ports = _free_ports(self.count + 1)
        host = socket.gethostname()
        text = CONFIGURATION.format(
            host=host, controller=controller, user=getpass.getuser(), folder=self.folder
        )
        for number, port in enumerate(ports, 1):
            (self.folder / f"n{number}").mkdir()
            text += f"NodeName=n{number} NodeHostname={host} NodeAddr=127.0.0.1 "
            text += f"Port={port} CPUs={CORES}\n"
        text += f"PartitionName=all Nodes=n[1-{self.count}] Default=YES State=UP\n"
        self.configuration.write_text(text)
        (self.folder / "topology.conf").write_text(TOPOLOGY)

    def start(self) -> None:
        """Start all daemons and wait until all nodes are idle.

        Raises:
            RuntimeError: a daemon ended, or the nodes are not idle in time.
        """
        place = self.folder
        munge = [f"--{name}={place / file}" for name, file in (
            ("key-file", "key"), ("socket", "munge"), ("pid-file", "munged.pid"),
            ("log-file", "munged.log"), ("seed-file", "seed"),
        )]  # fmt: skip
        daemons = [self._daemon("munged", "--foreground", "--force", "--num-threads=2", *munge)]
        self._until(lambda: (place / "munge").exists(), daemons)
        daemons.append(self._daemon("slurmctld", "-D", "-i"))
        daemons += [self._daemon("slurmd", "-D", "-N", f"n{n + 1}") for n in range(self.count)]
        self._until(self._idle, daemons)

    def stop(self) -> None:
        """Kill all processes of the cluster and of its jobs."""
        none_since = 0
        while none_since < 2:  # a process may have started another one meanwhile
            processes = list(_processes(self.configuration))
            for process in processes:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            none_since = 0 if processes else none_since + 1
            time.sleep(0.02)
            _reap()

    def _daemon(self, *command: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=(self.folder / "daemons.log").open("ab"),
            stderr=subprocess.STDOUT,
            preexec_fn=_end_with_parent,
        )

    def _idle(self) -> bool:
        asked = subprocess.run(
            ["sinfo", "--noheader", "--format=%D", "--states=idle"],
            env=self.environment, capture_output=True, text=True, timeout=30,
        )  # fmt: skip
        return asked.stdout.split() == [str(self.count)]

    def _until(self, condition: Callable[[], bool], daemons: list[subprocess.Popen[bytes]]) -> None:
        deadline = time.monotonic() + START_LIMIT
        while not condition():
            ended = next((daemon for daemon in daemons if daemon.poll() is not None), None)
            if ended is not None or time.monotonic() > deadline:
                name = "a node is not idle" if ended is None else f"{ended.args[0]} has ended"
                log = (self.folder / "daemons.log").read_text(errors="replace")
                raise RuntimeError(f"Slurm cannot be started here: {name}: {log[-400:]!r}")
            time.sleep(0.05)


def main(folder: Path, count: int) -> None:
    """Run a cluster until the standard input is closed."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(0))
    _adopt_orphans()
    cluster = Cluster(folder, count)
    try:
        cluster.configure()
        try:
            cluster.start()
        except RuntimeError as error:
            print(error, flush=True)
            return
        print("ready", flush=True)
        sys.stdin.read()
    finally:
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
