"""How long it takes to learn from a large table, against the bare group-bys that any way of counting needs.

Both run in DuckDB on the same Parquet file, in turn. The bare group-bys count what the learner counts, for each level
of its tree and each attribute, and find the leaf of every row in a column: they need not sort rows into leaves.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from adyton.arrays import Integers
from adyton.kernel.kernel import Kernel
from adyton.kernel.sources import TableSource
from adyton.learning.coding import code_batches
from adyton.learning.model import Model
from adyton.learning.registry import learner_named
from adyton.learning.tree_model import TreeModel
from adyton.schema import Categorical, Integer, Numeric, Schema
from adyton_lab.bench.timing import seconds, timed

_SIZES = (2, 3, 5, 8, 4, 10, 6, 8, 12, 3, 7, 20)
_METHODS = ("chosen", "naive-bayes")
_LABEL = "label"


@dataclass(frozen=True)
class LearningComparison:
    """Medians in seconds, and their ratio; *levels* is how often the rows were sorted into leaves."""

    method: str
    rows: int
    levels: int
    adyton_seconds: float
    bare_seconds: float
    times_the_bare: float
    predicting_seconds: float


def compare(rows: int = 1_000_000, repeats: int = 3) -> Iterator[LearningComparison]:
    """Learn and count in turn, *repeats* times."""
    schema, codes = _schema(), _codes(rows)
    with tempfile.TemporaryDirectory() as folder:
        for method in _METHODS:
            yield _compared(method, schema, codes, Path(folder, "rows.parquet").as_posix(), repeats)


def _compared(method: str, schema: Schema, codes: Integers, path: str, repeats: int) -> LearningComparison:
    import duckdb

    connection, learner = duckdb.connect(), learner_named(method)
    connection.execute("set enable_progress_bar = false")
    _write(path, schema, codes, [])
    learnt = [timed(lambda: learner.fit(_root(path, schema), _LABEL, 1)) for _ in range(repeats)]
    model = learnt[-1][1]
    leaves = _leaves(model, codes)
    _write(path, schema, codes, leaves)
    names = [name for name in schema.names if name != _LABEL]
    keys = [f"leaf{level}, {name}" for level in range(len(leaves)) for name in names] or names
    queries = [f"select {key}, {_LABEL}, count(*) from '{path}' group by all" for key in keys]
    bare = [seconds(lambda: [connection.sql(query).fetchnumpy() for query in queries]) for _ in range(repeats)]
    predicting = seconds(lambda: [model.probabilities(batch) for batch in code_batches(path, model.schema)])
    fitting = median(taken for taken, _ in learnt)
    return LearningComparison(
        method, len(codes), len(leaves), fitting, median(bare), fitting / median(bare), predicting
    )


def _root(path: str, schema: Schema) -> TableSource:
    return Kernel(path, schema=schema, epsilon=10).root


def steps() -> int:
    """How many records :func:`compare` yields."""
    return len(_METHODS)


def _schema() -> Schema:
    """Words, whole numbers and bins in turn."""
    kinds = (
        lambda size: Categorical([f"level {level}" for level in range(size)]),
        lambda size: Integer(0, size - 1),
        lambda size: Numeric(0, size, bins=size),
    )
    attributes: dict[str, Any] = {f"x{place}": kinds[place % 3](size) for place, size in enumerate(_SIZES)}
    return Schema(attributes | {_LABEL: Categorical(["no", "yes"])})


def _codes(rows: int) -> Integers:
    """Cells of random rows; the label goes by a few of them, and by chance."""
    random = np.random.default_rng(0)
    codes = np.column_stack([random.integers(0, size, rows) for size in _SIZES])
    told = (codes[:, 3] + codes[:, 5] * (codes[:, 0] + 1)) % 5 < 2
    return np.column_stack([codes, told ^ (random.random(rows) < 0.1)])


def _write(path: str, schema: Schema, codes: Integers, leaves: list[Integers]) -> None:
    import pyarrow
    from pyarrow import parquet

    columns: dict[str, Any] = {}
    for place, (name, attribute) in enumerate(schema.attributes.items()):
        values = codes[:, place]
        if isinstance(attribute, Categorical):
            columns[name] = np.array(attribute.levels)[values]
        else:
            columns[name] = values.astype(np.int32) if isinstance(attribute, Integer) else values + 0.5
    columns |= {f"leaf{level}": leaf.astype(np.int32) for level, leaf in enumerate(leaves)}
    parquet.write_table(pyarrow.table(columns), path)


def _leaves(model: Model, codes: Integers) -> list[Integers]:
    """For every level of the tree the node that each row has come to; nothing for a model without a tree."""
    if not isinstance(model, TreeModel):
        return []
    tree = model.tree
    found = [np.zeros(len(codes), dtype=np.int64)]
    places = np.array([model.schema.names.index(name) for name in tree.attributes])
    for _ in range(tree.depth):
        nodes = found[-1]
        cells = codes[np.arange(len(codes)), places[np.maximum(tree.split[nodes], 0)]]
        found.append(np.where(tree.split[nodes] < 0, nodes, tree.first[nodes] + cells))
    return found
