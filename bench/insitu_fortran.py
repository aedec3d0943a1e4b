"""Cost of a pipeline inside the steps of a Fortran code, beside the code's own step.

The advection example of `examples/instrument/fortran` is built and run with engine `inproc`, with
and without a picture (a slice and an isosurface) in its published steps. Printed are the seconds of
a step, of a picture and of Python's start, and the memory beyond the code's.

    python bench/insitu_fortran.py [--json FILE] [--points 144] [--ranks 1 2] [--repeat 3]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _report import Record, option_parser, record, report
from rich.table import Table

EXAMPLE = Path(__file__).resolve().parents[1] / "examples/instrument/fortran"
BINARIES = Path(sys.executable).parent
PIPELINE = """
views:
  dye:
    size: [640, 480]
    layers:
      - {kind: slice, field: q, normal: z, at: 0.5, color: {limits: [0.5, 1.5]}}
      - {kind: isosurface, field: q, values: [1.2]}
actions:
  - {picture: dye}
"""
STEPS = 40


def build(folder: Path) -> Path:
    """Compile the example; return its program."""
    path = f"{BINARIES}{os.pathsep}{os.environ['PATH']}"
    prefix = subprocess.check_output([BINARIES / "uzushio", "config", "--prefix"], text=True)
    commands: tuple[list[str | Path], ...] = (
        ["cmake", "-S", EXAMPLE, "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix.strip()}"],
        ["cmake", "--build", folder],
    )
    for command in commands:
        subprocess.run(command, check=True, env=os.environ | {"PATH": path}, capture_output=True)
    return folder / "advection"


def run(
    program: Path, folder: Path, points: int, ranks: int, steps: int, every: int, inside: bool
) -> tuple[float, float]:
    """Run the example; return its seconds, and the most memory of a single rank in MB."""
    options = "engine: inproc\non_error: fail\n" + ("pipeline: look.yaml\n" if inside else "")
    (folder / "staging.yaml").write_text(options)
    command: list[str | Path] = [program, *map(str, [points] * 3), str(steps), str(every)]
    if ranks > 1:
        command = [BINARIES / "mpiexec", "--oversubscribe", "-n", str(ranks), *command]
    began = time.monotonic()
    job = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(job.pid, 0)
    assert status == 0, command
    return time.monotonic() - began, usage.ru_maxrss / 1e3


def measure(program: Path, folder: Path, points: int, ranks: int, repeat: int) -> list[Record]:
    """Return the records on a number of ranks: minima over repeated runs."""
    runs = {}
    for name, steps, every, inside in (
        ("short", STEPS // 4, STEPS, False),
        ("none", STEPS, STEPS, False),
        ("published", STEPS, 2, False),
        ("few", STEPS, STEPS, True),
        ("many", STEPS, 2, True),
    ):
        results = [run(program, folder, points, ranks, steps, every, inside) for _ in range(repeat)]
        runs[name] = min(seconds for seconds, _ in results), max(memory for _, memory in results)
    step = (runs["none"][0] - runs["short"][0]) / (STEPS - STEPS // 4)
    more = STEPS // 2 + 1 - 2  # pictures of "many" beyond those of "few"
    picture = (runs["many"][0] - runs["few"][0] - runs["published"][0] + runs["none"][0]) / more
    start = runs["few"][0] - runs["none"][0] - 2 * picture
    where = f"{points}^3, {ranks} rank{'s' * (ranks > 1)}"
    records = [
        record(f"a step of the solver, {where}", step, "s"),
        record(f"a picture inside it, {where}", picture, "s"),
        record(f"picture, {where}", picture / step, of="step"),
        record(f"start of Python and the pipeline, {where}", start, "s"),
    ]
    if ranks == 1:
        fields = (points + 1) ** 3 * 8 + 3 * points**3 * 4
        beyond = runs["many"][1] - runs["published"][1]
        small = [run(program, folder, 16, 1, STEPS, 2, inside)[1] for inside in (False, True)]
        python = small[1] - small[0]
        records += [
            record(f"memory beyond the code's, {where}", beyond, "MB"),
            record("… of Python and its libraries alone (16^3)", python, "MB"),
            record(f"… the rest, {where}", (beyond - python) * 1e6 / fields, of="published fields"),
        ]
    return records


def main() -> None:
    """Measure, and print the records."""
    parser = option_parser(__doc__)
    parser.add_argument("--points", type=int, default=144, help="cells along each axis")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeat", type=int, default=3, help="runs of each kind")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = build(folder / "build")
        (folder / "look.yaml").write_text(PIPELINE)
        records = []
        for ranks in arguments.ranks:
            records += measure(program, folder, arguments.points, ranks, arguments.repeat)
    table = Table("figure", "value", "unit", "of")
    for row in records:
        table.add_row(row["metric"], f"{row['value']:.3g}", row["unit"], row["of"] or "")
    report(arguments.json, records, table)


if __name__ == "__main__":
    main()
