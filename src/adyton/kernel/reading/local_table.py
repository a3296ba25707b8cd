"""A private table in files or frames: its rows pass by in batches, are turned into cells and counted.

Operators say what is to be done with each row; only what counts rows runs anything, and what comes back is one number,
or at most one number per cell of a declared domain. Memory holds a batch of rows and the counts.

Claim.  Every count is a sum over the kept rows of a function of that row alone.
Proof.  A batch is read value by value (:mod:`~adyton.kernel.reading.values`); predicates, parts, cells, steps and
leaves are functions of a row's own values (:mod:`~adyton.kernel.reading.cells`); counts of batches are added up. Which
rows of a unit are kept is proved in :mod:`~adyton.kernel.reading.rows`.  ∎
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn, TypeVar

import numpy as np

from adyton.arrays import Flags, Integers
from adyton.errors import KernelFailure, SchemaError
from adyton.kernel.engines import engine as engines
from adyton.kernel.reading.cells import cells, holds, steps, unfit
from adyton.kernel.reading.packs import KEYS_TOGETHER, Column, Tally, packed, packed_for_passing
from adyton.kernel.reading.rows import Batch, HeldRows, Rows, UnitRows, stoppable
from adyton.kernel.reading.texts import KNOWN, MISSING, OUTSIDE
from adyton.kernel.reading.values import Values
from adyton.kernel.sealed import Sealed, interruptible
from adyton.queries import Partition
from adyton.schema import RowTree, Schema
from adyton.schema.attributes import CelledAttribute
from adyton.schema.misfits import Misfit
from adyton.schema.predicates import Predicate, attributes_of, check_predicate, in_seconds, without_groups
from adyton.whole import IntegerArray, whole_array

LARGEST_DOMAIN = 1 << 27
"""A vector of a gigabyte."""
_READINGS = 3
"""So often rows are read that change meanwhile, before that counts as a failure."""
_BITS = 27
"""Squares of steps are added up in two parts of so many bits: no sum leaves 63 bits before there are 2³⁶ rows."""
_FEW_PACKS = 3
"""So many packs are counted by NumPy; loading the compiled loop would take longer."""
Result = TypeVar("Result")


def check_domain(schema: Schema) -> None:
    """An error unless a vector over the whole domain can be held."""
    if schema.cells > LARGEST_DOMAIN:
        raise SchemaError(
            f"the domain has {schema.cells:,} cells; at most {LARGEST_DOMAIN:,} are allowed. Select fewer "
            "attributes, or declare fewer levels or bins."
        )


@dataclass(frozen=True, eq=False)
class _Condition:
    """Which rows are kept: a function of the values of some attributes."""

    names: tuple[str, ...]
    holds: Callable[[Batch], Flags]


@dataclass
class Moment:
    """The moment that rows must be of; None where any one moment will do. All tables of one source share it."""

    expected: Hashable = None


class LocalTable(Sealed):
    """Private rows over a public schema. It shows nothing of the rows, and cannot be copied, pickled or changed."""

    __slots__ = ("_conditions", "_declared", "_from_text", "_moment", "_rows", "_schema")
    _conditions: tuple[_Condition, ...]
    _declared: Schema
    _from_text: bool
    _moment: Moment
    _rows: Rows
    _schema: Schema

    def __init__(
        self,
        rows: Rows,
        schema: Schema,
        *,
        declared: Schema | None = None,
        conditions: tuple[_Condition, ...] = (),
        from_text: bool = False,
        moment: Moment | None = None,
    ) -> None:
        """*declared* is the schema that rows are read with; *schema*, that of the attributes and cells asked for."""
        own = locals() | {"declared": declared or schema, "moment": moment or Moment()}
        for name in self.__slots__:
            object.__setattr__(self, name, own[name[1:]])

    def _like(self, schema: Schema | None = None, condition: _Condition | None = None) -> LocalTable:
        conditions = self._conditions if condition is None else (*self._conditions, condition)
        own = schema or self._schema
        return LocalTable(self._rows, own, declared=self._declared, conditions=conditions, moment=self._moment)

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
        """Whether several parts are counted as they are at one moment: frames are copied, and files tell when they
        change."""
        return self.moment() is not None

    def moment(self) -> Hashable:
        """What stays the same as long as the rows certainly do."""
        return self._rows.moment()

    def expect(self, moment: Hashable) -> None:
        """What is counted from now on is counted as it is at this moment, or not at all; None allows any."""
        self._moment.expected = moment

    # ---- operators --------------------------------------------------------------------------------------------------

    def select(self, names: str | Sequence[str]) -> LocalTable:
        """The same rows, over some of the attributes."""
        return self._like(self._schema.select(names))

    def coarsened(self, schema: Schema) -> LocalTable:
        """The same rows, with the cells of a coarser schema."""
        return self._like(schema)

    def where(self, predicate: Predicate) -> LocalTable:
        """The rows for which the predicate is true."""
        check_predicate(predicate, self._schema)
        attributes = dict(self._schema.attributes)
        plain = in_seconds(without_groups(predicate, self._schema), self._schema)
        names = attributes_of(plain)

        def true(batch: Batch) -> Flags:
            return holds(plain, {name: batch.values(name) for name in names}, attributes)

        return self._like(condition=_Condition(names, true))

    def group_by(self, keys: str | Sequence[str], count_name: str, max_count: int) -> LocalTable:
        """One row per group of equal keys that has rows, with the size of the group; missing keys are equal."""
        schema = self._schema.grouped(keys, count_name, max_count)
        *names, _ = schema.names

        def made() -> tuple[int, dict[str, Values]]:
            groups = _Groups(names)
            for batch in self._batches(names):
                groups.add(batch)
            return groups.made(count_name)

        return LocalTable(HeldRows(made, self._rows), schema, moment=self._moment)

    def by_unit(self, count_name: str, max_count: int, *, cut: bool = False) -> LocalTable:
        """One row per unit that has rows here, with their number: before they were cut, or what was left of them."""
        assert isinstance(self._rows, UnitRows)
        rows = self._rows if cut else self._rows.uncut()
        schema = self._schema.per_unit(count_name, max_count)
        unit, conditions = schema.names[0], self._conditions
        names = [name for condition in conditions for name in condition.names]

        def made() -> tuple[int, dict[str, Values]]:
            sizes = np.zeros(0, np.int64)
            for batch, owners in rows.owned(names):
                kept = batch
                for condition in conditions:
                    true = condition.holds(kept)
                    kept, owners = kept.kept(true), owners[true]  # noqa: PLW2901
                own = np.bincount(owners, minlength=len(sizes))
                own[: len(sizes)] += sizes
                sizes = own
            sizes = sizes[sizes > 0]
            known = np.full(len(sizes), KNOWN, np.uint8)
            places = np.arange(len(sizes))
            return len(sizes), {unit: Values(places, known), count_name: Values(sizes, known)}

        return LocalTable(HeldRows(made, rows), schema, moment=self._moment)

    def split(self, attribute: str, partition: Partition) -> list[LocalTable]:
        """Tables with disjoint rows: table g has the rows whose cell of the attribute is in group g."""
        schema = self._schema.select((attribute,))
        if partition.cells != schema.cells:
            raise SchemaError(f"{attribute!r} has {schema.cells} cells, given a partition of {partition.cells}.")
        declared, labels = _celled(self._schema, attribute), np.append(partition.labels, -1)

        def part(group: int) -> Callable[[Batch], Flags]:
            return lambda batch: labels[cells(batch.values(attribute), declared)] == group

        return [self._like(condition=_Condition((attribute,), part(group))) for group in range(partition.groups)]

    # ---- counting ---------------------------------------------------------------------------------------------------

    def count(self) -> int:
        """The number of rows."""
        return self._run(lambda: sum(batch.rows for batch in self._batches(())))

    def vectorize(self) -> Integers:
        """The number of rows in every cell of the domain, in one pass over the rows."""
        check_domain(self._schema)
        return self._counted(self._schema.names, self._schema.shape)

    def in_leaves(self, tree: RowTree, names: Sequence[str]) -> Integers:
        """The number of rows in every leaf of a tree and cell of these attributes."""
        shape = (len(tree.leaves), *(self._schema.attributes[name].size for name in names))
        return self._counted(names, shape, tree)

    def power_sums(self, attribute: str, by: Sequence[str], degree: int) -> list[IntegerArray]:
        """Σ k^p for p = 0 … degree over the rows of every group, k the steps of their values: in one pass."""
        shape = self._schema.select(by).shape if by else ()
        groups, declared = math.prod(shape), self._schema.attributes[attribute]

        def work() -> list[Integers]:
            sums = [np.zeros(groups, np.int64) for _ in range(4)]
            for batch in self._batches([*by, attribute]):
                own = steps(batch.values(attribute), declared)
                cell = self._cells(batch, by, shape)
                kept = (own >= 0) & (cell < groups)
                own, cell = own[kept], cell[kept]
                square = own * own if degree > 1 else own
                low = square & ((1 << _BITS) - 1)
                for total, part in zip(sums, (np.ones_like(own), own, square >> _BITS, low), strict=True):
                    np.add.at(total, cell, part)
            return sums

        rows, first, high, low = (one.tolist() for one in self._run(work))
        found = [rows, first] + ([[(a << _BITS) + b for a, b in zip(high, low, strict=True)]] if degree > 1 else [])
        return [whole_array(one, (groups,)).reshape(shape) for one in found]

    def split_tables(self, tree: RowTree, names: Sequence[str], label: str) -> list[Integers]:
        """For each attribute the number of rows in every leaf, cell and class, in one pass over the rows."""
        return self._many([(name, label) for name in names], tree)()

    def tables(self, groups: Sequence[Sequence[str]]) -> list[Integers]:
        """For each group of attributes the number of rows in every cell of it."""
        return self.planned_tables(groups)()

    def planned_tables(self, groups: Sequence[Sequence[str]]) -> Callable[[], list[Integers]]:
        """What counts them: how that is done is decided here, so that nothing is left to plan once it is paid for."""
        return self._many(groups, None)

    def misfits(self, misfits: Sequence[Misfit]) -> Integers:
        """How many rows fit, and how many do not for each of these reasons; every row is counted once."""
        names = list(dict.fromkeys(misfit.attribute for misfit in misfits))

        def work() -> Integers:
            counts = np.zeros(len(misfits) + 1, np.int64)
            for batch in self._batches(names):
                first = np.zeros(batch.rows, np.int64)
                for number, misfit in reversed(list(enumerate(misfits, start=1))):
                    own = _celled(self._schema, misfit.attribute)
                    first[unfit(batch.values(misfit.attribute), own, misfit.reason)] = number
                counts += np.bincount(first, minlength=len(counts))
            return counts

        return self._run(work)

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _batches(self, names: Sequence[str]) -> Iterator[Batch]:
        """The rows that satisfy all conditions."""
        read = list(dict.fromkeys([*names, *(name for one in self._conditions for name in one.names)]))
        for batch in self._rows.batches(read or self._declared.names[:1]):
            kept = batch
            for condition in self._conditions:
                kept = kept.kept(condition.holds(kept))
            yield kept

    def _cells(self, batch: Batch, names: Sequence[str], shape: Sequence[int]) -> Integers:
        """The row-major number of each row's cell; one more than the last for a row that has none."""
        total, kept = np.zeros(batch.rows, np.int64), np.ones(batch.rows, dtype=bool)
        for name, side in zip(names, shape, strict=True):
            own = cells(batch.values(name), _celled(self._schema, name))
            kept &= own >= 0
            total = total * side + own
        return np.where(kept, total, math.prod(shape))

    def _counted(self, names: Sequence[str], shape: tuple[int, ...], tree: RowTree | None = None) -> Integers:
        size = math.prod(shape)
        used = [] if tree is None else _used(tree)

        def work() -> Integers:
            counts = np.zeros(size, np.int64)
            for batch in self._batches([*names, *used]):
                leaves = None if tree is None else self._leaves(batch, tree)
                keys = self._keys(batch, names, shape, leaves)
                _add(counts, keys)
            return counts

        return self._run(work).reshape(shape)

    def _keys(self, batch: Batch, names: Sequence[str], shape: Sequence[int], leaves: Integers | None) -> Integers:
        """The numbers of the cells of those rows that have one."""
        columns = [] if leaves is None else [leaves]
        columns += [cells(batch.values(name), _celled(self._schema, name)) for name in names]
        if not columns:
            return np.zeros(batch.rows, np.int64)
        total, kept = columns[0], columns[0] >= 0
        for own, side in zip(columns[1:], shape[1:], strict=True):
            kept &= own >= 0
            total = total * side + own
        return total if kept.all() else total[kept]

    def _leaves(self, batch: Batch, tree: RowTree) -> Integers:
        codes = np.full((batch.rows, len(tree.attributes)), -1, dtype=np.int64)
        for name in _used(tree):
            codes[:, tree.attributes.index(name)] = cells(batch.values(name), _celled(self._schema, name))
        return tree.leaf_of(codes)

    def _many(self, groups: Sequence[Sequence[str]], tree: RowTree | None) -> Callable[[], list[Integers]]:
        """What counts many tables in one pass: columns that fit together are counted by one key."""
        if not groups:
            return list
        names = list(dict.fromkeys(name for group in groups for name in group))
        sizes = {name: self._schema.attributes[name].size for name in names}
        large = [
            group for group in groups if tree is None and math.prod(sizes[name] + 1 for name in group) > KEYS_TOGETHER
        ]
        shapes = [tuple(sizes[name] for name in group) for group in large]
        columns = {name: Column(size, size + 1) for name, size in sizes.items()}
        head = [] if tree is None else ["\0leaf"]
        if tree is not None:
            columns["\0leaf"] = Column(len(tree.leaves), len(tree.leaves) + 1)
        wanted = [[*head, *group] for group in groups if group not in large]
        packs, where = packed(columns, wanted)
        swift = packed_for_passing(columns, wanted, (packs, where)) if len(packs) > _FEW_PACKS else None
        packs, where = swift or (packs, where)
        used = [] if tree is None else _used(tree)

        def work() -> list[Integers]:
            order = [*head, *names]
            keys = [columns[name].keys for name in order]
            tally = Tally(keys, [[order.index(name) for name in pack.names] for pack in packs]) if swift else None
            counts = [np.zeros(pack.keys if tally is None else 0, np.int64) for pack in packs]
            alone = [np.zeros(math.prod(shape), np.int64) for shape in shapes]
            for batch in self._batches([*names, *used]):
                for group, shape, total in zip(large, shapes, alone, strict=True):
                    _add(total, self._keys(batch, group, shape, None))
                codes = {name: cells(batch.values(name), _celled(self._schema, name)) for name in names}
                if tree is not None:
                    codes["\0leaf"] = self._leaves(batch, tree)
                codes = {name: np.where(own < 0, columns[name].cells, own) for name, own in codes.items()}
                if tally is not None:
                    tally.add(batch.rows, [codes[name].astype(np.uint16) for name in order])
                    continue
                for pack, total in zip(packs, counts, strict=True):
                    key = codes[pack.names[0]]
                    for name, side in zip(pack.names[1:], pack.shape[1:], strict=True):
                        key = key * side + codes[name]
                    _add(total, key)
            found = counts if tally is None else tally.counts()
            tables = [packs[one].table(found[one], group, columns) for one, group in zip(where, wanted, strict=True)]
            by_itself = [total.reshape(shape) for total, shape in zip(alone, shapes, strict=True)]
            return [by_itself.pop(0) if group in large else tables.pop(0) for group in groups]

        def counted() -> list[Integers]:
            return self._run(work)

        return counted

    def _run(self, work: Callable[[], Result]) -> Result:
        """Go through the rows, as they are at one moment: what was read while they changed is read again.

        Claim.  What comes back was read from one state of the rows, and from that of the expected moment, if there is
        one. Nothing that fails says anything about a row.
        Proof.  A moment that is the same before and after the reading has not changed in between. Whatever fails ends
        in a thread of its own, and one error takes its place.  ∎
        """
        expected = self._moment.expected
        for _ in range(_READINGS):
            moment = self.moment()
            if expected not in (None, moment):
                break
            stop = threading.Event()
            with engines.one_at_a_time:
                found = interruptible(partial(stoppable, work, stop), stop.set)
            if found is None:
                break
            if self.moment() == moment:
                return found[0]
        raise KernelFailure

    def __repr__(self) -> str:
        return f"<private table: {', '.join(self._schema.names)}>"

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a private table cannot be changed.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a private table cannot be changed.")


