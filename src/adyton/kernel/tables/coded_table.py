"""A table of public rows, given as the numbers of their cells: for experiments, counted with NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers
from adyton.errors import BadInput
from adyton.kernel.sealed import Sealed
from adyton.messages import shorten
from adyton.queries import Partition
from adyton.schema import RowTree, Schema


class CodedTable(Sealed):
    """Rows over a schema as whole numbers: the cell of every attribute, −1 where the schema drops the value.

    It answers what a :class:`~adyton.kernel.tables.private_table.PrivateTable` answers, except for what needs values.
    """

    __slots__ = ("_codes", "_schema")

    def __init__(self, codes: Integers, schema: Schema) -> None:
        self._codes, self._schema = codes, schema

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
        return CodedTable(self._columns(schema.names), schema)

    def split(self, attribute: str, partition: Partition) -> list[CodedTable]:
        """Tables with disjoint rows: table g has the rows whose cell of the attribute is in group g."""
        cells = self._columns((attribute,))[:, 0]
        group = np.where(cells >= 0, partition.labels[cells], -1)
        return [CodedTable(self._codes[group == number], self._schema) for number in range(partition.groups)]

    def count(self) -> int:
        """The number of rows."""
        return len(self._codes)

    def vectorize(self) -> Integers:
        """The number of rows in every cell of the domain."""
        return _counted(self._codes, self._schema.shape)

    def in_leaves(self, tree: RowTree, names: Sequence[str]) -> Integers:
        """The number of rows in every leaf of a tree and cell of these attributes."""
        sizes = tuple(self._schema.attributes[name].size for name in names)
        return _counted(np.column_stack([self._leaves(tree), self._columns(names)]), (len(tree.leaves), *sizes))

    def split_tables(self, tree: RowTree, names: Sequence[str], label: str) -> list[Integers]:
        """For each attribute the number of rows in every leaf, cell and class."""
        leaves, classes = self._leaves(tree), self._schema.attributes[label].size
        label_codes = self._columns((label,))[:, 0]
        tables = []
        for name in names:
            cells = np.column_stack([leaves, self._columns((name,))[:, 0], label_codes])
            tables.append(_counted(cells, (len(tree.leaves), self._schema.attributes[name].size, classes)))
        return tables

    def where(self, *_: Any) -> NoReturn:
        """Refused, as is all that asks for values."""
        raise BadInput("public rows that are given as cells can be selected, split and counted, and nothing else.")

    group_by = misfits = where

    def _leaves(self, tree: RowTree) -> Integers:
        used = set(np.unique(tree.split[tree.split >= 0]).tolist())
        codes = np.full((len(self._codes), len(tree.attributes)), -1, dtype=np.int64)
        for place in used:
            codes[:, place] = self._columns((tree.attributes[place],))[:, 0]
        return tree.leaf_of(codes)

    def _columns(self, names: Sequence[str]) -> Integers:
        known = self._schema.names
        return self._codes[:, [known.index(name) for name in names]]


def _counted(codes: Integers, shape: tuple[int, ...]) -> Integers:
    """How many rows have each combination of these codes; rows with a −1 have none."""
    kept = codes[(codes >= 0).all(axis=1)]
    cells = np.ravel_multi_index(tuple(kept.T), shape)
    return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)
