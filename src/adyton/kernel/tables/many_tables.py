"""Many tables of counts in one pass over the rows, in each leaf of a public tree, if there is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adyton.arrays import Integers
from adyton.kernel.engines import Engine, Server
from adyton.kernel.tables.leaves import code_names, coded_columns, leaf_table
from adyton.kernel.tables.packs import Column, Pack, packed
from adyton.kernel.tables.passing_rows import counted_in_passing, packed_for_passing
from adyton.schema import RowTree, Schema

_FEW_PACKS = 3
"""So many are counted by group-bys; loading the compiled loop would take longer."""


@dataclass(frozen=True)
class ManyTables:
    """Rows whose columns are codes, and the groups of columns to count."""

    rows: Any
    columns: Mapping[str, Column]
    groups: Sequence[Sequence[str]]
    packs: Sequence[Pack]
    where: Sequence[int]
    """The number of the pack that each group lies within."""
    passing: bool
    """Whether rows are counted as they pass by."""

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
        found = coded_columns(schema, codes) | {"leaf": Column(len(tree.leaves), len(tree.leaves))}
        wanted = [[*head, *(codes[name] for name in group)] for group in groups]
        packs, where = packed(found, wanted)
        passes = not isinstance(engine, Server) and len(packs) > _FEW_PACKS
        passing = packed_for_passing(found, wanted, (packs, where)) if passes else None
        loose = passing is not None and not tree.depth
        coded, _ = leaf_table(rows, schema, columns, tree, names, engine=engine, loose=loose)
        return cls(engine.fenced(coded), found, wanted, *(passing or (packs, where)), passing is not None)

    def counted(self, engine: Engine, by_keys: Callable[..., list[Integers]]) -> list[Integers]:
        """For each group how many rows lie in every cell. *by_keys* counts the values of columns in the engine."""
        if self.passing:
            counts = engine.run(lambda: counted_in_passing(engine, self.rows, self.columns, self.packs))
        else:
            keys = {f"key_{place}": pack.key(self.rows, engine) for place, pack in enumerate(self.packs)}
            counts = by_keys(self.rows.select(**keys), *(pack.keys for pack in self.packs))
        pairs = zip(self.where, self.groups, strict=True)
        return [self.packs[one].table(counts[one], group, self.columns) for one, group in pairs]
