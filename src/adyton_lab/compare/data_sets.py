"""Public data sets to compare algorithms on: integer counts on domains small enough for every algorithm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from adyton.errors import BadInput
from adyton.messages import no_such, shorten
from adyton.whole import whole
from adyton_lab.corpus import Shape
from adyton_lab.corpus.public_files import regrid
from adyton_lab.training.experiments import Input

LINE_CELLS, PLANE_SIDE = 4096, 64
"""The finest resolution used unless another is requested."""
MOST_CELLS, MOST_ROWS = 1 << 20, 1 << 53


@dataclass(frozen=True, eq=False)
class DataSet:
    """Public counts with a name."""

    name: str
    counts: npt.NDArray[np.int64]
    drawn: bool = False
    """Whether the rows were drawn from the distribution, not taken from its own counts."""

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.counts.sum())

    def __str__(self) -> str:
        domain = " × ".join(f"{side:,}" for side in self.counts.shape)
        return f"{self.name}: {self.rows:,} rows{' drawn from it' * self.drawn} on {domain} cells"


def data_sets(
    shapes: Sequence[Shape], names: Sequence[str] | None = None, *, cells: int | None = None, rows: int | None = None
) -> list[DataSet]:
    """The shapes with these names, or all shapes, each with its own counts if they are whole numbers.

    *cells* gives another resolution (in two dimensions, the cells of a square); with *rows*, that many rows are drawn
    from each shape. Shapes that share a name are numbered; a shape given twice is used once.

    >>> shape = Shape("ages", "people", np.array([1.0, 2, 3, 2]))
    >>> [str(data) for data in data_sets([shape]) + data_sets([shape], cells=2)]
    ['ages: 8 rows on 4 cells', 'ages: 8 rows on 2 cells']
    """
    different = {(shape.name, shape.digest): shape for shape in shapes}
    named: dict[str, Shape] = {}
    for shape in different.values():
        written = shape.name.encode(errors="replace").decode()  # file names can hold characters that cannot be encoded
        named[_free_name(written, named)] = shape
    for name in names or ():
        if name not in named:
            raise BadInput(no_such("data set", name, named))
    return [_data_set(name, named[name], cells, rows) for name in dict.fromkeys(names or named)]


def _free_name(name: str, taken: dict[str, Shape]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name} ({number})"
    return free


def _data_set(name: str, shape: Shape, cells: int | None, rows: int | None) -> DataSet:
    domain = _domain(shape, cells)
    counts = regrid(shape.counts, domain)
    total = float(counts.sum())
    if rows is None and np.array_equal(counts, np.rint(counts)) and total <= MOST_ROWS:
        return DataSet(name, counts.astype(np.int64))
    number = round(total) if rows is None else whole(rows, "rows", 1)
    if rows is None and number < 2:
        raise BadInput(
            f"{shorten(name)} holds no counts: its numbers add up to {total:.3g}. Use --rows to draw rows from it."
        )
    if number > MOST_ROWS:
        raise BadInput(f"{shorten(name)} would have more than 2^53 rows. Draw fewer with --rows.")
    return DataSet(name, Input(shape, domain, number, Fraction(1)).counts(), drawn=True)


def _domain(shape: Shape, cells: int | None) -> tuple[int, ...]:
    """The requested resolution; by default the shape's own, up to a limit."""
    own = shape.counts.shape
    if cells is None:
        most = LINE_CELLS if len(own) == 1 else PLANE_SIDE
        return tuple(min(side, most) for side in own)
    number = whole(cells, "cells", 1)
    if number > MOST_CELLS:
        raise BadInput(f"at most {MOST_CELLS:,} cells can be compared, given {number:,}.")
    side = number if len(own) == 1 else math.isqrt(number)
    if side ** len(own) != number:
        raise BadInput(f"in two dimensions the cells form a square, such as 4096 for 64 × 64, given {number}.")
    return (side,) * len(own)
