"""Rows that the user may see: tables of public rows, for experiments, and the cells of new rows.

A table of public rows is given as the numbers of their cells, and is counted like any other table. New rows, for which
a model makes predictions, are already in the user's hands; they do not belong to a kernel, and nothing here can reach a
kernel's rows. The same functions as everywhere decide which cell a value falls into.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers, Places
from adyton.errors import BadInput
from adyton.kernel.counting.opening import check_columns, checked_reader
from adyton.kernel.counting.rows import Batch, Rows
from adyton.kernel.counting.table import PrivateTable
from adyton.kernel.reading.cells import Cell, Leaf, Question, Steps, Terms, cells
from adyton.kernel.reading.values import ValueReader
from adyton.kernel.sealed import quietly
from adyton.messages import shorten
from adyton.schema import Integer, Numeric, Schema
from adyton.schema.attributes import CelledAttribute
from adyton.schema.cell_groups import merged_cells
from adyton.schema.numbers import FixedPoint
from adyton.whole import IntegerArray

Result = TypeVar("Result")


class CodedTable(PrivateTable):
    """Rows over a schema as whole numbers: the cell of every attribute, −1 where the schema drops the value.

    It can do what any private table can, except for operations that need values.
    """

    __slots__ = ()

    @classmethod
    def of(cls, codes: Integers, schema: Schema, times: Integers | None = None) -> CodedTable:
        """The table of these codes, rows × attributes; *times* says how often each row occurs, by default once."""
        return cls(CodedRows(codes, schema, times), schema)

    @classmethod
    def checked(cls, codes: npt.ArrayLike, schema: Schema) -> CodedTable:
        """The table of these codes, or an error if they are not valid."""
        if not isinstance(schema, Schema):
            raise BadInput(f"public rows need a Schema, given {shorten(schema)}.")
        given, sizes = np.asarray(codes), np.array(schema.shape)
        if given.dtype.kind not in "iu" or given.ndim != 2 or given.shape[1] != len(sizes):
            raise BadInput(
                f"public rows are whole numbers, one column for each of {len(sizes)} attributes, given {given.dtype} "
                f"{given.shape}."
            )
        if given.size and (given.min() < -1 or (given.max(axis=0) >= sizes).any()):
            raise BadInput("a public row holds numbers of cells, from 0 on, or −1. Some numbers are out of range.")
        return cls.of(np.asfortranarray(given, dtype=np.int64), schema)

    @classmethod
    def of_counts(cls, counts: IntegerArray, schema: Schema) -> CodedTable:
        """The table with these counts of rows in the cells of its domain."""
        codes = np.indices(schema.shape).reshape(len(schema.shape), -1).T
        return cls.of(codes, schema, np.asarray(counts, dtype=np.int64).reshape(-1))

    def planned_tables(self, groups: Sequence[Sequence[str]]) -> Callable[[], list[Integers]]:
        """A function that counts them."""
        return partial(self.tables, groups)

    def tables(self, groups: Sequence[Sequence[str]]) -> list[Integers]:
        """The number of rows in every cell, for each group of attributes."""
        return super().planned_tables(groups)()

    def where(self, *_: Any) -> NoReturn:
        """Refused, like everything that needs values."""
        raise BadInput("public rows that are given as cells can be selected, split and counted, and nothing else.")

    group_by = where  # type: ignore[assignment]
    misfits = property(where)  # refused on access

    def _run(self, work: Callable[[], Result]) -> Result:
        """Run at once: nothing is private, and nothing changes."""
        return work()


class MadeUpTable(CodedTable):
    """Made-up rows, on which everything can be tried: what depends on values is made up, too."""

    __slots__ = ()

    def where(self, predicate: object) -> MadeUpTable:  # type: ignore[override]
        """Every other row, whatever the condition says."""
        rows, own = self._rows, {"declared": self._declared, "conditions": self._conditions, "moment": self._moment}
        assert isinstance(rows, CodedRows)
        times = None if rows.times is None else rows.times[::2]
        return MadeUpTable(CodedRows(rows.codes[::2], rows.schema, times), self._schema, **own)  # type: ignore[arg-type]

    def group_by(self, keys: str | Sequence[str], count: str, most: int) -> MadeUpTable:  # type: ignore[override]
        """A third as many groups as rows, with made-up keys and sizes."""
        return self._sized(self._schema.grouped(keys, count, most))

    def by_unit(self, count: str, most: int, *, cut: bool = False) -> MadeUpTable:
        """A third as many units as rows, with made-up numbers of rows."""
        return self._sized(self._schema.per_unit(count, most))

    def _sized(self, schema: Schema) -> MadeUpTable:
        assert isinstance(self._rows, CodedRows)
        rows, times = -(-len(self._rows.codes) // 3), self._rows.times
        sizes = [own.size if isinstance(own, CelledAttribute) else 1 for own in schema.attributes.values()]
        codes = np.random.default_rng(rows).integers(0, [*sizes[:-1], min(3, sizes[-1])], (rows, len(sizes)))
        return MadeUpTable(CodedRows(codes, schema, None if times is None else times[:rows]), schema)

    def misfits(self, misfits: Sequence[object]) -> Integers:
        """All rows match the schema."""
        return np.array([self.count(), *(0 for _ in misfits)])


@dataclass(frozen=True, eq=False)
class CodedRows(Rows):
    """Rows in memory, as the numbers of their cells."""

    codes: Integers
    schema: Schema
    times: Integers | None

    def passing(self, terms: Terms) -> bool:
        """No: the rows are in memory, and no loop is compiled for them."""
        return False

    def all(self, terms: Terms) -> Iterator[Batch]:
        """All rows in one batch."""
        yield CodedBatch(self.codes, self.schema, self.times)


class CodedBatch(Batch):
    """Rows given as the numbers of their cells."""

    reads = False

    def __init__(self, codes: Integers, schema: Schema, times: Integers | None) -> None:
        self.rows, self.times, self._codes, self._schema = len(codes), times, codes, schema

    def at(self, places: Places) -> CodedBatch:
        """The rows at some places."""
        return CodedBatch(self._codes[places], self._schema, None if self.times is None else self.times[places])

    def of(self, term: Question) -> Any:
        """The cell (perhaps of a coarser schema), the leaf, or the steps of the middle of the cell."""
        if isinstance(term, Leaf):
            return term.at(self.rows, self.of)
        own, declared = self._codes[:, self._schema.names.index(term.name)], self._schema.attributes[term.name]
        if isinstance(term, Steps):
            assert isinstance(declared, Integer | Numeric)
            steps = np.full(declared.size + 1, -1, np.int64)
            steps[: declared.base_size] = FixedPoint.of(declared).steps_of_cells(declared)
            return steps[own]
        assert isinstance(term, Cell)
        if term.attribute is declared or term.attribute == declared:
            return own
        return np.append(merged_cells(declared, term.attribute), -1)[own]


# ---- new rows --------------------------------------------------------------------------------------------------------


def row_codes(data: Any, schema: Schema) -> Iterator[Integers]:
    """The codes of a table's rows in their order, in batches: a column for each attribute, −1 where there is no cell.

    *data* is anything that can be opened as a table. A value has no cell where the schema would leave its row out.
    """
    _, batches = rows_beside_codes(data, schema, keep=False)
    return (codes for codes, _ in batches)


def rows_beside_codes(
    data: Any, schema: Schema, *, keep: bool
) -> tuple[tuple[str, ...], Iterator[tuple[Integers, Any]]]:
    """The names of all columns, and batches of codes; if *keep*, with the rows themselves as Arrow tables."""
    reader = checked_reader(data, schema)
    check_columns(reader, schema)
    names = tuple(column.name for column in reader.columns) if keep else ()
    readers = {name: ValueReader(attribute) for name, attribute in schema.attributes.items()}
    wanted = list(dict.fromkeys([*schema.columns, *names]))
    reader.declare(wanted, None)

    def batches() -> Iterator[tuple[Integers, Any]]:
        import pyarrow

        arrays_of, end = reader.batches(wanted), [object()]
        while (arrays := quietly(lambda: next(arrays_of, end))) is not end:
            by_name = dict(zip(wanted, arrays or (), strict=False))
            codes = quietly(lambda by_name=by_name: coded(by_name)) if by_name else None  # type: ignore[misc]
            if codes is None:
                raise BadInput("the new rows cannot be read to their end. Check that the table is complete.")
            kept = pyarrow.Table.from_arrays([by_name[name] for name in names], names=list(names)) if keep else None
            yield codes, kept

    def coded(by_name: dict[str, Any]) -> Integers:
        columns = []
        for name, attribute in schema.attributes.items():
            assert isinstance(attribute, CelledAttribute)
            columns.append(cells(readers[name].read(by_name[schema.column_of(name)]), attribute))
        return np.stack(columns, axis=1)

    return names, batches()
