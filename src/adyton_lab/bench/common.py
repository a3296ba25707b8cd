"""What all suites share: their form, timers, and data shapes to measure on."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton_lab.corpus import dpbench_corpus, made_up_corpus
from adyton_lab.corpus.public_files import regrid

Rows: TypeAlias = tuple[int, Iterator[Any]]
"""What a suite returns: the number of rows, and an iterator that measures them one by one; each row is a dataclass."""
Folder: TypeAlias = str | os.PathLike[str] | None
"""The folder of public data."""
_SORTED = 10_000_000
_Answer = TypeVar("_Answer")


def timed(work: Callable[[], _Answer]) -> tuple[float, _Answer]:
    """The seconds that something takes, and what it returns."""
    start = time.perf_counter()
    answer = work()
    return time.perf_counter() - start, answer


def seconds(work: Callable[[], object]) -> float:
    """The seconds that something takes."""
    return timed(work)[0]


def sort_unit() -> float:
    """Seconds to sort ten million random doubles: the unit in which times on different machines are compared."""
    values = np.random.default_rng(0).random(_SORTED)
    return min(seconds(lambda: np.sort(values)) for _ in range(3))


def needed(data: Folder, what: str, purpose: str) -> Path:
    """The folder of a suite that needs public data."""
    if data is None:
        raise BadInput(f"{purpose} on {what}. Give the folder that holds them with --data.")
    return Path(data)


def shapes(ndim: int, side: int, folder: Folder = None, *, public: bool = False) -> dict[str, Reals]:
    """Counts over *side* cells along each axis, by name; from a folder with the DPBench histograms if given.

    Neighbouring cells are added up, so counts stay counts. *public* confirms that the folder's content is public:
    nothing here is protected.
    """
    corpus = made_up_corpus(ndim) if folder is None else dpbench_corpus(folder, ndim, public=public)
    for shape in corpus:
        if shape.counts.shape[0] % side:
            raise BadInput(f"{shape.counts.shape[0]} cells cannot be grouped into {side}. Choose a divisor.")
    return {shape.name: regrid(shape.counts, (side,) * ndim) for shape in corpus}
