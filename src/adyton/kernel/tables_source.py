"""The handle on many private tables of counts."""

from __future__ import annotations

from typing import cast

from adyton.errors import BadInput
from adyton.exact import Rational
from adyton.kernel.mechanisms import MeanDistance, MeasureTables, PairChoice, ParentChoice
from adyton.kernel.noisy_tables import NoisyTables
from adyton.kernel.shapes import TablesShape
from adyton.kernel.sources import Source, VectorSource
from adyton.kernel.transforms import SingleTables
from adyton.messages import listing
from adyton.queries import NoisyValue
from adyton.schema import Schema


class TablesSource(Source):
    """A handle on many private tables, each over a group of attributes; a table's *place* is its number, from 0.

    They are counted together, once, when the first of them is measured.

    >>> import numpy as np, adyton as ad
    >>> from adyton.kernel.mechanisms import MeasureTables
    >>> schema = ad.Schema({"age": ad.Integer(0, 2), "sex": ad.Boolean()})
    >>> kernel = ad.Kernel.simulated_table(np.zeros((50, 2), dtype=int), schema, epsilon=1, seed=1)
    >>> tables = kernel.root.tables([("age",), ("age", "sex")])
    >>> noisy = tables.measure(MeasureTables.weighted((0, 1), (1, 3)), epsilon=1)
    >>> noisy.tables()["age", "sex"].shape, noisy.variances.round(1).tolist(), kernel.remaining
    ((3, 2), [31.8, 3.4], Fraction(0, 1))
    """

    __slots__ = ()

    @property
    def _shape(self) -> TablesShape:
        return cast(TablesShape, self._facts.shape)

    @property
    def schema(self) -> Schema:
        """The attributes of all tables."""
        return self._shape.schema

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The attributes of each table."""
        return self._shape.groups

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shape of each table."""
        return self._shape.shapes

    @property
    def cells(self) -> int:
        """How many cells there are in all tables."""
        return self._shape.cells

    def place(self, *group: str) -> int:
        """The place of the table over these attributes, in this order."""
        place = self._shape.places.get(group)
        if place is None:
            raise BadInput(f"there is no table of {listing(group)}. Name a group as it was asked for.")
        return place

    def vectors(self) -> tuple[VectorSource, ...]:
        """Each table as a vector of its own. They share rows: costs add up."""
        return self._derive(SingleTables(), VectorSource)

    def measure(self, tables: MeasureTables, epsilon: Rational) -> NoisyTables:
        """Noisy tables, each with its share of *epsilon*; spends it once, times the stability of this source."""
        noisy: NoisyTables = self._door.measure(self, tables, epsilon)
        return noisy

    def choose_pairs(self, choice: PairChoice, epsilon: Rational) -> tuple[int, ...]:
        """The places of tables that a public model guesses badly; spends *epsilon* times the stability."""
        chosen: tuple[int, ...] = self._door.measure(self, choice, epsilon)
        return chosen

    def mean_distance(self, guess: MeanDistance, epsilon: Rational) -> NoisyValue:
        """How far a public model is from tables, on average; spends *epsilon* times the stability."""
        value: NoisyValue = self._door.measure(self, guess, epsilon)
        return value

    def choose_parents(self, choice: ParentChoice, epsilon: Rational) -> dict[str, tuple[str, ...]]:
        """The parents of every attribute but the first, in the order in which they were chosen; spends *epsilon* times
        the stability."""
        chosen: tuple[int, ...] = self._door.measure(self, choice, epsilon)
        return choice.parents(self._shape, chosen)

    def __repr__(self) -> str:
        return f"<{len(self.groups)} private tables: {' → '.join(self.lineage)}>"
