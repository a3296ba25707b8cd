"""How much better the variants of MWEM are than MWEM: Table 3 of εKTELO.

4096 cells, ε = 0.1, a thousand random ranges, each shape at the number of rows that it has itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.plans import plan_named
from adyton.queries import RandomRanges
from adyton_lab.bench.shapes import shapes
from adyton_lab.training.engine import Trials

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
) -> Iterator[VariantRecord]:
    """Every variant against MWEM."""
    counts = [_counts(shape) for shape in shapes(1, CELLS, data, public=public).values()]
    usual = _errors("mwem", counts, trials)
    for variant in VARIANTS:
        factors = usual / _errors(variant, counts, trials)
        yield VariantRecord(
            variant=variant, least=float(factors.min()), mean=float(factors.mean()), most=float(factors.max())
        )


def steps(**_: object) -> int:
    """How many records :func:`compare` yields."""
    return len(VARIANTS)


def _errors(name: str, counts: list[Integers], trials: int) -> Reals:
    """The mean error of an algorithm on each of the counts."""
    workload, plan = RandomRanges(CELLS, _RANGES, seed=1), plan_named(name)
    return np.array([Trials(plan, x, EPSILON, seed=1, trials=trials).on(workload).errors.mean() for x in counts])


def _counts(shape: Reals) -> Integers:
    whole = np.rint(shape)
    rows = whole if np.array_equal(whole, shape) else np.rint(shape / shape.sum() * _ROWS)
    return rows.astype(np.int64)
