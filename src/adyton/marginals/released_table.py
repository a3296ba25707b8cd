"""One table out of a release of many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from adyton.arrays import Reals
from adyton.kernel.tables.arrow_columns import arrow_column
from adyton.release import frames

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
    errors: float | None = None
    """The standard error of each count, where it is known exactly."""

    def to_arrow(self) -> pa.Table:
        """One line per cell: the labels, the count, and its standard error if there is one."""
        import pyarrow as pa

        columns = dict(zip(self.group, frames.labels(self.labels), strict=True))
        values: dict[str, Any] = {"count": self.counts.ravel()}
        if self.errors is not None:
            values["standard_error"] = np.full(self.counts.size, self.errors)
        columns |= {frames.free(name, columns): value for name, value in values.items()}
        return pa.table({name: arrow_column(value) for name, value in columns.items()})

    def to_frame(self) -> Any:
        """The same as a pandas DataFrame."""
        return frames.to_pandas(self.to_arrow())

    def __repr__(self) -> str:
        return f"<table of {' × '.join(self.group)}, {self.counts.size:,} cells, {self.how}>"
