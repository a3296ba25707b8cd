"""A sixth kind of request: rows by weekday, with an answer and a drawing of its own. It is a task, a program, a result.

As somebody would write it who adds a kind: nothing else of the package knows of it.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.errors import BadInput
from adyton.noise.simulated import discrete_laplace_radius, discrete_laplace_variance
from adyton.plans.base import ExpectedError
from adyton.programs import Answer, Outlook, Program
from adyton.queries import Identity, Partition
from adyton.report.charts import Panel
from adyton.report.pictures import Drawing
from adyton.result.misfits import NO_SHARE
from adyton.result.result import Result
from adyton.result.sheets import AS_IT_IS, CONFIDENCE, Column, Sheet, Sheets
from adyton.schema import Date
from adyton.schema.plain_values import as_amount, of_kind, part_of
from adyton.tasks import Histogram, Option, register

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
FIRST = 3  # 1970-01-01 was a Thursday


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Weekdays(Result):
    """The noisy number of rows of every weekday."""

    kind = "weekdays"
    holds = "rows by weekday"
    at_once = True

    rows: tuple
    row_epsilon: Fraction

    def own_paragraphs(self):
        """The busiest day."""
        return (f"Most rows are on a {DAYS[int(np.argmax(self.rows))]}.",)

    def sheets(self, look=AS_IT_IS, confidence=CONFIDENCE):
        """A line a day."""
        values = np.array(self.rows)
        far = discrete_laplace_radius(1 / self.row_epsilon, confidence or CONFIDENCE)
        column = Column("rows", values, values - far, values + far)
        return Sheets("weekdays.csv", (Sheet({"weekday": DAYS}, (column,), counted=self.counted_rows),), confidence)

    def drawings(self, most=None):
        """Bars."""
        (column,) = self.sheets().sheets[0].columns
        values, lower, upper = (np.asarray(part, dtype=float) for part in (column.values, column.lower, column.upper))
        return [Drawing.of(Panel("bars", "Rows by weekday", (), DAYS, values, lower, upper))][:most]

    def own_dict(self, *, complete):
        """The numbers."""
        return {"rows": list(self.rows), "row_epsilon": {"exact": str(self.row_epsilon)}}

    @classmethod
    def from_plain(cls, plain, common):
        """Seven of them."""
        rows = of_kind(list, part_of(plain, "rows"), "rows")
        if len(rows) != 7 or not all(type(count) is int for count in rows):
            raise BadInput("a week has seven whole numbers.")
        own = as_amount(part_of(plain, "row_epsilon"), "what a row pays", most=common["epsilon"])
        return cls(**common, rows=tuple(rows), row_epsilon=own)


@dataclass(frozen=True, eq=False)
class CountWeekdays(Program):
    """Seven groups of days, with noise on each."""

    result = Weekdays

    request: object
    schema: object

    @classmethod
    def of(cls, request, schema):
        """For one attribute of days."""
        selected = request.task.select(schema)
        ((name, days),) = selected.attributes.items()
        if not isinstance(days, Date) or days.size != days.base_size:
            raise BadInput(f"{name} is no attribute of plain dates, so that it has no weekdays.")
        return cls(request, selected)

    def source(self, table):
        """The days, grouped."""
        (days,) = self.schema.attributes.values()
        first = int(np.datetime64(days.labels[0], "D").astype(int)) + FIRST
        return table.select(list(self.schema.names)).vectorize().reduce(Partition((first + np.arange(days.size)) % 7))

    def check(self, source, epsilon):
        """There is enough left."""
        source.kernel.afford(source, epsilon)

        def run():
            measured = source.measure(Identity(7), epsilon)
            own = {"rows": tuple(measured.answers.reshape(-1).tolist()), "row_epsilon": epsilon, "schema": self.schema}
            return Answer("seven-counts", own)

        return run

    def outlook(self, misfits=NO_SHARE):
        """The noise is known."""
        return Expected(self.schema.rows_per_unit, misfits)


@dataclass(frozen=True, eq=False)
class Expected(Outlook):
    """The standard deviation of the noise."""

    rows_per_unit: int
    misfits: object
    chooses = False
    size = "7 weekdays"

    def errors(self, epsilon):
        """Of each day."""
        variance = float(discrete_laplace_variance([self.rows_per_unit / self.share(epsilon)])[0])
        return {"seven-counts": ExpectedError((7 * variance) ** 0.5, 7, "exact")}

    def error_at(self, epsilon):
        """Of one day."""
        return self.errors(epsilon)["seven-counts"].per_query


@register
@dataclass(frozen=True, init=False, repr=False)
class Weekday(Histogram):
    """Rows by the weekday of a date."""

    kind = "weekday"
    answered_by = CountWeekdays
    command_options = (Option("weekday", "Rows by the weekday of a date.", "A"),)
    attributes: tuple[str, ...]

    @classmethod
    def from_options(cls, given):
        """By its one option."""
        return cls(given["weekday"])

    def __str__(self):
        return f"rows by weekday of {self.attributes[0]}"
