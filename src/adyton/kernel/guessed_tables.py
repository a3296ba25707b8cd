"""Public guesses at private tables, on a grid of whole numbers, so that distances from the truth are exact."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers
from adyton.errors import BadInput
from adyton.kernel.counted_tables import CountedTables
from adyton.kernel.shapes import TablesShape
from adyton.messages import shorten
from adyton.whole import IntegerArray, add, freeze, narrow, widen

FINEST_BITS = 20
"""Guesses are rounded to fractions of a row not smaller than 2⁻²⁰."""
_MOST_BITS = 46
"""What all cells of the largest table on the grid may take of 64 bits together."""


@dataclass(frozen=True, eq=False)
class GuessedTables:
    """What a public model says that some tables are: M̂ = numbers/2^bits, one table after the other.

    Lemma.  (On distances.) One row more or less moves 2^bits·‖M − M̂‖₁ by at most 2^bits, for each of the tables.
    Proof.  By the lemma on rows and tables (:class:`~adyton.kernel.counted_tables.CountedTables`) it moves M by at most
    1 in L1, so ‖M − M̂‖₁ by at most 1, as the triangle inequality says; M̂ is public. The distances are computed in
    whole numbers that cannot wrap around.  ∎

    >>> GuessedTables.of({3: [[0.25, 2], [1, 0]]}).numbers.tolist()
    [262144, 2097152, 1048576, 0]
    """

    places: tuple[int, ...]
    numbers: Integers
    bits: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", freeze(self.numbers, "numbers").reshape(-1))

    @classmethod
    def of(cls, tables: Mapping[int, npt.ArrayLike]) -> GuessedTables:
        """Tables of real numbers by their places, rounded to a grid on which sums over cells stay machine integers."""
        cells = [np.asarray(table, dtype=np.float64).reshape(-1) for table in tables.values()]
        flat = np.concatenate(cells) if cells else np.zeros(0)
        if not np.isfinite(flat).all() or np.abs(flat).max(initial=0.0) >= 2.0**62:
            raise BadInput("guessed tables are finite numbers below 2^62, one for each cell.")
        most = max((int(np.abs(table).sum()) for table in cells), default=0)
        bits = max(0, min(_MOST_BITS - most.bit_length(), FINEST_BITS))
        return cls(tuple(tables), np.rint(np.ldexp(flat, bits)).astype(np.int64), bits)

    @property
    def unit(self) -> int:
        """How many steps of the grid make one row: 2^bits."""
        return 1 << self.bits

    def check(self, source: TablesShape) -> None:
        """An error unless these are guesses at tables of this source."""
        source.check_places(self.places)
        cells = sum(source.sizes(self.places))
        if self.numbers.size != cells:
            raise BadInput(
                f"these {len(self.places)} tables have {cells:,} cells, given {self.numbers.size:,} guesses."
            )
        if not 0 <= self.bits <= FINEST_BITS:
            raise BadInput(f"bits must be a whole number in 0 … {FINEST_BITS}, given {shorten(self.bits)}.")

    def distances(self, data: CountedTables) -> IntegerArray:
        """2^bits·‖M − M̂‖₁ for each of the tables, exactly. For mechanisms only."""
        on_grid = widen(data.together(self.places), self.unit) * self.unit
        missed = add(on_grid, -widen(self.numbers, 1))
        return self._sums(np.abs(widen(missed, 1)), data)

    def capped(self, most: int, data: CountedTables) -> IntegerArray:
        """Σ min(most, 2^bits·M̂) over the cells of each of the tables: public."""
        return self._sums(np.minimum(self.numbers, most), data)

    def _sums(self, cells: IntegerArray, data: CountedTables) -> IntegerArray:
        longest = max(math.prod(data.shapes[place]) for place in self.places)
        return narrow(np.add.reduceat(widen(cells, longest), data.starts(self.places)))
