"""Many tables of counts in one pass over the rows, in each leaf of a public tree, if there is one; and rows by leaf."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adyton.arrays import Integers, Places
from adyton.kernel.engines import Engine
from adyton.kernel.reading.packs import Column, Pack, packed
from adyton.kernel.tables.cells import CellCode, base_code, join_levels, with_policies
from adyton.kernel.tables.columns import is_missing
from adyton.schema import RowTree, Schema
from adyton.schema.attributes import CelledAttribute

_INT32 = (1 << 31) - 1


@dataclass(frozen=True)
class ManyTables:
    """Rows whose columns are codes, and the groups of columns to count."""

    rows: Any
    columns: Mapping[str, Column]
    groups: Sequence[Sequence[str]]
    packs: Sequence[Pack]
    where: Sequence[int]
    """The number of the pack that each group lies within."""

    @classmethod
    def of(
        cls,
        rows: Any,
        schema: Schema,
        columns: Mapping[str, str],
        groups: Sequence[Sequence[str]],
        tree: RowTree | None,
        engine: Engine,
    ) -> ManyTables | None:
        """For groups of attributes; None if there are no groups. *columns* names the column of every attribute."""
        if not groups:
            return None
        names, head = list(dict.fromkeys(name for group in groups for name in group)), ["leaf"] if tree else []
        tree = tree or RowTree.stump(names)
        codes = code_names(names)
        sizes = {column: schema.attributes[name].size for name, column in codes.items()}
        found = {column: Column(size, size + 1) for column, size in sizes.items()}  # one more for rows without a cell
        found["leaf"] = Column(len(tree.leaves), len(tree.leaves))
        wanted = [[*head, *(codes[name] for name in group)] for group in groups]
        packs, where = packed(found, wanted)
        coded, _ = leaf_table(rows, schema, columns, tree, names, engine=engine)
        return cls(engine.fenced(coded), found, wanted, packs, where)

    def counted(self, engine: Engine, by_keys: Callable[..., list[Integers]]) -> list[Integers]:
        """For each group how many rows lie in every cell. *by_keys* counts the values of columns in the engine."""
        keys = {f"key_{place}": pack.key(self.rows, engine) for place, pack in enumerate(self.packs)}
        counts = by_keys(self.rows.select(**keys), *(pack.keys for pack in self.packs))
        pairs = zip(self.where, self.groups, strict=True)
        return [self.packs[place].table(counts[place], group, self.columns) for place, group in pairs]


def leaf_table(
    table: Any,
    schema: Schema,
    columns: Mapping[str, str],
    tree: RowTree,
    names: Sequence[str],
    *,
    engine: Engine,
) -> tuple[Any, dict[str, str]]:
    """The rows that lie in a leaf: a column ``leaf``, and one with the cell for each of these attributes.

    A row goes down the tree level by level, inside the engine: the node that it has reached says which attribute to
    look at and where its children start, and the row's cell in that attribute says which child comes next.

    Claim.  Every row gets at most one leaf, and which one depends on its own values alone. No value makes it fail.
    Proof.  The cell of an attribute is a function of the row, or null where the schema drops the value. Each level is a
    join with a table that has every node once, so a row meets one line of it or, if its node is null, none: one row
    stays one row, or goes. Its next node is then a function of its node and its cells.  ∎

    Where the schema drops the value, the cell is the one after the last. *columns* names the column of every attribute.
    Also returned are the names of the columns of cells, as :func:`code_names` has them.
    """
    import ibis

    used = [tree.attributes[place] for place in np.unique(tree.split[tree.split >= 0])]
    if not used and not names:
        return table.select(leaf=ibis.literal(0, "int32")), {}
    concerned = schema.select(tuple(dict.fromkeys([*names, *used])))
    table, levels = join_levels(table, concerned, columns, engine, keep=True)
    codes = {}
    for name, attribute in concerned.attributes.items():
        assert isinstance(attribute, CelledAttribute)
        column, cell = table[columns[name]], table[levels[name]] if name in levels else None
        if cell is not None and attribute.drops_all:
            codes[name] = cell.fill_null(attribute.size)
        else:
            code = with_policies(attribute, base_code(column, attribute, engine, level=cell), is_missing(column))
            codes[name] = _or_last(code, attribute.size, engine)
    found = code_names(list(codes))
    rows = _at_leaves(table.select(**{found[name]: code for name, code in codes.items()}), tree, found, engine)
    return rows, {name: found[name] for name in names}


def code_names(names: Sequence[str]) -> dict[str, str]:
    """The column of cells of each attribute."""
    return {name: f"code_{place}" for place, name in enumerate(names)}


def _or_last(code: CellCode, size: int, engine: Engine) -> Any:
    """The cell, or *size* for rows that are not kept: their codes can be any number, and are converted no further."""
    import ibis

    kept = code.code if code.keep is None else ibis.ifelse(code.keep, code.code, size)
    return engine.small(kept, _INT32)


def _at_leaves(rows: Any, tree: RowTree, codes: Mapping[str, str], engine: Engine) -> Any:
    """The rows that the schema does not drop on their way, with a column ``leaf``."""
    import ibis

    if not tree.depth:
        return rows.mutate(leaf=ibis.literal(0, "int32"))
    numbers = np.full(tree.split.size, -1)
    numbers[tree.leaves] = np.arange(tree.leaves.size)
    arrived = np.zeros(0, dtype=np.int64)
    for depth, level in enumerate(tree.levels()[:-1]):
        nodes = np.concatenate([arrived, level])
        first = np.where(tree.split[nodes] < 0, nodes, tree.first[nodes])
        last = depth == tree.depth - 1  # the children of a node are leaves then, and numbered one after the other
        rows = _one_level(rows, tree, nodes, numbers[first] if last else first, codes, depth, engine)
        arrived = nodes[tree.split[nodes] < 0]
    return rows.filter(rows["leaf"].notnull())


def _one_level(
    rows: Any, tree: RowTree, nodes: Places, first: Places, codes: Mapping[str, str], depth: int, engine: Engine
) -> Any:
    """One level down: the column ``leaf`` has the node, null where a row has no cell. Rows that arrived stay there."""
    import ibis

    sizes = tree.sizes

    def cell(place: int) -> Any:
        return rows[codes[tree.attributes[place]]].nullif(int(sizes[tree.split == place][0]))

    if not depth:
        return rows.mutate(leaf=cell(int(tree.split[0])) + int(first[0]))
    columns = {"node": nodes, "which": tree.split[nodes], "first": first}
    numbers = {name: column.astype(np.int32) for name, column in columns.items()}
    lookup = engine.lookup(numbers, dict.fromkeys(columns, "int32"))
    rows = rows.join(lookup, rows["leaf"] == lookup["node"], how="inner")
    asked = [(rows["which"] == place, cell(place)) for place in np.unique(columns["which"]).tolist() if place >= 0]
    return rows.mutate(leaf=rows["first"] + ibis.cases(*asked, else_=0)).select("leaf", *codes.values())


def leaf_cells(
    table: Any, schema: Schema, columns: Mapping[str, str], tree: RowTree, names: Sequence[str], *, engine: Engine
) -> tuple[Any, tuple[int, ...]]:
    """The rows that have a leaf and a cell in each of these attributes, with a column ``cell``; and the vector's shape.

    The cell is the row-major number among leaves and cells.
    """
    rows, codes = leaf_table(table, schema, columns, tree, names, engine=engine)
    sizes = tuple(schema.attributes[name].size for name in names)
    cell = rows["leaf"].cast("int64")
    for name, size in zip(names, sizes, strict=True):
        cell = cell * size + rows[codes[name]].nullif(size)
    rows = rows.select(cell=cell)
    return rows.filter(rows["cell"].notnull()), (len(tree.leaves), *sizes)
