"""Graphs for max-cut from text: the format of rudy, in which max-cut and spin-glass instances are published.

Reading is total, as in :mod:`adyton.configuration.reading`: nothing that stands in a file is an error.
"""

from __future__ import annotations

import math

import numpy as np

from adyton.configuration.cut_graph import CutGraph

MOST_VERTICES = 3_000
"""Vertices with larger numbers are left out: a weight for every pair is kept."""


def cut_graph_in(text: str) -> CutGraph:
    """A graph: "vertices edges", then a line "i j weight" for each edge; vertices count from 1.

    An edge without a weight weighs 1, edges between the same two vertices are added up, and lines that make no sense
    are skipped.

    >>> cut_graph_in("3 2\\n1 2 2.5\\n2 3\\n").weights[1].tolist()
    [2.5, 0.0, 1.0]
    """
    rows = [words for line in text.splitlines() if (words := line.split())]
    size = min(_vertex(rows[0][0]) or 0, MOST_VERTICES) if rows else 0
    weights = np.zeros((size, size))
    with np.errstate(all="ignore"):
        for words in rows[1:]:
            one, other = (_vertex(word) for word in [*words, "", ""][:2])
            weight = _weight(words[2]) if len(words) > 2 else 1.0
            if one and other and max(one, other) <= size and one != other:
                weights[one - 1, other - 1] += weight
                weights[other - 1, one - 1] += weight
    return CutGraph(weights)


def _vertex(word: str) -> int | None:
    return int(word) if word.isascii() and word.isdigit() and len(word) < 10 else None


def _weight(word: str) -> float:
    """The number, or 0 for what is none."""
    try:
        weight = float(word)
    except ValueError:
        return 0.0
    return weight if math.isfinite(weight) else 0.0
