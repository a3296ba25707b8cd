"""What is learnt where no method is named: a profiled tree, on merged cells.

ε is spent on every cell, and a table of few rows cannot bear many of them. Neighbouring cells of numbers and times are
therefore merged first. How many groups there are depends on a noisy number of rows and on ε; where they begin, on noisy
counts of each attribute. Nothing else decides, and the model has the merged cells as its schema.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from adyton.arrays import Reals
from adyton.choice.decision import Bought, Decision
from adyton.errors import BadInput
from adyton.kernel.sources import TableSource, TablesSource
from adyton.learning.class_profiles import check_tables
from adyton.learning.model import Model, Target
from adyton.learning.registry import AUTO, Learner, Learnt
from adyton.learning.tree_growing import check_share
from adyton.messages import shorten
from adyton.plans.algorithm import Share, Whole
from adyton.queries import Identity
from adyton.schema import Schema
from adyton.schema.attributes import Attribute
from adyton.schema.cell_groups import can_be_grouped, changes, coarsened, grouped, merged_cells
from adyton.schema.numbers import Integer, Numeric

FEW, MORE = 8, 16
"""How many groups an attribute may have: with few rows, and with more."""
_MANY = 15_000
"""From this many rows times ε on, there may be more."""
_FINE, _FINER = 64, 256
"""The noisy counts are of at most this many cells of equal length, with few rows and with more."""
_BEARABLE = 1.5
"""There are more cells where the noise of the sum of all of them is at most so many times the rows of a group."""
_MOST = 1 << 16


def _cells(given: object, name: str) -> Any:
    if given is None or (isinstance(given, str) and given == AUTO):
        return given
    if isinstance(given, bool) or not isinstance(given, int) or not 2 <= given <= _MOST:
        raise BadInput(f"{name} is 'auto', a number from 2 to {_MOST:,}, or None, given {shorten(given)}.")
    return given


def _learner(given: object, name: str) -> Any:
    if not isinstance(given, Learner) or isinstance(given, Automatic):
        raise BadInput(f"{name} is a learner that is named, given {shorten(given)}.")
    return given


@dataclass(frozen=True, kw_only=True)
class Automatic(Learner):
    """Merges the cells of numbers and times into groups that hold about the same number of rows each, then learns by
    another method.

    A twentieth of ε buys a noisy number of rows, which the method gets, too. Another twentieth is divided among the
    attributes with too many cells: each gets noisy counts of at most 64 cells of equal length, or 256 where rows and ε
    suffice, and its groups begin where their sums pass equal parts of the total. Cells for other and for missing values
    stay as they are, and so do attributes without an order. Days, hours and places are merged into groups of equal
    length.
    """

    name = AUTO

    method: Annotated[Learner, _learner]
    """What learns from the merged cells."""
    cells: Annotated[Any, _cells] = AUTO
    """How many groups an attribute may have: a number; ``auto``, which is 8, and 16 from 15,000 rows times ε on; or
    None for the cells of the schema."""
    rows: Whole | None = None
    """The number of rows, if it is public; otherwise a noisy number is bought."""
    rows_share: Share = Fraction(1, 20)
    """The part of ε that the number of rows may cost."""
    groups_share: Share = Fraction(1, 20)
    """The part of ε that the noisy counts may cost by which cells are grouped."""

    @property
    def runs(self) -> str:
        """The name of the method that learns."""
        return self.method.runs

    def check(self, source: TableSource, target: Target, epsilon: Fraction) -> None:
        """Refuse what the method refuses, with the cells of the schema and with any number of groups."""
        check_tables(target)
        self.method.check(source, target, epsilon)
        if self.cells is None:
            return
        parts = [self.rows_share, self.groups_share / len(target.schema.names)]
        check_share(min(parts) * epsilon, 1)
        left = (1 - self.rows_share - self.groups_share) * epsilon
        few = source.select(*target.schema.names, target.label)
        for most in (2, FEW, MORE) if self.cells == AUTO else (2, self.cells):
            names = _measured(target.schema, most)
            for finest in (_FINE, _FINER) if names else ():
                _counted(few, names, finest)
            starts = {name: _equal(target.schema.attributes[name], most) for name in names}
            merged = few.coarsen(_merged(few.schema, target.label, starts, most))
            self.method.check(merged, Target.of(merged.schema, target.label), left)

    def run(self, source: TableSource, label: str, epsilon: Fraction) -> Model:
        """The model alone."""
        return self.learn(source, label, epsilon).model

    def learn(self, source: TableSource, label: str, epsilon: Fraction) -> Learnt:
        """Buy the number of rows, group cells, then run the method with what is left of ε."""
        schema = Target.of(source.schema, label).schema
        if self.cells is None or not _large(schema, FEW if self.cells == AUTO else self.cells):
            return self.method.learn(source, label, epsilon)
        bought, rows, left = [], self.rows, epsilon
        if rows is None:
            price = self.rows_share * epsilon
            count = source.count(price)
            bought.append(Bought.of("rows", "the number of rows", count, price))
            rows, left = max(1, round(count.value)), epsilon - price
        most = self.cells if self.cells != AUTO else FEW if rows * epsilon < _MANY else MORE
        few = source.select(*schema.names, label)
        names, starts = _measured(schema, most), {}
        if names:
            part = self.groups_share * epsilon / len(names)
            noise = math.sqrt(2 * _FINER) / float(part)
            tables = _counted(few, names, _FINER if noise <= _BEARABLE * rows / most else _FINE)
            for name, vector in zip(names, tables.vectors(), strict=True):
                counts = vector.measure(Identity(vector.shape), part).answers.astype(np.float64)
                starts[name] = _starts(schema.attributes[name], tables.schema.attributes[name], counts, most, part)
            left -= self.groups_share * epsilon
        coarse = _merged(few.schema, label, starts, most)
        learner = self.method
        if getattr(learner, "rows", rows) is None:
            learner = replace(learner, rows=rows)  # type: ignore[call-arg]
        learnt = learner.learn(few.coarsen(coarse), label, left)
        decision = Decision(learnt.method, left, tuple(bought), {}, changes(few.schema, coarse))
        return replace(learnt, decisions=(decision,))


def _large(schema: Schema, most: int) -> list[str]:
    """The attributes of numbers and times with more cells than this, whose neighbouring cells can be merged."""
    coarse = coarsened(schema, most).attributes
    return [name for name, attribute in schema.attributes.items() if coarse[name] != attribute]


def _measured(schema: Schema, most: int) -> list[str]:
    """The attributes whose groups are of equal mass, not of equal length."""
    return [name for name in _large(schema, most) if can_be_grouped(schema.attributes[name])]


def _counted(source: TableSource, names: list[str], finest: int) -> TablesSource:
    """The counts of each of these attributes alone, in cells of equal length."""
    chosen = source.select(*names)
    return chosen.coarsen(coarsened(chosen.schema, finest)).tables([(name,) for name in names])


def _equal(attribute: Attribute, most: int) -> list[int]:
    """Where groups of equal length begin."""
    assert isinstance(attribute, Integer | Numeric)
    return list(range(0, attribute.base_size, -(-attribute.base_size // most)))


def _starts(fine: Attribute, measured: Attribute, counts: Reals, most: int, epsilon: Fraction) -> list[int]:
    """The cells with which groups of about equal mass begin, at least two, by noisy counts of the cells of *measured*.

    The noisy sums from the lowest cell on are made to rise, which takes out what noise made negative; half the scale of
    the noise is added to each cell, so that groups are of equal length where there is nothing but noise.
    """
    assert isinstance(fine, Integer | Numeric)
    assert isinstance(measured, Integer | Numeric)
    sums = np.maximum.accumulate(np.maximum(np.cumsum(counts[: measured.base_size]), 0.0))
    mass = np.diff(sums, prepend=0.0) + 0.5 / float(epsilon)
    middles = (np.cumsum(mass) - mass / 2) / mass.sum()
    groups = np.minimum((middles * most).astype(np.int64), most - 1)
    firsts = np.flatnonzero(np.diff(groups, prepend=-1))
    if len(firsts) < 2:
        firsts = np.array([0, len(mass) // 2])
    cells = np.searchsorted(merged_cells(fine, measured)[: fine.base_size], firsts)
    return list(map(int, cells))


def _merged(schema: Schema, label: str, starts: Mapping[str, Sequence[int]], most: int) -> Schema:
    """The schema with these groups of cells, and groups of equal length where no others are given."""
    coarse = {**coarsened(schema, most).attributes, label: schema.attributes[label]}
    for name, firsts in starts.items():
        attribute = schema.attributes[name]
        assert isinstance(attribute, Integer | Numeric)
        coarse[name] = grouped(attribute, firsts)
    return schema.with_attributes(coarse)
