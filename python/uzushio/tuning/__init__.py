"""Search for the fastest values of tunable parameters of a case, and their use in later runs.

`subject.py` is the interface of a room, `search.py` chooses points, `race.py` times them,
`result_cache.py` and `use.py` store the result and apply it to later runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uzushio._base import lazy

if TYPE_CHECKING:
    from uzushio.tuning.subject import Machine as Machine
    from uzushio.tuning.subject import Parameter as Parameter
    from uzushio.tuning.subject import Rule as Rule
    from uzushio.tuning.subject import Subject as Subject
    from uzushio.tuning.subject import Workload as Workload
else:
    __getattr__, __dir__ = lazy.names(__name__)
