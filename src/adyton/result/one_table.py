"""One table out of a release: counts, how they were got, and standard errors where these are known exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from adyton.arrays import Reals
from adyton.kernel.engines.duckdb import arrow_column
from adyton.result import frames

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """The estimated counts of a group of attributes, and how they were got."""

    group: tuple[str, ...]
    labels: tuple[tuple[Any, ...], ...]
    """The labels of the cells along each axis."""
    counts: Reals
    how: str
    """``measured`` and ``by least squares`` rest on the table's own measurements; other words say what was assumed."""
    errors: float | Reals | None = None
    """The standard error of each count, where it is known exactly: one for all, or one for each."""

    lower: Reals | None = None
    upper: Reals | None = None
    """Bounds on each count, if they were asked for."""
    counted: str = ""
    """Which rows were counted, in a few words, where that is not all of them."""

    def to_arrow(self) -> pa.Table:
        """One line per cell: the labels, the count, and its standard error and bounds if there are any."""
        import pyarrow as pa

        columns = dict(zip(self.group, frames.labels(self.labels), strict=True))
        values: dict[str, Any] = {"count": self.counts.ravel()}
        if self.errors is not None:
            values["standard_error"] = np.broadcast_to(self.errors, self.counts.shape).ravel()
        if self.lower is not None and self.upper is not None:
            values |= {"lower": self.lower.ravel(), "upper": self.upper.ravel()}
        columns |= {frames.free(name, columns): value for name, value in values.items()}
        columns = frames.with_counted(columns, self.counted, self.counts.size)
        return pa.table({name: arrow_column(value) for name, value in columns.items()})

    def to_frame(self) -> Any:
        """The same as a pandas DataFrame."""
        return frames.to_pandas(self.to_arrow())

    def __repr__(self) -> str:
        counted = f"; {self.counted}" if self.counted else ""
        return f"<table of {' × '.join(self.group)}, {self.counts.size:,} cells, {self.how}{counted}>"
