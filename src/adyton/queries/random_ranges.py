"""Random ranges, as the evaluations of the published algorithms draw them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from adyton.errors import BadInput
from adyton.exact import positive
from adyton.messages import no_such
from adyton.queries.ranges import Ranges
from adyton.whole import as_shape, whole

KINDS = ("uniform", "clustered", "short", "medium", "long", "mixed")
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

    ``uniform``: along each axis two cells are drawn and put in order. ``clustered``: the bounds are drawn around five
    random centres, with a normal distance of standard deviation *spread* (a sixteenth of the side by default), as in
    the evaluation of DAWA (Li et al., PVLDB 2014). ``short``, ``medium`` and ``long``: lengths along each axis below
    1/16 of the side, from there to 1/4, and above; ``mixed``: each box of one of these three kinds, as in the
    evaluation of Pythia (Kotsogiannis et al., SIGMOD 2017).

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
    kinds = random.integers(0, 3, number)  # the same kind along all axes of a box
    bounds = [_bounds(random, side, number, kind, kinds, spread) for side in sides]
    return Ranges(sides, np.stack([low for low, _ in bounds], axis=1), np.stack([high for _, high in bounds], axis=1))


def _bounds(
    random: np.random.Generator,
    side: int,
    number: int,
    kind: str,
    kinds: npt.NDArray[np.int64],
    spread: float | None,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    if kind in ("uniform", "clustered"):
        if kind == "uniform":
            ends = random.integers(0, side, (number, 2))
        else:
            deviation = side / 16 if spread is None else float(positive(spread, "spread"))
            centres = random.integers(0, side, _CENTRES)[random.integers(0, _CENTRES, number)]
            distances = np.abs(random.normal(0, deviation, (number, 2)))
            ends = np.stack([centres - distances[:, 0], centres + distances[:, 1]], axis=1)
            ends = np.clip(np.rint(ends), 0, side - 1).astype(np.int64)
        ends.sort(axis=1)
        return ends[:, 0], ends[:, 1]
    chosen = kinds if kind == "mixed" else np.full(number, ("short", "medium", "long").index(kind))
    edges = np.array([1, max(1, side // 16), max(1, side // 4), side])
    least, most = edges[chosen], np.maximum(edges[chosen], edges[chosen + 1] - (chosen < 2))
    lengths = random.integers(least, most, endpoint=True)
    starts = random.integers(0, side - lengths, endpoint=True)
    return starts, starts + lengths - 1
