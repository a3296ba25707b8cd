"""A statistic of every group: what is told, its bounds, and its error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adyton.arrays import Reals
from adyton.release.interval import Kind


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
    def known(self) -> bool:
        """Whether it was measured."""
        return bool(np.isfinite(self.estimate).any())
