"""Random ranges, as the evaluations of the published algorithms draw them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adyton.arrays import Integers
from adyton.errors import BadInput
from adyton.exact import positive
from adyton.messages import no_such
from adyton.queries.ranges import Ranges
from adyton.whole import as_shape, whole

LENGTHS = ("short", "medium", "long")
KINDS = ("uniform", "any-length", "clustered", *LENGTHS, "mixed")
_CENTRES = 5


def RandomRanges(  # noqa: N802
    domain: int | Sequence[int],
    count: int,
    *,
    seed: int | None = None,
    kind: str = "uniform",
    spread: float | None = None,
) -> Ranges:
    """*count* random boxes.

    ``uniform``: along each axis two cells are drawn and put in order. ``any-length``: along each axis a length is
    drawn, then a place for it, which makes larger boxes. ``clustered``: around one of five random centres, each bound
    at a normal distance of standard deviation *spread* (a sixteenth of the side by default), as in the evaluation of
    DAWA (Li et al., PVLDB 2014). ``short``, ``medium`` and ``long``: lengths along each axis below
    1/16 of the side (but at least one cell), from there to below 1/4, and from there to the side; ``mixed``: each box
    of one of these three kinds, as in the evaluation of Pythia (Kotsogiannis et al., SIGMOD 2017).

    >>> print(RandomRanges((64, 64), 3, seed=1, kind="short"))
    3 ranges on 64 × 64 cells
    """
    sides = as_shape(domain)
    number = whole(count, "count", 1)
    if kind not in KINDS:
        raise BadInput(no_such("kind of random range", kind, KINDS))
    if spread is not None and kind != "clustered":
        raise BadInput(f"spread belongs to clustered ranges, given together with kind = {kind!r}.")
    random = np.random.default_rng(None if seed is None else whole(seed, "seed", 0))
    chosen = random.integers(0, _CENTRES if kind == "clustered" else 3, number)  # the same along all axes of a box
    bounds = [_bounds(random, side, kind, chosen, spread) for side in sides]
    return Ranges(sides, np.stack([low for low, _ in bounds], axis=1), np.stack([high for _, high in bounds], axis=1))


def _bounds(
    random: np.random.Generator, side: int, kind: str, chosen: Integers, spread: float | None
) -> tuple[Integers, Integers]:
    """Lower and upper bounds along one axis; *chosen* is the cluster, or the kind, of each box."""
    number = chosen.size
    if kind == "uniform":
        ends = np.sort(random.integers(0, side, (number, 2)), axis=1)
        return ends[:, 0], ends[:, 1]
    if kind == "clustered":
        deviation = side / 16 if spread is None else float(positive(spread, "spread"))
        centres = random.integers(0, side, _CENTRES)[chosen]
        distances = np.rint(np.abs(random.normal(0, deviation, (2, number))))
        lower, upper = np.maximum(centres - distances[0], 0), np.minimum(centres + distances[1], side - 1)
        return lower.astype(np.int64), upper.astype(np.int64)
    if kind == "any-length":
        lengths = random.integers(1, side, number, endpoint=True)
    else:
        chosen = chosen if kind == "mixed" else np.full(number, LENGTHS.index(kind))
        edges = np.array([1, -(-side // 16), -(-side // 4), side + 1])  # each kind's lengths end where the next begin
        lengths = random.integers(edges[chosen], np.maximum(edges[chosen], edges[chosen + 1] - 1), endpoint=True)
    starts = random.integers(0, side - lengths, endpoint=True)
    return starts, starts + lengths - 1
