"""The selectors of the package on the inputs of the Pythia paper, which they never saw, beside the best single plan.

A part of the paper's grid of data sets, domains and numbers of rows, at ε = 1 and 0.1.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.arrays import Reals
from adyton.choice.pythia import shipped_selector
from adyton.choice.selector import Selector
from adyton.errors import BadInput
from adyton_lab.corpus import dpbench_corpus
from adyton_lab.training.delphi import USUAL_WORKLOADS, Delphi
from adyton_lab.training.engine import Advance, unseen
from adyton_lab.training.replay import expected_errors

MOST = {1: 80, 2: 140}
"""How many inputs are measured, by the number of axes; all of them would take hours."""
RUNS = {1: 10, 2: 8}
"""The most runs of each algorithm."""
EPSILONS = ("1", "0.1")


@dataclass(frozen=True, kw_only=True)
class JudgedRecord:
    """One workload: mean regrets, where the least error of each input is cross-fitted."""

    workload: str
    epsilon: str
    inputs: int
    selector: float
    """Choosing, with what is paid for looking at the data."""
    best: str
    """The single plan of least mean regret: known only afterwards."""
    single: float
    """Its mean regret."""


def compare(
    *,
    data: str | os.PathLike[str] | None = None,
    public: bool = False,
    trials: int = 10,
    advance: Advance = unseen,
) -> Iterator[JudgedRecord]:
    """Every workload on lines and planes, and all of those together."""
    if data is None:
        raise BadInput(
            "selectors are judged on the histograms of DPBench. Give the folder that holds them with --data."
        )
    for dimensions, most in MOST.items():
        selector = shipped_selector(dimensions)
        delphi = Delphi(
            corpus=dpbench_corpus(data, dimensions, public=public),
            public=public,
            dimensions=dimensions,
            algorithms=selector.training.algorithms,
            epsilons=EPSILONS,
            trials=min(trials, RUNS[dimensions]),
            most=most,
        )
        yield from judged(delphi, selector, advance)


def judged(delphi: Delphi, selector: Selector, advance: Advance = unseen) -> Iterator[JudgedRecord]:
    """What a selector is worth on inputs, by budget and workload, and on all workloads together."""
    everything = delphi.measure(advance)
    for epsilon in dict.fromkeys(one.epsilon for one in everything.inputs):
        measured = everything.where(lambda one, epsilon=epsilon: one.epsilon == epsilon)  # type: ignore[misc]
        every = []
        for workload in measured.errors:
            best = measured.best_errors(workload)
            chosen = expected_errors(measured, dict.fromkeys(measured.sources, selector), workload) / best
            every.append(np.column_stack([chosen, measured.mean_errors(workload) / best[:, None]]))
            yield _record(f"{delphi.dimensions}-D {workload}", epsilon, every[-1], measured.algorithms)
        yield _record(f"{delphi.dimensions}-D, all", epsilon, np.concatenate(every), measured.algorithms)


def _record(workload: str, epsilon: Fraction, regrets: Reals, names: tuple[str, ...]) -> JudgedRecord:
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


def steps(**_: object) -> int:
    """How many steps :func:`compare` tells of."""
    algorithms = {ndim: len(shipped_selector(ndim).training.algorithms) for ndim in MOST}
    return sum(most * (algorithms[ndim] * len(USUAL_WORKLOADS[ndim]) + 1) for ndim, most in MOST.items())
