"""Workloads that stand for all others, what matters of one to the choice (how much of the domain it asks about), and
which algorithm to take if several are expected to be nearly as good: the one whose errors are exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.messages import no_such
from adyton.queries import Identity, Prefix, Queries, RandomRanges, Ranges
from adyton.queries.ranges import LENGTHS

_RANGES = 1000
_SHORT, _LONG = 1 / 16, 1 / 4


def _ranges(kind: str) -> Callable[[tuple[int, ...]], Queries]:
    return lambda domain: RandomRanges(domain, _RANGES, seed=0, kind=kind)


WORKLOADS: dict[str, Callable[[tuple[int, ...]], Queries]] = {
    "identity": Identity,
    "prefix": Prefix,
    **{kind: _ranges(kind) for kind in ("short", "medium", "long", "mixed")},
}
"""The workloads that stand for all others: each cell; each prefix of a line; a thousand boxes of a kind."""


@lru_cache(maxsize=64)
def workload_named(name: str, domain: tuple[int, ...]) -> Queries:
    """The workload of this name on a domain."""
    if name not in WORKLOADS:
        raise BadInput(no_such("workload", name, WORKLOADS))
    return WORKLOADS[name](domain)


@lru_cache(maxsize=64)
def reach(workload: Queries) -> float:
    """From 0, where a query asks about one cell, to 1, where it asks about all: log(cells of a query) / log(cells).

    >>> from adyton.queries import Identity, Total
    >>> reach(Identity(64)), reach(Total(64))
    (0.0, 1.0)
    """
    asked = max(1.0, float(np.mean(_cells_asked(workload))))
    return min(1.0, math.log(asked) / math.log(workload.cells)) if workload.cells > 1 else 0.0


def kind_of(workload: Queries, kinds: Iterable[str]) -> str:
    """The representative workload that stands for this one, out of those that a selector was trained on.

    On a line, prefixes stand for queries that ask about half the domain on average, identity for shorter ones. On a
    plane, boxes that are all short, all medium or all long along both axes are of that kind, any others are mixed.

    >>> from adyton.queries import Prefix, RandomRanges
    >>> kind_of(Prefix(9), ["identity", "prefix"])
    'prefix'
    >>> kind_of(RandomRanges((32, 32), 9, seed=0, kind="long"), ["short", "medium", "long", "mixed"])
    'long'
    """
    known = sorted(kinds)
    found = _kind_on_line(workload) if len(workload.domain) == 1 else _kind_of_boxes(workload)
    if found in known:
        return found
    return "mixed" if "mixed" in known else known[0]


@lru_cache(maxsize=64)
def _kind_on_line(workload: Queries) -> str:
    return "identity" if float(np.mean(_cells_asked(workload))) < workload.cells / 2 else "prefix"


@lru_cache(maxsize=64)
def _kind_of_boxes(workload: Queries) -> str:
    parts = _parts_of_sides(workload)
    for kind, low, high in zip(LENGTHS, (0, _SHORT, _LONG), (_SHORT, _LONG, math.inf), strict=True):
        one_cell = kind == "short"
        fits = (parts >= low) & ((parts < high) | (one_cell & (parts <= 1 / np.array(workload.domain))))
        if fits.all():
            return kind
    return "mixed"


def _parts_of_sides(workload: Queries) -> Reals:
    """For each query the part of each side that it spans; the same along all axes, if it is no box."""
    if isinstance(workload, Ranges):
        return np.asarray((workload.upper - workload.lower + 1) / np.array(workload.domain))
    part = (_cells_asked(workload) / workload.cells) ** (1 / len(workload.domain))
    return np.asarray(np.repeat(part[:, None], len(workload.domain), axis=1))


def _cells_asked(workload: Queries) -> Reals:
    """How many cells each query asks about, if its coefficients are 0 and 1."""
    return np.asarray(np.abs(np.asarray(workload @ np.ones(workload.cells), dtype=np.float64)))


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
