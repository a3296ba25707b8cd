"""A release as a table: one line per cell, the attributes first, then the count, and bounds if they are wanted."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adyton.arrays import Reals
from adyton.errors import BadInput

if TYPE_CHECKING:
    import pyarrow as pa


def columns(axes: Mapping[str, Sequence[Any]], values: Mapping[str, Reals]) -> dict[str, Any]:
    """The columns of the table: the labels of every cell, in row-major order, and the values."""
    sides = [len(labels) for labels in axes.values()]
    found: dict[str, Any] = {}
    for place, (name, labels) in enumerate(axes.items()):
        inner, outer = math.prod(sides[place + 1 :]), math.prod(sides[:place])
        found[name] = np.tile(np.repeat(_uniform(labels), inner), outer)
    for name, numbers in values.items():
        found[free(name, axes)] = np.asarray(numbers).reshape(-1)
    return found


def free(name: str, taken: Collection[str]) -> str:
    """The name of a column, changed until no attribute has it."""
    while name in taken:
        name += "_"
    return name


def arrow_table(axes: Mapping[str, Sequence[Any]], values: Mapping[str, Reals]) -> pa.Table:
    """As an Arrow table."""
    import pyarrow as pa

    return pa.table(columns(axes, values))


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
