"""What is asked along one attribute of a table: every cell, all prefixes, all ranges; and "any" beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from adyton.queries import AllRange, Identity, Prefix, Queries, RandomRanges, Stack, Total

Asked: TypeAlias = Literal["cells", "prefixes", "ranges"]
_MOST_LISTED = 1024
_SAMPLE, _SEED = 2000, 1
"""Of a longer axis, so many ranges drawn at random stand for all: the same ones for everybody."""


@dataclass(frozen=True)
class Along:
    """The queries along an attribute of *side* cells; with *total*, "any" is one of them."""

    side: int
    asked: Asked = "cells"
    total: bool = False

    def queries(self) -> Queries:
        """As queries about the cells of the attribute."""
        match self.asked:
            case "cells":
                own: Queries = Identity(self.side)
            case "prefixes":
                own = Prefix(self.side)
            case "ranges":
                listed = self.side <= _MOST_LISTED
                own = AllRange(self.side) if listed else RandomRanges((self.side,), _SAMPLE, seed=_SEED)
        return Stack([own, Total(self.side)]) if self.total else own

    @property
    def count(self) -> int:
        """How many there are, all ranges counted."""
        own = self.side * (self.side + 1) // 2 if self.asked == "ranges" else self.side
        return own + self.total

    @property
    def energy(self) -> tuple[float, float]:
        """The means over all queries w of Σ(w_i − mean)² and of mean², which their variances follow from.

        >>> Along(4).energy, Along(4, "prefixes").energy
        ((0.75, 0.0625), (0.625, 0.46875))
        """
        lengths = np.arange(1, self.side + 1, dtype=np.float64)
        match self.asked:
            case "cells":
                lengths, times = np.ones(1), np.full(1, float(self.side))
            case "prefixes":
                times = np.ones(self.side)
            case "ranges":
                times = self.side + 1 - lengths
        part = lengths / self.side
        spread, level = float((times * lengths * (1 - part)).sum()), float((times * part**2).sum()) + self.total
        return spread / self.count, level / self.count
