"""A statistic of every group: what is told, its bounds, and its error."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from adyton.arrays import Reals
from adyton.result.interval import Kind


@dataclass(frozen=True, eq=False)
class Figures:
    """One statistic for each group. *error* is the standard error to expect; *kind* says whether the rate of the bounds
    is a promise."""

    name: str
    estimate: Reals
    lower: Reals
    upper: Reals
    error: Reals
    kind: Kind

    @classmethod
    def missing(cls, name: str, groups: int) -> Figures:
        """Nothing is known: it was not measured."""
        nothing = np.full(groups, np.nan)
        return cls(name, nothing, nothing, nothing, nothing, "approximate")

    @property
    def typical_error(self) -> float:
        """The standard error in the median group: an empty group, of which nothing is known, does not decide it."""
        return float(np.nanquantile(self.error, 0.5, method="lower")) if self.known else math.nan

    @property
    def known(self) -> bool:
        """Whether it was measured."""
        return bool(np.isfinite(self.estimate).any())
