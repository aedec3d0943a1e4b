"""Section of the case file on the units that figures and pipelines show."""

from __future__ import annotations

from pydantic import Field

from uzushio._base.config.quantities import with_unit
from uzushio._base.config.section import Section


class Units(Section):
    """Names of the units of length and time; they do not change the equations."""

    length: str = Field("", description="unit of length, such as m; empty: non-dimensional")
    time: str = Field("", description="unit of time, such as s; empty: non-dimensional")

    def text(self, length: int = 0, time: int = 0, other: str = "1") -> str:
        """Return a product of powers of the units as mathtext; empty if one has no name.

        Args:
            length: power of the length.
            time: power of the time.
            other: another unit, to the power 1; "1": none.
        """
        powers = [(other, 0 if other in ("", "1") else 1), (self.length, length), (self.time, time)]
        used = [(name, power) for name, power in powers if power]
        if not all(name for name, _ in used):
            return ""
        above = " ".join(_power(name, power) for name, power in used if power > 0)
        below = "/".join(_power(name, -power) for name, power in used if power < 0)
        return f"{above or ('1' if below else '')}{'/' if below else ''}{below}"

    def label(self, name: str, length: int = 0, time: int = 0) -> str:
        """Return the label of an axis: name and unit."""
        return with_unit(name, self.text(length, time))

    def axis(self, symbol: str, length: int = 0, time: int = 0, name: str = "") -> str:
        """Return the label of an axis: name, symbol and unit."""
        return self.label(f"{name} ${symbol}$".strip(), length, time)

    def after_number(self, length: int = 0, time: int = 0) -> str:
        """Return the unit after a number, with a space before it."""
        unit = self.text(length, time)
        return f" {unit}" if unit else ""


def _power(name: str, power: int) -> str:
    return name if power == 1 else f"{name}$^{power}$"
