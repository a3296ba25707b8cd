"""Partitions: groups of cells that queries may be asked about."""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers
from adyton.errors import BadInput
from adyton.whole import freeze, whole


@dataclass(frozen=True, eq=False)
class Partition:
    """Cell i belongs to group ``labels[i]``; cells with the label -1 are left out.

    Groups are disjoint by construction, because every cell has exactly one label.

    >>> Partition([0, 0, 1, -1]).sizes
    array([2, 1])
    """

    labels: Integers
    groups: int

    def __init__(self, labels: npt.ArrayLike, groups: int | None = None) -> None:
        frozen = freeze(labels, "labels").reshape(-1)
        if not frozen.size:
            raise BadInput("a partition needs at least one cell, given no labels.")
        count = int(frozen.max()) + 1 if groups is None else whole(groups, "groups", 1)
        if count < 1 or int(frozen.min()) < -1 or int(frozen.max()) >= count or count > frozen.size:
            raise BadInput(
                f"labels must lie in -1 … {count - 1} with at least one group and at most one group per cell, "
                f"given {int(frozen.min())} … {int(frozen.max())}."
            )
        object.__setattr__(self, "labels", frozen)
        object.__setattr__(self, "groups", count)

    @property
    def cells(self) -> int:
        """How many cells there are, including those left out."""
        return int(self.labels.size)

    @property
    def sizes(self) -> Integers:
        """The number of cells in each group."""
        return np.bincount(self.labels[self.labels >= 0], minlength=self.groups)

    def __len__(self) -> int:
        return self.groups

    def __reduce__(self) -> tuple[Any, ...]:
        """Copying and unpickling call the constructor, which checks and freezes again."""
        return rebuild, (type(self), made_of(self))

    def parts(self) -> list[Integers]:
        """The cells of every group, in order.

        >>> [part.tolist() for part in Partition([1, 0, -1, 1]).parts()]
        [[1], [0, 3]]
        """
        order = np.argsort(self.labels, kind="stable")
        ends = np.searchsorted(self.labels[order], np.arange(self.groups + 1))
        return [order[start:end] for start, end in itertools.pairwise(ends)]


def made_of(value: Any) -> dict[str, Any]:
    """The constructor arguments of a frozen value."""
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}


def rebuild(kind: type, fields: dict[str, Any]) -> Any:
    """A frozen value from its constructor arguments."""
    return kind(**fields)
