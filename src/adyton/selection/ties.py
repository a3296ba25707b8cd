"""Which algorithm to take, if several are expected to be nearly as good: the one whose errors are exact."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.queries import Queries
from adyton.selection.workload_kinds import reach

TIE = 1.02
"""Algorithms whose expected regrets differ by less than this factor count as equally good."""
FEW_CELLS, TIE_OF_FEW = 32, 1.1
"""So few categories are read one by one, with their intervals: exact ones are worth more there."""


def tie_of(workload: Queries, ordered: bool) -> float:
    """How much larger an error may be that is exact: more where there are a few categories, which are read one by one.

    Levels of a category are listed because they occur; a number's cells can be empty in long stretches, where exact
    errors are dear.
    """
    few = workload.cells <= FEW_CELLS and reach(workload) == 0 and not ordered
    return TIE_OF_FEW if few else TIE


def cheapest(
    regrets: Iterable[tuple[str, float]], usable: Iterable[str], exact: Collection[str] = (), tie: float = TIE
) -> str:
    """The algorithm of least regret among those that can be used, by :func:`best`.

    >>> cheapest({"hb": 1.01, "dawa": 1.0}.items(), ["hb", "dawa"], exact=["hb"])
    'hb'
    """
    allowed = set(usable)
    names, expected = zip(*sorted((name, regret) for name, regret in regrets if name in allowed), strict=True)
    return str(names[int(best(np.array(expected), np.array([name in exact for name in names]), tie))])


def best(regrets: Reals, exact: npt.NDArray[np.bool_], tie: float = TIE) -> npt.NDArray[np.intp]:
    """Along the last axis, the place of the least regret; where an algorithm whose errors are *exact*, known beforehand
    and the same on all data, is as good up to *tie*, the place of the best such one."""
    tied = exact & (regrets <= tie * regrets.min(axis=-1, keepdims=True))
    preferred = np.where(tied | ~tied.any(axis=-1, keepdims=True), regrets, np.inf)
    return np.asarray(np.argmin(preferred, axis=-1))
