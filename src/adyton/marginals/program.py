"""A program for many tables: from a private table to noisy tables of few attributes, in a few lines of operators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import ClassVar

import numpy as np

from adyton.choice.bought import Bought
from adyton.exact import Rational, positive
from adyton.kernel.limits import check_depth, check_request
from adyton.kernel.mechanisms import MeasureTables
from adyton.kernel.shapes import TablesShape
from adyton.kernel.sources import TableSource
from adyton.kernel.tables_source import TablesSource
from adyton.marginals.wanted import Wanted
from adyton.plans.limits import STEPS_INSIDE, check_reach
from adyton.plans.options import read_options
from adyton.solving.residuals import Group, MeasuredTable


@dataclass(frozen=True, eq=False)
class Outcome:
    """What was measured, by which program in the end, and why by that."""

    algorithm: str
    measured: tuple[MeasuredTable, ...]
    why: str
    bought: tuple[Bought, ...] = ()
    """What was looked at to decide."""


@dataclass(frozen=True, kw_only=True)
class Program(ABC):
    """A way to measure many tables. Subclasses are frozen values: fields are the options, :meth:`run` is the text.

    It cannot tell whether the table is private, with exact noise, or public, with simulated noise. *epsilon* is for one
    row; a source of stability s is charged s times as much.
    """

    name: ClassVar[str]

    def __post_init__(self) -> None:
        read_options(self)

    @classmethod
    def option_names(cls) -> tuple[str, ...]:
        """What can be said of it: of what ``auto`` was told, the program that it decides for may know only a part."""
        return tuple(one.name for one in fields(cls))

    def measure(self, source: TableSource, wanted: Wanted, epsilon: Rational) -> Outcome:
        """Measure what the wanted tables follow from, spending exactly *epsilon*."""
        amount = positive(epsilon, "epsilon", computed=True)
        self.admit(source, wanted, amount)
        return self.run(source, wanted, amount)

    def admit(self, source: TableSource, wanted: Wanted, epsilon: Fraction) -> None:
        """Make sure that :meth:`run` can be carried out to its end with this budget: else nothing is spent."""
        check_reach(epsilon)
        wanted.check()
        source.kernel.afford(source, epsilon)
        check_depth(source.lineage, STEPS_INSIDE)
        self.check(wanted, epsilon)

    def check(self, wanted: Wanted, epsilon: Fraction) -> None:
        """Refuse what the program itself cannot do; by default, measuring every table that could be measured."""
        groups = wanted.counted
        every = MeasureTables.weighted(range(len(groups)))
        check_request(every, TablesShape(wanted.schema, groups), epsilon / (1 << 10))
        wanted.shares()

    @abstractmethod
    def run(self, source: TableSource, wanted: Wanted, epsilon: Fraction) -> Outcome:
        """The text, once it was admitted: spends exactly *epsilon*."""


def measured(tables: TablesSource, shares: Mapping[Group, Fraction], epsilon: Fraction) -> list[MeasuredTable]:
    """Noisy tables of some groups, each with its share of *epsilon*, for one debit."""
    places = {tables.place(*group): share for group, share in shares.items() if share}
    noisy = tables.measure(MeasureTables(tuple(places), tuple(places.values())), epsilon)
    return [MeasuredTable(group, np.asarray(counts), variance) for group, counts, variance in noisy.each()]
