"""Rows divided among the trees of a forest, by an attribute: no row is in two parts."""

from __future__ import annotations

import numpy as np

from adyton.errors import BadInput, SchemaError
from adyton.kernel.sources import TableSource
from adyton.learning.target import Target
from adyton.messages import no_such
from adyton.queries import Partition


def check_division(source: TableSource, target: Target, attribute: str, trees: int) -> Target:
    """What is predicted from what, once the rows are divided; or an error."""
    if attribute not in target.schema.attributes:
        raise SchemaError(no_such("attribute to divide rows by", attribute, target.schema.names))
    if not source.steady:
        raise BadInput(
            "rows that may change between two counts cannot be divided among trees: one that moves would be in "
            "several. Open a copy in a file, or a PostgreSQL table by its address; or leave the attribute out."
        )
    cells = target.schema.attributes[attribute].size
    if not 1 < trees <= cells:
        raise BadInput(
            f"{attribute!r} has {cells} cells to divide rows among trees by, given {trees} trees. Grow 2 to {cells}."
        )
    return Target.of(source.schema.select(_others(source, attribute)), target.label)


def divided(source: TableSource, attribute: str, trees: int) -> tuple[TableSource, ...]:
    """As many disjoint tables as there are trees, without the attribute. Measuring all costs as much as one."""
    cells = source.schema.attributes[attribute].size
    parts = source.split(attribute, Partition(np.arange(cells) % trees))
    return tuple(part.select(_others(source, attribute)) for part in parts)


def _others(source: TableSource, attribute: str) -> list[str]:
    return [name for name in source.schema.names if name != attribute]
