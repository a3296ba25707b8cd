"""A private table: its rows are read in batches, turned into cells and counted.

Operators describe what is done with each row; only counting reads rows, and it returns one number, or at most one
number per cell of a declared domain. Memory holds a batch of rows and the counts.

Claim.  Every count is a sum over the kept rows of a function of that row alone.
Proof.  A batch is read value by value (:mod:`~adyton.kernel.reading.values`); predicates, parts, cells, steps and
leaves are functions of a row's own values (:mod:`~adyton.kernel.reading.cells`); counts of batches are added up. Which
rows of a unit are kept is proved in :mod:`~adyton.kernel.counting.rows`.  ∎
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn, TypeVar

import numpy as np

from adyton.arrays import Flags, Integers, within
from adyton.errors import KernelFailure, SchemaError
from adyton.kernel.counting.packs import Column, Tally, packed, packed_for_passing
from adyton.kernel.counting.rows import BITS, Batch, HeldRows, OwnedRows, Rows, one_at_a_time, stoppable
from adyton.kernel.reading.cells import (
    Cell,
    Condition,
    Fit,
    Leaf,
    Part,
    Question,
    Rule,
    Steps,
    Term,
    Terms,
    cells,
    misfit_codes,
)
from adyton.kernel.reading.texts import MISSING, OUTSIDE
from adyton.kernel.reading.values import Values
from adyton.kernel.sealed import Sealed, interruptible
from adyton.queries import Partition
from adyton.schema import RowTree, Schema
from adyton.schema.attributes import CelledAttribute
from adyton.schema.misfits import Misfit
from adyton.schema.predicates import Predicate, check_predicate, in_numbers
from adyton.whole import IntegerArray, whole_array

LARGEST_DOMAIN = 1 << 27
"""The counts of this many cells take a gigabyte."""
_READINGS = 3
"""How often rows that change while they are read are read in all, before that is a failure."""
_FEW_PACKS = 3
"""Up to this many packs are counted by NumPy: loading the compiled loop would take longer."""
_LEAF = "\0leaf"
Result = TypeVar("Result")


def check_domain(schema: Schema) -> None:
    """Raise an error unless a vector over the whole domain fits into memory."""
    if schema.cells > LARGEST_DOMAIN:
        raise SchemaError(
            f"the domain has {schema.cells:,} cells; at most {LARGEST_DOMAIN:,} are allowed. Select fewer "
            "attributes, or declare fewer levels or bins."
        )


@dataclass
class Moment:
    """The moment at which rows must be read; None where any moment will do. All tables of one source share it."""

    expected: Hashable = None


class PrivateTable(Sealed):
    """Private rows over a public schema. It shows nothing of the rows, and cannot be copied, pickled or changed."""

    __slots__ = ("_conditions", "_declared", "_from_text", "_moment", "_rows", "_schema")
    _conditions: tuple[Condition, ...]
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
        conditions: tuple[Condition, ...] = (),
        from_text: bool = False,
        moment: Moment | None = None,
    ) -> None:
        """*declared* is the schema with which rows are read; *schema* has the requested attributes and cells."""
        own = locals() | {"declared": declared or schema, "moment": moment or Moment()}
        for name in PrivateTable.__slots__:
            object.__setattr__(self, name, own[name[1:]])

    def _like(self, schema: Schema | None = None, condition: Condition | None = None) -> PrivateTable:
        conditions = self._conditions if condition is None else (*self._conditions, condition)
        own = schema or self._schema
        return type(self)(self._rows, own, declared=self._declared, conditions=conditions, moment=self._moment)

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
        """Whether several counts can see the rows as they are at one moment: frames are copied, changes of files are
        noticed, and a transaction sees one state of a database."""
        return self._rows.steady

    def moment(self) -> Hashable:
        """A value that is unchanged only if the rows are; None where that is unknown."""
        return self._rows.moment()

    def expect(self, moment: Hashable) -> None:
        """From now on count rows as they are at this moment, or not at all; None allows any moment."""
        self._moment.expected = moment

    # ---- operators --------------------------------------------------------------------------------------------------

    def select(self, names: str | Sequence[str]) -> PrivateTable:
        """The same rows, over some of the attributes."""
        return self._like(self._schema.select(names))

    def coarsened(self, schema: Schema) -> PrivateTable:
        """The same rows, with the cells of a coarser schema."""
        return self._like(schema)

    def where(self, predicate: Predicate) -> PrivateTable:
        """The rows for which the predicate is true."""
        check_predicate(predicate, self._schema)
        return self._like(condition=Rule.of(in_numbers(predicate, self._schema), self._schema.attributes))

    def group_by(self, keys: str | Sequence[str], count_name: str, max_count: int) -> PrivateTable:
        """One row per nonempty group of equal keys, with the size of the group; missing keys are equal."""
        schema = self._schema.grouped(keys, count_name, max_count)
        *names, _ = schema.names

        def made() -> tuple[int, dict[str, Values]]:
            groups = _Groups([Term(name, self._schema.attributes[name]) for name in names])
            for batch in self._batches(groups.terms):
                groups.add(batch)
            return groups.made(count_name)

        return PrivateTable(HeldRows(made, self._rows), schema, moment=self._moment)

    def by_unit(self, count_name: str, max_count: int, *, cut: bool = False) -> PrivateTable:
        """One row per unit that has rows here, with the number of its rows; with *cut*, only kept rows are counted."""
        assert isinstance(self._rows, OwnedRows)
        rows, conditions = self._rows if cut else self._rows.uncut(), self._conditions
        schema = self._schema.per_unit(count_name, max_count)

        def made() -> tuple[int, dict[str, Values]]:
            sizes = rows.by_unit(conditions)
            return len(sizes), {schema.names[0]: Values(np.arange(len(sizes))), count_name: Values(sizes)}

        return PrivateTable(HeldRows(made, rows), schema, moment=self._moment)

    def split(self, attribute: str, partition: Partition) -> list[PrivateTable]:
        """Tables with disjoint rows: table g has the rows whose cell of the attribute is in group g."""
        schema = self._schema.select((attribute,))
        if partition.cells != schema.cells:
            raise SchemaError(f"{attribute!r} has {schema.cells} cells, given a partition of {partition.cells}.")
        self._rows.hold()
        cell, labels = self._cell(attribute), np.append(partition.labels, -1)
        return [self._like(condition=Part(cell, labels, group)) for group in range(partition.groups)]

    # ---- counting ---------------------------------------------------------------------------------------------------

    def count(self) -> int:
        """The number of rows."""
        return self._run(lambda: sum(batch.size for batch in self._batches(())))

    def vectorize(self) -> Integers:
        """The number of rows in every cell of the domain, in one pass over the rows."""
        check_domain(self._schema)
        return self._counted([self._cell(name) for name in self._schema.names], self._schema.shape)

    def in_leaves(self, tree: RowTree, names: Sequence[str]) -> Integers:
        """The number of rows in every leaf of a tree and cell of these attributes."""
        shape = (len(tree.leaves), *(self._schema.attributes[name].size for name in names))
        return self._counted([self._leaf(tree), *map(self._cell, names)], shape)

    def power_sums(self, attribute: str, by: Sequence[str], degree: int) -> list[IntegerArray]:
        """Σ k^p for p = 0 … degree over the rows of every group, where k is the steps of a value, in one pass."""
        shape = self._schema.select(by).shape if by else ()
        groups, steps = math.prod(shape), Steps(attribute, self._schema.attributes[attribute])
        terms = [self._cell(name) for name in by]

        def work() -> list[list[int]]:
            sums = [[0] * groups for _ in range(4)]
            for batch, parts in self._rows.sums(terms, steps, self._conditions):
                keys, kept = _keys(batch, terms, shape)
                for total, part in zip(sums, parts, strict=True):
                    own = np.zeros(groups, part.dtype)
                    np.add.at(own, within(keys, groups - 1), part[kept])
                    total[:] = [before + more for before, more in zip(total, own.tolist(), strict=True)]
            return sums

        rows, first, high, low = self._run(work)
        sums = [rows, first] + ([[(a << BITS) + b for a, b in zip(high, low, strict=True)]] if degree > 1 else [])
        return [whole_array(values, (groups,)).reshape(shape) for values in sums]

    def split_tables(self, tree: RowTree, names: Sequence[str], label: str) -> list[Integers]:
        """The number of rows in every leaf, cell and class, for each attribute, in one pass over the rows."""
        return self._many([(_LEAF, name, label) for name in names], {_LEAF: self._leaf(tree)})()

    def tables(self, groups: Sequence[Sequence[str]]) -> list[Integers]:
        """The number of rows in every cell, for each group of attributes."""
        return self.planned_tables(groups)()

    def planned_tables(self, groups: Sequence[Sequence[str]]) -> Callable[[], list[Integers]]:
        """A function that counts :meth:`tables`. How to count is decided now, so that nothing is planned after the
        debit."""
        return self._many([tuple(group) for group in groups], {})

    def misfits(self, misfits: Sequence[Misfit]) -> Integers:
        """How many rows match, and how many do not for each of these reasons; every row is counted once."""
        names = dict.fromkeys(misfit.attribute for misfit in misfits)
        terms = {name: Fit(name, _celled(self._schema, name)) for name in names}

        def work() -> Integers:
            counts = np.zeros(len(misfits) + 1, np.int64)
            for batch in self._batches(terms.values()):
                first = np.zeros(batch.rows, np.int64)
                fits = {name: batch.of(term) for name, term in terms.items()}
                for number, misfit in reversed(list(enumerate(misfits, start=1))):
                    first[np.isin(fits[misfit.attribute], misfit_codes(misfit.reason))] = number
                batch.add(counts, first)
            return counts

        return self._run(work)

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _cell(self, name: str) -> Cell:
        return Cell(name, _celled(self._schema, name))

    def _leaf(self, tree: RowTree) -> Leaf:
        used = np.unique(tree.split[tree.split >= 0]).tolist()
        return Leaf(tree, {place: self._cell(tree.attributes[place]) for place in used})

    def _batches(self, terms: Terms) -> Iterator[Batch]:
        """The rows that satisfy all conditions."""
        return self._rows.batches(terms, self._conditions)

    def _counted(self, terms: Sequence[Question], shape: tuple[int, ...]) -> Integers:
        size = math.prod(shape)

        def work() -> Integers:
            counts = np.zeros(size, np.int64)
            for batch in self._rows.batches(terms, self._conditions, whole=True):
                alone = batch.listed(terms[0]) if len(terms) == 1 else None
                if alone is not None:  # count each value, then add to its cell
                    own = within(cells(alone.listed, _celled(self._schema, terms[0].names[0])), size - 1, -1)
                    sizes = np.bincount(alone.places, minlength=len(own))
                    np.add.at(counts, own[own >= 0], sizes[own >= 0])
                    continue
                keys, kept = _keys(batch, terms, shape)
                batch.kept(kept).add(counts, keys)
            return counts

        return self._run(work).reshape(shape)

    def _many(self, groups: Sequence[tuple[str, ...]], leaf: Mapping[str, Leaf]) -> Callable[[], list[Integers]]:
        """A function that counts many tables: several columns are counted by one key, and rows are read once or, where
        a server counts them, once for each such key."""
        if not groups:
            return list
        names = list(dict.fromkeys(name for group in groups for name in group))
        terms: dict[str, Cell | Leaf] = {name: leaf.get(name) or self._cell(name) for name in names}
        columns = {name: Column(terms[name].size, terms[name].size + 1) for name in names}
        together = self._rows.keys_together
        alone = [group for group in groups if not leaf and math.prod(columns[name].keys for name in group) > together]
        wanted = [group for group in groups if group not in alone]
        packs, where = packed(columns, wanted, together)
        few = len(packs) <= _FEW_PACKS or not self._rows.passing(terms.values())
        swift = None if few else packed_for_passing(columns, wanted, (packs, where))
        packs, where = swift or (packs, where)
        shapes = [tuple(columns[name].cells for name in group) for group in alone]
        asked = [[terms[name] for name in group] for group in ([pack.names for pack in packs] + alone)]

        def work() -> list[Integers]:
            used = [name for name in names if any(name in pack.names for pack in packs)]
            places = [[used.index(name) for name in pack.names] for pack in packs]
            tally = Tally([columns[name].keys for name in used], places) if swift else None
            counts = [np.zeros(0 if tally else pack.keys, np.int64) for pack in packs]
            single = [np.zeros(math.prod(shape), np.int64) for shape in shapes]
            for number, batch in self._rows.packs(asked, self._conditions):
                for place, (own, shape, total) in enumerate(zip(asked[len(packs) :], shapes, single, strict=True)):
                    if number in (-1, len(packs) + place):
                        keys, kept = _keys(batch, own, shape)
                        batch.kept(kept).add(total, keys)
                here = packs if number < 0 else packs[number : number + 1]
                needed = {name: None for pack in here for name in pack.names}
                codes = {name: batch.coded(terms[name]) for name in needed}
                if tally is not None:
                    tally.add(batch.rows, [codes[name] for name in used])
                    continue
                codes = {name: within(own, terms[name].size).astype(np.int64) for name, own in codes.items()}
                for pack, total in zip(here, counts if number < 0 else counts[number : number + 1], strict=True):
                    key = codes[pack.names[0]]
                    for name, side in zip(pack.names[1:], pack.shape[1:], strict=True):
                        key = key * side + codes[name]
                    batch.add(total, key)
            sums = counts if tally is None else tally.counts()
            located = zip(where, wanted, strict=True)
            tables = [packs[number].table(sums[number], group, columns) for number, group in located]
            by_itself = [total.reshape(shape) for total, shape in zip(single, shapes, strict=True)]
            return [by_itself.pop(0) if group in alone else tables.pop(0) for group in groups]

        return partial(self._run, work)

    def _run(self, work: Callable[[], Result]) -> Result:
        """Go through the rows as they are at one moment; if they change meanwhile, read them again.

        Claim.  The result was computed from one state of the rows, that of the expected moment if there is one. No
        failure reveals anything about a row.
        Proof.  A moment that is the same before and after the reading has not changed in between. Whatever fails is
        discarded, and replaced by one and the same error.  ∎
        """
        expected = self._moment.expected
        for _ in range(_READINGS):
            moment = self.moment()
            if expected not in (None, moment):
                break
            stop = threading.Event()
            with one_at_a_time():
                answer = interruptible(partial(stoppable, work, stop), partial(self._stop, stop))
            if answer is None:
                break
            if self.moment() == moment:
                return answer[0]
        raise KernelFailure

    def _stop(self, stop: threading.Event) -> None:
        """The answer is no longer needed: stop here, and where rows are counted."""
        stop.set()
        self._rows.stop()

    def __repr__(self) -> str:
        return f"<private table: {', '.join(self._schema.names)}>"

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a private table cannot be changed.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a private table cannot be changed.")


class _Groups:
    """Groups of rows with equal keys, collected batch by batch."""

    def __init__(self, terms: Sequence[Term]) -> None:
        self.terms = terms
        self._sizes: dict[tuple[Any, ...], int] = {}

    def add(self, batch: Batch) -> None:
        """Count the rows of a batch."""
        columns = []
        for term in self.terms:
            own: Values = batch.of(term)
            data = [own.keys[place] for place in own.data.tolist()] if own.keys else own.data.tolist()
            nothing = own.missing | ((own.state == OUTSIDE) & (own.data >= 0))  # neither true nor false
            states = np.where(nothing, MISSING, own.state).tolist()
            pairs = zip(states, data, strict=True)
            columns.append([(state, 0 if state == MISSING else value) for state, value in pairs])
        times = [1] * batch.rows if batch.times is None else batch.times.tolist()
        for key, more in zip(zip(*columns, strict=True), times, strict=True):
            self._sizes[key] = self._sizes.get(key, 0) + more

    def made(self, count_name: str) -> tuple[int, dict[str, Values]]:
        """One row for each group."""
        values, rows = {}, len(self._sizes)
        for place, term in enumerate(self.terms):
            column = [key[place] for key in self._sizes]
            state = np.array([state for state, _ in column], dtype=np.uint8)
            texts = list(dict.fromkeys(text for _, text in column if isinstance(text, str)))
            numbers: dict[Any, Any] = {text: number for number, text in enumerate(texts)}
            data = np.array([numbers.get(value, 0) if texts else value for _, value in column])
            values[term.name] = Values(data if len(data) else np.zeros(0, np.int64), state, texts)
        values[count_name] = Values(np.array(list(self._sizes.values()), dtype=np.int64))
        return rows, values


def _keys(batch: Batch, terms: Sequence[Question], shape: Sequence[int]) -> tuple[Integers, Flags]:
    """The row-major numbers of the cells of those rows that have one in every term, and which rows these are."""
    total, kept = np.zeros(batch.rows, np.int64), np.ones(batch.rows, dtype=bool)
    for place, (term, side) in enumerate(zip(terms, shape, strict=True)):
        own, inside = batch.inside(term)
        kept = kept & inside if place else inside
        total = np.multiply(total, side, dtype=np.int64) if place else own
        total = np.add(total, own, out=total) if place else total
    return total if kept.all() else total[np.flatnonzero(kept)], kept


def _celled(schema: Schema, name: str) -> CelledAttribute:
    attribute = schema.attributes[name]
    assert isinstance(attribute, CelledAttribute)
    return attribute
