"""Random walks through the kernel, checked by two oracles.

Random sequences of operators are run on a real kernel and, in parallel, on two oracles that share no code with it:

* *the formula*: B(v) recomputed from scratch from the list of all requests, instead of step by step: the requests at v,
  plus s·B(c) for every ordinary child c of stability s, plus max B(c) over the children of a split. The kernel must
  agree with it exactly, accept what fits the total and refuse what does not.
* *the loss*: every source keeps the dense matrix T from the cells of the root to its own. One more row in cell i moves
  the answers to Q by column i of Q·T, so the transcript's loss is max_i Σ |(Q·T)_qi| / b_q over all measurements, with
  the noise scales b_q that the kernel really requested from its noise source. It must never exceed the budget spent.
  Nor may the loss of a single request exceed its own budget times the stabilities that lead to its source: another
  request with more noise than necessary could hide that.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np

from adyton.arrays import Array
from adyton.errors import BadInput, BudgetExceeded
from adyton.exact import Rational, exact, positive
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import MeanDistance, MeasureTables, PairChoice
from adyton.kernel.mechanisms.published.parent_choice import GRID, ParentChoice
from adyton.kernel.sources import Source, TableSource, TablesSource
from adyton.noise import SimulatedNoise
from adyton.noise.source import Ratio, Scale, Size
from adyton.queries import Explicit, Identity, Partition, Prefix, Queries, Total
from adyton.schema import Integer, Schema
from adyton.whole import IntegerArray

CELLS = 6
VALUES = {"a": np.arange(CELLS) // 2, "b": np.arange(CELLS) % 2}
"""The six cells as a table of two attributes."""
NONSENSE: tuple[Any, ...] = (
    math.nan, math.inf, -math.inf, -1, 0, -0.0, "-1/2", "nan", "", "one", None, True, 1j, [1], "1e999999999", b"1",
)  # fmt: skip
HUGE: tuple[Any, ...] = (10**40, "1e300", 1e308, Fraction(10**60, 7))
Held: TypeAlias = Literal["vector", "table", "codes"]
"""What a kernel starts with: a vector; a table of rows; or public rows that were read before."""
Moves: TypeAlias = "tuple[Callable[[Node], None], ...]"


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
    """The product of all stabilities from the root to this node."""
    requests: list[Fraction] = field(default_factory=list)
    children: list[Node] = field(default_factory=list)
    splits: list[list[Node]] = field(default_factory=list)

    def consumed(self) -> Fraction:
        """B(v), from scratch."""
        own = sum(self.requests, Fraction(0))
        derived = sum((child.stability * child.consumed() for child in self.children), Fraction(0))
        return own + derived + sum((max(part.consumed() for part in split) for split in self.splits), Fraction(0))


class Walk:
    """One random sequence of operators on one kernel, which holds a vector, or a table over the same six cells."""

    def __init__(self, seed: int, held: Held = "vector") -> None:
        self.rng = np.random.default_rng(seed)
        self.total = Fraction(int(self.rng.integers(1, 40)), int(self.rng.integers(1, 20)))
        self.rows_per_unit = 1 if held == "codes" else int(self.rng.integers(1, 4))
        self.noise = RecordingNoise(seed)
        self.held = held
        self.kernel = self._kernel(self.rng.integers(0, 9, CELLS))
        self.root = Node(self.kernel.root, np.eye(CELLS, dtype=object))
        self.nodes = [self.root]
        self.losses = np.array([Fraction(0)] * CELLS)
        self.answered = self.refused = 0
        if held == "codes":
            self.tables(self.root)

    def _kernel(self, counts: Array) -> Kernel[Any]:
        if self.held == "vector":
            return Kernel.on_vector(counts, epsilon=self.total, rows_per_unit=self.rows_per_unit, noise=self.noise)
        cells = np.repeat(np.arange(CELLS), counts)
        schema = Schema({"a": Integer(0, 2), "b": Integer(0, 1)}, rows_per_unit=self.rows_per_unit)
        if self.held == "table":
            import pyarrow

            table = pyarrow.table({"a": cells // 2, "b": cells % 2})
            return Kernel(table, schema=schema, epsilon=self.total, noise=self.noise)
        codes = np.column_stack([cells // 2, cells % 2])
        return Kernel.simulated_table(codes, schema, epsilon=self.total, noise=self.noise)

    def play(self, steps: int) -> None:
        """Take *steps* steps, comparing with the oracles after each."""
        on_vectors: Moves = (self.reduce, self.split, self.map, self.measure, self.measure, self.measure, self.nonsense)
        on_rows: Moves = (self.split_table, self.tables, self.vectorize, self.vectorize, self.count, self.nonsense)
        on_rows += (self.sums, self.shares)
        on_tables: Moves = (self.measure_tables, self.measure_tables, self.choose_pairs, self.distance)
        on_tables += (self.choose_parents, self.vectors, self.tables_nonsense, self.merge)
        if self.held == "table":
            on_rows += (self.where, self.group_by, self.misfits)
        for _ in range(steps):
            node = self._node()
            moves = on_rows if isinstance(node.handle, TableSource) else on_vectors
            moves = on_tables if isinstance(node.handle, TablesSource) else moves
            moves[self.rng.integers(len(moves))](node)
            self.compare()

    def _node(self) -> Node:
        """Any source; for a walk on codes, with equal probability any source, a table or a set of many tables."""
        if self.held != "codes":
            return self.nodes[self.rng.integers(len(self.nodes))]
        kind = (Source, TableSource, TablesSource)[self.rng.integers(3)]
        among = [node for node in self.nodes if isinstance(node.handle, kind)]
        return among[self.rng.integers(len(among))]

    def compare(self) -> None:
        """Spent must equal the formula, cover the loss and fit the total."""
        spent, formula = self.kernel.spent, self.rows_per_unit * self.root.consumed()
        if spent != formula:
            raise DisagreementError(f"spent is {spent}, Algorithm 6 from scratch gives {formula}")
        if spent > self.total:
            raise DisagreementError(f"spent is {spent}, more than the total {self.total}")
        loss = self.rows_per_unit * max(self.losses)
        if loss > spent:
            raise DisagreementError(
                f"the noise drawn gives away {float(loss):.6g}, but the budget spent is {float(spent):.6g}"
            )

    def reduce(self, node: Node) -> None:
        """Merge cells at random, leaving some out."""
        partition = self._partition(node)
        matrix = np.array([(partition.labels == g).astype(object) @ node.matrix for g in range(len(partition))])
        self.derive(node, node.handle.reduce(partition), matrix, 1)

    def split(self, node: Node) -> None:
        """Split a vector at random."""
        labels = np.unique(self._partition(node).labels, return_inverse=True)[1]
        parts = node.handle.split(Partition(labels))
        self._split(node, parts, [node.matrix[labels == number] for number in range(len(parts))])

    def _split(self, node: Node, handles: Sequence[Any], matrices: Sequence[Array]) -> None:
        pairs = zip(handles, matrices, strict=True)
        parts = [Node(handle, matrix, linear=node.linear, path=node.path) for handle, matrix in pairs]
        node.splits.append(parts)
        self.nodes.extend(parts)

    def map(self, node: Node) -> None:
        """A random integer matrix, sometimes of zeros."""
        matrix = self.rng.integers(-2, 3, (int(self.rng.integers(1, 4)), node.handle.cells))
        stability = int(abs(matrix).sum(axis=0).max())
        mapped = node.handle.map(Explicit.from_rows(matrix))
        self.derive(node, mapped, matrix.astype(object) @ node.matrix, stability)

    def where(self, node: Node) -> None:
        """Keep some of the rows."""
        name = self.attribute(node)
        bound = int(self.rng.integers(0, 3))
        kept = (VALUES[name] >= bound).astype(object)
        self.derive(node, node.handle.where(f"{name} >= {bound}"), node.matrix * kept, 1)

    def split_table(self, node: Node) -> None:
        """One table per value of an attribute."""
        name = self.attribute(node)
        parts = node.handle.split(name)
        inside = [(VALUES[name] == value).astype(object) for value in range(len(parts))]
        self._split(node, parts, [node.matrix * rows for rows in inside])

    def group_by(self, node: Node) -> None:
        """Rows of groups: not a linear function of the cells, so only the formula checks what is derived from them."""
        if "size" not in node.handle.schema.names:
            grouped = node.handle.group_by(self.attribute(node), count="size", max_count=3)
            self.derive(node, grouped, node.matrix, 2, linear=False)

    def vectorize(self, node: Node) -> None:
        """Count by one attribute."""
        name = self.attribute(node)
        sums = np.array(
            [(VALUES[name] == value).astype(object) @ node.matrix for value in range(max(VALUES[name]) + 1)]
        )
        selected = node.handle.select(name)
        child = self.derive(node, selected, node.matrix, 1)
        self.derive(child, selected.vectorize(), sums, 1)

    def misfits(self, node: Node) -> None:
        """Count the rows that match the schema, which here are all rows, and the misfits."""
        counts = node.handle.misfits([self.attribute(node)])
        matrix = np.zeros((counts.cells, CELLS), dtype=object)
        matrix[0] = node.matrix.sum(axis=0)
        self.derive(node, counts, matrix, 1)

    def count(self, node: Node) -> None:
        """How many rows?"""
        self.request(node, node.handle.count, lambda: self._moved(node, Total(CELLS)))

    def measure(self, node: Node) -> None:
        """Ask some queries."""
        cells = node.handle.cells
        queries = (Identity(cells), Total(cells), Prefix(cells))[self.rng.integers(3)]
        weights = self.rng.uniform(0.1, 3, queries.count) if self.rng.random() < 0.5 else None
        ask = partial(node.handle.measure, queries, weights=weights)
        self.request(node, ask, lambda: self._moved(node, queries))

    def _moved(self, node: Node, queries: Queries) -> Array:
        """What one more row in each cell gives away, by the scales of the noise drawn."""
        columns = node.matrix.T.astype(np.int64)
        moves = abs(np.array([queries @ column for column in columns]).astype(object))
        return np.asarray(moves @ np.array([1 / scale for scale in self.noise.scales]))

    def request(self, node: Node, ask: Callable[[Any], Any], loss: Callable[[], Array]) -> None:
        """Ask with a random budget, and predict whether the kernel accepts it; *loss*, called after an answer, is by
        cell."""
        epsilon: Any = Fraction(int(self.rng.integers(1, 30)), int(self.rng.integers(1, 90)))
        if self.rng.random() < 0.2:
            epsilon = HUGE[self.rng.integers(len(HUGE))]
        node.requests.append(Fraction(epsilon))
        fits = self.rows_per_unit * self.root.consumed() <= self.total
        try:
            ask(epsilon)
        except BudgetExceeded:
            node.requests.pop()
            self.refused += 1
            if fits:
                raise DisagreementError(f"a request of {epsilon} was refused although it fits") from None
            return
        if not fits:
            raise DisagreementError(f"a request of {epsilon} was accepted although it exceeds the total")
        self.answered += 1
        if node.linear:
            lost = loss()
            if max(lost) > node.path * node.requests[-1]:
                raise DisagreementError(f"a single request of {epsilon} gives away {float(max(lost)):.6g} on its own")
            self.losses = self.losses + lost

    def nonsense(self, node: Node) -> None:
        """A budget that is not a positive finite number must be refused as bad input."""
        epsilon = NONSENSE[self.rng.integers(len(NONSENSE))]
        handle = node.handle
        ask = handle.count if isinstance(handle, TableSource) else partial(handle.measure, Identity(handle.cells))
        _refused(partial(ask, epsilon), f"a budget of {epsilon!r}")

    def attribute(self, node: Node) -> str:
        """One of the attributes that define the cells."""
        names = [name for name in node.handle.schema.names if name in VALUES]
        return str(self.rng.choice(names))

    def _partition(self, node: Node) -> Partition:
        labels = self.rng.integers(-1, 3, node.handle.cells)
        labels[0] = max(labels[0], 0)
        present = np.unique(labels[labels >= 0])
        return Partition(np.where(labels < 0, -1, np.searchsorted(present, labels)))

    def derive(self, node: Node, handle: Any, matrix: Array, stability: int, linear: bool = True) -> Node:
        """Record a source that was derived from another."""
        child = Node(handle, matrix, stability, linear and node.linear, node.path * stability)
        node.children.append(child)
        self.nodes.append(child)
        return child

    def sums(self, node: Node) -> None:
        """Add up one attribute; the matrix says what one more row adds."""
        name = self.attribute(node)
        matrix = (VALUES[name].astype(object) * node.matrix.sum(axis=0)).reshape(1, -1)
        self.measure(self.derive(node, node.handle.sums(name), matrix, int(max(VALUES[name]))))

    def shares(self, node: Node) -> None:
        """Distribute rows between the bounds of one attribute, grouped by the other attribute if the node has it."""
        name = self.attribute(node)
        others = [other for other in node.handle.schema.names if other in VALUES and other != name]
        groups = [VALUES[other] == value for other in others[:1] for value in range(max(VALUES[other]) + 1)]
        degree, last, k = int(self.rng.integers(1, 3)), int(max(VALUES[name])), VALUES[name].astype(object)
        points = [math.comb(degree, j) * k**j * (last - k) ** (degree - j) for j in range(degree + 1)]
        rows = node.matrix.sum(axis=0)
        matrix = np.array([rows * group * point for group in groups or [np.ones(CELLS, dtype=int)] for point in points])
        shared = node.handle.shares(name, others[:1], degree=degree)
        self.measure(self.derive(node, shared, matrix, last**degree))

    # ---- many tables: derive them, measure them, choose among them, split them
    #
    # What a choice gives away is bounded independently: the sharpness times how far one row moves two scores relative
    # to each other, if the row is in one of the tables at all: 2 units for distances, 4 for dependences.

    def tables(self, node: Node) -> None:
        """Many tables of the node's attributes, without the total."""
        names = [name for name in node.handle.schema.names if name in VALUES]
        groups: list[tuple[str, ...]] = [(name,) for name in names]
        if len(names) > 1:
            groups.append(tuple(names))
        rows = [self._matrix(node, group) for group in groups]
        self.derive(node, node.handle.tables(groups), np.concatenate(rows), 1)

    def _matrix(self, node: Node, group: tuple[str, ...]) -> Array:
        sides = [range(max(VALUES[name]) + 1) for name in group]
        cells = []
        for cell in itertools.product(*sides):
            inside = np.all([VALUES[name] == value for name, value in zip(group, cell, strict=True)], axis=0)
            cells.append(inside.astype(object) @ node.matrix)
        return np.array(cells)

    def measure_tables(self, node: Node) -> None:
        """Measure some of the tables, each with its own share."""
        places = self._places(node)
        weights = self.rng.uniform(0.01, 3, len(places))
        operator = MeasureTables.weighted(places, weights)

        def loss() -> Array:
            cells = np.concatenate([self._cells(node, place) for place in places])
            return np.asarray(abs(cells).T @ np.array([1 / scale for scale in self.noise.scales]))

        self.request(node, partial(node.handle.measure, operator), loss)

    def choose_pairs(self, node: Node) -> None:
        """Choose some of the tables, preferring those that are guessed worst."""
        places = self._places(node)
        count = int(self.rng.integers(1, len(places) + 1))
        choice = PairChoice.of(self._guesses(node, places), 1, count)
        self._choose(node, partial(node.handle.choose_pairs, choice), places, 2 * choice.guess.unit)

    def choose_parents(self, node: Node) -> None:
        """Choose a network of the two attributes, if the node has both."""
        if len(node.handle.groups) == 3:
            first = str(self.rng.choice([group[0] for group in node.handle.groups[:2]]))
            choice = ParentChoice((0, 1, 2), first)
            self._choose(node, partial(node.handle.choose_parents, choice), [0, 1, 2], 4 * GRID)

    def _choose(self, node: Node, ask: Any, places: list[int], spread: int) -> None:
        noise = self.noise
        noise.sharpness = Fraction(0)
        self.request(node, ask, lambda: self._held(node, places) * (noise.sharpness * spread))

    def distance(self, node: Node) -> None:
        """Measure the mean distance of a guess from some tables."""
        places = self._places(node)
        mean = MeanDistance.of(self._guesses(node, places))

        def loss() -> Array:
            (scale,) = self.noise.scales
            moved = [abs(self._cells(node, place)).sum(axis=0) for place in places]
            return np.asarray(np.sum(moved, axis=0) * mean.guess.unit / scale)

        self.request(node, partial(node.handle.mean_distance, mean), loss)

    def vectors(self, node: Node) -> None:
        """Derive each table separately, and measure it. The tables share rows."""
        for place, handle in enumerate(node.handle.vectors()):
            self.measure(self.derive(node, handle, self._cells(node, place), 1))

    def merge(self, node: Node) -> None:
        """Merge cells of some of the tables at random; the matrix sums their rows one by one."""
        places, tables, rows = self._places(node), [], []
        for place in places:
            shape = node.handle.shapes[place]
            maps = [np.unique(self.rng.integers(0, size, size), return_inverse=True)[1] for size in shape]
            left = [self.rng.random() < 0.3 for _ in shape]
            maps = [np.arange(size) if same else cells for size, same, cells in zip(shape, left, maps, strict=True)]
            given = [None if same else cells for same, cells in zip(left, maps, strict=True)]
            tables.append((node.handle.groups[place], given))
            sums = np.zeros((*(int(max(cells)) + 1 for cells in maps), CELLS), dtype=object)
            for cell, row in zip(np.ndindex(*shape), self._cells(node, place), strict=True):
                sums[tuple(cells[side] for cells, side in zip(maps, cell, strict=True))] += row
            rows.append(sums.reshape(-1, CELLS))
        self.derive(node, node.handle.merged(tables), np.concatenate(rows), 1)

    def tables_nonsense(self, node: Node) -> None:
        """A table named twice, a share above 1 or below 0, a nonsensical budget: all are bad input."""
        half, epsilon = Fraction(2, 3), Fraction(1, 10**6)
        none = NONSENSE[self.rng.integers(len(NONSENSE))]
        wrong = [
            partial(node.handle.measure, MeasureTables((0, 0), (half / 2, half / 2)), epsilon),
            partial(node.handle.measure, MeasureTables((0,), (2 * half,)), epsilon),
            partial(node.handle.measure, MeasureTables((0,), (-half,)), epsilon),
            partial(node.handle.measure, MeasureTables((0,), (half,)), none),
        ]
        for ask in wrong:
            _refused(ask, "a measurement of tables that makes no sense")

    def _places(self, node: Node) -> list[int]:
        every = len(node.handle.groups)
        count = int(self.rng.integers(1, every + 1))
        return [int(place) for place in self.rng.permutation(every)[:count]]

    def _cells(self, node: Node, place: int) -> Array:
        """The rows of the matrix for one table."""
        sizes = [int(np.prod(shape)) for shape in node.handle.shapes]
        start = sum(sizes[:place])
        return node.matrix[start : start + sizes[place]]

    def _held(self, node: Node, places: list[int]) -> Array:
        """For each cell of the root, 1 if a row in it is in one of the tables, else 0."""
        return np.asarray(np.max([abs(self._cells(node, place)).max(axis=0) for place in places], axis=0))

    def _guesses(self, node: Node, places: list[int]) -> dict[int, Array]:
        return {place: self.rng.gamma(0.5, 6, node.handle.shapes[place]) for place in places}


