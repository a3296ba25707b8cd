"""Shapes of data to measure algorithms on: the DPBench histograms from a folder, or made-up ones."""

from __future__ import annotations

import os

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton_lab.corpus import dpbench_corpus, made_up_corpus
from adyton_lab.corpus.public_files import regrid


def shapes(
    ndim: int, side: int, folder: str | os.PathLike[str] | None = None, *, public: bool = False
) -> dict[str, Reals]:
    """Counts over *side* cells along each axis, by name; from a folder with the DPBench histograms if given.

    Neighbouring cells are added up, so that a shape that is counts stays counts. *public* says that what the folder
    holds is public: nothing here is protected.
    """
    found = made_up_corpus(ndim) if folder is None else dpbench_corpus(folder, ndim, public=public)
    for shape in found:
        if shape.counts.shape[0] % side:
            raise BadInput(f"{shape.counts.shape[0]} cells cannot be added up to {side}. Choose a divisor.")
    return {shape.name: regrid(shape.counts, (side,) * ndim) for shape in found}
