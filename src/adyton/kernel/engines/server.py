"""Rows in a server: grouped there by the answers to questions about each row, and only the groups are returned.

Answers that SQL can express are computed in the server (:mod:`~adyton.kernel.engines.sql`); every other value, such as
a text, is used as a key of the groups unchanged, and is read here by the same reader as everywhere. So each group has a
number of rows, and is treated like that number of equal rows.

Claim.  Every count is a sum over the kept rows of a function of that row alone; no row makes a query fail.
Proof.  A group is made of rows with equal keys, each of which is a total function of the row; the values read from the
keys are functions of the keys.  ∎
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from adyton.arrays import Integers, Places
from adyton.errors import KernelFailure, SchemaError
from adyton.kernel.counting.rows import BITS, Batch, OwnedRows, Sums, stopped
from adyton.kernel.engines.sql import Dialect, Expressions, StoredColumn
from adyton.kernel.reading.cells import Cell, Condition, Fit, Leaf, Question, Term, Terms
from adyton.kernel.reading.readers import Column, Reader
from adyton.kernel.reading.values import ValueReader
from adyton.kernel.sealed import quietly
from adyton.messages import listing
from adyton.schema import Duration, Schema
from adyton.schema.attributes import Attribute
from adyton.schema.declaration import DROP

_UNREADABLE = (
    "the columns of the schema cannot be read. Check that this user may read all of them, that the table still exists, "
    "and that no two of its columns have names that differ only in capital letters."
)
_MOST_KEYS = 1 << 62
_FEW_QUERIES = 3


_Key = tuple[str, list[tuple[Question, int, int, int]]]
"""An expression that joins the answers to several terms; and these terms, each with stride, size and first number."""


class Server(Dialect, ABC):
    """A connection to an engine outside this process."""

    title: str
    streams: bool = False
    """Whether the rows of a result are streamed, so that it can be of any size."""
    keys_together: int = 1 << 18
    """Columns are counted together up to this number of keys: another pass over the rows would take longer."""
    keys_at_once: int = 0
    """The largest number of keys that one query counts for several sets of terms (:attr:`unrolled`)."""

    @abstractmethod
    def column(self, column: Column) -> StoredColumn:
        """The expression that reads a column in a plain type."""

    @abstractmethod
    def unit(self, column: Column) -> StoredColumn:
        """The name of the unit, a whole number or a text without surrounding spaces; null if there is none."""

    @abstractmethod
    def digest(self, columns: Sequence[StoredColumn]) -> str:
        """An expression by which rows are ordered; rows with the same values have the same digest. The first column is
        the unit, of which only the name counts: a whole number has the digest of its digits."""

    @abstractmethod
    def fetched(self, query: str, kinds: Sequence[str], *, many: bool = False) -> Iterator[Sequence[Any]]:
        """The result of a query in batches of Arrow arrays, of these kinds of :class:`StoredColumn`. With *many* the
        result may have one line per row of the table."""

    @abstractmethod
    def stop(self) -> None:
        """End the running query, from another thread."""

    @property
    def steady(self) -> bool:
        """Whether several queries can see the rows as they are at one moment."""
        return False

    def hold(self) -> None:
        """From now on all queries see the rows of one moment, where the server can do that."""

    def moment(self) -> Hashable:
        """A value that is unchanged only if the rows are; None where that is unknown."""
        return None


class ServerReader(Reader):
    """A table in a server: what is known about it without reading a row."""

    server: Server

    @abstractmethod
    def source(self, names: Collection[str]) -> str:
        """What follows ``from`` in a query for these columns; an error if they cannot be read."""

    def elsewhere(self, schema: Schema, unit: str | None) -> ServerRows:
        """Rows that stay in the server. An error if texts would leave it although the schema forbids that."""
        texts = {column.name for column in self.columns if column.type in ("string", "uuid")}
        read = [name for name in schema.names if schema.column_of(name) in texts]
        if schema.keep_texts and read:
            raise SchemaError(
                f"the schema says keep_texts = true, and {listing(read)} would be read from texts: each distinct "
                "text leaves the server to be read. Leave these attributes out, or store them as numbers."
            )
        return ServerRows.of(self, schema, unit)

    def batches(self, names: Sequence[str], unit: str | None = None) -> Iterator[Sequence[Any]]:
        """The rows themselves, for users who may see them."""
        known = {column.name: column for column in self.columns}
        columns = [self.server.column(known[name]) for name in names]
        query = f"select {', '.join(column.sql for column in columns)} from {self.source(names)}"
        return self.server.fetched(query, [column.kind for column in columns], many=True)


class GroupBatch(Batch):
    """Groups of rows, with the answers to all requested terms."""

    reads = False
    times: Integers

    def __init__(self, answers: Mapping[Question, Any], times: Integers) -> None:
        self.rows, self.times, self._answers = len(times), times, answers

    def of(self, term: Question) -> Any:
        """The answer to a term for each group."""
        if term in self._answers:
            return self._answers[term]
        assert isinstance(term, Leaf)
        return term.at(self.rows, self.of)

    def at(self, places: Places) -> GroupBatch:
        """The groups at some places."""
        some = {
            term: own[places] if isinstance(own, np.ndarray) else own.kept(places)
            for term, own in self._answers.items()
        }
        return GroupBatch(some, self.times[places])


@dataclass(frozen=True, eq=False)
class ServerRows(OwnedRows):
    """The rows of a table in a server; if there are units, at most as many rows of each as the schema allows.

    Claim.  At most ``rows_per_unit`` rows of each unit are kept, and which ones depends on that unit's rows alone.
    Proof.  Every row has one unit, which is a function of that row. The rows of a unit are ordered by a digest of the
    unit and of all columns of the schema, rows with the same digest by the columns themselves; the first
    ``rows_per_unit`` are kept. Rows that are equal in all columns are interchangeable in everything that follows.  ∎
    """

    server: Server
    schema: Schema
    source: str
    """What follows ``from``: rows with the columns a0, a1, … of the attributes, and u, the unit."""
    columns: dict[str, StoredColumn]
    readers: Mapping[str, ValueReader]
    unit: StoredColumn | None = None
    """The column of the unit, where there is one."""
    cut: bool = True
    keys_together: int = 0

    @classmethod
    def of(cls, reader: ServerReader, schema: Schema, unit: str | None) -> ServerRows:
        """The rows of a table whose columns are known."""
        server, known = reader.server, {column.name: column for column in reader.columns}
        columns, selected = {}, []
        for place, (name, attribute) in enumerate(schema.attributes.items()):
            column = schema.column_of(name)
            own = _stored(server, known[column], attribute)
            columns[name] = StoredColumn(f"a{place}", own.kind)
            selected.append(f"{own.sql} as a{place}")
        whose = None if unit is None else server.unit(known[unit])
        selected += [] if whose is None else [f"{whose.sql} as u"]
        readers = {name: ValueReader(attribute) for name, attribute in schema.attributes.items()}
        shown = reader.source([*schema.columns, *([] if unit is None else [unit])])
        source = f"(select {', '.join(selected)} from {shown}) as given"
        kinds = [column.kind for column in columns.values()] + ([] if whose is None else [whose.kind])
        if quietly(lambda: list(server.fetched(f"select * from {source} limit 0", kinds))) is None:
            raise SchemaError(_UNREADABLE)
        whose = None if whose is None else replace(whose, sql="u")
        return cls(server, schema, source, columns, readers, whose, keys_together=server.keys_together)

    def uncut(self) -> ServerRows:
        """All rows that have a unit."""
        return replace(self, cut=False)

    @property
    def origin(self) -> Server:
        """The server, which says whether rows have changed, and ends queries."""
        return self.server

    # ---- questions --------------------------------------------------------------------------------------------------

    def all(self, terms: Terms) -> Iterator[Batch]:
        """Groups of all rows."""
        return self.batches(terms, ())

    def batches(self, terms: Terms, rules: Sequence[Condition], *, whole: bool = False) -> Iterator[Batch]:
        """Groups of the rows for which all conditions hold; the server evaluates the conditions that it can."""
        where, rest = self._conditions(rules)
        for batch, _ in self._grouped([*terms, *(term for rule in rest for term in rule.terms)], where, whole=whole):
            yield _kept(batch, rest)

    def packs(self, terms: Sequence[Terms], rules: Sequence[Condition]) -> Iterator[tuple[int, Batch]]:
        """If the server can compute all terms, all rows are sent where that is fast and there are many sets, or one
        query counts several sets. Otherwise there is one query for each set."""
        every = list({term: None for part in terms for term in part})
        where, rest = self._conditions(rules)
        computed = not rest and all(self._expressions.code(term) is not None for term in every)
        if computed and self.server.streams and len(terms) > _FEW_QUERIES:
            keys = self._keys(every)
            query = self._coded([sql for sql, _ in keys], where)
            for columns in self._numbers(query, len(keys), many=True):
                yield -1, GroupBatch(_answers(keys, columns), np.ones(len(columns[0]), np.int64))
            return
        together: list[tuple[int, _Key, int]] = []
        last = 0
        for number, own in enumerate(terms):
            size = math.prod(_range(term)[1] for term in own)
            if not computed or not own or size > self.server.keys_at_once:
                for batch in self.batches(own, rules):
                    yield number, batch
                continue
            if last + size > self.server.keys_at_once:
                yield from self._together(together, where)
                together, last = [], 0
            ((sql, parts),) = self._keys(own)
            together.append((number, (f"least(greatest({sql}, 0), {size - 1})", parts), last))
            last += size
        if together:
            yield from self._together(together, where)

    def _together(self, sets: Sequence[tuple[int, _Key, int]], where: Sequence[str]) -> Iterator[tuple[int, Batch]]:
        """Groups for several sets of terms by one query, in which a row has one key for each set: the keys of a set
        begin at that set's own first number."""
        lines = self.server.unrolled(", ".join(f"cast({sql} as bigint) + {first}" for _, (sql, _), first in sets))
        query = f"select k, count(*) as times from ({self._coded([f'{lines} as k'], where)}) as coded group by k"
        for keys, times in self._numbers(query, 2):
            set_of = np.searchsorted([first for *_, first in sets], keys, side="right") - 1
            for place, (number, key, first) in enumerate(sets):
                own = set_of == place
                yield number, GroupBatch(_answers([key], [keys[own] - first]), times[own])

    def _keys(self, terms: Terms) -> list[_Key]:
        return _joined([(term, str(self._expressions.code(term))) for term in terms])

    def _coded(self, selected: Sequence[str], where: Sequence[str]) -> str:
        return f"select {', '.join(selected)} from {self._rows()}" + (f" where {' and '.join(where)}" if where else "")

    def _numbers(self, query: str, width: int, *, many: bool = False) -> Iterator[list[Integers]]:
        """The columns of a result made of whole numbers."""
        for arrays in self.server.fetched(query, ["integer"] * width, many=many):
            if stopped():
                raise KernelFailure
            yield [_whole(array) for array in arrays]

    def passing(self, terms: Terms) -> bool:
        """Only if the server sends numbers fast, and can compute all of them."""
        return self.server.streams and all(self._expressions.code(term) is not None for term in terms)

    def sums(self, terms: Terms, steps: Term, rules: Sequence[Condition]) -> Iterator[tuple[Batch, Sums]]:
        """Added up in the server, if it can compute the steps and which rows are kept."""
        code = self._expressions.code(steps)
        where, rest = self._conditions(rules)
        if code is None or rest:
            yield from super().sums(terms, steps, rules)
            return
        high = self.server.divided("(steps * steps)", 1 << BITS)
        parts = ["steps", high, f"(steps * steps - {high} * {1 << BITS})"]
        totals = [self.server.total(part) for part in parts]
        for batch, columns in self._grouped(terms, where, steps=code, more=totals):
            wholes = [np.array([int(text) for text in column.to_pylist()], object) for column in columns]
            yield batch, (batch.times, *wholes)

    def by_unit(self, rules: Sequence[Condition]) -> Integers:
        """Groups by the unit, and by the terms of conditions that the server cannot compute. Names that are texts stay
        in the server, which returns their digests."""
        where, rest = self._conditions(rules)
        sizes: dict[Any, int] = {}
        for batch, (unit,) in self._grouped([term for rule in rest for term in rule.terms], where, unit=True):
            kept = np.ones(batch.rows, bool)
            for rule in rest:
                kept &= rule.holds(batch.of)
            for name, times, own in zip(unit.to_pylist(), batch.times.tolist(), kept.tolist(), strict=True):
                if own:
                    sizes[name] = sizes.get(name, 0) + times
        return np.array(list(sizes.values()), np.int64)

    # ---- queries ----------------------------------------------------------------------------------------------------

    @property
    def _expressions(self) -> Expressions:
        return Expressions(self.server, self.columns)

    def _conditions(self, rules: Sequence[Condition]) -> tuple[list[str], list[Condition]]:
        """The conditions that the server can compute, as expressions; and those that it cannot."""
        pairs = [(rule, self._expressions.condition(rule)) for rule in rules]
        return [f"({own})" for _, own in pairs if own is not None], [rule for rule, own in pairs if own is None]

    def _rows(self) -> str:
        """What follows ``from``: the rows that are kept of each unit or, without *cut*, all rows with a unit."""
        owned = "where u is not null" if self.unit is not None and self.schema.no_unit == DROP else ""
        if self.unit is None or not self.cut:
            return f"(select * from {self.source} {owned}) as owned" if owned else self.source
        names = [column.sql for column in self.columns.values()]
        order = ", ".join([self.server.digest([self.unit, *self.columns.values()]), *names])
        placed = f"row_number() over (partition by u order by {order}) as place"
        rows = f"select {', '.join(['u', *names])}, {placed} from {self.source} {owned}"
        return f"(select * from ({rows}) as placed where place <= {self.schema.rows_per_unit}) as owned"

    def _grouped(
        self,
        terms: Terms,
        where: Sequence[str],
        *,
        steps: str | None = None,
        more: Sequence[str] = (),
        unit: bool = False,
        whole: bool = False,
    ) -> Iterator[tuple[GroupBatch, Sequence[Any]]]:
        """Groups of rows, with the totals in *more* as texts; with *unit*, also grouped by the unit, which comes last.

        If *whole*, rows without an answer to one of the terms are not needed. If *steps* is given, rows where it is
        negative are left out.
        """
        coded, valued = self._computed(terms)
        known = {term: self._expressions.kept(term) for term in coded if whole and isinstance(term, Cell)}
        coded |= {term: own[1] for term, own in known.items() if own is not None}
        where = [*where, *(own[0] for own in known.values() if own is not None)]
        inner: dict[str, str] = {}
        for expression in [*coded.values(), *valued.values(), *([] if steps is None else [steps])]:
            inner.setdefault(expression, f"k{len(inner)}")
        keys = _joined([(term, inner[own]) for term, own in coded.items()])
        values = {own: self.columns[term.name].kind for term, own in valued.items()}
        groups = [sql for sql, _ in keys] + [inner[own] for own in values]
        kinds = ["integer"] * len(keys) + [*values.values()]
        if unit and self.unit is not None:
            groups.append(self.server.hidden("u") if self.unit.kind == "string" else "u")
            kinds.append(self.unit.kind)
        selected = [f"{own} as {name}" for own, name in inner.items()] + (["u"] if unit else [])
        rows = f"select {', '.join(selected) or '1 as line'} from {self._rows()}"
        rows = f"{rows} where {' and '.join(where)}" if where else rows
        if steps is not None:
            rows = f"select *, {inner[steps]} as steps from ({rows}) as stepped where {inner[steps]} >= 0"
        named = [f"{sql} as g{place}" for place, sql in enumerate(groups)]
        query = f"select {', '.join([*named, 'count(*) as times', *more])} from ({rows}) as coded"
        if groups:
            query += f" group by {', '.join(groups)}"
        for arrays in self.server.fetched(query, [*kinds, "integer", *(["string"] * len(more))]):
            if stopped():
                raise KernelFailure
            answers = _answers(keys, [_whole(array) for array in arrays[: len(keys)]])
            read: dict[tuple[str, str], Any] = {}
            for term, own in valued.items():
                array = arrays[len(keys) + [*values].index(own)]
                if (term.name, own) not in read:
                    read[term.name, own] = self.readers[term.name].read(array)
                answers[term] = term.of(read[term.name, own])
            times = _whole(arrays[len(groups)])
            rest = arrays[len(groups) - 1 : len(groups)] if unit else arrays[len(groups) + 1 :]
            yield GroupBatch(answers, times), rest

    def _computed(self, terms: Terms) -> tuple[dict[Question, str], dict[Term, str]]:
        """The terms that the server can compute, and those for which it returns the value, with their expressions."""
        coded: dict[Question, str] = {}
        valued: dict[Term, str] = {}
        waiting = list(dict.fromkeys(terms))
        while waiting:
            term = waiting.pop(0)
            code = self._expressions.code(term)
            if code is not None:
                coded[term] = code
            elif isinstance(term, Leaf):
                waiting += term.cells.values()
            else:
                valued[term] = self._expressions.value(term)
        return coded, valued


