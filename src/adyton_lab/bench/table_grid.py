"""The judge of tables of pairs and synthetic rows: many public tables, at several resolutions and budgets.

On one core, one trial of the whole grid takes about an hour. These are left out to save time: gradient boosting but at
64 and 256 cells, and of ways by name but at ε = 1; ``all-pairs`` where pairs have more than two million cells together.
Tables that are the same at several resolutions are released once. Tables of pairs together have at most as many cells
as a request may ask for: where 256 or 1,024 are too many, numbers have the next smaller number of cells out of the
fixed list of :meth:`adyton.marginals.program.TableSet.fitting`.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from adyton.arrays import Integers
from adyton.errors import BadInput
from adyton.exact import budget
from adyton.marginals.pair_model import PairModel
from adyton.marginals.program import Outcome, TableSet, TablesProgram, program_named
from adyton.marginals.refining import sampled_codes
from adyton.marginals.tables_release import expected_of
from adyton.messages import no_such
from adyton.schema import Schema
from adyton.schema.cell_groups import coarsened
from adyton.tasks import Marginals
from adyton_lab.bench.common import Folder, Rows, needed
from adyton_lab.bench.table_scores import LEARNING, Truth, boosted, expectations
from adyton_lab.bench.tables import outcome_of, parts
from adyton_lab.corpus.fine_tables import TABLES, at, fine_table
from adyton_lab.corpus.labelled_tables import LabelledTable, split
from adyton_lab.corpus.tables import PublicTable

_SECOND_LABELS = ("adult, marital status", "bike, weather", "cps, marital status", "diamonds, colour")
GRID = tuple(name for name in TABLES if name not in _SECOND_LABELS)
CELLS = (16, 64, 256, 1024)
"""The largest number of cells for each number."""
EPSILONS = ("0.1", "0.3", "1", "3")
AUTO, SELECT, ALL, INDEPENDENCE, REAL = "auto", "select-pairs", "all-pairs", "independence", "real rows"
NAMED = (SELECT, ALL, "privbayes-ls")
LABELLED = (AUTO, SELECT)
"""The programs to which a label can be declared."""
LEARNT_FROM = (*LABELLED, ALL)
MOST_FOR_ALL = 1 << 21
"""Where all pairs have more cells together, not all of them are measured by name."""
BOOSTED_CELLS, BOOSTED_EPSILON = (64, 256), "1"
PAIRS = Marginals(way=2)
ERRORS = ("in_groups", "in_cells", "correlations", "means")
LEARNT = ("accuracy", "area")
FIGURES = (*ERRORS, *LEARNT, "measured", "within", "limit", "seconds")
THREE, GEOMETRIC, LEAST = "auto, three columns", "geometric mean", 1e-9
REBINNED, REST = (16, 1024), 64
"""The numbers of cells of three columns, and of all others, in the search for cliffs."""


@dataclass(frozen=True, kw_only=True)
class TablesRecord:
    """One way on one table with one budget; or what follows for all tables."""

    table: str
    """``all`` for means over the tables, ``geometric mean`` for those over tables and budgets."""
    cells: tuple[int, ...]
    """The largest numbers of cells for numbers: all those for which the table is the same."""
    epsilon: str
    way: str
    """``auto``, an algorithm by name, or ``independence`` (single attributes with the whole budget); ``real rows``;
    ``auto ÷ best``: the mean of ``auto`` divided by that of each way by name on the same tables, for the way where that
    is largest; of accuracy and area, what they lack to 1. ``auto, three columns``: see :func:`cliff`."""
    in_groups: float | None = None
    in_cells: float | None = None
    correlations: float | None = None
    means: float | None = None
    """See :class:`~adyton_lab.bench.table_scores.PairScores`."""
    accuracy: float | None = None
    """The fraction of held-out real rows that gradient boosting predicts correctly after training on synthetic rows,
    whose label was declared where that is possible."""
    area: float | None = None
    """The area under its ROC curve: the mean over the classes, each against all others."""
    measured: float | None = None
    """The number of measured pairs."""
    within: float | None = None
    """The part of them whose expected error is within a factor of 2 of the true one."""
    limit: float | None = None
    """The part of runs in which the mean error of pairs that were not measured is below the mean of their limits."""
    seconds: float | None = None
    """The processor time of measuring and estimating."""


def tables(
    *,
    data: Folder = None,
    public: bool = False,
    trials: int = 1,
    tables: Sequence[str] | None = None,
    epsilons: Sequence[str] | None = None,
) -> Rows:
    """Every way on every table at every resolution and budget; then means, and the search for cliffs."""
    folder = needed(data, "public tables", "tables of pairs are judged")
    for name in tables or ():
        if name not in GRID:
            raise BadInput(no_such("table", name, GRID))
    for epsilon in epsilons or ():
        budget(epsilon, "ε")
    return None, _tables(folder, public, trials, tables or GRID, epsilons or EPSILONS)


def _tables(
    folder: Path, public: bool, trials: int, names: Sequence[str], epsilons: Sequence[str]
) -> Iterator[TablesRecord]:
    every, cliffs = list[TablesRecord](), list[TablesRecord]()
    for name in names:
        finest = fine_table(name, folder, CELLS[-1], public=public)
        for table, cells in resolutions(finest):
            for record in grid(table, cells, epsilons, trials):
                every.append(record)
                yield record
        for record in cliff(finest, epsilons, trials):
            cliffs.append(record)
            yield record
    yield from summary(every, epsilons)
    yield from cliff_means(cliffs, epsilons)


def resolutions(finest: LabelledTable) -> list[tuple[LabelledTable, tuple[int, ...]]]:
    """The different tables with at most so many cells for each number, within the limit on cells of all pairs."""
    cells: dict[Schema, list[int]] = {}
    for most in CELLS:
        cells.setdefault(_fitting(coarsened(finest.schema, most)), []).append(most)
    return [(at(finest, schema), tuple(most)) for schema, most in cells.items()]


def _fitting(schema: Schema) -> Schema:
    return TableSet.fitting(PAIRS, schema).schema


def grid(table: LabelledTable, cells: tuple[int, ...], epsilons: Sequence[str], trials: int) -> Iterator[TablesRecord]:
    """Every way on one table with every budget: the means over the trials."""
    truth = truth_of(table, table.codes)
    boosting = not set(BOOSTED_CELLS).isdisjoint(cells)
    if boosting:
        learnt = [_real(table, trial) for trial in range(trials)]
        yield TablesRecord(table=table.name, cells=cells, epsilon="", way=REAL, **_mean(learnt))
    ways = [AUTO, *NAMED, INDEPENDENCE]
    if truth.wanted.all_cells > MOST_FOR_ALL:
        ways.remove(ALL)
    for epsilon in epsilons:
        exact, runs = Fraction(epsilon), list[dict[str, Figures]]()
        learners = [way for way in ways if way in (LEARNT_FROM if epsilon == BOOSTED_EPSILON else (AUTO,)) and boosting]
        for trial in range(trials):
            run = {way: _released(truth, way, exact, trial) for way in ways}
            runs.append(run | {way: run[way] | _learnt(table, way, exact, trial) for way in learners})
        for way in ways:
            mean = _mean([run[way] for run in runs])
            yield TablesRecord(table=table.name, cells=cells, epsilon=epsilon, way=way, **mean)


Figures = dict[str, float | None]


def _mean(runs: Sequence[Figures]) -> dict[str, float]:
    """The mean of every figure over the runs that have it."""
    known = {name: [run[name] for run in runs if run.get(name) is not None] for name in runs[0]}
    return {name: float(np.mean(values)) for name, values in known.items() if values}  # type: ignore[arg-type]


def truth_of(table: LabelledTable, codes: Integers) -> Truth:
    """Some rows of a table, with the tables of all pairs."""
    wanted = TableSet.by(PAIRS, table.schema)
    return Truth(PublicTable(table.name, table.schema, codes), wanted)


def released(
    truth: Truth, way: str, epsilon: Fraction, seed: int, label: str | None = None
) -> tuple[Outcome, PairModel]:
    """What a way measures, and the model that follows."""
    if way == INDEPENDENCE:
        singles = TableSet.of(truth.wanted.schema, [(name,) for name in truth.wanted.schema.names])
        return outcome_of(program_named("all-pairs"), truth.table, singles, epsilon, seed)
    program: TablesProgram = program_named(way, label=label) if label is not None else program_named(way)
    return outcome_of(program, truth.table, truth.wanted, epsilon, seed)


def _released(truth: Truth, way: str, epsilon: Fraction, trial: int) -> Figures:
    begun = time.process_time()
    outcome, model = released(truth, way, epsilon, trial)
    pairs = model.all_pairs()
    seconds = time.process_time() - begun
    within, limit = expectations(truth, pairs, expected_of(model, truth.wanted, outcome.bought))
    return {
        **asdict(truth.scores(pairs)),
        "measured": float(len(model.pairs)),
        "within": within,
        "limit": None if limit is None else float(limit),
        "seconds": seconds,
    }


def _real(table: LabelledTable, trial: int) -> Figures:
    learnt, held = split(len(table.codes), LEARNING, trial)
    return dict(zip(LEARNT, boosted(table.codes[learnt], table.codes[held], -1), strict=True))


def _learnt(table: LabelledTable, way: str, epsilon: Fraction, trial: int) -> Figures:
    """The figures of gradient boosting on as many synthetic rows as the learning rows, from which they are made."""
    learnt, held = (table.codes[places] for places in split(len(table.codes), LEARNING, trial))
    label = table.target.label if way in LABELLED else None
    _, model = released(truth_of(table, learnt), way, epsilon, trial, label)
    rows = np.concatenate(list(sampled_codes(model, len(learnt), seed=trial)))
    return dict(zip(LEARNT, boosted(rows, held, -1), strict=True))


# ---- cliffs ---------------------------------------------------------------------------------------------------------


def cliff(finest: LabelledTable, epsilons: Sequence[str], trials: int) -> Iterator[TablesRecord]:
    """The error of all other pairs where three columns that hardly matter have 16 cells each, and where 1,024.

    The three are numbers of more than 16 cells: those whose pairs with all others, in eight groups a side, are nearest
    to independence in the mean. Other columns have at most 64 cells. Tables with fewer numbers have none.
    """
    rest = coarsened(finest.schema, REST)
    coarse = at(finest, rest)
    truth = truth_of(coarse, coarse.codes)
    long = [name for name in truth.wanted.ordered if finest.schema.attributes[name].size > REBINNED[0]]
    if len(long) < 3 or len(rest.names) < 5:
        return
    three = sorted(long, key=lambda name: _dependence(truth, name))[:3]
    kept = {pair for pair in truth.pairs if set(three).isdisjoint(pair)}
    for cells in REBINNED:
        own = coarsened(finest.schema, cells).attributes
        table = at(finest, _fitting(rest.with_attributes({**rest.attributes, **{name: own[name] for name in three}})))
        truth = truth_of(table, table.codes)
        for epsilon in epsilons:
            errors = [
                truth.in_groups(released(truth, AUTO, Fraction(epsilon), trial)[1].all_pairs(), kept)
                for trial in range(trials)
            ]
            yield TablesRecord(
                table=table.name,
                cells=(cells,),
                epsilon=epsilon,
                way=f"{THREE} ({', '.join(three)})",
                in_groups=float(np.mean(errors)),
            )


def _dependence(truth: Truth, name: str) -> float:
    """The mean total variation of an attribute's pairs from independence, in eight groups a side."""
    few = [parts(table) for pair, table in truth.few(truth.pairs).items() if name in pair]
    apart = [np.abs(table - np.outer(table.sum(axis=1), table.sum(axis=0))).sum() / 2 for table in few]
    return float(np.mean(apart))


