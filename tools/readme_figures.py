"""Write the table of measured figures in README.md from the pages of benches and validations.

Run as ``python tools/readme_figures.py`` (`make docs`) after one of these pages has changed. Each
number is read from a page; none is typed here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
README = DOCS.parent / "README.md"
#: Lines around the table.
BEGIN = "<!-- `make docs` writes this table from the pages that it links to; do not edit. -->\n"
END = "<!-- End of the table. -->\n"
#: Absolute value of a deviation: a percentage with a sign, alone in its cell.
_DEVIATION = re.compile(r"\| [+−-]([\d.]+) %")


class Page:
    """Page of a script, whose numbers are found by regular expressions with one group."""

    def __init__(self, name: str) -> None:
        self.link = f"docs/{name}"
        self.text = (DOCS / name).read_text(encoding="utf-8")

    def all(self, pattern: str) -> list[str]:
        """Return the group of all matches; raise `ValueError` if there is none."""
        matches: list[str] = re.findall(pattern, self.text, re.M)
        if not matches:
            raise ValueError(f"{self.link} has no '{pattern}'")
        return matches

    def match(self, pattern: str) -> str:
        """Return the group of the first match."""
        return self.all(pattern)[0]

    def range(self, *patterns: str) -> str:
        """Return the minimum and the maximum of all matches."""
        values = sorted((value for pattern in patterns for value in self.all(pattern)), key=float)
        return f"{values[0]} to {values[-1]}"

    def worst(self, *rows: str) -> str:
        """Return the largest deviation of the last row that each pattern begins."""
        lines = [self.all(f"^({row}.*)$")[-1] for row in rows]
        return max((value for line in lines for value in _DEVIATION.findall(line)), key=float)


def _rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield the rows of the table."""
    page = Page("validation/channel180.md")
    value = f"within {page.worst(*(rf'. mean velocity.*. . {by}' for by in ('Moser', 'Lee')))} %"
    script = f"`make validate` ([page]({page.link}))"
    yield "mean velocity, Re_τ = 180", value, "published DNS", script
    peaks = [
        f". peak of {component} r.m.s. . {by}" for component in "uvw" for by in ("Moser", "Lee")
    ]
    value = f"within {page.worst(*peaks)} %"
    yield "peaks of the velocity fluctuations", value, "published DNS", ""

    page = Page("validation/thermal.md")
    name = "heated cavity, Ra = 10³ to 10⁶: velocities, Nusselt number"
    value = (
        f"within {page.worst(*(f'. {rayleigh} . ' for rayleigh in ('10³', '10⁴', '10⁵', '10⁶')))} %"
    )
    script = f"`validation/thermal.py` ([page]({page.link}))"
    yield name, f"{value}; second order", "de Vahl Davis; Le Quéré", script
    value = f"within {page.worst('. 100 . ', '. 1000 . ')} %"
    yield "lid-driven cavity, Re = 100, 1000: velocities", value, "Botella and Peyret", ""
    drags = [page.match(rf"^\| {cells} .*? \+([\d.]+) %") for cells in ("96 × 40", "150 × 105")]
    value = f"within {drags[0]} %, {drags[1]} %"
    yield "drag of a sphere, Re = 100, 300", value, "Johnson and Patel", ""

    page = Page("performance/channel.md")
    times = re.search(r"step over floor\*\* \| \*\*([\d.]+)\*\* \| \*\*([\d.]+)\*\*", page.text)
    assert times is not None
    value = f"{times[1]}, {times[2]} ×"
    script = f"`bench/channel.py` ([page]({page.link}))"
    compared = "time of its FFTs and its memory traffic alone"
    yield "one step at 128³, 1 and 2 ranks", value, compared, script

    page = Page("performance/thermal.md")
    factor = page.match(r"The\s+step\s+takes\s+([\d.]+)\s+times")
    value = f"{factor} ×"
    script = f"`bench/thermal.py` ([page]({page.link}))"
    name = "a step of a flow around a sphere, 128³, one core"
    yield name, value, "the same flow without the sphere", script

    page = Page("performance/linalg.md")
    cg, multigrid = (
        page.match(r"`cg`\s+is\s+([\d.]+)\s+times"),
        page.match(r"`multigrid`\s+([\d.]+)\s+times"),
    )
    value = f"{cg} × (`cg`) and {multigrid} × (`multigrid`) faster"
    script = f"`bench/linalg.py` ([page]({page.link}))"
    name = "Poisson's equation, 128³, to 1e-8, one core"
    yield name, value, "hypre's CG with PFMG", script

    page = Page("performance/staging.md")
    share = r"\| \**([\d.]+)\** \| [\d.]* \|$"
    pairs = rf".*{share}\n\| 2 to 2 .*{share}"
    copies = re.findall(rf"^\| `shm`, (?:one copy|a reader).*1 to 1{pairs}", page.text, re.M)
    values = sorted((value for pair in copies for value in pair), key=float)
    value = f"{values[0]} to {values[-1]} of the rate"
    script = f"`bench/staging.py` ([page]({page.link}))"
    yield "a step of 100 MB through shared memory", value, "memcpy", script
    values = sorted(re.findall(rf"^\| `tcp`, 1 to 1{pairs}", page.text, re.M)[0], key=float)
    value = f"{values[0]} to {values[1]} of the rate"
    yield "the same over TCP", value, "a plain socket per pair of ranks", ""

    page = Page("performance/compositing.md")
    factors = page.match(r"^\| best of ours, times faster than IceT's best \|(.*)\|").split("|")[:3]
    values = sorted((factor.strip() for factor in factors), key=float)
    script = f"`bench/compositing.py` ([page]({page.link}))"
    value = f"{values[0]} to {values[-1]} × faster"
    yield "compositing the images of 4 to 16 ranks", value, "IceT 2.2", script

    page = Page("performance/raycast.md")
    dense, sparse = (
        page.match(rf"^\| {kind} volume \|.*/ \**([\d.]+)\** \|$") for kind in ("dense", "sparse")
    )
    script = f"`bench/raycast.py` ([page]({page.link}))"
    name = "dense and sparse volume of 256³, 1024² pixels"
    yield name, f"{dense} and {sparse} × faster", "VTK", script
    fine = r"^\| isosurface, 2.8 million triangles.*\| "
    value = page.range(fine + r"\**([\d.]+)\** / ", fine + r"\**[\d.]+\** / \**([\d.]+)\** \|$")
    yield "isosurface of 2.8 million triangles", f"{value} × faster", "VTK", ""

    page = Page("performance/viewer.md")
    value = f"{page.match(r'^. 1 live view . [0-9.]+ ms . ([0-9.]+) ')} ×"
    script = f"`bench/viewer.py` ([page]({page.link}))"
    yield "a solver's step with one live view", value, "without live view", script

    page = Page("performance/assimilation.md")
    row = page.match(r"^\| 1 rank, replayed .*\| ([\d.]+ \(goal [\d.]+: \w+\)) \|$")
    times, goal, met = re.findall(r"[\d.]+|met|missed", row)
    value = f"{times} × (goal {goal} {'reached' if met == 'met' else 'not reached'})"
    script = f"`bench/assimilation.py` ([page]({page.link}))"
    yield "cost J and its gradient, replayed states", value, "least memory traffic", script


def table() -> str:
    """Return the table in Markdown."""
    head = ["| figure | value | compared with | script |", "|---|---|---|---|"]
    lines = [*head, *("| " + " | ".join(row) + " |" for row in _rows())]
    return "\n".join(lines).replace("|  |", "| |") + "\n"


def write(readme: str) -> str:
    """Return the text of README.md with the table."""
    before, _, rest = readme.partition(BEGIN)
    return before + BEGIN + "\n" + table() + "\n" + END + rest.partition(END)[2]


if __name__ == "__main__":
    README.write_text(write(README.read_text(encoding="utf-8")), encoding="utf-8")