def _kept(batch: Batch, rules: Sequence[Condition]) -> Batch:
    for rule in rules:
        batch = batch.kept(rule.holds(batch.of))
    return batch


def _answers(keys: Sequence[_Key], columns: Sequence[Integers]) -> dict[Question, Any]:
    """The answers to terms, taken from the keys that join them."""
    parts = [(column, part) for (_, own), column in zip(keys, columns, strict=True) for part in own]
    return {term: column // stride % size + first for column, (term, stride, size, first) in parts}


def _range(term: Question) -> tuple[int, int]:
    """The smallest answer to a term, and how many answers there are."""
    return (-1, term.size + 1) if isinstance(term, Cell | Leaf) else (0, 4 if isinstance(term, Fit) else 3)


def _joined(codes: Sequence[tuple[Question, str]]) -> list[_Key]:
    """The answers to terms, joined into as few keys as possible."""
    keys: list[_Key] = []
    total = _MOST_KEYS
    for term, sql in codes:
        first, size = _range(term)
        if total * size >= _MOST_KEYS:
            keys.append((f"({sql} - ({first}))", [(term, 1, size, first)]))
            total = size
            continue
        before, parts = keys[-1]
        stride = f"cast({total} as bigint)" if total * size >= 1 << 31 else total
        keys[-1] = (f"({before} + ({sql} - ({first})) * {stride})", [*parts, (term, total, size, first)])
        total *= size
    return keys


def arrow(values: Sequence[Any], kind: str) -> Any:
    """An Arrow array of values of a kind of :class:`StoredColumn`."""
    import pyarrow as pa

    if kind in ("date", "timestamp", "universal"):
        target = {"date": pa.date32(), "timestamp": pa.timestamp("s"), "universal": pa.timestamp("s", "UTC")}[kind]
        return pa.array(values, pa.int32() if kind == "date" else pa.int64()).view(target)
    plain = {"integer": pa.int64(), "floating": pa.float64(), "interval": pa.float64(), "boolean": pa.bool_()}
    if kind in plain:
        return pa.array(values, plain[kind])
    return pa.array(values, pa.large_binary()).view(pa.large_string())  # the bytes need not be valid UTF-8


def _whole(array: Any) -> Integers:
    return np.asarray(array.to_numpy(zero_copy_only=False)).astype(np.int64)


def _stored(server: Server, column: Column, attribute: Attribute) -> StoredColumn:
    """How a column is read for an attribute; durations are in the attribute's unit."""
    own = server.column(column)
    if own.kind == "interval":
        seconds = attribute.seconds if isinstance(attribute, Duration) else 1.0
        return StoredColumn(f"({own.sql} / {server.real(float(seconds))})", "floating")
    return own
