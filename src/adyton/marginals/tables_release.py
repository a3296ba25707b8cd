"""A release of many tables: what was measured, every table that follows from it, synthetic rows, its receipt."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from adyton.choice.bought import Bought
from adyton.errors import BadInput
from adyton.exact import display
from adyton.marginals import tables_file, tables_saving
from adyton.marginals.estimating import Estimated
from adyton.marginals.modelling import modelled
from adyton.marginals.pair_model import PairModel
from adyton.marginals.released_table import Table
from adyton.marginals.row_files import RowsMade, sampled_table, write_rows
from adyton.marginals.table_errors import expected_error, table_errors
from adyton.marginals.tables_words import explanation
from adyton.marginals.wanted import Wanted
from adyton.messages import listing
from adyton.plans.expected_error import ExpectedError
from adyton.release import frames
from adyton.release.explanation import Explanation
from adyton.release.misfits import Misfits
from adyton.release.receipt import Receipt
from adyton.release.staging import staged
from adyton.remembered import cached_property
from adyton.schema import Schema
from adyton.solving.residuals import MeasuredTable
from adyton.tasks import Marginals

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False, repr=False)
class TablesRelease:
    """Tables of few attributes out of many: any table of them, exact errors where there are any, and synthetic rows.

    Made by :meth:`adyton.Session.release` for :class:`adyton.Marginals`; kept in a folder by :meth:`save`, and read
    back by :meth:`load`. All of it follows from what was measured: asking for more tables, or for rows, costs nothing.

    >>> import pandas, adyton as ad
    >>> rows = pandas.DataFrame({name: [0, 1, 1, 1] * 1000 for name in "abcdef"})
    >>> schema = ad.Schema({name: ad.Integer(0, 1) for name in "abcdef"})
    >>> release = ad.Session(rows, schema=schema, epsilon=1).release(ad.Marginals(way=2), epsilon=1)
    >>> release.table("a", "b").counts.round(-3).tolist(), release.sample(100).shape
    ([[1000.0, 0.0], [0.0, 3000.0]], (100, 6))
    """

    schema: Schema
    """What is public about the attributes that were released."""
    task: Marginals
    where: str | None
    algorithm: str
    """The program that ran, named or chosen."""
    options: Mapping[str, Any]
    epsilon: Fraction
    """What was charged: a person's whole part in the table is protected by this much."""
    measured: tuple[MeasuredTable, ...]
    """The noisy tables, as they came out, with the variance of the noise in each of their cells."""
    why: str
    """Why these tables were measured."""
    bought: tuple[Bought, ...]
    """What was looked at to decide, if anything; else the program was named."""
    receipt: Receipt
    """What was paid: data set, privacy unit, budget, entries of the ledger, versions, date."""
    misfits: Misfits | None = None
    """The noisy numbers of rows that do not fit the schema, if they were counted."""
    kept: PairModel | None = None
    """The model as it was saved, of a release that was read from a file."""

    # ---- what follows from the measurements -------------------------------------------------------------------------

    @cached_property
    def wanted(self) -> Wanted:
        """The tables that were asked for."""
        return Wanted.of(self.schema, self.task.groups(self.schema), self.task.importance(self.schema))

    @cached_property
    def estimated(self) -> Estimated:
        """Least squares, and the model: the same measurements always give the same."""
        return modelled(self.wanted, self.measured, self.kept)

    @property
    def model(self) -> PairModel:
        """The single attributes, the measured pairs, and the forest that connects them."""
        return self.estimated.model

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The attributes of each table that was asked for."""
        return self.wanted.groups

    @property
    def axes(self) -> dict[str, tuple[Any, ...]]:
        """The labels of the cells along each axis, by attribute."""
        return {name: attribute.labels for name, attribute in self.schema.attributes.items()}

    @property
    def rows_per_unit(self) -> int:
        """How many rows one person may have in the table."""
        return self.receipt.rows_per_unit

    @property
    def record(self) -> dict[str, Any]:
        """The receipt as plain values."""
        return self.receipt.to_plain()

    def table(self, *attributes: str) -> Table:
        """Any table, with the least error known; ``.how`` says whether it was measured, comes by a path of measured
        pairs, was fitted to them, or takes attributes for independent."""
        found = self.model.table(*_one_by_one(attributes))
        return Table(found.group, self._labels(found.group), found.counts, found.how)

    def unbiased(self, *attributes: str) -> Table:
        """A table by least squares alone: without bias, with the exact standard error of each of its counts.

        Counts can be negative. A table of which a part was never measured is refused: :meth:`table` estimates it.
        """
        group = _one_by_one(attributes)
        counts = self.estimated.squares.table(*group)
        error = float(np.sqrt(self.estimated.squares.variance(*group)))
        return Table(group, self._labels(group), counts, "least squares", error)

    def errors(self) -> Any:
        """A frame with a line for each table that was asked for: the number of its cells, the expected error (as a part
        of all rows that lie in a wrong cell: the total variation; empty where it depends on the data), and how it was
        got."""
        return frames.to_pandas(table_errors(self))

    @cached_property
    def expected_error(self) -> ExpectedError:
        """The error to expect of the cells of all tables that were asked for."""
        return expected_error(self)

    @cached_property
    def known_error(self) -> ExpectedError | None:
        """The expected error; None where it cannot be computed, for whatever reason."""
        try:
            return self.expected_error
        except Exception:  # what was paid for must not be lost over it
            return None

    # ---- frames and rows --------------------------------------------------------------------------------------------

    def to_arrow(self, attributes: str | Sequence[str] | None = None) -> pa.Table:
        """The table of these attributes with one line per cell; without any, all tables that were asked for."""
        if attributes is not None:
            return self.table(*_one_by_one((attributes,))).to_arrow()
        return tables_saving.all_lines(self)

    def to_frame(self, attributes: str | Sequence[str] | None = None) -> Any:
        """The same as a pandas DataFrame."""
        return frames.to_pandas(self.to_arrow(attributes))

    def to_polars(self, attributes: str | Sequence[str] | None = None) -> Any:
        """The same as a polars DataFrame."""
        return frames.to_polars(self.to_arrow(attributes))

    def sample(self, rows: int, *, seed: int | None = None) -> Any:
        """Synthetic rows that fit the schema, as a pandas DataFrame: their pairs look like those of the release.

        No row is anybody's. ``frame.attrs["synthetic"]`` says so, with how far the pairs of these rows are from the
        released ones. The same *seed* gives the same rows. For very many rows, :meth:`write_rows` writes a file.
        """
        table, made = sampled_table(self.model, self.schema, rows, seed)
        frame = frames.to_pandas(table)
        frame.attrs["synthetic"] = made.to_plain()
        return frame

    def write_rows(self, file: str | os.PathLike[str], rows: int, *, seed: int | None = None) -> RowsMade:
        """Write synthetic rows to a ``.csv`` or ``.parquet`` file, a part at a time: memory does not grow with them.

        A file beside it, with ``.synthetic.json`` at the end of its name, says that the rows are synthetic, and how far
        their pairs are from the released ones.
        """
        return write_rows(self.model, self.schema, Path(file), rows, seed)

    # ---- for people and files ---------------------------------------------------------------------------------------

    def explain(self) -> Explanation:
        """What was measured and why, how far off the tables are, and what was spent, in words."""
        return explanation(self)

    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write ``tables.json`` (complete), ``report.html``, ``errors.csv`` and the tables, into a new folder.

        What was measured is put in place at once; all else is added to it, and a warning says what failed. With
        *overwrite* the folder may hold another release of tables, which is replaced.
        """
        replaces = tables_saving.REPLACEABLE if overwrite else ()
        with staged(folder, replaces=replaces, ours=tables_file.says_so) as place:
            problems = tables_saving.save(self, place).finish()
        for problem in problems:
            warnings.warn(f"{folder}: {problem} Everything else is there.", stacklevel=2)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> TablesRelease:
        """The release in a folder that :meth:`save` wrote, or in its ``tables.json``; the data are not needed."""
        return cls(**tables_file.read(path))

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain values for JSON."""
        return tables_file.to_dict(self, self.model)

    def _labels(self, group: Sequence[str]) -> tuple[tuple[Any, ...], ...]:
        return tuple(self.axes[name] for name in group)

    def __repr__(self) -> str:
        where = f" where {self.where}" if self.where else ""
        mark = "" if self.receipt.private else "; simulated, NOT private"
        return f"<release: {self.task}{where}, by {self.algorithm}, ε = {display(self.epsilon)}{mark}>"

    def _repr_html_(self) -> str:
        return self.explain()._repr_html_()


def _one_by_one(attributes: tuple[Any, ...]) -> tuple[str, ...]:
    """Names given one by one, or as one list."""
    names = attributes[0] if len(attributes) == 1 and isinstance(attributes[0], list | tuple) else attributes
    if not names or not all(isinstance(name, str) for name in names):
        raise BadInput(
            f'a table is asked for by the names of attributes, like table("age", "sex"), given {listing(names)}.'
        )
    return tuple(names)
