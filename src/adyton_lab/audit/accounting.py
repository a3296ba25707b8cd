"""Does the kernel charge at least what its answers give away? Random walks, and transformations on small tables."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import MeasureTables
from adyton.kernel.sources import TableSource, VectorSource
from adyton.queries import Identity
from adyton.schema import Boolean, Categorical, Integer, Numeric, RowTree, Schema
from adyton.whole import IntegerArray
from adyton_lab.audit.pairs import Finding
from adyton_lab.audit.walk import DisagreementError, Held, Walk

_ONE_IN = 50
"""One sequence in this many starts from a table, which is slower; the others start from a vector."""
_CODES = 5
"""This many in every ``_ONE_IN`` start from rows that were read before, which are counted into many tables at once."""


def audit_accounting(walks: int, seed: int = 0, steps: int = 12, advance: Callable[[], None] = lambda: None) -> Finding:
    """Play *walks* random sequences of operators."""
    answered = refused = 0
    for number in range(walks):
        held: Held = "codes" if number % _ONE_IN in range(1, 1 + _CODES) else "vector"
        walk = Walk(seed * 1_000_003 + number, "table" if number % _ONE_IN == 0 else held)
        try:
            walk.play(steps)
        except DisagreementError as disagreement:
            return Finding(
                "kernel", "accounting", False, f"sequence {number}: {disagreement}.", {"sequences": number + 1}
            )
        answered, refused = answered + walk.answered, refused + walk.refused
        advance()
    figures = {"sequences": walks, "answered": answered, "refused": refused}
    detail = "the budget spent always equals Algorithm 6, never exceeds the total and always covers the loss."
    return Finding("kernel", "accounting", True, detail, figures)


def audit_group_by() -> Finding:
    """One more row changes no more rows of groups than the charge covers, on every small table."""
    import pyarrow

    schema = Schema({"key": Integer(0, 1), "n": Integer(1, 4)})
    largest = charged = 0
    counts: dict[tuple[int, ...], IntegerArray] = {}
    for keys in itertools.chain.from_iterable(itertools.product((0, 1), repeat=length) for length in range(4)):
        table = pyarrow.table({"key": pyarrow.array(keys, pyarrow.int64()), "n": [1] * len(keys)})
        kernel = Kernel(table, schema=schema, epsilon=1000)
        grouped = kernel.root.group_by("key", count="size", max_count=4)
        counts[keys] = grouped.vectorize().measure(Identity((2, 4)), 100).answers  # noise: e^-100
        charged = int(kernel.spent / 100)
        if keys:
            largest = max(largest, int(abs(counts[keys] - counts[keys[:-1]]).sum()))
    return _moved("group-by", "rows of groups", largest, charged)


_PLENTY = 30
"""At this ε the noise of a count is nonzero with a probability of about e^-30."""
_DIRTY = (
    *("3,1.5,F,yes", "three,$1.50,F ,maybe", ",,,", "  , nan,X,2", "999,-1,f,no", "999,$1.50,X,maybe", "3,1e400,F,y"),
    *("10/24/1979,inf,M,", '3,"1,5",M,t', "-0,0x1p3,\N{NO-BREAK SPACE}F,1", "3"),
)
"""Lines that match a schema in some columns and not in others; a misfit can have several reasons."""


def audit_misfits() -> Finding:
    """One more row changes one cell of the misfits by one, on tables that grow row by row."""

    def misfits(rows: TableSource) -> list[IntegerArray]:
        return [_counts(rows.misfits([name for name in rows.schema.names if name != "row"]))]

    return _moved_by_rows("misfits", "cells of the misfits", misfits)


def audit_leaves() -> Finding:
    """One more row changes one cell of the leaves of a tree by one, on tables that grow row by row."""

    def leaves(rows: TableSource) -> list[IntegerArray]:
        tree = RowTree.stump(rows.schema).grow({0: "smoker"}, rows.schema)
        tree = tree.grow({1: "age", 2: "sex"}, rows.schema)
        tree = tree.grow({int(tree.leaves[-1]): "age"}, rows.schema)
        return [_counts(rows.leaves(tree, "pay"))]

    return _moved_by_rows("leaves", "cells of the leaves", leaves)


def audit_tables(merge: bool = False) -> Finding:
    """One more row changes one cell of each of many tables by one, on tables that grow row by row; if *merge*, with
    cells merged in turn into two groups."""
    groups = [("age", "sex"), ("sex", "pay", "smoker"), ("smoker",)]

    def tables(rows: TableSource) -> list[IntegerArray]:
        counted = rows.tables(groups)
        if merge:
            maps = [[[cell % 2 for cell in range(size)] for size in shape] for shape in counted.shapes]
            counted = counted.merged(zip(groups, maps, strict=True))
        noisy = counted.measure(MeasureTables.weighted(range(len(groups))), len(groups) * _PLENTY)
        return list(noisy.tables().values())

    return _moved_by_rows("merged tables" if merge else "tables", "cells of a table", tables)


def _counts(vector: VectorSource) -> IntegerArray:
    return vector.measure(Identity(vector.shape), _PLENTY).answers


def _moved_by_rows(check: str, what: str, counts: Callable[[TableSource], list[IntegerArray]]) -> Finding:
    """Whether one more dirty row changes an array of counts by no more than a measurement of it is charged for."""
    policies: dict[str, Any] = {"nulls": "level", "outside": "other"}
    strict = {"age": Integer(0, 9), "pay": Numeric(0, 9, bins=3), "sex": Categorical(["F", "M"]), "smoker": Boolean()}
    lenient = {
        **{"age": Integer(0, 9, outside="clamp"), "pay": Numeric(0, 9, bins=3, **policies)},
        **{"sex": Categorical(["F", "M"], **policies), "smoker": Boolean(**policies)},
    }
    largest = charged = 0
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.csv"
        lines = [f"{number},{line}" for number, line in enumerate(_DIRTY)]
        file.write_text("\n".join(["row,age,pay,sex,smoker", *lines, ""]), encoding="utf-8")
        for attributes in (strict, lenient):
            schema = Schema({**attributes, "row": Integer(0, len(_DIRTY))})
            kernel = Kernel(file, schema=schema, epsilon=1000)
            before: list[Any] = []
            for number in range(len(_DIRTY)):
                spent = kernel.spent
                after = counts(kernel.root.where(f"row <= {number}"))
                charged = int((kernel.spent - spent) / (_PLENTY * len(after)))
                pairs = zip(after, before or [0] * len(after), strict=True)
                largest, before = max(largest, *(int(abs(new - old).sum()) for new, old in pairs)), after
                if largest > charged:
                    return _moved(check, what, largest, charged)
    return _moved(check, what, largest, charged)


def _moved(check: str, what: str, moved: int, charged: int) -> Finding:
    detail = f"one row changed up to {moved} {what}; a measurement is charged {charged} times."
    return Finding("kernel", check, moved <= charged, detail, {"moved": moved, "charged": charged})