def cliff_means(cliffs: Sequence[TablesRecord], epsilons: Sequence[str]) -> Iterator[TablesRecord]:
    """The geometric means over tables of the errors with 16 and with 1,024 cells."""
    budgets = dict.fromkeys([*((epsilon,) for epsilon in epsilons), tuple(epsilons)])
    for some, cells in itertools.product(budgets, REBINNED) if cliffs else ():
        errors = {(r.table, cells, r.epsilon): r for r in cliffs if r.epsilon in some and r.cells == (cells,)}
        mean = _geometric(_values(errors, "in_groups").values())
        yield _all(GEOMETRIC, (cells,), some, THREE, {"in_groups": mean})


# ---- means over all tables ------------------------------------------------------------------------------------------


def summary(records: Sequence[TablesRecord], epsilons: Sequence[str]) -> Iterator[TablesRecord]:
    """The means over all tables at each resolution and budget; ``auto`` beside the best way by name; geometric means.
    At last the same over all of them."""
    places: list[tuple[tuple[int, ...], tuple[str, ...]]]
    places = [((cells,), (epsilon,)) for cells in CELLS for epsilon in epsilons]
    places += [((cells,), tuple(epsilons)) for cells in CELLS]
    for cells, some in dict.fromkeys([*places, (CELLS, tuple(epsilons))]):
        # a table that is the same at several resolutions counts at each of them
        by_way = {
            way: {
                (record.table, most, record.epsilon): record
                for record in records
                for most in cells
                if record.way == way and most in record.cells and (record.epsilon in some or way == REAL)
            }
            for way in (REAL, AUTO, *NAMED, INDEPENDENCE)
        }
        for way, own in by_way.items():
            if own:
                values = {name: _values(own, name).values() for name in FIGURES}
                yield _all("all", cells, some, way, {name: _arithmetic(values[name]) for name in FIGURES})
                if way != REAL and some == tuple(epsilons):
                    yield _all(GEOMETRIC, cells, some, way, {name: _geometric(values[name]) for name in ERRORS})
        ratios = {name: _beside_best(by_way, name) for name in (*ERRORS, *LEARNT)}
        yield _all("all", cells, some, "auto ÷ best", ratios)


