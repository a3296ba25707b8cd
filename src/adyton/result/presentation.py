"""How counts are shown: as they are, without negative ones, or as whole numbers. All of it is free."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Reals
from adyton.errors import BadInput
from adyton.solving.projections import project_to_simplex


@dataclass(frozen=True)
class Look:
    """How counts are shown: as they are, as whole numbers, without negative ones.

    >>> Look(integer=True, nonnegative=True).shown(np.array([2.4, -1.0, 0.6])).tolist()
    [2.0, 0.0, 0.0]
    """

    integer: bool = False
    nonnegative: bool = False

    @classmethod
    def of(cls, given: Mapping[str, object], result: Any) -> Look:
        """From what was said, of a result whose numbers can be shown in this way."""
        for name, value in given.items():
            if name not in ("integer", "nonnegative"):
                raise TypeError(f"save() got an unexpected keyword argument {name!r}")
            if value and not result.looks:
                raise BadInput(f"{name} is for counts of cells, and this is {result.holds}. Leave it out.")
        return cls(bool(given.get("integer", False)), bool(given.get("nonnegative", False)))

    def shown(self, estimate: Reals) -> Reals:
        """The estimate, made non-negative with the same total, and rounded with the same (rounded) total."""
        cells = estimate.reshape(-1)
        if self.nonnegative:
            cells = project_to_simplex(cells, np.maximum(0.0, cells.sum(axis=-1)))
        if self.integer:
            cells = _rounded(cells)
        return cells.reshape(estimate.shape)

    def numbers(self, answers: npt.ArrayLike) -> Array:
        """Answers from what is shown, in the type that suits them."""
        return np.asarray(answers, dtype=np.float64).astype(np.int64 if self.integer else np.float64)

    def around(self, counts: Array, lower: Reals, upper: Reals) -> tuple[Array, Array]:
        """Bounds to show beside counts that are shown in this way: no count lies outside of its own.

        Rounding and leaving out negative counts move some counts a little, and wider bounds promise no less.

        >>> Look(integer=True, nonnegative=True).around(np.array([3, 0]), np.array([2.1, -4.5]), np.array([2.7, -0.5]))
        (array([2, 0]), array([3, 0]))
        """
        least = 0.0 if self.nonnegative else -np.inf
        low, high = np.minimum(np.maximum(lower, least), counts), np.maximum(np.maximum(upper, least), counts)
        if not self.integer or not np.isfinite(high).all():
            return low, high
        return np.floor(low).astype(np.int64), np.ceil(high).astype(np.int64)


AS_IT_IS = Look()


def _rounded(cells: Reals) -> Reals:
    """Whole numbers that add up to the nearest whole number of the sum: the largest remainders are rounded up."""
    floors = np.floor(cells)
    missing = int(np.rint(cells.sum()) - floors.sum())
    if missing > 0:
        floors[np.argsort(floors - cells, kind="stable")[:missing]] += 1
    return floors
