"""Quantiles and means of skewed numbers beside what anybody could try instead: case by case, never on average.

Errors of quantiles are distances from the cell with the true quantile, in cells; that of a cell itself, 1/√12, is added
in quadrature, because a quantile is known no better. Alternatives get the same ε: the choice of a cell by
permute-and-flip and nothing else; and the curve of a staged tree of counts, as ``Cdf`` publishes it.
"""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas

from adyton.arrays import Reals
from adyton.compiling import cached_property
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import NestedQuantiles
from adyton.kernel.sources import TableSource
from adyton.plans import plan_named
from adyton.queries import Prefix
from adyton.result.figures import cumulated
from adyton.schema import Numeric, Schema
from adyton.session import Session
from adyton.statistics.grouped import GroupedNumbers
from adyton.statistics.parts import reported
from adyton.statistics.programs import rank, shared
from adyton.tasks import Mean, NumbersTask, Quantiles, Variance
from adyton.whole import IntegerArray
from adyton_lab.bench.common import CONFIDENCE, Folder, Rows, needed
from adyton_lab.corpus.tables import FRESH, JUDGED, cases_in, number_rows

EPSILONS = ("0.05", "0.1", "0.3", "1")
PARTS = ("0.01", "0.05", "0.1", "0.25", "0.5", "0.75", "0.9", "0.95", "0.99")
_SKEWED = ("price", "carat", "dep_delay", "casual", "income", "BILL_AMT1", "LIMIT_BAL")
_BINS = 1000
_LEAST = 1 / np.sqrt(12)
"""The error of a quantile that is in the right cell, in cells."""


@dataclass(frozen=True, eq=False)
class Column:
    """Numbers of all rows, as cells between declared bounds."""

    name: str
    numbers: Numeric
    values: Reals

    @classmethod
    def of(cls, name: str, values: Reals, most: float, bins: int = _BINS) -> Column:
        """Values from 0 to this much, in cells of equal width; others are moved to the nearer bound."""
        return cls(name, Numeric(0, most, bins=bins, outside="clamp"), np.clip(values, 0.0, most))

    @cached_property
    def cells(self) -> IntegerArray:
        """The cell of each value."""
        bins = self.numbers.base_size
        return np.minimum(np.floor(self.values / self.numbers.max * bins), bins - 1).astype(np.int64)

    @property
    def schema(self) -> Schema:
        """The column alone."""
        return Schema({"x": self.numbers})

    @cached_property
    def counts(self) -> IntegerArray:
        """The rows of each cell."""
        return np.bincount(self.cells, minlength=self.numbers.base_size).astype(np.int64)

    def true_cell(self, part: Fraction) -> int:
        """The cell with a quantile."""
        upto = np.cumsum(self.counts)
        return int(np.searchsorted(upto, float(part) * upto[-1] - 1e-9))

    def kernel(self, epsilon: Fraction, *place: object) -> Kernel[TableSource]:
        """A simulated kernel, seeded by the name and the place of a trial."""
        seed = zlib.crc32(f"{self.name}, {place}".encode())
        return Kernel.simulated_table(self.cells[:, None], self.schema, epsilon=epsilon, seed=seed)


_MADE_UP: dict[str, Callable[[np.random.Generator], tuple[Any, float]]] = {
    "lognormal": lambda draws: (np.exp(draws.normal(7.3, 0.9, 7000)), 1e5),
    "lognormal, few rows": lambda draws: (np.exp(draws.normal(7.3, 0.9, 1000)), 1e5),
    "salaries": lambda draws: (np.exp(draws.normal(10.6, 0.5, 30_000)), 5e5),
    "pareto": lambda draws: (1000 * (draws.pareto(1.5, 5000) + 1), 1e6),
    "zero-inflated": lambda draws: (np.where(draws.random(8000) < 0.7, 0, np.exp(draws.normal(6, 1.2, 8000))), 2e5),
    "gamma": lambda draws: (8 * draws.standard_gamma(2, 6000), 300.0),
    "stay days": lambda draws: (draws.geometric(0.3, 2000) - 1.0, 365.0),
    "weibull": lambda draws: (100 * draws.weibull(0.7, 3000), 1e4),
}


