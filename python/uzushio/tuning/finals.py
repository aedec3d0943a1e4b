"""Choice among the finalists of a search."""

from __future__ import annotations

from collections.abc import Sequence

from uzushio.tuning.journal import TrialRecord
from uzushio.tuning.space import Space

#: Relative gain that a point needs over the default, or over a point with a parameter off.
MARGIN = 0.02


def choose(
    finalists: Sequence[TrialRecord], default: TrialRecord, space: Space
) -> tuple[TrialRecord, str]:
    """Choose the fastest finalist that differs from the default only where it gains enough.

    Args:
        finalists: fastest first.
        default: one of them.
        space: parameters that can be switched off.

    Returns:
        The choice, and the reason if it is not the fastest.
    """
    chosen, reason = finalists[0], ""
    for place, parameter in enumerate(space.parameters):
        if parameter.off is None or chosen.key[place] == parameter.off:
            continue
        rival = next(
            (finalist for finalist in finalists if finalist.key[place] == parameter.off), None
        )
        if rival is not None and rival.best <= chosen.best * (1 + MARGIN):
            reason = (
                f"{parameter.name} {chosen.key[place]} does not pay: it takes "
                f"{chosen.best / rival.best:.3f} times what {parameter.off} takes."
            )
            chosen = rival
    if chosen is not default and default.best <= chosen.best * (1 + MARGIN):
        reason = f"nothing is faster than the default by more than {100 * MARGIN:.0f} %."
        chosen = default
    return chosen, reason
