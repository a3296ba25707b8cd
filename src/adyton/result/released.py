"""What every release can do, whatever its estimate is: tables, their errors, answers, rows, frames."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.messages import listing, path_of
from adyton.plans.base import ExpectedError
from adyton.remembered import cached_property
from adyton.result import frames
from adyton.result.free_figures import FreeFigures
from adyton.result.one_table import Table
from adyton.result.result import Result
from adyton.result.row_files import RowsMade, RowSource, sampled_table, write_rows
from adyton.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa


class Released(Result, FreeFigures):
    """A release: an estimate that answers queries. One kind holds the count of every cell, another tables alone."""

    # ---- tables -----------------------------------------------------------------------------------------------------

    @abstractmethod
    def table(self, *attributes: str) -> Table:
        """The table of some attributes, with the least error known: ``release.table("age", "sex")``."""

    @abstractmethod
    def unbiased(self, *attributes: str) -> Table:
        """The same without bias, with the exact standard error of each of its counts; refused where there is none."""

    @abstractmethod
    def error_lines(self) -> pa.Table:
        """What :meth:`errors` says, as an Arrow table."""

    def errors(self) -> Any:
        """A frame with a line for each table that was asked for: the number of its cells, the expected error (as a part
        of all rows that lie in a wrong cell: the total variation; empty where it is not known), and how it was got."""
        return frames.to_pandas(self.error_lines())

    @abstractmethod
    def answer(self, queries: object) -> Reals:
        """The estimated answers to any queries, at no cost."""

    @property
    @abstractmethod
    def expected_error(self) -> ExpectedError:
        """The error to expect."""

    @cached_property
    def known_error(self) -> ExpectedError | None:
        """The expected error; None where it cannot be computed, for whatever reason."""
        try:
            return self.expected_error
        except Exception:  # what was paid for must not be lost over it
            return None

    @property
    def typical_errors(self) -> Mapping[str, float]:
        """Of one answer."""
        return {} if self.known_error is None else {"count": self.known_error.per_query}

    # ---- rows -------------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def row_source(self) -> RowSource:
        """What synthetic rows are made from."""

    @property
    @abstractmethod
    def rows_estimated(self) -> int:
        """About how many rows there are."""

    def sample(self, rows: int, *, seed: int | None = None) -> Any:
        """Synthetic rows that fit the schema, as a pandas DataFrame: their tables look like those of the release.

        No row is anybody's. ``frame.attrs["synthetic"]`` says so, with how far the pairs of these rows are from the
        released ones. The same *seed* gives the same rows. For very many rows, :meth:`write_rows` writes a file.
        """
        table, made = sampled_table(self.row_source, self.schema, rows, seed, self.counted.first(self.where))
        frame = frames.to_pandas(table)
        frame.attrs["synthetic"] = made.to_plain()
        return frame

    def write_rows(self, file: str | os.PathLike[str], rows: int, *, seed: int | None = None) -> RowsMade:
        """Write synthetic rows to a ``.csv`` or ``.parquet`` file, a part at a time: memory does not grow with them.

        A file beside it, with ``.synthetic.json`` at the end of its name, says that the rows are synthetic, and how far
        their pairs are from the released ones. In a CSV file, texts that a spreadsheet would run get an apostrophe.
        """
        return write_rows(self.row_source, self.schema, path_of(file), rows, seed, self.counted.first(self.where))

    # ---- several of them --------------------------------------------------------------------------------------------

    @abstractmethod
    def combined_with(self, others: Sequence[Self]) -> Self:
        """One release out of this and others of the same thing; see :func:`adyton.combine`."""

    @abstractmethod
    def same_noise(self, other: Released) -> bool:
        """Whether both hold the same noise: one is the other, perhaps read from a file, or a part of it."""

    # ---- labels and the receipt -------------------------------------------------------------------------------------

    @property
    def axes(self) -> dict[str, tuple[Any, ...]]:
        """The labels of the cells along each axis, by attribute."""
        return self.task.axes(self.schema)

    def labels(self, group: Sequence[str]) -> tuple[tuple[Any, ...], ...]:
        """Those of some attributes."""
        return tuple(self.axes[name] for name in group)


def one_by_one(attributes: tuple[Any, ...], schema: Schema) -> tuple[str, ...]:
    """Names given one by one, or as one list; an error if one is unknown or given twice, or if there are none."""
    names = attributes[0] if len(attributes) == 1 and isinstance(attributes[0], list | tuple) else attributes
    if not names or not all(isinstance(name, str) for name in names):
        raise BadInput(
            f'a table is asked for by the names of attributes, like table("age", "sex"), given {listing(names)}.'
        )
    return schema.check_names(tuple(names))