def columns(data: Folder = None, *, public: bool = False) -> list[Column]:
    """Made-up columns, and those of public tables in a folder."""
    made_up = [
        Column.of(name, *make(np.random.default_rng(place)), bins=365 if name == "stay days" else _BINS)
        for place, (name, make) in enumerate(_MADE_UP.items())
    ]
    if data is None:
        return made_up
    folder = needed(data, "public tables", "quantiles and means are measured")
    found = []
    for case in cases_in(folder, (*JUDGED, *FRESH)):
        if case.attribute in _SKEWED:
            values = number_rows(case, folder, public=public).values
            numbers = case.numbers
            found.append(Column.of(str(case), values - numbers.min, float(numbers.max - numbers.min)))
    return [*made_up, *found]


@dataclass(frozen=True, kw_only=True)
class QuantileRecord:
    """One quantile of one column with one budget, in cells."""

    column: str
    rows: int
    epsilon: str
    quantile: str
    cell: int
    """The cell with the true quantile."""
    error: float
    choice: float
    """The error of a bare choice."""
    tree: float
    """The error of the curve of a tree."""
    ratio: float
    """The error relative to the better of the two."""
    holds: float
    """The percentage of the intervals that contain the truth."""
    width: float
    """The median width of the intervals, in cells."""
    told: float
    """The reported error divided by the measured one."""
    trees: float
    """The percentage of the runs that measured a tree."""


def looks_quantiles(data: Folder = None, *, public: bool = False, trials: int = 40) -> Rows:
    """Every quantile of every column with every budget."""
    every = columns(data, public=public)
    places = itertools.product(every, EPSILONS)
    records = (record for column, epsilon in places for record in _quantiles(column, epsilon, trials))
    return len(every) * len(EPSILONS) * len(PARTS), records


def _quantiles(column: Column, epsilon: str, trials: int) -> Iterator[QuantileRecord]:
    amount, cells = Fraction(epsilon), column.numbers.base_size
    plan, curves = plan_named("staged-hierarchy"), []
    for trial in range(trials):
        root = column.kernel(amount, epsilon, "tree", trial).root
        curves.append(cumulated(plan.carry_out(root.vectorize(), Prefix(cells), amount).estimate))
    for text in PARTS:
        part = Fraction(text)
        asked, true = GroupedNumbers.of(Quantiles("x", [part]), column.schema), column.true_cell(part)
        choice = NestedQuantiles(cells, cells, (part,), np.ones(cells, dtype=np.int64))
        chosen = []
        for trial in range(trials):
            source = column.kernel(amount, epsilon, text, "choice", trial).root.vectorize()
            chosen.append(source.select(choice, amount)[0])
        read = [min(int(np.searchsorted(curve, float(part) * curve[-1])), cells - 1) for curve in curves]
        found, inside, widths, told, trees = [], [], [], [], 0
        for trial in range(trials):
            root = column.kernel(amount, epsilon, text, trial).root
            parts = list(rank(asked, amount).program.measuring(root, asked, amount)())
            (figures,) = reported(asked, parts, CONFIDENCE)
            low, high = (
                float(np.interp(end[0], asked.edges, np.arange(cells + 1))) for end in (figures.lower, figures.upper)
            )
            found.append(int(np.searchsorted(asked.edges, figures.estimate[0], side="right")) - 1)
            inside.append(low <= true + 1e-6 and true + 1 <= high + 1e-6)
            widths.append(high - low)
            told.append(figures.error[0] / (asked.edges[1] - asked.edges[0]))
            trees += any(part.kind == "tree" for part in parts)
        error, by_choice, by_tree = (_off(cell, true) for cell in (found, chosen, read))
        yield QuantileRecord(
            column=column.name,
            rows=len(column.cells),
            epsilon=epsilon,
            quantile=text,
            cell=true,
            error=error,
            choice=by_choice,
            tree=by_tree,
            ratio=error / min(by_choice, by_tree),
            holds=100 * float(np.mean(inside)),
            width=float(np.median(widths)),
            told=float(np.sqrt(np.mean(np.square(told)))) / error,
            trees=100 * trees / trials,
        )