class _Groups:
    """Groups of rows with equal keys, while the rows pass by."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._sizes: dict[tuple[Any, ...], int] = {}

    def add(self, batch: Batch) -> None:
        """Count some more rows."""
        columns = []
        for name in self._names:
            own = batch.values(name)
            data = [own.keys[place] for place in own.data.tolist()] if own.keys else own.data.tolist()
            nothing = own.missing | ((own.state == OUTSIDE) & (own.data >= 0))  # neither true nor false
            states = np.where(nothing, MISSING, own.state).tolist()
            columns.append([(one, 0 if one == MISSING else value) for one, value in zip(states, data, strict=True)])
        for key in zip(*columns, strict=True):
            self._sizes[key] = self._sizes.get(key, 0) + 1

    def made(self, count_name: str) -> tuple[int, dict[str, Values]]:
        """One row for each group."""
        values, rows = {}, len(self._sizes)
        for place, name in enumerate(self._names):
            column = [key[place] for key in self._sizes]
            state = np.array([one for one, _ in column], dtype=np.uint8)
            texts = list(dict.fromkeys(text for _, text in column if isinstance(text, str)))
            numbers: dict[Any, Any] = {text: number for number, text in enumerate(texts)}
            data = np.array([numbers.get(one, 0) if texts else one for _, one in column])
            values[name] = Values(data if len(data) else np.zeros(0, np.int64), state, texts)
        sizes = np.array(list(self._sizes.values()), dtype=np.int64)
        values[count_name] = Values(sizes, np.full(rows, KNOWN, np.uint8))
        return rows, values


def _add(counts: Integers, keys: Integers) -> None:
    """One row more for each key."""
    if len(keys) * 4 < len(counts):
        np.add.at(counts, keys, 1)
    else:
        counts += np.bincount(keys, minlength=len(counts))


def _used(tree: RowTree) -> list[str]:
    """The attributes that a tree looks at."""
    return [tree.attributes[place] for place in np.unique(tree.split[tree.split >= 0]).tolist()]


def _celled(schema: Schema, name: str) -> CelledAttribute:
    attribute = schema.attributes[name]
    assert isinstance(attribute, CelledAttribute)
    return attribute
