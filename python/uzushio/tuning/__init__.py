"""Find the values of tunable parameters with which a case runs fastest here, and use them.

`subject.py` is what a room declares, `search.py` how points are chosen, `race.py` how they are
timed, `kept.py` and `use.py` how later runs come to use what was found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uzushio import lazy

if TYPE_CHECKING:
    from uzushio.tuning.subject import Machine, Parameter, Rule, Subject, Workload

__all__ = ["Machine", "Parameter", "Rule", "Subject", "Workload"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy.names(
        __name__,
        {
            "Machine": "subject",
            "Parameter": "subject",
            "Rule": "subject",
            "Subject": "subject",
            "Workload": "subject",
        },
    )
