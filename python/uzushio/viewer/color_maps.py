"""Colour maps that the page offers."""

from __future__ import annotations

from uzushio.render.colors import samples

_MAPS = (
    "viridis",
    "cividis",
    "plasma",
    "inferno",
    "magma",
    "twilight",
    "berlin",
    "managua",
    "vanimo",
)
_MAP_COLORS = 32


def color_maps() -> dict[str, list[str]]:
    """Return colour maps as lists of #rrggbb."""
    import matplotlib as mpl
    from matplotlib.colors import to_hex

    names = (name for name in _MAPS if name in mpl.colormaps)
    return {name: [to_hex(tuple(color)) for color in samples(name, _MAP_COLORS)] for name in names}
