"""A release of numbers: what was measured, every statistic that follows from it, its bounds and its receipt."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from adyton.errors import BadInput
from adyton.exact import display, share
from adyton.messages import listing, no_such
from adyton.remembered import cached_property
from adyton.result import frames
from adyton.result.explanation import Explanation
from adyton.result.misfits import Misfits
from adyton.result.receipt import Receipt, RowsCounted
from adyton.result.staging import staged
from adyton.schema import Schema
from adyton.statistics import numbers_file, numbers_saving
from adyton.statistics.asked import Asked
from adyton.statistics.figures import Figures
from adyton.statistics.numbers_words import explanation
from adyton.statistics.parts import Part
from adyton.statistics.told import told
from adyton.tasks import NumbersTask

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

CONFIDENCE = 0.95


@dataclass(frozen=True, eq=False, repr=False)
class NumbersRelease:
    """Statistics of the numbers of an attribute, a line for each group, with bounds.

    Made by :meth:`adyton.Session.release` for :class:`adyton.Sum`, :class:`adyton.Mean`, :class:`adyton.Quantiles`,
    :class:`adyton.Variance` and :class:`adyton.Summary`; kept in a folder by :meth:`save`, read back by :meth:`load`.

    >>> import pandas, adyton as ad
    >>> rows = pandas.DataFrame({"age": [20, 40] * 5000, "sex": ["F", "F", "M", "M"] * 2500})
    >>> schema = ad.Schema({"age": ad.Integer(0, 100), "sex": ad.Categorical(["F", "M"])})
    >>> release = ad.Session(rows, schema=schema, epsilon=1).release(ad.Mean("age", by="sex"), epsilon=1)
    >>> release.to_frame()["mean"].round().tolist(), round(release.value("mean", "F"))
    ([30.0, 30.0], 30)
    """

    schema: Schema
    """What is public about the attributes: those of the groups, then that of the numbers."""
    task: NumbersTask
    where: str | None
    algorithm: str
    """The program that ran, named or chosen."""
    epsilon: Fraction
    """What was charged: a person's whole part in the table is protected by this much."""
    parts: tuple[Part, ...]
    """The noisy numbers, as they came out."""
    why: str
    """Why this program ran."""
    receipt: Receipt
    """What was paid: data set, privacy unit, budget, entries of the ledger, versions, date."""
    misfits: Misfits | None = None
    """The noisy numbers of rows that do not fit the schema, if they were counted."""
    unfinished: str | None = None
    """What ended the program before it had measured all that it was going to, if something did."""

    @cached_property
    def asked(self) -> Asked:
        """The task with all that the schema says of it."""
        return Asked(self.task, self.schema)

    @cached_property
    def _usual(self) -> tuple[Figures, ...]:
        return told(self.asked, self.parts, CONFIDENCE)

    def figures(self, confidence: float = CONFIDENCE) -> tuple[Figures, ...]:
        """Every statistic that was asked for, with bounds at this confidence."""
        rate = float(share(confidence, "confidence"))
        return self._usual if rate == CONFIDENCE else told(self.asked, self.parts, rate)

    @property
    def groups(self) -> list[tuple[Any, ...]]:
        """The labels of each group; a single one without labels where there are no groups."""
        return self.asked.lines

    def value(self, statistic: str, *group: Any) -> float:
        """One number: ``release.value("mean", "F")``; without a group where there is only one."""
        return float(self._found(statistic).estimate[self._line(group)])

    def interval(self, statistic: str, *group: Any, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Its bounds; whether they are exact or approximate, ``release.explain()`` says."""
        found, line = self._found(statistic, confidence), self._line(group)
        return float(found.lower[line]), float(found.upper[line])

    def _found(self, statistic: str, confidence: float = CONFIDENCE) -> Figures:
        known = {one.name: one for one in self.figures(confidence)}
        if not isinstance(statistic, str) or statistic not in known:
            raise BadInput(no_such("statistic", statistic, known))
        return known[statistic]

    def _line(self, group: tuple[Any, ...]) -> int:
        given = tuple(group[0]) if len(group) == 1 and isinstance(group[0], list | tuple) else group
        if given not in self.groups:
            names = listing(self.task.by) if self.task.by else "no groups"
            raise BadInput(f"there is no group {listing(given)}: the release has {names}, like {self.groups[0]}.")
        return self.groups.index(given)

    @property
    def expected_error(self) -> Mapping[str, float]:
        """The standard error of each statistic in the median group: half of the groups have at most this."""
        return {one.name: one.typical_error for one in self.figures()}

    def to_arrow(self, *, confidence: float = CONFIDENCE) -> pa.Table:
        """A line for each group: its labels, then every statistic with its bounds and its standard error."""
        import pyarrow as pa

        axes = [self.schema.attributes[name].labels for name in self.task.by]
        columns: dict[str, Any] = dict(zip(self.task.by, frames.labels(axes), strict=True))
        for one in self.figures(confidence):
            name = frames.free(one.name, columns)
            columns[name] = one.estimate
            columns |= {f"{name}_lower": one.lower, f"{name}_upper": one.upper, f"{name}_error": one.error}
        return pa.table(frames.with_counted(columns, self.counted_rows, len(self.groups)))

    def to_frame(self, *, confidence: float = CONFIDENCE) -> Any:
        """The same as a pandas DataFrame."""
        return frames.to_pandas(self.to_arrow(confidence=confidence))

    def to_polars(self, *, confidence: float = CONFIDENCE) -> Any:
        """The same as a polars DataFrame."""
        return frames.to_polars(self.to_arrow(confidence=confidence))

    def explain(self) -> Explanation:
        """What was measured and why, how far off the numbers are, and what was spent, in words."""
        return explanation(self)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """The pictures of the report: dots with intervals, or lines for dates; written to a file if a path is given."""
        from adyton.report.plot import plot_numbers

        return plot_numbers(self, path)

    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write ``numbers.json`` (complete), ``numbers.csv`` and ``report.html`` into a new folder.

        With *overwrite* the folder may hold another release of numbers, which is replaced.
        """
        replaces = numbers_saving.REPLACEABLE if overwrite else ()
        with staged(folder, replaces=replaces, ours=numbers_file.KIND.says_so) as place:
            problems = numbers_saving.save(self, place).finish()
        for problem in problems:
            warnings.warn(f"{folder}: {problem} Everything else is there.", stacklevel=2)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> NumbersRelease:
        """The release in a folder that :meth:`save` wrote, or in its ``numbers.json``; the data are not needed."""
        return cls(**numbers_file.read(path))

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain values for JSON."""
        return numbers_file.to_dict(self)

    @property
    def counted(self) -> RowsCounted:
        """Which rows of each unit were counted; nothing is said where no column names a unit."""
        return self.receipt.counted()

    @property
    def counted_rows(self) -> str:
        """Which rows of the table were counted, in a few words; nothing if it is all of them."""
        return self.counted.rows(self.where)

    @property
    def rows_per_unit(self) -> int:
        """How many rows one person may have in the table."""
        return self.receipt.rows_per_unit

    def __repr__(self) -> str:
        where = f" where {self.where}" if self.where else ""
        mark = "" if self.receipt.private else "; simulated, NOT private"
        told = f"{self.task}{where}{self.counted.aside}"
        return f"<release: {told}, by {self.algorithm}, ε = {display(self.epsilon)}{mark}>"

    def _repr_html_(self) -> str:
        return self.explain()._repr_html_()
