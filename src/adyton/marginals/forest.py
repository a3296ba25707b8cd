"""The maximum spanning forest of measured pairs: which of them carry most of what attributes say about one another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from adyton.arrays import Reals

Pair = tuple[str, str]


def mutual_information(table: Reals) -> float:
    """What two attributes say about each other, in nats, by a table of counts of at least 0.

    >>> round(mutual_information(np.array([[1.0, 0.0], [0.0, 1.0]])), 6)
    0.693147
    """
    total = table.sum()
    if not total > 0:
        return 0.0
    parts = table / total
    even = np.outer(parts.sum(axis=1), parts.sum(axis=0))
    own = parts > 0
    return float((parts[own] * np.log(parts[own] / even[own])).sum())


@dataclass(frozen=True)
class Forest:
    """Pairs of attributes without a circle.

    >>> forest = Forest(("a", "b", "c", "d"), (("a", "c"), ("b", "c")))
    >>> forest.path("a", "b"), forest.path("a", "d")
    (('a', 'c', 'b'), None)
    """

    names: tuple[str, ...]
    pairs: tuple[Pair, ...]

    @classmethod
    def heaviest(cls, names: Sequence[str], weights: Mapping[Pair, float]) -> Forest:
        """The forest of largest total weight (Kruskal, 1956); of equal weights, the pair that comes first."""
        parts, chosen = Parts(names), []
        for pair in sorted(weights, key=lambda pair: -weights[pair]):
            if parts.join(*pair):
                chosen.append(pair)
        return cls(tuple(names), tuple(chosen))

    def neighbours(self) -> dict[str, list[str]]:
        """For every attribute those that it has a pair with."""
        found: dict[str, list[str]] = {name: [] for name in self.names}
        for one, other in self.pairs:
            found[one].append(other)
            found[other].append(one)
        return found

    def walk(self, start: str) -> list[Pair]:
        """The pairs of the tree of *start*, each as it is met from there: (known, new)."""
        near, met, steps, stack = self.neighbours(), {start}, [], [start]
        while stack:
            known = stack.pop()
            for new in near[known]:
                if new not in met:
                    met.add(new)
                    steps.append((known, new))
                    stack.append(new)
        return steps

    def path(self, start: str, end: str) -> tuple[str, ...] | None:
        """The attributes from one to another, both included; None if no path leads there."""
        before = {new: known for known, new in self.walk(start)}
        if end not in before and end != start:
            return None
        way = [end]
        while way[-1] != start:
            way.append(before[way[-1]])
        return tuple(reversed(way))

    def order(self) -> list[tuple[str | None, str]]:
        """Every attribute once, after the one that it hangs on: (that one, or None for the first of a tree, itself)."""
        met: set[str] = set()
        steps: list[tuple[str | None, str]] = []
        for name in self.names:
            if name not in met:
                tree: list[tuple[str | None, str]] = [(None, name), *self.walk(name)]
                met.update(new for _, new in tree)
                steps += tree
        return steps


class Parts:
    """Sets that are joined step by step: whether two attributes are in one tree already.

    >>> parts = Parts("abc")
    >>> parts.join("a", "b"), parts.join("b", "a"), parts.joined("a", "c")
    (True, False, False)
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._above = {name: name for name in names}

    def _top(self, name: str) -> str:
        while self._above[name] != name:
            self._above[name] = self._above[self._above[name]]
            name = self._above[name]
        return name

    def joined(self, one: str, other: str) -> bool:
        """Whether both are in the same set."""
        return self._top(one) == self._top(other)

    def join(self, one: str, other: str) -> bool:
        """Make one set of both; whether they were two."""
        first, second = self._top(one), self._top(other)
        self._above[first] = second
        return first != second
