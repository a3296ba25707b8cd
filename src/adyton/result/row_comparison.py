"""How far synthetic rows are from the tables that they were made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.result.row_values import Codes

Group = tuple[str, ...]


class Comparison:
    """How far the tables of rows are from the released ones, while the rows come by; *names* are those of the columns.

    >>> compared = Comparison({("a", "b"): np.array([[1.0, 1.0], [0.0, 2.0]])}, ["a", "b"])
    >>> compared.add(np.array([[0, 0], [0, 1], [1, 1], [1, 0]], dtype=np.int32))
    >>> compared.mean()
    0.25
    """

    def __init__(self, tables: Mapping[Group, Reals], names: Sequence[str]) -> None:
        self._tables = dict(tables)
        self._names = list(names)
        self._counts: dict[Group, Reals] = {group: np.zeros(table.shape) for group, table in self._tables.items()}
        self._rows = 0

    def add(self, codes: Codes) -> None:
        """Count some more rows."""
        for group, counts in self._counts.items():
            cells = np.zeros(len(codes), dtype=np.int64)
            for name, side in zip(group, counts.shape, strict=True):
                cells = cells * side + codes[:, self._names.index(name)]
            np.add(counts, np.bincount(cells, minlength=counts.size).reshape(counts.shape), out=counts)
        self._rows += len(codes)

    def distances(self) -> dict[Group, float]:
        """For every table the total variation between rows and release."""
        if not self._rows:
            raise BadInput("there are no rows to compare yet. Add some first.")
        found = {}
        for group, counts in self._counts.items():
            table = self._tables[group]
            found[group] = float(np.abs(counts / self._rows - table / max(table.sum(), 1e-300)).sum() / 2)
        return found

    def mean(self) -> float:
        """The mean over all tables."""
        distances = self.distances()
        return float(np.mean(list(distances.values()))) if distances else 0.0
