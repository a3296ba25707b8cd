"""Answers with bounds, and what the bounds promise in plain words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from adyton.arrays import Reals

Kind: TypeAlias = Literal["exact", "approximate"]

NOT_MEASURED = "No bounds: these counts do not follow from what was measured. Ask for them in a release of their own."
_SHOWN = 6


@dataclass(frozen=True, eq=False)
class Interval:
    """Answers with bounds: *kind* says whether the rate is a promise (``exact``) or an ``approximate`` one."""

    estimate: Reals
    lower: Reals
    upper: Reals
    confidence: float
    """Lower than what was asked for if runs were slow: then *note* says so."""
    kind: Kind
    beyond: bool = False
    """Whether some of the answers do not follow from what was measured, although the task's own do."""
    note: str = ""
    """What has to be said about the runs that the bounds come from, if anything."""
    means: str = ""
    """What the intervals promise, where that is not what intervals of their kind do."""
    counted: str = ""
    """Which rows were counted, in a few words, where that is not all of them."""

    @property
    def bounded(self) -> bool:
        """Whether there are bounds. If too few runs could be made in time, they are infinite."""
        return bool(np.isfinite(self.upper).all())

    @property
    def missing(self) -> str:
        """Why no bounds may stand beside the counts: there are none, or what they say of true counts is wrong. Empty if
        they may."""
        return self.note if not self.bounded else NOT_MEASURED if self.beyond else ""

    @property
    def meaning(self) -> str:
        """What the intervals promise, in plain words."""
        if not self.bounded:
            return self.note
        if self.means:
            return self.means
        rate = f"{100 * self.confidence:g}"
        if self.kind == "exact":
            return (
                f"Of all releases made in this way, {rate} in 100 have the true count of a query inside its interval. "
                "The noise that was added is accounted for, and nothing else: not rows that are missing or wrong."
            )
        if self.beyond:
            return (
                "These answers do not follow from what was measured: what the task did not ask for is filled in "
                "evenly. The intervals tell how far noise moves them; nobody guarantees more, and true counts can lie "
                "far outside. Ask for these counts in a release of their own."
            )
        return (
            f"The intervals are meant to hold the true count in {rate} of 100 releases, but nobody guarantees it: the "
            "algorithm adapts to the data, and its error was estimated by running it again on what it published. Where "
            "it smooths real detail away, intervals are too narrow."
        )

    def __repr__(self) -> str:
        return (
            f"<{100 * self.confidence:g}% intervals ({self.kind}): {self._listed()}>" if self.bounded else "<no bounds>"
        )

    def __str__(self) -> str:
        return f"{self._listed()}. {self.meaning}{self.note and ' ' + self.note}" if self.bounded else self.note

    def _listed(self) -> str:
        pairs = zip(self.lower.reshape(-1).tolist()[:_SHOWN], self.upper.reshape(-1).tolist()[:_SHOWN], strict=True)
        more = ", …" if self.lower.size > _SHOWN else ""
        counted = f" ({self.counted})" if self.counted else ""
        return ", ".join(f"{low:.6g} to {high:.6g}" for low, high in pairs) + more + counted
