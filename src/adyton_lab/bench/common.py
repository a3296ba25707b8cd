"""What all suites share: their form, timers, and data shapes to measure on."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton_lab.corpus import dpbench_corpus, made_up_corpus
from adyton_lab.corpus.public_files import regrid

Rows: TypeAlias = tuple[int | None, Iterator[Any]]
"""What a suite returns: the number of rows, if it is known beforehand, and an iterator that measures them one by one;
each row is a dataclass."""
Folder: TypeAlias = str | os.PathLike[str] | None
"""The folder of public data."""
CONFIDENCE = 0.95
"""The confidence of all intervals that are measured."""
_SORTED = 10_000_000
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """How often the intervals of one kind of release contain the truth, on public data, where the truth is known."""

    kind: str
    """The kind of answer and how it was made, such as ``histogram`` or ``median by group``."""
    data: str
    """The data set, or how many there were."""
    epsilon: str
    intervals: int
    """How many intervals were compared with the truth."""
    holds: float | None
    """The percentage of the intervals that contain the truth; the target is 95. None if there are no intervals."""
    worst: float | None = None
    """The same for the data set with the smallest percentage, if there are several."""
    width: float | None = None
    """The mean width divided by that of intervals around the same estimates, all stretched or shrunk by one factor,
    known with hindsight, until 95% of them contain the truth."""
    expected: float | None = None
    """The expected error that the release reports divided by the measured one: the geometric mean."""


@dataclass(frozen=True, kw_only=True)
class Held:
    """The intervals of one kind of answer, as they are compared with the truth."""

    kind: str
    epsilon: str
    stretches: dict[str, list[Reals]] = field(default_factory=dict)
    """By data set: the distance of the truth from the estimate, divided by that of the bound on the same side."""
    expected: list[float] = field(default_factory=list)
    """Expected errors divided by the measured ones."""

    def add(self, data: str, estimate: ArrayLike, lower: ArrayLike, upper: ArrayLike, truth: ArrayLike) -> None:
        """Compare intervals with the truth, up to the ninth digit. Without bounds, an interval does not hold."""
        middle, low, high, true = (
            np.atleast_1d(np.asarray(part, dtype=np.float64)) for part in (estimate, lower, upper, truth)
        )
        slack = 1e-9 * np.maximum(1.0, np.abs(true))
        off = np.maximum(np.abs(true - middle) - slack, 0.0)
        room = np.where(true > middle, high - middle, middle - low)
        room = np.where(np.isfinite(low) & np.isfinite(high), room, 0.0)
        stretch = np.divide(off, room, out=np.where(off > 0, np.inf, 0.0), where=room > 0)
        self.stretches.setdefault(data, []).append(stretch.ravel())

    def expect(self, expected: float, measured: float) -> None:
        """Compare an expected error with the measured one; exact answers say nothing."""
        if measured > 0:
            self.expected.append(expected / measured)

    def coverage(self) -> Coverage:
        """The record over all data sets."""
        by_data = {name: np.concatenate(parts) for name, parts in self.stretches.items()}
        every = np.concatenate([np.zeros(0), *by_data.values()])
        needed = float(np.quantile(every, CONFIDENCE)) if every.size else 0.0
        rates = [100 * float((part <= 1).mean()) for part in by_data.values()]
        return Coverage(
            kind=self.kind,
            data=next(iter(by_data), "–") if len(by_data) <= 1 else f"{len(by_data)} data sets",
            epsilon=self.epsilon,
            intervals=every.size,
            holds=100 * float((every <= 1).mean()) if every.size else None,
            worst=min(rates) if len(rates) > 1 else None,
            width=1 / needed if 0 < needed < np.inf else None,
            expected=float(np.exp(np.mean(np.log(self.expected)))) if self.expected else None,
        )


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
