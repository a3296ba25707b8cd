"""Which algorithm wins where: a summary of what a selector by similar inputs has seen, for tables and pictures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from adyton.arrays import Reals

if TYPE_CHECKING:
    from adyton.selection.similar_inputs import SimilarInputs


_BAND = 4
_FIRST_BAND, _LAST_BAND = 8, 20
"""The bands of ε·rows, in doublings: the first ends at 2⁸, the last begins at 2²⁰, the others are 4 wide."""


@dataclass(frozen=True, eq=False)
class Winners:
    """For one workload, the algorithm of least mean regret in each group of training inputs."""

    workload: str
    sizes: tuple[int, ...]
    """The numbers of cells, the smallest first."""
    signals: tuple[int, ...]
    """The groups of ε·rows, the smallest first."""
    best: dict[tuple[int, int], tuple[str, float]]
    """By number of cells and group: the algorithm, and its mean regret. Groups that no input belongs to are missing."""


def winners(selector: SimilarInputs, group: Callable[[Reals], Reals] = np.rint) -> list[Winners]:
    """One summary for each workload; *group* says to which group a logarithm to base 2 of ε·rows belongs.

    The rows of the selector are those of the first workload, then those of the second, and so on.
    """
    about, rows = selector.training, len(selector.sizes)
    regrets = np.exp(selector.logs - selector.logs.min(axis=1, keepdims=True))
    cells = np.rint(np.exp2(selector.sizes)).astype(np.int64)
    groups = group(np.log2(np.maximum(selector.signals, 2.0**-60))).astype(np.int64)
    apart = rows == about.inputs * len(about.workloads)
    parts = np.split(np.arange(rows), len(about.workloads)) if apart else [np.arange(rows)]
    found = []
    for name, part in zip(about.workloads if apart else ("all workloads",), parts, strict=True):
        best = {}
        for place in sorted(set(zip(cells[part].tolist(), groups[part].tolist(), strict=True))):
            here = part[(cells[part] == place[0]) & (groups[part] == place[1])]
            means = regrets[here].mean(axis=0)
            best[place] = about.algorithms[int(np.argmin(means))], float(means.min())
        sizes, signals = (tuple(sorted({place[axis] for place in best})) for axis in (0, 1))
        found.append(Winners(name, sizes, signals, best))
    return found


def bands(logarithms: Reals) -> Reals:
    """The band of ε·rows that each logarithm to base 2 belongs to, named by the doubling at which it ends."""
    return np.asarray(np.clip(np.floor(logarithms / _BAND) * _BAND + _BAND, _FIRST_BAND, _LAST_BAND + _BAND))


def winners_in_words(selector: SimilarInputs) -> str:
    """A table for each workload: the winner and its mean regret by the number of cells, downwards, and ε·rows."""
    return "\n\n".join(_table(one, selector.training.dimensions) for one in winners(selector, bands))


def domain_in_words(cells: int, dimensions: int) -> str:
    """A domain as people write it; those of two dimensions are squares.

    >>> domain_in_words(4096, 1), domain_in_words(4096, 2)
    ('4,096', '64 × 64')
    """
    side = round(cells**0.5)
    return f"{side} × {side}" if dimensions == 2 and side * side == cells else f"{cells:,}"


def _table(one: Winners, dimensions: int) -> str:
    lines = [["cells \\ ε·rows", *(_band_in_words(end) for end in one.signals)]]
    for size in one.sizes:
        cells = [one.best.get((size, end)) for end in one.signals]
        entries = ("–" if cell is None else f"{cell[0]} {cell[1]:.2f}" for cell in cells)
        lines.append([domain_in_words(size, dimensions), *entries])
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    texts = ("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)) for line in lines)
    return f"{one.workload}: the algorithm of least mean regret, and that regret\n" + "\n".join(
        f"  {text.rstrip()}" for text in texts
    )


def _band_in_words(end: int) -> str:
    if end <= _FIRST_BAND:
        return f"below {2**_FIRST_BAND}"
    return f"from {2**_LAST_BAND:,}" if end > _LAST_BAND else f"{2 ** (end - _BAND):,} to {2**end:,}"
