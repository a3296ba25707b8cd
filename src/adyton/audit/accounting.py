"""Does the kernel charge at least what its answers give away?

Random sequences of operators are played to a real kernel and, beside it, to two oracles that share no code with it:

* *the formula*: B(v) recomputed from scratch from the list of all requests, instead of step by step: the requests at v,
  plus s·B(c) for every ordinary child c of stability s, plus max B(c) over the children of a split. The kernel must
  agree with it exactly, accept what fits the total and refuse what does not.
* *the loss*: every source keeps the dense matrix that leads to it from the cells of the root. One row more in cell i
  moves the answers to Q by column i of Q·T, so the transcript's loss is max_i Σ |(Q·T)_qi| / b_q over everything that was
  measured, b_q the noise scales that the kernel really asked its noise source for. It must never exceed what was spent.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from adyton.audit.findings import Finding
from adyton.errors import BadInput, BudgetExceeded
from adyton.kernel.kernel import Kernel
from adyton.noise import SimulatedNoise
from adyton.noise.source import IntegerArray, Ratio, Scale, Size
from adyton.queries import Explicit, Identity, Partition, Prefix, Total
from adyton.schema import Integer, Schema

CELLS = 6
NONSENSE: tuple[Any, ...] = (
    math.nan, math.inf, -math.inf, -1, 0, -0.0, "-1/2", "nan", "", "one", None, True, 1j, [1], "1e999999999", b"1",
)  # fmt: skip
HUGE: tuple[Any, ...] = (10**40, "1e300", 1e308, Fraction(10**60, 7))


class Violation(AssertionError):
    """The kernel and an oracle disagree."""


class RecordingNoise(SimulatedNoise):
    """Simulated noise that remembers the scales it was asked for."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.scales: list[Fraction] = []

    def discrete_laplace(self, size: Size, scale: Scale) -> IntegerArray:
        """Draw, and note the scale of every element."""
        count = int(np.prod(size))
        if isinstance(scale, Ratio):
            pairs = np.broadcast_arrays(scale.numerator, scale.denominator)
            listed = [Fraction(int(a), int(b)) for a, b in zip(*(side.ravel() for side in pairs), strict=True)]
        else:
            listed = [Fraction(one) for one in (scale if isinstance(scale, list | tuple) else [scale])]
        self.scales = listed * (count // len(listed))
        return super().discrete_laplace(size, scale)


@dataclass
class Node:
    """A source as the oracles see it."""

    handle: Any
    matrix: npt.NDArray[Any]
    stability: int = 1
    requests: list[Fraction] = field(default_factory=list)
    children: list[Node] = field(default_factory=list)
    splits: list[list[Node]] = field(default_factory=list)

    def consumed(self) -> Fraction:
        """B(v), from scratch."""
        own = sum(self.requests, Fraction(0))
        derived = sum((child.stability * child.consumed() for child in self.children), Fraction(0))
        return own + derived + sum((max(part.consumed() for part in split) for split in self.splits), Fraction(0))


class Walk:
    """One random sequence of operators on one kernel."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.total = Fraction(int(self.rng.integers(1, 40)), int(self.rng.integers(1, 20)))
        self.rows_per_unit = int(self.rng.integers(1, 4))
        self.noise = RecordingNoise(seed)
        self.kernel = Kernel.on_vector(
            self.rng.integers(0, 9, CELLS), epsilon=self.total, rows_per_unit=self.rows_per_unit, noise=self.noise
        )
        self.root = Node(self.kernel.root, np.eye(CELLS, dtype=object))
        self.nodes = [self.root]
        self.losses = np.array([Fraction(0)] * CELLS)
        self.answered = self.refused = 0

    def play(self, steps: int) -> None:
        """Take that many steps, comparing with the oracles after each."""
        moves: tuple[Callable[[Node], None], ...] = (
            self.reduce, self.split, self.map, self.measure, self.measure, self.measure, self.nonsense,
        )  # fmt: skip
        for _ in range(steps):
            node = self.nodes[self.rng.integers(len(self.nodes))]
            moves[self.rng.integers(len(moves))](node)
            self.compare()

    def compare(self) -> None:
        """Spent must equal the formula, cover the loss and fit the total."""
        spent, formula = self.kernel.spent, self.rows_per_unit * self.root.consumed()
        if spent != formula:
            raise Violation(f"spent is {spent}, Algorithm 6 from scratch gives {formula}")
        if spent > self.total:
            raise Violation(f"spent is {spent}, more than the total {self.total}")
        loss = self.rows_per_unit * max(self.losses)
        if loss > spent:
            raise Violation(f"the noise that was drawn gives away {float(loss):.6g}, spent is {float(spent):.6g}")

    def reduce(self, node: Node) -> None:
        """Merge cells at random; some are left out."""
        partition = self._partition(node)
        matrix = np.array([(partition.labels == g).astype(object) @ node.matrix for g in range(len(partition))])
        self._derive(node, node.handle.reduce(partition), matrix, 1)

    def split(self, node: Node) -> None:
        """Take a vector apart at random."""
        labels = np.unique(self._partition(node).labels, return_inverse=True)[1]
        partition = Partition(labels)
        parts = [
            Node(handle, node.matrix[partition.labels == g]) for g, handle in enumerate(node.handle.split(partition))
        ]
        node.splits.append(parts)
        self.nodes.extend(parts)

    def map(self, node: Node) -> None:
        """A random integer matrix, sometimes of zeros."""
        matrix = self.rng.integers(-2, 3, (int(self.rng.integers(1, 4)), node.handle.cells))
        stability = int(abs(matrix).sum(axis=0).max())
        mapped = node.handle.map(Explicit.from_rows(matrix))
        self._derive(node, mapped, matrix.astype(object) @ node.matrix, stability)

    def measure(self, node: Node) -> None:
        """Ask some queries with a random budget, and predict whether the kernel lets them through."""
        cells = node.handle.cells
        queries = (Identity(cells), Total(cells), Prefix(cells))[self.rng.integers(3)]
        weights = self.rng.uniform(0.1, 3, queries.count) if self.rng.random() < 0.5 else None
        epsilon: Any = Fraction(int(self.rng.integers(1, 30)), int(self.rng.integers(1, 90)))
        if self.rng.random() < 0.2:
            epsilon = HUGE[self.rng.integers(len(HUGE))]
        node.requests.append(Fraction(epsilon))
        fits = self.rows_per_unit * self.root.consumed() <= self.total
        try:
            node.handle.measure(queries, epsilon, weights)
        except BudgetExceeded:
            node.requests.pop()
            self.refused += 1
            if fits:
                raise Violation(f"a request of {epsilon} was refused although it fits") from None
            return
        if not fits:
            raise Violation(f"a request of {epsilon} was accepted although it exceeds the total")
        self.answered += 1
        moves = abs(
            np.array([[int(v) for v in queries @ column] for column in node.matrix.T.astype(np.int64)], dtype=object)
        )
        rates = np.array([1 / scale for scale in self.noise.scales])
        self.losses = self.losses + moves @ rates

    def nonsense(self, node: Node) -> None:
        """A budget that is no budget must be refused as bad input."""
        epsilon = NONSENSE[self.rng.integers(len(NONSENSE))]
        try:
            node.handle.measure(Identity(node.handle.cells), epsilon)
        except BadInput:
            return
        raise Violation(f"a budget of {epsilon!r} was accepted")

    def _partition(self, node: Node) -> Partition:
        labels = self.rng.integers(-1, 3, node.handle.cells)
        labels[0] = max(labels[0], 0)
        present = np.unique(labels[labels >= 0])
        return Partition(np.where(labels < 0, -1, np.searchsorted(present, labels)))

    def _derive(self, node: Node, handle: Any, matrix: npt.NDArray[Any], stability: int) -> None:
        child = Node(handle, matrix, stability)
        node.children.append(child)
        self.nodes.append(child)


def audit_accounting(walks: int, seed: int = 0, steps: int = 12, advance: Callable[[], None] = lambda: None) -> Finding:
    """Play *walks* random sequences of operators."""
    answered = refused = 0
    for number in range(walks):
        walk = Walk(seed * 1_000_003 + number)
        try:
            walk.play(steps)
        except Violation as violation:
            return Finding("kernel", "accounting", False, f"sequence {number}: {violation}.", {"sequences": number + 1})
        answered, refused = answered + walk.answered, refused + walk.refused
        advance()
    figures = {"sequences": walks, "answered": answered, "refused": refused}
    detail = "spent always equal to Algorithm 6, never over the total, never less than the noise gives away."
    return Finding("kernel", "accounting", True, detail, figures)


def audit_group_by() -> Finding:
    """One row more moves at most as many rows of groups as the charge covers, on every small table."""
    import pyarrow

    schema = Schema({"key": Integer(0, 1), "n": Integer(1, 4)})
    largest = charged = 0
    for rows in itertools.chain.from_iterable(itertools.product((0, 1), repeat=length) for length in range(4)):
        for more in (0, 1):
            counts = []
            for keys in (rows, (*rows, more)):
                table = pyarrow.table({"key": pyarrow.array(keys, pyarrow.int64()), "n": [1] * len(keys)})
                kernel = Kernel(table, schema=schema, epsilon=1000)
                grouped = kernel.root.group_by("key", count="size", max_count=4)
                counts.append(grouped.vectorize().measure(Identity((2, 4)), 100).answers)  # noise: e^-100
                charged = int(kernel.spent / 100)
            largest = max(largest, int(abs(counts[0] - counts[1]).sum()))
    detail = f"one row moved up to {largest} rows of groups; measurements of groups are charged {charged} times."
    return Finding("kernel", "group-by", largest <= charged, detail, {"moved": largest, "charged": charged})
