"""Overlaps of workloads of any kind, from their rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from adyton.arrays import Reals
from adyton.errors import AdytonError
from adyton.queries import Queries
from adyton.queries.block_sums import block_sums
from adyton.queries.block_tree import BlockTree

LARGEST_TABLE = 1 << 23
"""So many means of queries over blocks can be held; more are read again and again."""
_GROUP = 64


def slot_means(workload: Queries, tree: BlockTree) -> Iterator[Reals]:
    """α of some queries at a time on the slots of the leaves, 0 on the empty ones."""
    bounds, filled = tree.boundaries[-1], tree.slots
    for rows in workload.rows():
        slots = np.zeros((len(rows), 1 << tree.depth))
        slots[:, filled] = block_sums(tree.ordered(rows), bounds) / np.diff(bounds)
        yield slots


class MeansOverlap:
    """α of every query on every block of the present level, and of those below for the way back."""

    sweeps = True

    def __init__(self, workload: Queries, tree: BlockTree) -> None:
        self.means = [np.concatenate([means.T for means in slot_means(workload, tree)], axis=1)]  # blocks × queries
        self.energy = np.asarray(np.square(self.means[0]).sum(axis=1)[tree.slots])
        self.shares: list[tuple[Reals, Reals]] = []
        self.by_means = np.zeros((1, workload.count))

    def energies(self) -> Reals:
        """Sums of squares."""
        return self.energy

    def cross(self) -> Reals:
        """Sums of products."""
        return np.asarray(np.einsum("bq,bq->b", self.means[-1][0::2], self.means[-1][1::2]))

    def merge(self, left: Reals, right: Reals) -> None:
        """Weighted sums."""
        below = self.means[-1]
        self.means.append(left[:, None] * below[0::2] + right[:, None] * below[1::2])
        self.shares.append((left, right))
        self.by_means = np.zeros_like(self.means[-1])

    def back(self, crossed: Reals) -> Reals:
        """Through the weighted sums."""
        left, right = self.shares.pop()
        self.means.pop()
        above, below = self.by_means, self.means[-1]
        self.by_means = np.empty_like(below)
        self.by_means[0::2] = left[:, None] * above + crossed[:, None] * below[1::2]
        self.by_means[1::2] = right[:, None] * above + crossed[:, None] * below[0::2]
        return np.asarray(np.einsum("bq,bq->b", above, below[0::2] - below[1::2]))

    def gram(self, depth: int) -> Reals:
        """The products of all pairs."""
        means = next(means for means in self.means if len(means) == 1 << depth)
        return np.asarray(means @ means.T)


class TableOverlap:
    """Workloads that are too large to be held, read a few times, upwards only.

    WᵀW over the present blocks is kept inside groups of up to 64 neighbours: six levels grow out of it by adding up
    rows and columns; then the workload is read again, with the profile that was found.
    """

    sweeps = False

    def __init__(self, workload: Queries, tree: BlockTree) -> None:
        self.workload, self.tree = workload, tree
        self.blocks = 1 << tree.depth
        self.profile = np.zeros(self.blocks)
        self.profile[tree.slots] = 1
        self._read()

    def _read(self) -> None:
        size = min(_GROUP, self.blocks, max(2, 1 << ((LARGEST_TABLE // self.blocks).bit_length() - 1)))
        self.table = np.zeros((self.blocks // size, size, size))
        for slots in slot_means(self.workload, self.tree):
            means = (slots * self.profile).reshape(len(slots), self.blocks, -1).sum(axis=-1)
            grouped = means.reshape(len(slots), -1, size)
            self.table += np.matmul(grouped.transpose(1, 2, 0), grouped.transpose(1, 0, 2))

    def energies(self) -> Reals:
        """The diagonal, at the start."""
        return np.diagonal(self.table, axis1=1, axis2=2).reshape(-1)[self.tree.slots]

    def cross(self) -> Reals:
        """The entries beside the diagonal."""
        even = np.arange(0, self.table.shape[1], 2)
        return self.table[:, even, even + 1].reshape(-1)

    def merge(self, left: Reals, right: Reals) -> None:
        """Sums of rows and columns, weighted with the shares."""
        shares = np.stack([left, right], axis=-1).reshape(-1)
        self.profile = (self.profile.reshape(self.blocks, -1) * shares[:, None]).reshape(-1)
        self.blocks //= 2
        groups, size, _ = self.table.shape
        if size == 2 and self.blocks > 1:
            self._read()
            return
        share = shares.reshape(groups, size)
        weighted = self.table * share[:, :, None] * share[:, None, :]
        self.table = weighted.reshape(groups, size // 2, 2, size // 2, 2).sum(axis=(2, 4))

    def back(self, crossed: Reals) -> Reals:
        """There is none, as :attr:`sweeps` says: on the way up the tables of the levels below were added up."""
        raise AdytonError("these overlaps are read upwards only. Ask .sweeps before going back.")

    def gram(self, depth: int) -> Reals:
        """Read once more."""
        result = np.zeros((1 << depth, 1 << depth))
        shares = self.profile.reshape(1 << depth, -1).sum(axis=-1)
        for slots in slot_means(self.workload, self.tree):
            means = (slots * self.profile).reshape(len(slots), 1 << depth, -1).sum(axis=-1)
            means /= np.where(shares > 0, shares, 1.0)
            result += means.T @ means
        return result
