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
from adyton_lab.audit.findings import Finding
from adyton_lab.audit.walk import Held, Walk
from adyton_lab.audit.walk_tables import DisagreementError

_ONE_IN = 50
"""So many sequences start from a vector for each that starts from a table, which is slower."""
_CODES = 5
"""So many of these start from rows that were read before, of which many tables are counted at once."""


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
    detail = "spent always equal to Algorithm 6, never over the total, never less than the noise gives away."
    return Finding("kernel", "accounting", True, detail, figures)


def audit_group_by() -> Finding:
    """One row more moves at most as many rows of groups as the charge covers, on every small table."""
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
    detail = f"one row moved up to {largest} rows of groups; measurements of groups are charged {charged} times."
    return Finding("kernel", "group-by", largest <= charged, detail, {"moved": largest, "charged": charged})


_PLENTY = 30
"""At this ε a count has noise with a probability of e^-30."""
_DIRTY = (
    *("3,1.5,F,yes", "three,$1.50,F ,maybe", ",,,", "  , nan,X,2", "999,-1,f,no", "999,$1.50,X,maybe", "3,1e400,F,y"),
    *("10/24/1979,inf,M,", '3,"1,5",M,t', "-0,0x1p3,\N{NO-BREAK SPACE}F,1", "3"),
)
"""Lines that fit a schema in some columns and not in others, of which a misfit has several reasons."""


def audit_misfits() -> Finding:
    """One row more moves one cell of the misfits by one: on tables that grow row by row."""

    def misfits(rows: TableSource) -> VectorSource:
        return rows.misfits([name for name in rows.schema.names if name != "row"])

    moved, charged = _moved_by_rows(lambda rows: [_counts(misfits(rows))])
    detail = f"one row moved up to {moved} of the misfits; measurements of them are charged {charged} times."
    return Finding("kernel", "misfits", moved <= charged, detail, {"moved": moved, "charged": charged})


def audit_leaves() -> Finding:
    """One row more moves one cell of the leaves of a tree by one: on tables that grow row by row."""

    def leaves(rows: TableSource) -> VectorSource:
        tree = RowTree.stump(rows.schema).grow({0: "smoker"}, rows.schema)
        tree = tree.grow({1: "age", 2: "sex"}, rows.schema)
        tree = tree.grow({int(tree.leaves[-1]): "age"}, rows.schema)
        return rows.leaves(tree, "pay")

    moved, charged = _moved_by_rows(lambda rows: [_counts(leaves(rows))])
    detail = f"one row moved up to {moved} cells of the leaves; measurements of them are charged {charged} times."
    return Finding("kernel", "leaves", moved <= charged, detail, {"moved": moved, "charged": charged})


def audit_tables() -> Finding:
    """One row more moves one cell of each of many tables by one: on tables that grow row by row."""
    groups = [("age", "sex"), ("sex", "pay", "smoker"), ("smoker",)]

    def tables(rows: TableSource) -> list[IntegerArray]:
        noisy = rows.tables(groups).measure(MeasureTables.weighted(range(len(groups))), len(groups) * _PLENTY)
        return list(noisy.tables().values())

    moved, charged = _moved_by_rows(tables)
    detail = f"one row moved up to {moved} cells of a table; measurements of one are charged {charged} times."
    return Finding("kernel", "tables", moved <= charged, detail, {"moved": moved, "charged": charged})


def _counts(vector: VectorSource) -> IntegerArray:
    return vector.measure(Identity(vector.shape), _PLENTY).answers


def _moved_by_rows(counts: Callable[[TableSource], list[IntegerArray]]) -> tuple[int, int]:
    """By how much one more dirty row moves one of some arrays of counts at most, and how many times what was spent on
    each of them a measurement costs."""
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
                moved = [
                    int(abs(one - other).sum()) for one, other in zip(after, before or [0] * len(after), strict=True)
                ]
                largest, before = max(largest, *moved), after
                if largest > charged:
                    return largest, charged
    return largest, charged
