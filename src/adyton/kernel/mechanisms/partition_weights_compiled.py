"""One level of the recursion over partitions of a tree, with bounds on the error."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.compiling import compiled

_ADDED_AT_ONCE = 16
"""So many parts can be added up within the slack, with as much to spare."""
_NEGLIGIBLE = 60.0
"""A term that is e^60 times smaller than another changes their sum by less than the rounding allows for. Its share of
the sum then lies between 0 and 2⁻⁶², and that is all that is said about it."""


@compiled
def enclose_level(
    parts: npt.NDArray[np.int64],
    whole_gaps: Reals,
    cut_gaps: Reals,
    below: Reals,
    below_error: Reals,
    log_whole: float,
    log_cut: float,
    slack: float,
) -> tuple[Reals, Reals, Reals, Reals]:
    """λ of each block, ln(cut/whole), and bounds on the errors of both, from λ of the parts.

    *slack* is 2⁻⁴⁸, 32 roundings. Adding up k parts takes k + 1 additions, each of which rounds by at most 2⁻⁵³ of the
    sum of all sizes so far, and what is added has been rounded three times before: k + 4 roundings, which 32 cover for
    up to 28 parts. A block has 2^d of them along d axes, so the slack grows with them.
    """
    blocks = whole_gaps.size
    logs, errors = np.empty(blocks), np.empty(blocks)
    ratios, ratio_errors = np.empty(blocks), np.empty(blocks)
    for block in range(blocks):
        whole = log_whole - whole_gaps[block]
        whole_error = slack * (1.0 + whole_gaps[block])
        cut = log_cut - cut_gaps[block]
        sizes = 1.0 + abs(log_cut) + cut_gaps[block]
        cut_error = 0.0
        for part in range(parts[block], parts[block + 1]):
            cut += below[part]
            sizes += abs(below[part])
            cut_error += below_error[part]
        cut_error += slack * max(1.0, (parts[block + 1] - parts[block]) / _ADDED_AT_ONCE) * sizes
        gap = cut - whole
        ratios[block] = gap
        ratio_errors[block] = whole_error + cut_error + slack * abs(gap)
        if gap > _NEGLIGIBLE + ratio_errors[block]:
            logs[block], errors[block] = cut, cut_error + slack
            ratios[block], ratio_errors[block] = _NEGLIGIBLE, slack
        elif gap < -_NEGLIGIBLE - ratio_errors[block]:
            logs[block], errors[block] = whole, whole_error + slack
            ratios[block], ratio_errors[block] = -_NEGLIGIBLE, slack
        else:
            larger = max(cut, whole)
            logs[block] = larger + math.log1p(math.exp(-abs(gap)))
            errors[block] = max(cut_error, whole_error) + slack * (1.0 + abs(larger))
    return logs, errors, ratios, ratio_errors
