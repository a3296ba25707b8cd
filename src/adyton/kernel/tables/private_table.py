"""The private table: rows that are counted inside an engine, or as they come from it, and never leave the kernel.

Operators build expressions; only what counts rows runs anything, and what comes back is one number, or at most one
number per cell of a declared domain.
"""

from __future__ import annotations

import math
import operator as operators
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NoReturn

from adyton.arrays import Array, Integers, Places
from adyton.errors import SchemaError
from adyton.kernel.engines import Engine
from adyton.kernel.engines.duckdb import identity_of
from adyton.kernel.reading.local_table import LocalTable, check_domain
from adyton.kernel.reading.packs import KEYS_TOGETHER
from adyton.kernel.reading.readers import LocalReader, Reader, unit_column
from adyton.kernel.reading.rows import StoredRows, UnitRows
from adyton.kernel.reading.values import ValueReader
from adyton.kernel.sealed import Sealed
from adyton.kernel.tables.cells import (
    among,
    cell_table,
    counted_by_values,
    misfit_table,
    power_sums,
    step_table,
    sums_by_cell,
    vector_of,
)
from adyton.kernel.tables.columns import is_missing, value_of
from adyton.kernel.tables.many_tables import ManyTables, leaf_cells
from adyton.kernel.tables.opened_rows import check_columns, checked_reader, opened_rows
from adyton.kernel.tables.units import UNIT, Units
from adyton.queries import Partition
from adyton.schema import RowTree, Schema
from adyton.schema.misfits import Misfit
from adyton.schema.predicates import (
    OPERATORS,
    And,
    Between,
    Compare,
    In,
    IsNull,
    Not,
    Or,
    Predicate,
    Scalar,
    check_predicate,
    in_seconds,
    without_groups,
)
from adyton.whole import IntegerArray


def open_table(data: Any, schema: Schema, unit: str | None = None) -> PrivateTable:
    """Open a table for counting: a path, a data frame, an Arrow table or an Ibis table.

    Everything that can be wrong with the names and types of its columns is said here, before a row is read. Where the
    schema names a unit, or *unit* names a column, the rows of each are cut to what the schema allows.

    >>> import pyarrow
    >>> from adyton.schema import Integer
    >>> open_table(pyarrow.table({"age": [34, 51]}), Schema({"age": Integer(0, 119)}))
    <private table: age>
    """
    reader = checked_reader(data, schema)
    if reader.local and isinstance(reader, LocalReader):
        return local_table(reader, schema, unit)  # type: ignore[return-value]
    opened = opened_rows(reader, schema, units=True, unit=unit)
    rows, units = opened.rows, None
    if opened.unit is not None:
        units = Units.of(opened)
        rows = units.cut()
    return PrivateTable(
        rows, opened.schema, opened.columns, opened.texts, engine=opened.engine, from_text=opened.from_text, units=units
    )


def local_table(reader: LocalReader, schema: Schema, unit: str | None = None, *, units: bool = True) -> LocalTable:
    """Rows that are read by us."""
    check_columns(reader, schema)
    schema, whose = unit_column(reader, schema, unit) if units else (schema, None)
    name = None if whose is None else reader.columns[whose].name
    reader.declare(schema.columns, name)
    readers = {one: ValueReader(attribute) for one, attribute in schema.attributes.items()}  # files of look-ups, too
    stored = StoredRows(schema, readers, reader.batches, _identity(reader), name)
    rows = stored if name is None else UnitRows(stored, schema.rows_per_unit)
    return LocalTable(rows, schema, from_text=reader.is_text)


def _identity(reader: Reader) -> Callable[[], Hashable] | None:
    """What the system says about the files; nothing where rows are in a connection of others, and may change."""
    return (lambda: tuple(map(identity_of, reader.files))) if reader.ours else None


