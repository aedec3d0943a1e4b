"""Append steps to a VTKHDF file until killed: extract_writer.py FILE FIRST."""

from __future__ import annotations

import sys
from pathlib import Path

from test_extracts import ALONE, append, schema

from uzushio.extracts.vtkhdf_layout import kind_of
from uzushio.extracts.vtkhdf_series import VtkhdfSeries

SHAPE = (6, 7, 40)
described = schema(SHAPE)
store = VtkhdfSeries(Path(sys.argv[1]), described, kind_of(described, compatible=False))
step = int(sys.argv[2])
while ALONE.size:
    append(store, step, SHAPE)
    print(step, flush=True)
    step += 1
