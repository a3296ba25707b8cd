"""The dynamic program of :mod:`adyton.kernel.mechanisms.bucket_boundaries`, compiled."""

from __future__ import annotations

from typing import Any

from adyton.compiling import compiled


@compiled
def least_costs(sums: Any, squares: Any, grid: int, longest: int, table: Any) -> None:
    """Fill the table: T_j(end) = min_start T_{j−1}(start) + cost of start … end, in row *end* and column j.

    At first it holds 0 for no cells in no buckets, and elsewhere a number that no sum of costs reaches. Only the states
    from which the rest of the cells can still be cut are needed. Whole rows are added and compared at once, so that
    the time does not depend on the counts.
    """
    cells, buckets = table.shape[0] - 1, table.shape[1]
    for end in range(1, cells):
        rest = cells - end
        fewest = max(1, buckets - rest)
        most = min(end, buckets - (rest + longest - 1) // longest)
        for start in range(max(0, end - longest), end):
            size, total = end - start, sums[end] - sums[start]
            cost = grid * (squares[end] - squares[start]) - grid * total * total // size
            first = max(fewest, (start + longest - 1) // longest + 1)
            last = min(most, start + 1)
            if first <= last:
                relax(table[end, first : last + 1], table[start, first - 1 : last], cost)


@compiled
def relax(best: Any, before: Any, cost: int) -> None:
    """The smaller of *best* and *before* + *cost*, in place, in the arithmetic of the table: 32 or 64 bits."""
    kind = best.dtype.type
    step = kind(cost)
    for place in range(len(best)):
        best[place] = min(best[place], kind(before[place] + step))