class PrivateTable(Sealed):
    """Private rows over a public schema. It shows nothing of the rows, and cannot be copied, pickled or changed."""

    __slots__ = ("_columns", "_engine", "_from_text", "_given", "_schema", "_texts", "_units")
    _columns: Mapping[str, str]
    _engine: Engine
    _from_text: bool
    _given: Any
    _schema: Schema
    _texts: Mapping[str, str]
    _units: Units | None

    def __init__(
        self,
        rows: Any,
        schema: Schema,
        columns: Mapping[str, str],
        texts: Mapping[str, str] = MappingProxyType({}),
        *,
        engine: Engine,
        from_text: bool = False,
        units: Units | None = None,
    ) -> None:
        """*columns* names the column of every attribute, *texts* the text that a number was read from; *units* are the
        rows before they were cut, where each says whose it is. *rows* may be what makes them when they are needed."""
        own = locals() | {"given": rows}
        for name in self.__slots__:
            object.__setattr__(self, name, own[name[1:]])

    @property
    def _rows(self) -> Any:
        """An Ibis table. That of a part is made when it is first needed: a split may have very many."""
        if isinstance(self._given, partial):
            object.__setattr__(self, "_given", self._given())
        return self._given

    def _like(self, rows: Any, schema: Schema | None = None, units: Units | None = None) -> PrivateTable:
        """Other rows with the same columns."""
        schema, units = schema or self._schema, units or self._units
        return PrivateTable(rows, schema, self._columns, self._texts, engine=self._engine, units=units)

    @property
    def schema(self) -> Schema:
        """What is public about the table."""
        return self._schema

    @property
    def from_text(self) -> bool:
        """Whether the table was opened from a file of text: a fact about the file's name, not about its rows."""
        return self._from_text

    @property
    def steady(self) -> bool:
        """Whether several parts can be counted as they are at one moment: a fact about the source, not its rows."""
        return self._engine.steady

    def moment(self) -> Hashable:
        """What stays the same as long as the rows certainly do; None where nobody can tell."""
        return self._engine.moment()

    def expect(self, moment: Hashable) -> None:
        """What is counted from now on is counted as it is at this moment, or not at all; None allows any."""
        self._engine.expected = moment

    def select(self, names: str | Sequence[str]) -> PrivateTable:
        """The same rows, over some of the attributes."""
        schema = self._schema.select(names)
        columns, texts = (
            {name: column for name, column in known.items() if name in schema.names}
            for known in (self._columns, self._texts)
        )
        return PrivateTable(self._rows, schema, columns, texts, engine=self._engine, units=self._units)

    def coarsened(self, schema: Schema) -> PrivateTable:
        """The same rows, with the cells of a coarser schema."""
        return self._like(self._rows, schema)

    def where(self, predicate: Predicate) -> PrivateTable:
        """The rows for which the predicate is true."""
        check_predicate(predicate, self._schema)
        plain = in_seconds(without_groups(predicate, self._schema), self._schema)

        def kept(rows: Any) -> Any:
            value, missing = partial(self._value, rows=rows), lambda name: is_missing(rows[self._columns[name]])
            return rows.filter(to_ibis(plain, value, missing))

        return self._like(kept(self._rows), units=None if self._units is None else self._units.where(kept))

    def group_by(self, keys: str | Sequence[str], count_name: str, max_count: int) -> PrivateTable:
        """One row per group of equal keys that has rows, with the size of the group; missing keys are equal."""
        schema = self._schema.grouped(keys, count_name, max_count)
        *names, _ = schema.names
        columns = {name: f"c{index}" for index, name in enumerate(schema.names)}
        projected = self._rows.select(**{columns[name]: self._value(name) for name in names})
        keys_of = {columns[name]: self._engine.same_bytes(projected[columns[name]]) for name in names}
        texts = {key: projected[key].arbitrary() for key, own in keys_of.items() if not own.equals(projected[key])}
        grouped = projected.group_by(**{f"key_{key}": value for key, value in keys_of.items()})
        rows = grouped.aggregate(**{columns[count_name]: projected.count().cast("int64")}, **texts)
        plain = {key: rows[f"key_{key}"] for key in keys_of if key not in texts}
        rows = rows.mutate(**plain).select(*columns.values())
        return PrivateTable(rows, schema, columns, engine=self._engine)

    def by_unit(self, count_name: str, max_count: int, *, cut: bool = False) -> PrivateTable:
        """One row per unit that has rows here, with their number: before they were cut, or what was left of them."""
        assert self._units is not None
        schema = self._schema.per_unit(count_name, max_count)
        rows = self._units.sizes(self._rows if cut else self._units.rows)
        columns = dict(zip(schema.names, rows.columns, strict=True))
        return PrivateTable(rows, schema, columns, engine=self._engine)

    def split(self, attribute: str, partition: Partition) -> list[PrivateTable]:
        """Tables with disjoint rows: table g has the rows whose cell of the attribute is in group g."""
        schema = self._schema.select((attribute,))
        if partition.cells != schema.cells:
            raise SchemaError(f"{attribute!r} has {schema.cells} cells, given a partition of {partition.cells}.")
        self._engine.hold()
        unit = [] if self._units is None else [UNIT]
        carried = list(dict.fromkeys([*self._columns.values(), *self._texts.values(), *unit]))
        rows = cell_table(self._rows, schema, self._columns, engine=self._engine, carry=carried)

        def child(part: Places) -> Any:
            return rows.filter(among(rows["cell"], part.tolist())).select(*carried)

        return [self._like(partial(child, part)) for part in partition.parts()]

    def count(self) -> int:
        """The number of rows."""
        number = self._rows.aggregate(rows=self._rows.count())
        return int(self._fetched(number)["rows"][0])

    def vectorize(self) -> Integers:
        """The number of rows in every cell of the domain: counted in the engine, in one pass over the rows."""
        check_domain(self._schema)
        shape, cells = self._schema.shape, self._schema.cells
        found = counted_by_values(self._engine, self._rows, self._schema, self._columns)
        if found is not None:
            return vector_of(cells, found).reshape(shape)
        rows = cell_table(self._rows, self._schema, self._columns, engine=self._engine)
        return self._counted(rows, cells)[0].reshape(shape)

    def power_sums(self, attribute: str, by: Sequence[str], degree: int) -> list[IntegerArray]:
        """Σ k^p for p = 0 … degree over the rows of every group, k the steps of their values: in one pass."""
        shape = self._schema.select(by).shape if by else ()
        rows = step_table(self._rows, self._schema, self._columns, attribute, by, engine=self._engine)
        sums = sums_by_cell(rows, degree > 1, self._engine)
        found = power_sums(self._fetched(sums), math.prod(shape), squares=degree > 1)
        return [powers.reshape(shape) for powers in found]

    def in_leaves(self, tree: RowTree, names: Sequence[str]) -> Integers:
        """The number of rows in every leaf of a tree and cell of these attributes."""
        rows, shape = leaf_cells(self._rows, self._schema, self._columns, tree, names, engine=self._engine)
        return self._counted(rows, math.prod(shape))[0].reshape(shape)

    def split_tables(self, tree: RowTree, names: Sequence[str], label: str) -> list[Integers]:
        """For each attribute the number of rows in every leaf, cell and class, in one pass over the rows.

        A row is in the table of an attribute if it has a leaf, a class and a cell there.
        """
        return self._counted_tables(self._many([(name, label) for name in names], tree))

    def tables(self, groups: Sequence[Sequence[str]]) -> list[Integers]:
        """For each group of attributes the number of rows in every cell of it."""
        return self.planned_tables(groups)()

    def planned_tables(self, groups: Sequence[Sequence[str]]) -> Callable[[], list[Integers]]:
        """What counts them: how that is done is decided here, so that nothing is left to plan once it is paid for.

        Groups of few cells are counted in one pass over the rows, each other one in a pass of its own.
        """
        sizes = {name: self._schema.attributes[name].size + 1 for group in groups for name in group}
        few = [names for names in groups if math.prod(sizes[name] for name in names) <= KEYS_TOGETHER]
        many = self._many(few, None)

        def counts() -> list[Integers]:
            found = {tuple(names): own for names, own in zip(few, self._counted_tables(many), strict=True)}
            return [
                found[tuple(names)] if tuple(names) in found else self.select(list(names)).vectorize()
                for names in groups
            ]

        return counts

    def _many(self, groups: Sequence[Sequence[str]], tree: RowTree | None) -> ManyTables | None:
        return ManyTables.of(self._rows, self._schema, self._columns, groups, tree, self._engine)

    def _counted_tables(self, many: ManyTables | None) -> list[Integers]:
        return [] if many is None else many.counted(self._engine, self._counted)

    def misfits(self, misfits: Sequence[Misfit]) -> Integers:
        """How many rows fit, and how many do not for each of these reasons; every row is counted once."""
        rows = misfit_table(self._rows, self._schema, self._columns, self._texts, misfits, engine=self._engine)
        return self._counted(rows, len(misfits) + 1)[0]

    def _counted(self, rows: Any, *cells: int) -> list[Integers]:
        """For each column the number of rows with each value below so many, in one pass."""
        found = self._engine.run(lambda: self._engine.counted(rows, cells))
        return [vector_of(length, counted) for length, counted in zip(cells, found, strict=True)]

    def _value(self, name: str, rows: Any = None) -> Any:
        rows = self._rows if rows is None else rows
        return value_of(rows[self._columns[name]], self._schema.attributes[name], self._engine)

    def _fetched(self, expression: Any) -> dict[str, Array]:
        return self._engine.run(lambda: self._engine.fetched(expression))

    def __repr__(self) -> str:
        return f"<private table: {', '.join(self._schema.names)}>"

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a private table cannot be changed.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a private table cannot be changed.")


def to_ibis(predicate: Predicate, value: Callable[[str], Any], missing: Callable[[str], Any]) -> Any:
    """The predicate as an Ibis expression, given the value of a column and whether it is missing."""
    match predicate:
        case Compare(column, operator, scalar):
            result = OPERATORS[operator](value(column), scalar)
        case Between(column, low, high):
            result = value(column).between(low, high)
        case In(column, values):
            result = value(column).isin(_one_type(values))
        case IsNull(column):
            result = missing(column)
        case Not(part):
            result = ~to_ibis(part, value, missing)
        case And(parts) | Or(parts):
            join = operators.and_ if isinstance(predicate, And) else operators.or_
            result = _balanced([to_ibis(part, value, missing) for part in parts], join)
    return result


def _one_type(values: Sequence[Scalar]) -> list[Scalar]:
    return [float(v) for v in values] if any(isinstance(v, float) for v in values) else list(values)


def _balanced(parts: list[Any], join: Callable[[Any, Any], Any]) -> Any:
    """Join by halves: a thousand parts make a tree ten deep, not a thousand deep."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return join(_balanced(parts[:middle], join), _balanced(parts[middle:], join))
