"""How long private choices of a partition take on a line of a million cells, in sorts of ten million doubles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from adyton.kernel.mechanisms.published.dawa_partition import DawaPartition
from adyton.kernel.mechanisms.published.dyadic_partition import DyadicPartition
from adyton.kernel.mechanisms.selection import Selection
from adyton.noise import ExactNoise, SimulatedNoise
from adyton_lab.bench.timing import seconds, sort_unit

CELLS = 1 << 20
_EPSILON = Fraction(1, 4)


@dataclass(frozen=True, kw_only=True)
class SelectionRecord:
    """One selection on one vector."""

    selection: str
    counts: str
    noise: str
    seconds: float
    sorts: float


def compare(cells: int = CELLS) -> Iterator[SelectionRecord]:
    """DAWA's partition and the dyadic one, with simulated and with exact noise."""
    unit = sort_unit()
    random = np.random.default_rng(0)
    vectors = {
        "Poisson of mean 1": random.poisson(1, cells),
        "heavy tail": np.minimum(random.pareto(0.8, cells), 1e6).astype(np.int64),
        "all different": random.permutation(cells),
    }
    selections: dict[str, Selection] = {
        "dawa": DawaPartition(Fraction(4, 3)),
        "dyadic": DyadicPartition((cells,), Fraction(4, 3)),
    }
    for name, selection in selections.items():
        selection.choose(vectors["heavy tail"], _EPSILON, ExactNoise())  # compiles
        for kind, values in vectors.items():
            for noise in (SimulatedNoise(0), ExactNoise()):
                took = seconds(partial(selection.choose, values, _EPSILON, noise))
                yield SelectionRecord(
                    selection=name,
                    counts=kind,
                    noise="exact" if noise.private else "simulated",
                    seconds=took,
                    sorts=took / unit,
                )


def steps() -> int:
    """How many records :func:`compare` yields."""
    return 12
