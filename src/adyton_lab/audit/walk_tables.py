"""The steps of a random walk on many tables: derive them, measure them, choose among them, take them apart."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from adyton.arrays import Array
from adyton.errors import BadInput, BudgetExceeded
from adyton.kernel.mechanisms import MeanDistance, MeasureTables, PairChoice
from adyton.kernel.mechanisms.published.parent_choice import GRID, ParentChoice

if TYPE_CHECKING:
    from adyton_lab.audit.walk import Walk


CELLS = 6
VALUES = {"a": np.arange(CELLS) // 2, "b": np.arange(CELLS) % 2}
"""The six cells as a table of two attributes."""
NONSENSE: tuple[Any, ...] = (
    math.nan, math.inf, -math.inf, -1, 0, -0.0, "-1/2", "nan", "", "one", None, True, 1j, [1], "1e999999999", b"1",
)  # fmt: skip
HUGE: tuple[Any, ...] = (10**40, "1e300", 1e308, Fraction(10**60, 7))


class DisagreementError(AssertionError):
    """The kernel and an oracle disagree."""


@dataclass
class Node:
    """A source as the oracles see it."""

    handle: Any
    matrix: Array
    stability: int = 1
    linear: bool = True
    path: int = 1
    """All stabilities from the root to here, multiplied."""
    requests: list[Fraction] = field(default_factory=list)
    children: list[Node] = field(default_factory=list)
    splits: list[list[Node]] = field(default_factory=list)

    def consumed(self) -> Fraction:
        """B(v), from scratch."""
        own = sum(self.requests, Fraction(0))
        derived = sum((child.stability * child.consumed() for child in self.children), Fraction(0))
        return own + derived + sum((max(part.consumed() for part in split) for split in self.splits), Fraction(0))


class SumsMoves:
    """What a :class:`~adyton_lab.audit.walk.Walk` does to derive sums from rows, and to measure them."""

    def __init__(self, walk: Walk) -> None:
        self._walk = walk

    def sums(self, node: Node) -> None:
        """Add up one attribute; the matrix says what one row more adds."""
        name = self._walk.attribute(node)
        matrix = (VALUES[name].astype(object) * node.matrix.sum(axis=0)).reshape(1, -1)
        self._walk.measure(self._walk.derive(node, node.handle.sums(name), matrix, int(max(VALUES[name]))))

    def shares(self, node: Node) -> None:
        """Share out rows between the bounds of one attribute, by the other one if it is there."""
        name = self._walk.attribute(node)
        others = [one for one in node.handle.schema.names if one in VALUES and one != name]
        groups = [VALUES[one] == value for one in others[:1] for value in range(max(VALUES[one]) + 1)]
        degree, last, k = int(self._walk.rng.integers(1, 3)), int(max(VALUES[name])), VALUES[name].astype(object)
        points = [math.comb(degree, j) * k**j * (last - k) ** (degree - j) for j in range(degree + 1)]
        rows = node.matrix.sum(axis=0)
        matrix = np.array([rows * group * point for group in groups or [np.ones(CELLS, dtype=int)] for point in points])
        shared = node.handle.shares(name, others[:1], degree=degree)
        self._walk.measure(self._walk.derive(node, shared, matrix, last**degree))


class TablesMoves:
    """What a :class:`~adyton_lab.audit.walk.Walk` does on handles of many tables.

    What a choice gives away is bounded anew: sharpness times how far one row moves two scores against each other, if it
    is in one of the tables at all: two rows for distances, four for dependences.
    """

    def __init__(self, walk: Walk) -> None:
        self._walk = walk
        self.all = (self.measure, self.measure, self.pairs, self.distance, self.parents, self.vectors, self.nonsense)

    def derive(self, node: Node) -> None:
        """Many tables of the attributes that are there, the total not among them."""
        names = [name for name in node.handle.schema.names if name in VALUES]
        groups: list[tuple[str, ...]] = [(name,) for name in names]
        if len(names) > 1:
            groups.append(tuple(names))
        rows = [self._matrix(node, group) for group in groups]
        self._walk.derive(node, node.handle.tables(groups), np.concatenate(rows), 1)

    def _matrix(self, node: Node, group: tuple[str, ...]) -> Array:
        sides = [range(max(VALUES[name]) + 1) for name in group]
        cells = []
        for cell in itertools.product(*sides):
            inside = np.all([VALUES[name] == value for name, value in zip(group, cell, strict=True)], axis=0)
            cells.append(inside.astype(object) @ node.matrix)
        return np.array(cells)

    def measure(self, node: Node) -> None:
        """Some of the tables, each with a share of its own."""
        places = self._places(node)
        weights = self._walk.rng.uniform(0.01, 3, len(places))
        operator = MeasureTables.weighted(places, weights)

        def loss() -> Array:
            cells = np.concatenate([self._cells(node, place) for place in places])
            return np.asarray(abs(cells).T @ np.array([1 / scale for scale in self._walk.noise.scales]))

        self._walk.request(node, partial(node.handle.measure, operator), loss)

    def pairs(self, node: Node) -> None:
        """Some of the tables, by how badly they are guessed."""
        places = self._places(node)
        count = int(self._walk.rng.integers(1, len(places) + 1))
        choice = PairChoice.of(self._guesses(node, places), 1, count)
        self._choose(node, partial(node.handle.choose_pairs, choice), places, 2 * choice.guess.unit)

    def parents(self, node: Node) -> None:
        """A network of both attributes, if there are two."""
        if len(node.handle.groups) == 3:
            first = str(self._walk.rng.choice([group[0] for group in node.handle.groups[:2]]))
            choice = ParentChoice((0, 1, 2), first)
            self._choose(node, partial(node.handle.choose_parents, choice), [0, 1, 2], 4 * GRID)

    def _choose(self, node: Node, ask: Any, places: list[int], spread: int) -> None:
        noise = self._walk.noise
        noise.sharpness = Fraction(0)
        self._walk.request(node, ask, lambda: self._held(node, places) * (noise.sharpness * spread))

    def distance(self, node: Node) -> None:
        """How far a guess is from some tables, on average."""
        places = self._places(node)
        mean = MeanDistance.of(self._guesses(node, places))

        def loss() -> Array:
            (scale,) = self._walk.noise.scales
            moved = [abs(self._cells(node, place)).sum(axis=0) for place in places]
            return np.asarray(np.sum(moved, axis=0) * mean.guess.unit / scale)

        self._walk.request(node, partial(node.handle.mean_distance, mean), loss)

    def vectors(self, node: Node) -> None:
        """Each table by itself, and a measurement of each. They share rows."""
        for place, handle in enumerate(node.handle.vectors()):
            self._walk.measure(self._walk.derive(node, handle, self._cells(node, place), 1))

    def nonsense(self, node: Node) -> None:
        """Shares of more than everything, a table twice, a budget that is none: all bad input."""
        half, epsilon = Fraction(2, 3), Fraction(1, 10**6)
        none = NONSENSE[self._walk.rng.integers(len(NONSENSE))]
        wrong = [
            partial(node.handle.measure, MeasureTables((0, 0), (half / 2, half / 2)), epsilon),
            partial(node.handle.measure, MeasureTables((0,), (2 * half,)), epsilon),
            partial(node.handle.measure, MeasureTables((0,), (-half,)), epsilon),
            partial(node.handle.measure, MeasureTables((0,), (half,)), none),
        ]
        for ask in wrong:
            try:
                ask()
            except BadInput:
                continue
            except BudgetExceeded:
                pass  # it was taken for a request, only too large a one
            raise DisagreementError("a measurement of tables that makes no sense was accepted")

    def _places(self, node: Node) -> list[int]:
        every = len(node.handle.groups)
        count = int(self._walk.rng.integers(1, every + 1))
        return [int(place) for place in self._walk.rng.permutation(every)[:count]]

    def _cells(self, node: Node, place: int) -> Array:
        """The rows of the matrix for one table."""
        sizes = [int(np.prod(shape)) for shape in node.handle.shapes]
        start = sum(sizes[:place])
        return node.matrix[start : start + sizes[place]]

    def _held(self, node: Node, places: list[int]) -> Array:
        """For each cell of the root whether a row in it is in one of the tables: 1, else 0."""
        return np.asarray(np.max([abs(self._cells(node, place)).max(axis=0) for place in places], axis=0))

    def _guesses(self, node: Node, places: list[int]) -> dict[int, Array]:
        return {place: self._walk.rng.gamma(0.5, 6, node.handle.shapes[place]) for place in places}
