"""Predictions as a table: the label of every row, how probable each class is, and the columns that were to be kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adyton.arrays import Integers
from adyton.learning.model import Model
from adyton.result.frames import free

if TYPE_CHECKING:
    import pyarrow as pa


class Predictions:
    """Makes tables of predictions, batch by batch, and counts what was predicted."""

    def __init__(self, model: Model, *, probabilities: bool, beside: Sequence[str] = ()) -> None:
        self.model, self.probabilities, self.beside = model, probabilities, tuple(beside)
        wanted = [f"predicted_{model.label}", *(f"probability_{one}" for one in model.classes if probabilities)]
        self.names = [free(name, beside) for name in wanted]
        """The columns of predictions: the label first. No column that is kept has such a name."""
        self._counts = np.zeros(len(model.classes), dtype=np.int64)

    @property
    def rows(self) -> int:
        """How many rows were predicted so far."""
        return int(self._counts.sum())

    @property
    def counted(self) -> dict[str, int]:
        """How often each class was predicted so far."""
        return {str(one): count for one, count in zip(self.model.classes, self._counts.tolist(), strict=True)}

    def of(self, codes: Integers, kept: pa.Table | None = None) -> pa.Table:
        """The predictions for some rows, after the columns that are kept."""
        import pyarrow as pa

        found = self.model.probabilities(codes)
        places = found.argmax(axis=1)
        self._counts += np.bincount(places, minlength=len(self._counts))
        columns: list[Any] = [_classes(self.model.classes).take(pa.array(places))]
        if self.probabilities:
            columns += [pa.array(np.ascontiguousarray(column)) for column in found.T]
        if kept is None:
            return pa.Table.from_arrays(columns, names=self.names)
        return pa.Table.from_arrays([*kept.columns, *columns], names=[*kept.column_names, *self.names])

    def none(self) -> pa.Table:
        """The predictions for no rows."""
        import pyarrow as pa

        kept = pa.Table.from_arrays([pa.nulls(0, pa.string())] * len(self.beside), names=list(self.beside))
        return self.of(np.empty((0, len(self.model.schema.names)), dtype=np.int64), kept if self.beside else None)


def _classes(classes: tuple[Any, ...]) -> pa.Array:
    """The classes in their own type; as texts where they are mixed, such as a number beside (other)."""
    import pyarrow as pa

    mixed = len({type(one) for one in classes}) > 1
    return pa.array([str(one) for one in classes] if mixed else list(classes))
