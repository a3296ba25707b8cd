"""Quantiles by choice: a look at all rows, a few counts for the bounds, then all quantiles of every group at once."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import numpy as np

from adyton.kernel.limits import check_request
from adyton.kernel.mechanisms import NestedQuantiles
from adyton.kernel.sources import TableSource
from adyton.queries import Partition
from adyton.statistics.asked import Asked
from adyton.statistics.looking import LOOKED, borders, coarse_parts, even_borders, even_places, places, places_in_all
from adyton.statistics.nested_ranks import rank_error, rank_scales
from adyton.statistics.parts import Part
from adyton.statistics.program import MOST_CELLS, Program, Step, cells_of, lines_of, measured
from adyton.statistics.quantile_figures import names_of
from adyton.whole import IntegerArray

MOST_CHOICES = 1 << 17
"""How many quantiles are chosen one by one, over all groups: each takes a third of a millisecond."""


class Choice(Program):
    """Quantiles, chosen together.

    The look chooses sixteenths of all rows, whatever their group: it is cheap, because there are many of them. Rows are
    then likely to be found where those of all groups are, which helps small groups, and they are counted in sixteen
    parts that hold about as many.
    """

    name = "choice"
    words = "chooses the cells of all quantiles by permute-and-flip, one level after the other, and counts coarse parts"
    look: ClassVar[Fraction] = Fraction(1, 20)
    coarse: ClassVar[Fraction] = Fraction(1, 20)

    @property
    def left(self) -> Fraction:
        """The part of the budget that the quantiles have."""
        return 1 - self.look - self.coarse

    def errors(self, asked: Asked, epsilon: Fraction) -> dict[str, float]:
        """How many rows lie between a quantile and what is chosen."""
        few = asked.attribute.base_size <= MOST_CELLS and asked.groups * len(asked.task.quantiles) <= MOST_CHOICES
        parts = asked.task.quantiles if few else ()
        scales = rank_scales(parts, float(epsilon * self.left)) if parts else ()
        return {
            name: rank_error(part, own, asked.task.rows, asked.attribute.base_size)
            for name, part, own in zip(names_of(parts), parts, scales, strict=True)
        }

    def steps(self, source: TableSource, asked: Asked, epsilon: Fraction) -> list[Step]:
        """The look, the counts, the choice. How large they are does not depend on what comes before."""
        x, cells = cells_of(source, asked), asked.attribute.base_size
        every = np.full(asked.attribute.size, -1)
        every[:cells] = np.arange(cells)
        together = x.reduce(Partition(np.tile(every, asked.groups)))
        first = NestedQuantiles(cells, cells, LOOKED, even_places(cells, max(cells, 1 << 12)))
        check_request(first, together.facts.shape, epsilon * self.look)
        parts = asked.task.quantiles
        total = places_in_all(asked, len(parts).bit_length())

        def choice(found: IntegerArray) -> NestedQuantiles:
            return NestedQuantiles(asked.attribute.size, cells, parts, found)

        check_request(choice(even_places(cells, total)), x.facts.shape, epsilon * self.left)
        looked: list[IntegerArray] = []

        def look() -> Part:
            looked.append(np.array(together.select(first, epsilon * self.look), dtype=np.int64))
            return Part("look", looked[0][None, :], epsilon * self.look)

        def counts(edges: IntegerArray) -> Step:
            line = np.repeat(np.arange(coarse_parts(asked)), np.diff(edges))
            shared = x.reduce(lines_of(asked, coarse_parts(asked), line))
            return measured("coarse", source, shared, coarse_parts(asked), epsilon * self.coarse)

        counts(even_borders(asked))  # it is checked here, with as many parts

        def choose() -> Part:
            chosen = x.select(choice(places(asked, looked[0], total)), epsilon * self.left)
            return Part("quantiles", np.array(chosen, dtype=np.int64).reshape(asked.groups, -1), epsilon * self.left)

        def count() -> Part:
            return counts(borders(asked, looked[0]))()

        return [look, count, choose]
