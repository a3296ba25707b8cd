"""The budget spent on each source: Algorithm 6 of εKTELO (Zhang et al., SIGMOD 2018) on exact fractions.

Every source is a node. A request of σ at a node becomes a request at its parent, up to the root:

* an ordinary node with stability s asks its parent for s·σ;
* a partition variable, whose children hold disjoint parts of the data, asks only for the child's excess over the
  most-charged sibling: max(B(child) + σ − B(variable), 0);
* the root stands for the privacy unit; requests that arrive there are debited from the ledger, which holds the total.

Theorem 4.3 of the paper: if the debits at the root never exceed ε, the whole transcript is ε-differentially private.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

ROOT = 0
_NOTHING = Fraction(0)


@dataclass
class _Node:
    parent: int
    stability: int
    is_partition: bool
    spent: Fraction
    of_rows: bool = False


@dataclass(frozen=True)
class Quote:
    """What a request would cost: the debit at the root, and the increase at every node on the way."""

    at_root: Fraction
    increases: tuple[tuple[int, Fraction], ...]


class Budget:
    """The tree of sources, with the budget that each has consumed. Not thread-safe: the kernel holds a lock around it.

    Lemma.  (On the tree of sources.) If every transformation has the stability that it claims, and every mechanism is
    σ-DP for sources at distance 1 when it is run with σ, then all answers together, each requested after the earlier
    ones were seen, are ε-DP for a unit, where ε is the sum of the requests that have arrived at the root.
    Proof.  In the table, neighbours are at distance at most d = ``rows_per_unit``: the stability of the table's node.
    By stability, sources derived in steps of stability s₁, s₂, … are at distance at most d·s₁·s₂…, and a mechanism that
    is σ-DP at distance 1 loses at most σ times that (a chain of neighbours): the amount requested from the root. Losses
    of successive answers add up, however the next request is chosen. A row is in only one of several disjoint parts, so
    for each pair of neighbours the loss on all parts is the loss on the part that differs: at most the largest amount
    that any part has consumed, which is what a partition variable asks for (Theorem 4.3 of the paper has the induction
    over the tree).  ∎
    """

    def __init__(self) -> None:
        self._nodes = [_Node(parent=-1, stability=1, is_partition=False, spent=_NOTHING)]

    def add_source(self, parent: int, stability: int) -> int:
        """A source derived from *parent* by a transformation of this stability."""
        if stability < 0:
            raise ValueError("a stability is never negative.")
        return self._add(_Node(parent, stability, is_partition=False, spent=_NOTHING))

    def add_partition(self, parent: int, *, of_rows: bool = False) -> int:
        """A partition variable; its children, added with stability 1, hold disjoint parts of *parent*.

        Parts *of rows* are disjoint only as long as the rows do not change.
        """
        return self._add(_Node(parent, 1, is_partition=True, spent=_NOTHING, of_rows=of_rows))

    def rows_changed(self) -> None:
        """The rows have changed: from now on every request to their parts is charged in full, in addition to what the
        most-charged part has paid for the rows before the change."""
        for node in self._nodes:
            node.is_partition = node.is_partition and not node.of_rows

    def is_part(self, node: int) -> bool:
        """Whether a source lies within a part of rows that is charged as disjoint."""
        while node != ROOT:
            here = self._nodes[node]
            if here.is_partition and here.of_rows:
                return True
            node = here.parent
        return False

    def quote(self, node: int, amount: Fraction) -> Quote:
        """What a request of *amount* at *node* would cost, without spending it."""
        increases = []
        spent_below = _NOTHING
        while node != ROOT:
            here = self._nodes[node]
            if here.is_partition:
                amount = max(spent_below + amount - here.spent, _NOTHING)
            increases.append((node, amount))
            spent_below = here.spent
            amount = amount * here.stability if here.stability != 1 else amount
            node = here.parent
        increases.append((ROOT, amount))
        return Quote(amount, tuple(increases))

    def commit(self, quote: Quote) -> None:
        """Record a request whose debit the ledger has accepted.

        From the root downwards: if it is interrupted, no node has recorded more than the nodes above it cover.
        """
        for node, increase in reversed(quote.increases):
            here = self._nodes[node]
            here.spent = here.spent + increase if here.spent else increase

    def spent(self, node: int = ROOT) -> Fraction:
        """B(node): what queries on this source and its descendants have consumed."""
        return self._nodes[node].spent

    def _add(self, node: _Node) -> int:
        self._nodes.append(node)
        return len(self._nodes) - 1