def _refused(ask: Callable[[], Any], what: str) -> None:
    """A request that makes no sense must be refused as bad input."""
    try:
        ask()
    except BadInput:
        return
    except BudgetExceeded:
        pass  # it was treated as a valid request that is too large
    raise DisagreementError(f"{what} was accepted")


class RecordingNoise(SimulatedNoise):
    """Simulated noise that records the scales of all draws, and the sharpness of its choices."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.scales: list[Fraction] = []
        """The scale of every element of the last draw."""
        self.all_scales: list[Fraction] = []
        """The scale of every element of all draws."""
        self.sharpness = Fraction(0)
        """The sum of the sharpness of all choices among several candidates."""

    def permute_and_flip(self, scores: Sequence[int | Fraction] | IntegerArray, sharpness: Rational) -> int:
        """Choose, and add the sharpness if there is a choice."""
        self.sharpness += exact(sharpness, "sharpness", computed=True) if len(scores) > 1 else 0
        return super().permute_and_flip(scores, sharpness)

    def discrete_laplace(self, size: Size, scale: Scale) -> IntegerArray:
        """Draw, and record the scale of every element."""
        if isinstance(scale, Ratio):
            pairs = np.broadcast_arrays(scale.numerator, scale.denominator)
            listed = [
                Fraction(int(above), int(below)) for above, below in zip(*(part.flat for part in pairs), strict=True)
            ]
        else:
            given: Any = scale.ravel().tolist() if isinstance(scale, np.ndarray) else scale
            single = given if isinstance(given, list | tuple) else [given]
            listed = [positive(value, "scale", computed=True) for value in single]
        self.scales = listed * (int(np.prod(size)) // len(listed))
        self.all_scales += self.scales
        return super().discrete_laplace(size, scale)
