"""The energy of a workload on each block of a tree: Σ_q α², for α the weighted mean of q over the block.

The expected error of a hierarchy depends on the workload only through these energies. Prefixes and intervals have
closed forms, ranges need the two blocks per level in which they begin and end, and any other workload is read some rows
at a time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adyton.arrays import Places, Reals
from adyton.compiling import compiled
from adyton.queries import AllRange, Identity, Prefix, Queries, Ranges, Stack, Total
from adyton.queries.hierarchy import BlockTree, block_sums, spread

Levels = Sequence[Places]
Order = Places | None
_EVEN = 1e-9


def tree_energies(  # noqa: PLR0911
    workload: Queries, levels: Levels, profile: Reals, order: Order
) -> list[Reals]:
    """For each level, Σ_q (Σ_{i in v} profile_i·q_i / Σ_{i in v} profile_i)² for every block v.

    *levels* are boundaries of blocks over the cells in the given *order*, from the coarsest to the finest; *profile*
    are positive weights in that order.

    >>> tree_energies(Identity(4), [np.array([0, 2, 4])], np.ones(4), None)
    [array([0.5, 0.5])]
    """
    energies = None
    match workload:
        case Identity():
            squares = np.square(profile)
            return [block_sums(squares, level) / np.square(block_sums(profile, level)) for level in levels]
        case Total():
            return [np.ones(level.size - 1) for level in levels]
        case Stack():
            parts = [tree_energies(part, levels, profile, order) for part in workload.parts]
            return [np.asarray(sum(energies)) for energies in zip(*parts, strict=True)]
        case Prefix() if order is None:
            return [_of_prefixes(workload.cells, profile, level) for level in levels]
        case AllRange() if order is None:
            return [_of_intervals(workload.cells, profile, level) for level in levels]
        case Ranges() if len(workload.domain) == 1 and order is None:
            return [_of_ranges(workload, profile, level) for level in levels]
        case Ranges() if len(workload.domain) == 2:
            energies = _energies_of_boxes(workload, levels, profile, order)
    return _energies_by_rows(workload, levels, profile, order) if energies is None else energies


def held_energies(workload: Queries, tree: BlockTree) -> Reals:
    """The part of the trace of WᵀW on vectors that are constant on the blocks of a level, for each level of a tree from
    the finest upwards: Σ_blocks (cells of the block)·Σ_q α_q², with α_q the mean of q over the block.

    >>> from adyton.queries.domain_trees import tree_of_halves
    >>> held_energies(Identity(4), tree_of_halves(4))
    array([4., 2., 1.])
    """
    energies = tree_energies(workload, tree.boundaries, np.ones(workload.cells), tree.order)
    return np.array([energy @ np.diff(level) for energy, level in zip(energies, tree.boundaries, strict=True)][::-1])


def _energies_of_boxes(workload: Ranges, levels: Levels, profile: Reals, order: Order) -> list[Reals] | None:
    """Ranges over blocks that are boxes: with a uniform profile, α is the product of the fractions of both sides that
    the range covers; otherwise it follows from the sums of the profile up to the corners.

    None if some block is not a box, or if the profile is not uniform and the boxes of a level are not a grid.
    """
    cells = np.arange(profile.size) if order is None else order
    places = np.unravel_index(cells, workload.domain)
    sums = None if np.ptp(profile) <= _EVEN * profile[0] else _sums_to_corners(profile, cells, workload.domain)
    results = []
    for level in levels:
        sides, area = [], np.ones(level.size - 1)
        for place, side in zip(places, workload.domain, strict=True):
            first, last = np.minimum.reduceat(place, level[:-1]), np.maximum.reduceat(place, level[:-1])
            area = area * (last - first + 1)
            intervals, which = np.unique(first * side + last, return_inverse=True)
            sides.append((np.stack(np.divmod(intervals, side)), which))
        (rows, row), (columns, column) = sides
        grid = all((intervals[0, 1:] == intervals[1, :-1] + 1).all() for intervals in (rows, columns))
        if (area != np.diff(level)).any() or (sums is not None and not grid):
            return None
        if sums is None:
            energies = _covered(workload, 0, rows).T @ _covered(workload, 1, columns)
        else:
            energies, covering = np.zeros((2, rows.shape[1] + 1, columns.shape[1] + 1))
            across, down = (np.append(intervals[0], intervals[1, -1] + 1) for intervals in (rows, columns))
            _add_ranges(sums, across, down, workload.lower, workload.upper + 1, energies, covering)
            energies += covering.cumsum(axis=0).cumsum(axis=1)
        results.append(energies[row, column])
    return results


def _covered(workload: Ranges, axis: int, intervals: Places) -> Reals:
    """The square of the fraction that each range covers of each interval of an axis."""
    lower = np.maximum(workload.lower[:, axis, None], intervals[0])
    upper = np.minimum(workload.upper[:, axis, None], intervals[1])
    return np.asarray(np.square(np.maximum(0, upper - lower + 1) / (intervals[1] - intervals[0] + 1)))


def _sums_to_corners(profile: Reals, cells: Places, domain: tuple[int, ...]) -> Reals:
    """The sum of the profile over all cells before each corner, along both axes."""
    sums = np.zeros([side + 1 for side in domain])
    inside = np.empty(profile.size)
    inside[cells] = profile
    sums[1:, 1:] = inside.reshape(domain).cumsum(axis=0).cumsum(axis=1)
    return sums


@compiled
def _add_ranges(
    sums: Reals, rows: Places, columns: Places, lower: Places, upper: Places, energies: Reals, covering: Reals
) -> None:
    """Add α² of every range to *energies* at the boxes on its border, and 1 for the boxes inside to *covering*, as
    differences.

    *rows* and *columns* are the edges of a grid of boxes; ranges go from *lower* (included) to *upper* (excluded).
    """
    for query in range(lower.shape[0]):
        first, last = lower[query], upper[query]
        top, bottom = np.searchsorted(rows, first[0], "right") - 1, np.searchsorted(rows, last[0]) - 1
        left, right = np.searchsorted(columns, first[1], "right") - 1, np.searchsorted(columns, last[1]) - 1
        for row in range(top, bottom + 1):
            within = top < row < bottom and right - left > 1
            for column in range(left, right + 1, right - left if within else 1):
                a, b, c, d = rows[row], rows[row + 1], columns[column], columns[column + 1]
                whole = sums[b, d] - sums[a, d] - sums[b, c] + sums[a, c]
                a, b, c, d = max(a, first[0]), min(b, last[0]), max(c, first[1]), min(d, last[1])
                part = sums[b, d] - sums[a, d] - sums[b, c] + sums[a, c]
                energies[row, column] += (part / whole) ** 2
        if bottom - top > 1 and right - left > 1:
            covering[top + 1, left + 1] += 1
            covering[bottom, left + 1] -= 1
            covering[top + 1, right] -= 1
            covering[bottom, right] += 1


def _energies_by_rows(workload: Queries, levels: Levels, profile: Reals, order: Order) -> list[Reals]:
    totals = [np.zeros(level.size - 1) for level in levels]
    shares = [block_sums(profile, level) for level in levels]
    for rows in workload.rows():
        weighted = (rows if order is None else rows[:, order]) * profile
        finest = np.arange(profile.size + 1)
        for number in range(len(levels) - 1, -1, -1):
            weighted = block_sums(weighted, np.searchsorted(finest, levels[number]))
            finest = levels[number]
            totals[number] += np.square(weighted / shares[number]).sum(axis=0)
    return totals


def _of_prefixes(cells: int, profile: Reals, level: Places) -> Reals:
    """Prefixes that end in v have α = C_i, the weighted part of v up to i; prefixes that end later have α = 1."""
    return np.asarray(block_sums(np.square(_cumulative(profile, level)), level) + (cells - level[1:]))


def _of_intervals(cells: int, profile: Reals, level: Places) -> Reals:
    """Intervals that begin before v and end in it, begin before and end after, begin in it and end after, or lie in it.

    With D = (0, C_1, …, C_L = 1), for each possible other end: ΣD² for those that end in v, 1 for those that cover it,
    Σ(1 − D)² for those that begin in it; and inside, Σ_{a<b} (D_b − D_a)² = (L + 1)·ΣD² − (ΣD)².
    """
    part, sizes = _cumulative(profile, level), np.diff(level)
    before, after = level[:-1], cells - level[1:]
    first, second = block_sums(part, level), block_sums(np.square(part), level)
    begins = sizes + 1 - 2 * first + second  # Σ over D_0 … D_L of (1 − D)², where the last term is 0
    inside = (sizes + 1) * second - np.square(first)
    return np.asarray(before * second + before * after + after * begins + inside)


def _of_ranges(workload: Ranges, profile: Reals, level: Places) -> Reals:
    """A range begins in one block, ends in another (or the same), and covers the blocks between."""
    lower, upper = workload.lower[:, 0], workload.upper[:, 0]
    part = _cumulative(profile, level)
    before = part - profile / spread(block_sums(profile, level), level)  # the part of the block before cell i
    first, last = (np.searchsorted(level, ends, side="right") - 1 for ends in (lower, upper))
    same, apart = first == last, first != last
    energy, covered = np.zeros((2, level.size))
    np.add.at(energy, first[same], np.square(part[upper[same]] - before[lower[same]]))
    np.add.at(energy, first[apart], np.square(1 - before[lower[apart]]))
    np.add.at(energy, last[apart], np.square(part[upper[apart]]))
    np.add.at(covered, first[apart] + 1, 1.0)
    np.add.at(covered, last[apart], -1.0)
    return np.asarray(energy + covered.cumsum())[:-1]


def _cumulative(profile: Reals, level: Places) -> Reals:
    """For each cell, the part of its block (by profile) up to and including the cell."""
    running = profile.cumsum()
    start = np.concatenate([[0.0], running])[level[:-1]]
    return np.asarray((running - spread(start, level)) / spread(block_sums(profile, level), level))
