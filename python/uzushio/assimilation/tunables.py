"""What can be tuned of an assimilation whatever its model: forward blocking."""

from __future__ import annotations

from uzushio.tuning.subject import Parameter

#: Values of J that a line search costs on average, with the one whose step is taken: 183 in 161
#: iterations of the example at 96 x 96 points.
VALUES_A_SEARCH = 1.15
#: Groups that are tried at most: searches with so many candidates are rare.
MOST_GROUPS = 8


def groups(name: str, ranks: int) -> Parameter:
    """The parameter `name` of a case that says how many groups of ranks try candidates at once.

    One group is off: most searches take their first candidate, and all groups but one then wait
    while it goes back. So another number is used only where it is measured to pay.
    """
    divisors = tuple(n for n in range(1, MOST_GROUPS + 1) if ranks % n == 0)
    return Parameter(name, divisors, 1, "groups that try candidates at once", off=1)


def runs_an_iteration(groups: int) -> float:
    """Forward runs, one after the other, that an iteration takes with so many groups."""
    return 1.0 + (VALUES_A_SEARCH - 1.0) / groups
