"""Tunable parameter of assimilations with any model: forward blocking."""

from __future__ import annotations

import math

from uzushio.tuning.subject import Parameter

#: Mean number of values of J in a line search: 183 in 161 iterations of the example at 96 x 96
#: points.
VALUES_A_SEARCH = 1.15
#: Maximum number of groups: searches rarely need as many candidates.
MOST_GROUPS = 8


def groups(name: str, ranks: int) -> Parameter:
    """Return the tunable of the number of groups of ranks that evaluate candidates concurrently.

    The default is one group: most searches accept their first candidate, and then all groups but
    one wait during the adjoint. Another number is used only if a gain is measured.
    """
    divisors = tuple(n for n in range(1, MOST_GROUPS + 1) if ranks % n == 0)
    return Parameter(name, divisors, 1, "groups that try candidates at once", off=1)


def runs_an_iteration(groups: int, candidates: int | None) -> float:
    """Return the mean number of successive forward runs of an iteration on a number of groups.

    `candidates` are tried at once in a line search, by default one for each group. A second round
    is assumed to be rarer with more candidates.
    """
    candidates = candidates or groups
    rounds = 1.0 + (VALUES_A_SEARCH - 1.0) / candidates
    return rounds * math.ceil(candidates / groups)
