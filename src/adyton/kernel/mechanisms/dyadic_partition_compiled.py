"""How far every block of a tree is from being even: sorted blocks are merged into larger ones, level by level."""

from __future__ import annotations

import numpy as np

from adyton.arrays import Places
from adyton.compiling import compiled


@compiled
def all_deviations(values: Places, boundaries: Places, sizes: Places) -> Places:
    """The sum of the upper half less that of the lower half of every block; levels one after the other."""
    levels = sizes.size
    results = np.empty(boundaries.size - levels, dtype=np.int64)
    sorted_values, spare = values.copy(), np.empty_like(values)
    boundary_end, result_end = boundaries.size, results.size
    finer = np.arange(values.size + 1)
    for level in range(levels - 1, -1, -1):
        current = boundaries[boundary_end - sizes[level] : boundary_end]
        boundary_end -= sizes[level]
        result_end -= sizes[level] - 1
        part = 0
        for block in range(sizes[level] - 1):
            first, last = current[block], current[block + 1]
            while finer[part] < first:
                part += 1
            _sort_block(sorted_values, spare, finer, part, last)
            half = (last - first) // 2
            deviation = 0
            for step in range(half):
                deviation += sorted_values[last - 1 - step] - sorted_values[first + step]
            results[result_end + block] = deviation
        finer = current
    return results


@compiled
def _sort_block(values: Places, spare: Places, finer: Places, part: int, last: int) -> None:
    """Merge the sorted parts of a block into one, from the left."""
    first, middle = finer[part], finer[part + 1]
    while middle < last:
        part += 1
        end = finer[part + 1]
        left, right = first, middle
        for place in range(first, end):
            if left < middle and (right >= end or values[left] <= values[right]):
                spare[place] = values[left]
                left += 1
            else:
                spare[place] = values[right]
                right += 1
        values[first:end] = spare[first:end]
        middle = end
