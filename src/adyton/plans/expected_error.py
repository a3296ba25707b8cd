"""The error to expect of a plan, and what kind of a figure it is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

ErrorKind: TypeAlias = Literal["exact", "estimate", "upper mark", "noise only", "resampled"]
MEANINGS: dict[ErrorKind, str] = {
    "exact": "certain, whatever the data",
    "estimate": "certain, whatever the data, up to rounding",
    "upper mark": "about this or less",
    "noise only": "from noise; the data add to it",
    "resampled": "from what was published",
}
"""What the kinds of :class:`ExpectedError` mean, in plain words."""


@dataclass(frozen=True)
class ExpectedError:
    """The error to expect, before anything is spent: the square root of E‖W·x̂ − W·x‖².

    ``kind`` says what the figure is: ``exact``; an ``estimate`` (by random probes, or for the least budget that a
    private choice leaves); an ``upper mark``, the error of least squares alone, where post-processing follows that is
    meant to improve on it by an amount that depends on the data (it can also lose, on workloads that it is not made
    for); or ``noise only`` where not all that is asked follows from what is measured: a bias comes on top that depends
    on the data. Of a release, it can also be ``resampled`` from the estimate.
    """

    total: float
    queries: int
    kind: ErrorKind
    runs: int | None = None
    """How many simulated runs a resampled figure comes from, if they were fewer than planned."""

    @property
    def per_query(self) -> float:
        """The root mean square error of one answer."""
        return self.total / math.sqrt(self.queries)

    def __float__(self) -> float:
        return self.total

    def __str__(self) -> str:
        return f"{self.total:.4g} in all, {self.per_query:.4g} a query ({MEANINGS[self.kind]})"
