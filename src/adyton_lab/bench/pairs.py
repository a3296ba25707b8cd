"""Tables of all pairs of many attributes: each way there is, beside independent noise that is cut off at zero."""

from __future__ import annotations

import itertools
import math
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.kernel.kernel import Kernel
from adyton.marginals.pair_model import Pair
from adyton.marginals.program import Wanted, measured, modelled, program_named
from adyton.solving.nonnegative import project_to_simplex
from adyton_lab.corpus.many_attributes import PublicTable, public_table, tables_in

WAYS = ("auto", "all-pairs", "select-pairs")
EPSILONS = ("0.1", "1", "10")


@dataclass(frozen=True, kw_only=True)
class PairsRecord:
    """All ways on one table with one budget: the mean total variation over all pairs."""

    table: str
    attributes: int
    epsilon: str
    clipped: float
    """Independent Laplace noise on every pair, an equal share for each, cut off at zero."""
    projected: float
    """The same noise, cut off at zero after all cells were lowered so that the sum stays."""
    auto: float
    all_pairs: float
    select_pairs: float
    went: str
    """What auto did."""
    ratio: float
    """The error of auto divided by that of clipped noise,"""
    beside_projected: float
    """and divided by that of projected noise,"""
    beside_better: float
    """and by that of the better of the two ways."""
    seconds: float
    """Of auto, with its tables, in processor time."""


def compare(
    *, data: str | os.PathLike[str] | None = None, public: bool = False, trials: int = 1
) -> Iterator[PairsRecord]:
    """Every table in a folder with every budget; the means over *trials* runs."""
    for name, epsilon in itertools.product(_names(data), EPSILONS):
        assert data is not None
        table = public_table(name, data, public=public)
        yield _record(table, epsilon, trials)


def steps(*, data: str | os.PathLike[str] | None = None, **_: object) -> int:
    """How many records :func:`compare` yields."""
    return len(_names(data)) * len(EPSILONS)


def _names(data: str | os.PathLike[str] | None) -> list[str]:
    if data is None:
        raise BadInput("pairs are compared on public tables. Give the folder that holds them with --data.")
    names = tables_in(data)
    if not names:
        raise BadInput(f"{data} holds none of the tables that are known. Give the folder that has adult.csv.gz.")
    return names


def _record(table: PublicTable, epsilon: str, trials: int) -> PairsRecord:
    wanted = TableSet.of(table.schema, list(itertools.combinations(table.schema.names, 2)))
    truth = true_pairs(table)
    found: dict[str, list[float]] = {way: [] for way in ("clipped", "projected", *WAYS)}
    went, seconds = "", 0.0
    for trial in range(trials):
        noisy = _independent(table, wanted, Fraction(epsilon), trial)
        found["clipped"].append(distance({pair: np.maximum(one, 0.0) for pair, one in noisy.items()}, truth))
        found["projected"].append(distance(_projected(noisy), truth))
        for way in WAYS:
            begun = time.process_time()
            algorithm, pairs = run(way, table, wanted, Fraction(epsilon), trial)
            if way == "auto":
                went, seconds = algorithm, seconds + time.process_time() - begun
            found[way].append(distance(pairs, truth))
    means = {way: float(np.mean(errors)) for way, errors in found.items()}
    return PairsRecord(
        table=table.name,
        attributes=len(table.schema.names),
        epsilon=epsilon,
        clipped=means["clipped"],
        projected=means["projected"],
        auto=means["auto"],
        all_pairs=means["all-pairs"],
        select_pairs=means["select-pairs"],
        went=went,
        ratio=means["auto"] / means["clipped"],
        beside_projected=means["auto"] / means["projected"],
        beside_better=means["auto"] / min(means["all-pairs"], means["select-pairs"]),
        seconds=seconds / trials,
    )


def run(way: str, table: PublicTable, wanted: TableSet, epsilon: Fraction, seed: int) -> tuple[str, dict[Pair, Reals]]:
    """What was done in the end, and the tables of all pairs."""
    kernel = Kernel.simulated_table(table.codes, table.schema, epsilon=epsilon, seed=seed)
    program = program_named(way)
    outcome = program.measure(kernel.root, wanted, epsilon)
    return outcome.algorithm, program.estimate(wanted, outcome.measured).model.all_pairs()


def _independent(table: PublicTable, wanted: TableSet, epsilon: Fraction, seed: int) -> dict[Pair, Reals]:
    kernel = Kernel.simulated_table(table.codes, table.schema, epsilon=epsilon, seed=seed)
    share = Fraction(1, len(wanted.pairs))
    noisy = measured(kernel.root.tables(list(wanted.pairs)), dict.fromkeys(wanted.pairs, share), epsilon)
    return {(one.group[0], one.group[1]): np.asarray(one.counts, dtype=np.float64) for one in noisy}


def _projected(tables: dict[Pair, Reals]) -> dict[Pair, Reals]:
    total = np.array(max(1.0, float(np.mean([table.sum() for table in tables.values()]))))
    return {pair: project_to_simplex(table.ravel(), total).reshape(table.shape) for pair, table in tables.items()}


def true_pairs(table: PublicTable) -> dict[Pair, Reals]:
    """The tables of all pairs of public rows."""
    names, shape = table.schema.names, table.schema.shape
    found = {}
    for one, other in itertools.combinations(range(len(names)), 2):
        sides = shape[one], shape[other]
        cells = np.bincount(table.codes[:, one] * sides[1] + table.codes[:, other], minlength=math.prod(sides))
        found[names[one], names[other]] = cells.reshape(sides).astype(np.float64)
    return found


def distance(tables: dict[Pair, Reals], truth: dict[Pair, Reals]) -> float:
    """The mean over all pairs of the total variation between both, each in parts of its own sum."""
    return float(np.mean([np.abs(_parts(tables[pair]) - _parts(truth[pair])).sum() / 2 for pair in truth]))


def _parts(table: Reals) -> Reals:
    return np.asarray(table / max(float(table.sum()), 1e-9))
