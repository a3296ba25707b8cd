"""Programs for numbers: what each measures, and the error to expect of it before anything is spent.

Errors are told in units that do not depend on the data: of a sum in its own unit; of a mean times the rows of the group
(and of a variance likewise), because they fall with the rows; of a quantile in rows between it and what was chosen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from adyton.kernel.sources import TableSource
from adyton.kernel.tables.private_table import LARGEST_DOMAIN
from adyton.plans.limits import MOST_STRIPES
from adyton.plans.registry import plan_named
from adyton.queries import Prefix
from adyton.statistics.asked import Asked
from adyton.statistics.choice import Choice
from adyton.statistics.moment_errors import moment_errors, points
from adyton.statistics.parts import Part
from adyton.statistics.program import MOST_CELLS, Program, Step, cells_of, lines_of, measured
from adyton.statistics.quantile_figures import names_of


class Sums(Program):
    """Sums by themselves."""

    name, words = "sums", "adds up the values of each group and adds noise for the largest value"

    def errors(self, asked: Asked, epsilon: Fraction) -> dict[str, float]:
        """√2 · the largest value / ε."""
        return {"sum": math.sqrt(2) * asked.grid.reach * float(asked.grid.step) / float(epsilon)}

    def steps(self, source: TableSource, asked: Asked, epsilon: Fraction) -> list[Step]:
        """One vector."""
        return [measured("sums", source, source.sums(asked.task.attribute, asked.task.by), 1, epsilon)]


class Shares(Program):
    """Count, mean and variance from one measurement."""

    name = "shares"
    words = "shares out each row between the bounds, so that count, mean and variance come from one measurement"

    def errors(self, asked: Asked, epsilon: Fraction) -> dict[str, float]:
        """Of 2 points, or of 3 where squares are asked for."""
        places, squares = points(asked)
        return moment_errors(asked, places, squares, float(epsilon))

    def steps(self, source: TableSource, asked: Asked, epsilon: Fraction) -> list[Step]:
        """One vector."""
        degree = len(points(asked)[0]) - 1
        shares = source.shares(asked.task.attribute, asked.task.by, degree=degree)
        return [measured("shares", source, shares, degree + 1, epsilon)]


@dataclass(frozen=True)
class Curve(Program):
    """Counts of all cells by a plan whose error is known."""

    name: ClassVar[str] = "cdf"
    words: ClassVar[str] = "measures a tree of counts along the attribute, from which all quantiles follow"
    plan: ClassVar[str] = "hb"
    most_groups: ClassVar[int] = MOST_STRIPES
    """The plan runs once for each group."""

    def errors(self, asked: Asked, epsilon: Fraction) -> dict[str, float]:
        """The standard error of a count up to a value."""
        if asked.attribute.base_size > MOST_CELLS or not asked.task.quantiles or asked.groups > self.most_groups:
            return {}
        off = self._off(asked, epsilon)
        return dict.fromkeys(names_of(asked.task.quantiles), off)

    def _off(self, asked: Asked, epsilon: Fraction) -> float:
        """It is the same in each group: the noise of one row is in one group alone."""
        return plan_named(self.plan).expected_error(Prefix(asked.attribute.base_size), epsilon).per_query

    def steps(self, source: TableSource, asked: Asked, epsilon: Fraction) -> list[Step]:
        """One run of the plan, for every group."""
        x, plan = cells_of(source, asked), plan_named(self.plan)
        cells = asked.attribute.base_size
        lines, workload = x.split(lines_of(asked, 1, np.zeros(cells, dtype=int))), Prefix(cells)
        for line in lines:
            plan.admit(line, workload, epsilon)
        off = self._off(asked, epsilon)

        def run() -> Part:
            found = [plan.carry_out(line, workload, epsilon).estimate for line in lines]
            return Part("curve", np.array(found, dtype=float).reshape(asked.groups, cells), epsilon, off)

        return [run]


@dataclass(frozen=True)
class Cells(Curve):
    """A plain histogram."""

    name: ClassVar[str] = "histogram"
    words: ClassVar[str] = "counts every value, from which all else follows"
    plan: ClassVar[str] = "identity"
    most_groups: ClassVar[int] = LARGEST_DOMAIN

    def errors(self, asked: Asked, epsilon: Fraction) -> dict[str, float]:
        """Of quantiles, and of moments where every cell is a single number."""
        found = super().errors(asked, epsilon)
        if asked.single and asked.attribute.base_size <= MOST_CELLS:
            places = (asked.middles - asked.grid.lower) / asked.grid.width
            found |= moment_errors(asked, places, places**2, float(epsilon))
            found["sum"] = float(np.sqrt(2 * (asked.middles**2).sum())) / float(epsilon)
        return found

    def steps(self, source: TableSource, asked: Asked, epsilon: Fraction) -> list[Step]:
        """One vector."""
        x = cells_of(source, asked)
        off = self._off(asked, epsilon)
        step = measured("cells", source, x, asked.attribute.size, epsilon)

        def run() -> Part:
            found = step()
            return Part("cells", found.numbers[:, : asked.attribute.base_size], epsilon, off)

        return [run]


@dataclass(frozen=True)
class SharesAndChoice(Program):
    """Moments and quantiles, each by what suits it."""

    name = "shares-and-choice"
    words = "shares out rows for count, mean and deviation, and chooses the cells of the quantiles"
    shares: ClassVar[Fraction] = Fraction(2, 5)

    def errors(self, asked: Asked, epsilon: Fraction) -> dict[str, float]:
        """Of both, with their parts of the budget."""
        if not asked.task.quantiles or set(names_of(asked.task.quantiles)) >= set(asked.task.statistics):
            return {}
        return Shares().errors(asked, epsilon * self.shares) | Choice().errors(asked, epsilon * (1 - self.shares))

    def steps(self, source: TableSource, asked: Asked, epsilon: Fraction) -> list[Step]:
        """Those of both."""
        first, second = epsilon * self.shares, epsilon * (1 - self.shares)
        return [*Shares().steps(source, asked, first), *Choice().steps(source, asked, second)]


PROGRAMS: dict[str, Program] = {
    one.name: one for one in (Sums(), Shares(), Choice(), Curve(), Cells(), SharesAndChoice())
}
