"""Live view over three networks: a laptop, a login node, and a compute node behind it."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

Start = Callable[..., subprocess.Popen[str]]

#: Joins three network namespaces; the laptop's and the compute node's have no network in common.
NETWORKS = """
set -e
unshare -n sleep 300 & login=$!
unshare -n sleep 300 & compute=$!
for node in $login $compute; do
    while [ "$(readlink /proc/$node/ns/net)" = "$(readlink /proc/$$/ns/net)" ]; do sleep 0.01; done
done
ip link add laptop0 type veth peer name login0 netns $login
nsenter -t $login -n ip link add login1 type veth peer name compute0 netns $compute
for line in "$$ laptop0 10.1.0.2/24" "$login login0 10.1.0.1/24" \\
            "$login login1 10.2.0.1/24" "$compute compute0 10.2.0.2/24"; do
    set -- $line
    nsenter -t $1 -n ip addr add $3 dev $2
    nsenter -t $1 -n ip link set $2 up
    nsenter -t $1 -n ip link set lo up
done
echo nodes $login $compute
wait
"""

#: Publishes a step every 50 ms, on the network that the login node reaches.
SOLVER = """
import numpy as np, time
from uzushio import staging
options = {"engine": "tcp", "contact": "run.contact", "tcp": {"listen": "10.2.0.2"}}
with staging.open("flow", None, options) as writer:
    writer.uniform_mesh("box", (6, 7, 8))
    writer.field("u", "box")
    writer.block(0, "box", ((0, 0, 0), (6, 7, 8)))
    for n in range(6000):
        with writer.step(n, 0.1 * n):
            writer.put("u", np.arange(336.0).reshape(6, 7, 8) + n)
        time.sleep(0.05)
"""


#: Forwards connections from one address to another, as ssh does.
FORWARD = """
import asyncio, sys
def split(text): host, port = text.split(":"); return host, int(port)
async def pump(source, to):
    while data := await source.read(65536):
        to.write(data); await to.drain()
    to.close()
async def serve(near_in, near_out):
    far_in, far_out = await asyncio.open_connection(*split(sys.argv[2]))
    await asyncio.gather(pump(near_in, far_out), pump(far_in, near_out))
async def main():
    server = await asyncio.start_server(serve, *split(sys.argv[1]))
    print("forwards", flush=True)
    await server.serve_forever()
asyncio.run(main())
"""


class Networks:
    """Three nodes; `start` starts a command on one of them."""

    def __init__(self, start: Start) -> None:
        laptop = start("unshare", "-rn", "sh", "-c", NETWORKS)
        assert laptop.stdout is not None
        told = laptop.stdout.readline().split()
        if told[:1] != ["nodes"]:
            errors = laptop.communicate(timeout=60)[1]
            pytest.skip(f"network namespaces cannot be made here: {errors.strip()}")
        self._start = start
        self._nodes = {"laptop": laptop.pid, "login": told[1], "compute": told[2]}

    def start(self, node: str, *command: object) -> subprocess.Popen[str]:
        enter = ("nsenter", "-t", self._nodes[node], "-U", "-n", "--preserve-credentials")
        return self._start(*enter, *command)


def lines_until(job: subprocess.Popen[str], pattern: str) -> re.Match[str]:
    """Read lines of a command up to one that has a pattern."""
    assert job.stdout is not None
    for line in job.stdout:
        if match := re.search(pattern, line):
            return match
    pytest.fail(f"{pattern!r} was not printed; {job.stderr and job.stderr.read()}")


@pytest.fixture
def networks(start: Start) -> Networks:
    return Networks(start)


def wait_for_file(path: Path) -> None:
    deadline = time.monotonic() + 60.0
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} was not written"
        time.sleep(0.02)


def test_a_laptop_looks_at_a_compute_node_through_a_relay_on_the_login_node(
    start: Start, networks: Networks, tmp_path: Path
) -> None:
    uzushio = (sys.executable, "-m", "uzushio")
    networks.start("compute", sys.executable, "-c", SOLVER)
    wait_for_file(tmp_path / "run.contact")
    direct = networks.start("laptop", *uzushio, "inspect", "run.contact", "--limit", 3)
    relay = networks.start(
        "login", *uzushio, "relay", "--from", "run.contact", "--to", "login.contact",
        *("--listen", "10.1.0.1", "--tls"),
    )  # fmt: skip
    lines_until(relay, "login.contact")
    assert direct.wait(60) == 1, "there is no way from the laptop to the compute node"

    view = networks.start("laptop", *uzushio, "view", "login.contact")
    address = lines_until(view, r"http://127\.0\.0\.1:\d+/#token=[0-9a-f]{64}")[0]
    job = Path(__file__).with_name("view_page_job.py")
    page = networks.start("laptop", sys.executable, job, address)
    first = int(lines_until(page, r"step (\d+)")[1])
    later = [int(lines_until(page, r"step (\d+)")[1]) for _ in range(3)]
    assert first < later[0] < later[1] < later[2]


def test_the_page_of_a_view_on_the_compute_node_passes_two_forwarded_ports(
    networks: Networks, tmp_path: Path
) -> None:
    """As `ssh -L` through the login node does: the page keeps its address of loopback."""
    uzushio = (sys.executable, "-m", "uzushio")
    networks.start("compute", sys.executable, "-c", SOLVER)
    wait_for_file(tmp_path / "run.contact")
    view = networks.start("compute", *uzushio, "view", "run.contact", "--port", 8642)
    address = lines_until(view, r"http://127\.0\.0\.1:\d+/#token=[0-9a-f]{64}")[0]
    for node, listen, to in (
        ("compute", "10.2.0.2:8642", "127.0.0.1:8642"),
        ("login", "10.1.0.1:8642", "10.2.0.2:8642"),
        ("laptop", "127.0.0.1:8642", "10.1.0.1:8642"),
    ):
        forward = networks.start(node, sys.executable, "-c", FORWARD, listen, to)
        lines_until(forward, "forwards")
    job = Path(__file__).with_name("view_page_job.py")
    page = networks.start("laptop", sys.executable, job, address)
    first = int(lines_until(page, r"step (\d+)")[1])
    assert int(lines_until(page, r"step (\d+)")[1]) > first
