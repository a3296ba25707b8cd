"""The columns of a released table: the labels of its cells, names that nothing else has, and the frames of others."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adyton.errors import BadInput

if TYPE_CHECKING:
    import pyarrow as pa


def labels(axes: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    """The labels of every cell in row-major order, axis by axis."""
    sides = [len(along) for along in axes]
    return tuple(
        np.tile(np.repeat(_uniform(along), math.prod(sides[place + 1 :])), math.prod(sides[:place]))
        for place, along in enumerate(axes)
    )


def free(name: str, taken: Collection[str]) -> str:
    """The name of a column, changed until no attribute has it."""
    while name in taken:
        name += "_"
    return name


def with_counted(columns: dict[str, Any], counted: str, lines: int) -> dict[str, Any]:
    """The columns, and one more that says in every line which rows were counted, where that is not all of them.

    A column of its own, as statistical offices have them for units of measure: files stay plain tables, the columns
    that programs read keep their names, and a line that is copied elsewhere takes the words with it.
    """
    return {**columns, free("counted", columns): [counted] * lines} if counted else columns


def to_pandas(table: pa.Table) -> Any:
    """As a pandas DataFrame."""
    try:
        import pandas  # noqa: F401
    except ImportError:
        raise BadInput("this needs pandas. Install it: pip install pandas; or ask for to_arrow().") from None
    return table.to_pandas()


def to_polars(table: pa.Table) -> Any:
    """As a polars DataFrame."""
    try:
        import polars
    except ImportError:
        raise BadInput("this needs polars. Install it: pip install polars; or ask for to_arrow().") from None
    return polars.from_arrow(table)


def _uniform(labels: Sequence[Any]) -> Any:
    """Labels of one type: as they are if they have one, else as texts."""
    kinds = {type(label) for label in labels}
    return np.array(labels) if kinds in ({int}, {bool}) else np.array([str(label) for label in labels], dtype=object)