Records = Mapping[tuple[str, int, str], TablesRecord]
"""By table, number of cells and ε."""


def _all(
    table: str, cells: tuple[int, ...], epsilons: tuple[str, ...], way: str, figures: Mapping[str, float | None]
) -> TablesRecord:
    return TablesRecord(table=table, cells=cells, epsilon=" ".join(epsilons), way=way, **figures)


def _values(records: Records, name: str) -> dict[tuple[str, int, str], float]:
    """One figure of all records that have it."""
    return {place: value for place, record in records.items() if (value := getattr(record, name)) is not None}


def _beside_best(by_way: Mapping[str, Records], name: str) -> float | None:
    """The largest quotient of a mean of ``auto`` and that of a way by name, on the same places."""
    ratios = []
    for way in NAMED:
        own, auto = (_values(by_way[each], name) for each in (way, AUTO))
        places = [place for place in own if place in auto]
        if places:
            mean, other = (float(np.mean([_error(name, values[place]) for place in places])) for values in (auto, own))
            ratios.append(mean / max(other, LEAST))
    return max(ratios, default=None)


def _error(name: str, value: float) -> float:
    return 1 - value if name in LEARNT else value


def _arithmetic(values: Collection[float]) -> float | None:
    return float(np.mean(list(values))) if values else None


def _geometric(values: Collection[float]) -> float | None:
    return float(np.exp(np.mean(np.log(np.maximum(list(values), LEAST))))) if values else None