def _off(cells: list[int], true: int) -> float:
    """The root mean square distance from the true cell, with that of a cell itself."""
    apart = np.abs(np.array(cells) - true)
    return float(np.sqrt(np.mean(np.square(np.maximum(apart - 0.5, 0.0))) + _LEAST**2))


@dataclass(frozen=True, kw_only=True)
class MomentRecord:
    """A mean or a deviation of one column with one budget; errors relative to the truth, in percent."""

    column: str
    rows: int
    bound: str
    """The upper bound, in multiples of the 99% point."""
    epsilon: str
    statistic: str
    error: float
    shares: float
    """The error from shares of rows alone."""
    tree: float
    """The error of the curve of a tree, every row in the middle of its cell."""
    ratio: float
    """The error relative to the better of the two."""
    holds: float
    """The percentage of the intervals that contain the truth."""
    told: float
    """The reported error divided by the measured one."""
    trees: float
    """The percentage of the runs that measured a tree."""


BOUNDS = (1, 10, 100)
_MOMENTS: dict[str, type[NumbersTask]] = {"mean": Mean, "deviation": Variance}


def looks_moments(data: Folder = None, *, public: bool = False, trials: int = 40) -> Rows:
    """The mean and the deviation of every column, with bounds of 1, 10 and 100 times its 99% point."""
    every = columns(data, public=public)
    places = itertools.product(every, BOUNDS, EPSILONS)
    records = (record for column, bound, epsilon in places for record in _moments(column, bound, epsilon, trials))
    return len(every) * len(BOUNDS) * len(EPSILONS) * len(_MOMENTS), records


def _moments(column: Column, bound: int, epsilon: str, trials: int) -> Iterator[MomentRecord]:
    """By sessions on the values themselves: cells are as many as before, and wider."""
    amount, bins = Fraction(epsilon), column.numbers.base_size
    most = bound * max(float(np.quantile(column.values, 0.99)), column.numbers.width)
    wider, plan = Column.of(column.name, column.values, most, bins), plan_named("staged-hierarchy")
    session = Session(pandas.DataFrame({"x": wider.values}), schema=wider.schema, epsilon=1000)
    for name, kind in _MOMENTS.items():
        asked = GroupedNumbers.of(kind("x"), wider.schema)
        truth = float(wider.values.mean() if name == "mean" else wider.values.std())
        found: dict[str, list[float]] = {"own": [], "shares": [], "tree": []}
        inside, told, trees = [], [], 0
        for trial in range(trials):
            release = session.release(asked.task, amount, misfits=False)
            figures = {one.name: one for one in release.figures()}[name]
            found["own"].append(float(figures.estimate[0]))
            inside.append(figures.lower[0] - 1e-9 <= truth <= figures.upper[0] + 1e-9)
            told.append(figures.error[0])
            trees += any(part.kind == "tree" for part in release.parts)
            step = shared(session._kernel.root, asked, amount, 1 if name == "mean" else 2)
            plain = {one.name: one for one in reported(asked, [step()], CONFIDENCE)}[name]
            found["shares"].append(float(plain.estimate[0]))
            line = wider.kernel(amount, bound, epsilon, name, trial).root.vectorize()
            counts = np.maximum(plan.carry_out(line, Prefix(asked.cells), amount).estimate, 0.0)
            weights = counts / max(float(counts.sum()), 1e-300)
            mean = float(weights @ asked.middles)
            spread = math.sqrt(max(float(weights @ np.square(asked.middles - mean)), 0.0))
            found["tree"].append(mean if name == "mean" else spread)
        errors = {
            way: 100 * float(np.sqrt(np.mean(np.square(np.array(made) - truth)))) / truth for way, made in found.items()
        }
        yield MomentRecord(
            column=column.name,
            rows=len(wider.values),
            bound=f"{bound} × 99%",
            epsilon=epsilon,
            statistic=name,
            error=errors["own"],
            shares=errors["shares"],
            tree=errors["tree"],
            ratio=errors["own"] / min(errors["shares"], errors["tree"]),
            holds=100 * float(np.mean(inside)),
            told=100 * float(np.sqrt(np.mean(np.square(told)))) / truth / errors["own"],
            trees=100 * trees / trials,
        )
