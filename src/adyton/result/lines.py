"""Lines with bounds that were computed from a release: a cumulative distribution, the largest cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from adyton.kernel.engines.duckdb import arrow_column
from adyton.result import frames
from adyton.result.interval import Kind

if TYPE_CHECKING:
    import pyarrow as pa

_SHOWN = 10


@dataclass(frozen=True, eq=False, repr=False)
class Lines:
    """Columns of one length: labels first, then a count with its bounds, then what else there is to say."""

    columns: Mapping[str, Any]
    confidence: float
    kind: Kind
    """Whether the bounds are a promise (``exact``) or ``approximate``."""
    meaning: str
    """What they promise, in plain words; or why there are none."""
    counted: str = ""
    """Which rows were counted, in a few words, where that is not all of them."""

    def to_arrow(self) -> pa.Table:
        """As an Arrow table."""
        import pyarrow as pa

        columns = frames.with_counted(dict(self.columns), self.counted, len(self))
        return pa.table({name: arrow_column(column) for name, column in columns.items()})

    def to_frame(self) -> Any:
        """As a pandas DataFrame."""
        return frames.to_pandas(self.to_arrow())

    def to_polars(self) -> Any:
        """As a polars DataFrame."""
        return frames.to_polars(self.to_arrow())

    def __getitem__(self, column: str) -> Any:
        return np.asarray(self.columns[column])

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Line by line."""
        return iter(zip(*(np.asarray(column).tolist() for column in self.columns.values()), strict=True))

    def __repr__(self) -> str:
        rows = [[_text(value) for value in line] for line, _ in zip(self, range(_SHOWN), strict=False)]
        texts = [list(self.columns), *rows]
        widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
        lines = ["  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True)) for line in texts]
        more = [f"… {len(self) - _SHOWN:,} more"] if len(self) > _SHOWN else []
        first = [f"({self.counted})"] if self.counted else []
        return "\n".join([*first, *lines, *more, f"({100 * self.confidence:g}% {self.kind})"])


def _text(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.1f}" if abs(value) >= 10 else f"{value:.3g}"
