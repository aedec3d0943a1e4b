"""Weights of the samples of a mean over time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class SampleWeights:
    """Weights by the time since the sample before, so that a weighted mean is one over time.

    The unit of weights is the time between the first two samples; the first sample has the weight
    1. Samples at equal intervals have equal weights, and so have samples without times.

    Attributes:
        unit: first time between samples that is above 0; None if there is none yet.
        last: time of the last sample; None if it is not known.
    """

    unit: float | None = None
    last: float | None = None

    def add(self, time: float | None) -> float:
        """Return the weight of the next sample.

        Args:
            time: time of the sample; None if it is not known.

        Raises:
            ValueError: the time is before that of the last sample.
        """
        since = 0.0 if time is None or self.last is None else time - self.last
        if since < 0.0:
            raise ValueError(f"the time goes back by {-since:g} to {time:g}")
        self.last = time
        if self.unit is None:
            if since == 0.0:
                return 1.0
            self.unit = since
        return since / self.unit
