"""Programs on simulated ranks: SimGrid's SMPI runs the same C++ on one core.

Processor time of a message: 5 µs to send and 5 to receive, half a round trip of 10 µs in the MPI of
the simulated machines (2008) without the wire. Without it a gather of thousands of parts at one
rank would cost nothing, which is the cost under study. Blending is not simulated: all algorithms
blend the same pixels.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Programs that the build of the C++ tests has made where SimGrid is installed.
PROGRAMS = ROOT / "build" / "release" / "tests" / "scale"

#: Torus of BlueGene/L: 2.8 Gbit/s a link and direction; fat tree of 5 Gbit/s.
TORUS = ("350MBps", "1us")
FAT_TREE = ("625MBps", "1us")
COST = "0:5e-6:0"
CONFIGURATION = (
    "smpi/host-speed:1Gf",
    "smpi/simulate-computation:no",
    "smpi/coll-selector:ompi",
    # The selector's default broadcast begins with an all-gather between all ranks, once per
    # communicator: P² messages, hours at 4096 ranks, unrelated to a picture.
    "smpi/bcast:binomial_tree",
    "smpi/test:1e-7",  # time of a poll; the default, 100 µs, dominates all other times
    f"smpi/os:{COST}",
    f"smpi/or:{COST}",
)

#: The network alone: flows share links equally; a message takes latencies plus bytes over
#: bandwidth, and no processor time. Without the last line each send stays in a list, which is
#: searched.
NETWORK = (
    "smpi/host-speed:1Gf",
    "smpi/simulate-computation:no",
    "smpi/coll-selector:ompi",
    "smpi/bcast:binomial_tree",
    # The selector, as Open MPI, sends all messages at once below 64 ranks, and one after the other
    # from 64 to 127: one algorithm for all sizes, that of the transforms.
    "smpi/alltoallv:ompi_basic_linear",
    "smpi/test:1e-7",
    "network/crosstraffic:no",
    "network/weight-S:0",
    "smpi/bw-factor:0:1",
    "smpi/lat-factor:0:1",
    "smpi/send-is-detached-thresh:0",
)


def available() -> bool:
    """Return whether SimGrid's compiler and launcher are installed (Debian's libsimgrid-dev)."""
    return all(shutil.which(tool) for tool in ("smpicxx", "smpirun"))


def platform(folder: Path, kind: str, ranks: int) -> list[str]:
    """Write a platform of `ranks` hosts, a power of two, and return smpirun's arguments for it."""
    power = ranks.bit_length() - 1
    if ranks != 1 << power:
        raise ValueError(f"the number of ranks is a power of two, not {ranks}")
    if kind == "torus":
        sides = [1 << (power + i) // 3 for i in range(3)]
        shape, (bandwidth, latency) = ",".join(map(str, sides)), TORUS
    else:
        down = 1 << power // 2
        up = 1 << power - power // 2
        shape, (bandwidth, latency) = f"2;{down},{up};1,{down};1,1", FAT_TREE
    file, hosts = folder / f"{kind}{ranks}.xml", folder / f"hosts{ranks}"
    file.write_text(
        "<?xml version='1.0'?>\n"
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n<platform version="4.1">\n'
        f'<cluster id="{kind}" topology="{kind.upper()}" topo_parameters="{shape}" prefix="node-"'
        f' suffix="" radical="0-{ranks - 1}" speed="1Gf" bw="{bandwidth}" lat="{latency}"/>\n'
        "</platform>\n"
    )
    hosts.write_text("".join(f"node-{i}\n" for i in range(ranks)))
    return ["-platform", str(file), "-hostfile", str(hosts)]


def shared_node(cores: int, latency: float) -> str:
    """Return the XML of one node, whose ranks share its cores: the bytes of a message take no time.

    Args:
        cores: number of cores.
        latency: of a message between two ranks, seconds.
    """
    return (
        "<?xml version='1.0'?>\n"
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n<platform version="4.1">\n'
        f'<zone id="machine" routing="Full"><host id="node" speed="1Gf" core="{cores}"/>\n'
        f'<link id="memory" bandwidth="1e9GBps" latency="{latency:.6e}s"'
        ' sharing_policy="FATPIPE"/>\n'
        '<route src="node" dst="node"><link_ctn id="memory"/></route></zone>\n</platform>\n'
    )


def run(program: str, kind: str, ranks: int, *arguments: str, limit: float) -> str:
    """Run a program of `PROGRAMS` on simulated ranks of a torus or fat tree; return its output.

    Raises:
        RuntimeError: The simulation failed; the message is its output.
    """
    with tempfile.TemporaryDirectory() as folder:
        machine = platform(Path(folder), kind, ranks)
        return run_on(machine, CONFIGURATION, program, ranks, *arguments, limit=limit)


def run_on(
    machine: list[str],
    configuration: tuple[str, ...],
    program: str,
    ranks: int,
    *arguments: str,
    limit: float,
) -> str:
    """Run a program of `PROGRAMS` on simulated ranks and return its output.

    Args:
        machine: arguments of smpirun for platform and hosts.
        configuration: SimGrid's options.
        program: name of the program.
        ranks: number of ranks.
        arguments: arguments of the program.
        limit: maximum seconds.

    Raises:
        RuntimeError: The simulation failed; the message is its output.
    """
    command = ["smpirun", "-np", str(ranks), *machine, "--log=root.thresh:error"]
    command += [f"--cfg={item}" for item in configuration]
    command += [str(PROGRAMS / program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def simulate(
    kind: str, ranks: int, side: int, algorithm: str, fan_in: int, limit: float
) -> tuple[float, int]:
    """Return simulated milliseconds a picture, and the sum of the picture's bytes.

    Raises:
        RuntimeError: The simulation failed; the message is its output.
    """
    arguments = (str(side), algorithm.replace(" ", ""), str(fan_in), "1")
    output = run("compositing", kind, ranks, *arguments, limit=limit)
    match = re.search(r"([\d.]+) ms, sum (\d+)", output)
    if match is None:
        raise RuntimeError(output)
    return float(match[1]), int(match[2])
