"""How much better the variants of MWEM are than MWEM: Table 3 of εKTELO.

4096 cells, ε = 0.1, a thousand random ranges, each shape at the number of rows that it has itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adyton.lab.bench.shapes import shapes
from adyton.plans import simulate
from adyton.queries import RandomRanges

CELLS = 4096
EPSILON = "0.1"
VARIANTS = ("mwem-b", "mwem-c", "mwem-d", "mwem*")
_RANGES = 1000
_ROWS = 100_000
"""For shapes that are no counts."""


@dataclass(frozen=True, kw_only=True)
class VariantRecord:
    """By what factor a variant lowers the error of MWEM, over the shapes."""

    variant: str
    least: float
    mean: float
    most: float


def compare(
    *,
    trials: int = 3,
    data: str | os.PathLike[str] | None = None,
    public: bool = False,
    advance: Callable[[], None] = lambda: None,
) -> Iterator[VariantRecord]:
    """Every variant against MWEM."""
    workload = RandomRanges(CELLS, _RANGES, seed=1)
    counts = [_counts(shape) for shape in shapes(1, CELLS, data, public=public).values()]

    def errors(name: str) -> np.ndarray:
        found = []
        for x in counts:
            estimates = simulate(name, x, workload, EPSILON, seed=1, trials=trials)
            found.append(float(np.linalg.norm(workload @ (estimates - x), axis=-1).mean()))
        advance()
        return np.array(found)

    usual = errors("mwem")
    for variant in VARIANTS:
        factors = usual / errors(variant)
        yield VariantRecord(
            variant=variant, least=float(factors.min()), mean=float(factors.mean()), most=float(factors.max())
        )


def steps() -> int:
    """How often :func:`compare` calls its *advance*."""
    return 1 + len(VARIANTS)


def _counts(shape: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    whole = np.rint(shape)
    rows = whole if np.array_equal(whole, shape) else np.rint(shape / shape.sum() * _ROWS)
    return rows.astype(np.int64)
