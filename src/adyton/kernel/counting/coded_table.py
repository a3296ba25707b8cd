"""A table of public rows, given as the numbers of their cells: for experiments, counted with NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers
from adyton.errors import BadInput
from adyton.kernel.reading.packs import Column, packed
from adyton.kernel.sealed import Sealed
from adyton.messages import shorten
from adyton.queries import Partition
from adyton.schema import Integer, Numeric, RowTree, Schema
from adyton.schema.cell_groups import merged_cells
from adyton.schema.numbers import FixedPoint
from adyton.whole import IntegerArray


class CodedTable(Sealed):
    """Rows over a schema as whole numbers: the cell of every attribute, −1 where the schema drops the value.

    It answers what a :class:`~adyton.kernel.counting.PrivateTable` answers, except for what needs values.
    """

    __slots__ = ("_codes", "_schema", "_times")

    def __init__(self, codes: Integers, schema: Schema, times: Integers | None = None) -> None:
        """*times* says how often each row is there, where that is not once."""
        self._codes, self._schema, self._times = codes, schema, times

    @classmethod
    def checked(cls, codes: npt.ArrayLike, schema: Schema) -> CodedTable:
        """The table of these codes, rows × attributes, or an error."""
        if not isinstance(schema, Schema):
            raise BadInput(f"public rows need a Schema, given {shorten(schema)}.")
        given, sizes = np.asarray(codes), np.array(schema.shape)
        if given.dtype.kind not in "iu" or given.ndim != 2 or given.shape[1] != len(sizes):
            raise BadInput(
                f"public rows are whole numbers, one column for each of {len(sizes)} attributes, given {given.dtype} "
                f"{given.shape}."
            )
        if given.size and (given.min() < -1 or (given.max(axis=0) >= sizes).any()):
            raise BadInput("a public row has the numbers of cells, from 0 on, or −1. There are others.")
        return cls(np.asfortranarray(given, dtype=np.int64), schema)

    @classmethod
    def of_counts(cls, counts: IntegerArray, schema: Schema) -> CodedTable:
        """The table that has so many rows in each cell of its domain."""
        codes = np.indices(schema.shape).reshape(len(schema.shape), -1).T
        return cls(codes, schema, np.asarray(counts, dtype=np.int64).reshape(-1))

    @property
    def schema(self) -> Schema:
        """The attributes."""
        return self._schema

    @property
    def from_text(self) -> bool:
        """Never: there are no texts."""
        return False

    def select(self, names: str | Sequence[str]) -> CodedTable:
        """The same rows, over some of the attributes."""
        schema = self._schema.select(names)
        return CodedTable(self._columns(schema.names), schema, self._times)

    def coarsened(self, schema: Schema) -> CodedTable:
        """The same rows, with the cells of a coarser schema."""
        columns = [
            np.where(own < 0, -1, merged_cells(self._schema.attributes[name], schema.attributes[name])[own])
            for name, own in zip(schema.names, self._codes.T, strict=True)
        ]
        return CodedTable(np.asfortranarray(np.stack(columns, axis=1)), schema, self._times)

    def split(self, attribute: str, partition: Partition) -> list[CodedTable]:
        """Tables with disjoint rows: table g has the rows whose cell of the attribute is in group g."""
        cells = self._columns((attribute,))[:, 0]
        group = np.where(cells >= 0, partition.labels[cells], -1)
        parts = [group == number for number in range(partition.groups)]
        times = [None if self._times is None else self._times[part] for part in parts]
        return [CodedTable(self._codes[part], self._schema, own) for part, own in zip(parts, times, strict=True)]

    def count(self) -> int:
        """The number of rows."""
        return len(self._codes) if self._times is None else int(self._times.sum())

    def vectorize(self) -> Integers:
        """The number of rows in every cell of the domain."""
        return self._counted([self._codes], self._schema.shape)

    def in_leaves(self, tree: RowTree, names: Sequence[str]) -> Integers:
        """The number of rows in every leaf of a tree and cell of these attributes."""
        sizes = tuple(self._schema.attributes[name].size for name in names)
        return self._counted([self._leaves(tree), self._columns(names)], (len(tree.leaves), *sizes))

    def power_sums(self, attribute: str, by: Sequence[str], degree: int) -> list[IntegerArray]:
        """Σ k^p for p = 0 … degree over the rows of every group, k the steps of the middle of their cell."""
        declared = self._schema.attributes[attribute]
        assert isinstance(declared, Integer | Numeric)
        names = (*by, attribute)
        counts = self._counted([self._columns(names)], tuple(self._schema.attributes[name].size for name in names))
        counts = counts[..., : declared.base_size].astype(object)
        steps = np.array(FixedPoint.of(declared).steps_of_cells(declared), dtype=object)
        return [np.asarray(counts @ steps**power) for power in range(degree + 1)]

    def split_tables(self, tree: RowTree, names: Sequence[str], label: str) -> list[Integers]:
        """For each attribute the number of rows in every leaf, cell and class."""
        leaves, classes = self._leaves(tree), self._schema.attributes[label].size
        tables = []
        for name in names:
            shape = (len(tree.leaves), self._schema.attributes[name].size, classes)
            tables.append(self._counted([leaves, self._columns((name, label))], shape))
        return tables

    def tables(self, groups: Sequence[Sequence[str]]) -> list[Integers]:
        """For each group of attributes the number of rows in every cell of it; groups that fit together at once."""
        names = list(dict.fromkeys(name for group in groups for name in group))
        sizes = {name: self._schema.attributes[name].size for name in names}
        codes = {name: self._codes[:, self._schema.names.index(name)] for name in names}
        codes = {name: np.where(own < 0, sizes[name], own) for name, own in codes.items()}
        columns = {name: Column(size, size + 1) for name, size in sizes.items()}
        packs, where = packed(columns, groups)
        counts = []
        for pack in packs:
            key = codes[pack.names[0]]
            for name, keys in zip(pack.names[1:], pack.shape[1:], strict=True):
                key = key * keys + codes[name]
            counts.append(self._times_in(key, pack.keys))
        return [packs[one].table(counts[one], group, columns) for one, group in zip(where, groups, strict=True)]

    def planned_tables(self, groups: Sequence[Sequence[str]]) -> Callable[[], list[Integers]]:
        """What counts them."""
        return partial(self.tables, groups)

    def where(self, *_: Any) -> NoReturn:
        """Refused, as is all that asks for values."""
        raise BadInput("public rows that are given as cells can be selected, split and counted, and nothing else.")

    group_by = where
    misfits = property(where)  # refused as soon as a vector of misfits is asked for, before anything is measured

    def _leaves(self, tree: RowTree) -> Integers:
        used = set(np.unique(tree.split[tree.split >= 0]).tolist())
        codes = np.full((len(self._codes), len(tree.attributes)), -1, dtype=np.int64)
        for place in used:
            codes[:, place] = self._columns((tree.attributes[place],))[:, 0]
        return tree.leaf_of(codes)

    def _columns(self, names: Sequence[str]) -> Integers:
        known = self._schema.names
        return self._codes[:, [known.index(name) for name in names]]

    def _counted(self, columns: Sequence[Integers], shape: tuple[int, ...]) -> Integers:
        """How many rows have each combination of these codes; those with a −1 have none."""
        codes = np.column_stack(columns)
        kept = (codes >= 0).all(axis=1)
        cells = np.full(len(codes), math.prod(shape))
        cells[kept] = np.ravel_multi_index(tuple(codes[kept].T), shape)
        return self._times_in(cells, math.prod(shape) + 1)[:-1].reshape(shape)

    def _times_in(self, cells: Integers, count: int) -> Integers:
        """How many rows are in each of so many cells."""
        if self._times is None:
            return np.bincount(cells, minlength=count)
        counts = np.zeros(count, dtype=np.int64)
        np.add.at(counts, cells, self._times)
        return counts
