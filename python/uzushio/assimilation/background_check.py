"""Background check: observations far from the run of the first guess are left out.

Weather services reject gross errors so before a minimisation (A. C. Lorenc, O. Hammon, Objective
quality control of observations using Bayesian methods, Q. J. R. Meteorol. Soc. 114 (1988)).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from uzushio._base.observations import Observations
from uzushio.assimilation.model import Guess, Model
from uzushio.assimilation.residuals import standardised_residuals
from uzushio.errors import CaseError

#: Share of the values above which the first guess, rather than the values, is likely to be wrong.
_MANY = 0.1


@dataclass(frozen=True)
class BackgroundCheck:
    """Result of a check.

    Attributes:
        limit: maximum of |observation minus run of the first guess| in sigma.
        values: number of values that were compared.
        rejected: number of values that were left out.
    """

    limit: float
    values: int
    rejected: int

    @property
    def sentence(self) -> str:
        """Return a sentence for users."""
        return (
            f"The background check leaves out {self.rejected} of {self.values} values, which are "
            f"further than {self.limit:g} sigma from the run of the first guess."
        )

    @property
    def warning(self) -> str:
        """Return a warning if the first guess is too far from the observations; else nothing."""
        if self.rejected <= _MANY * self.values:
            return ""
        share = 100.0 * self.rejected / self.values
        return (
            f"observations.background_check leaves out {share:.0f} % of the values: the first "
            "guess is too far from them for this check; use observations.huber, which needs no "
            "good first guess, or a larger limit."
        )


def check(
    model: Model, observations: Observations, guess: Guess, limit: float
) -> tuple[Observations, BackgroundCheck]:
    """Return the observations with the weight 0 for those that are left out (collective).

    Raises:
        CaseError: on all ranks: the run of the first guess is not finite, or no value is left.
    """
    weight = np.broadcast_to(observations.weight, observations.values.shape).copy()
    counts, steps = np.zeros(3, dtype=np.int64), observations.steps
    for index, (residuals,) in standardised_residuals(model, observations, [guess], steps[-1]):
        seen = weight[index] > 0.0
        far = seen & (np.abs(residuals) > limit)
        counts += [
            np.count_nonzero(seen),
            np.count_nonzero(far),
            np.count_nonzero(~np.isfinite(residuals)),
        ]
        weight[index][far] = 0.0
    model.comm.Allreduce(counts.copy(), counts)
    values, rejected, infinite = (int(count) for count in counts)
    if infinite:
        raise CaseError(
            "observations.background_check: the run of the first guess does not stay finite; "
            "choose another first_guess, or null for no check."
        )
    if rejected == values:
        raise CaseError(
            f"observations.background_check: all {values} values are further than {limit:g} sigma "
            "from the run of the first guess; choose a larger limit, or another first_guess."
        )
    return replace(observations, weight=weight), BackgroundCheck(limit, values, rejected)
