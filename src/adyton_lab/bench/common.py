"""What all suites share: their form, the clock, and shapes of data to measure on."""

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
"""What a suite returns: how many rows there will be, and the rows, each a dataclass, measured one by one."""
Folder: TypeAlias = str | os.PathLike[str] | None
"""Where public data are."""
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
    """Seconds for one sort of ten million random doubles: the unit in which times of several machines are compared."""
    values = np.random.default_rng(0).random(_SORTED)
    return min(seconds(lambda: np.sort(values)) for _ in range(3))


def needed(data: Folder, what: str, purpose: str) -> Path:
    """The folder of a suite that cannot do without public data."""
    if data is None:
        raise BadInput(f"{purpose} on {what}. Give the folder that holds them with --data.")
    return Path(data)


def shapes(ndim: int, side: int, folder: Folder = None, *, public: bool = False) -> dict[str, Reals]:
    """Counts over *side* cells along each axis, by name; from a folder with the DPBench histograms if given.

    Neighbouring cells are added up, so that a shape that is counts stays counts. *public* says that what the folder
    holds is public: nothing here is protected.
    """
    corpus = made_up_corpus(ndim) if folder is None else dpbench_corpus(folder, ndim, public=public)
    for shape in corpus:
        if shape.counts.shape[0] % side:
            raise BadInput(f"{shape.counts.shape[0]} cells cannot be added up to {side}. Choose a divisor.")
    return {shape.name: regrid(shape.counts, (side,) * ndim) for shape in corpus}
