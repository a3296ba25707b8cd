"""Histograms out of files of public data: arrays, tables, and histograms written as tables."""

from __future__ import annotations

import csv
import gzip
import itertools
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

import numpy as np

from adyton.arrays import Reals
from adyton_lab.corpus.histograms import of_category, of_numbers, of_pair

Named: TypeAlias = tuple[str, str, Reals]
"""The name of a histogram, the data set it comes from, and its counts."""

ENDINGS = (".csv.gz", ".csv", ".npy")
_MISSING = frozenset({"", "na", "n/a", "nan", "<na>", "nat", "null", "?"})
_PAIRS = 6
_LINES_AT_ONCE = 4096
_LONGEST_SIDE = 8192
_UNREADABLE = (OSError, EOFError, ValueError, csv.Error, zlib.error)


def read_file(file: Path, ndim: int | None) -> Iterator[Named]:
    """What a file with one of the ENDINGS holds; nothing if it cannot be read. With *ndim*, others may be left out."""
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
    """Histograms of a table's columns, then of pairs of its numbers: the first few, of as few columns as possible."""
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
    """Histograms by data set, row and column, all on the square that the greatest index needs."""
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
    """The numbers that are written, not-a-number where one is missing; None if something else is written."""
    try:
        read = {text: np.nan if _is_missing(text) else float(text) for text in set(texts)}
    except ValueError:
        return None
    return np.fromiter(map(read.__getitem__, texts), dtype=np.float64, count=len(texts))


def _levels(texts: Sequence[str]) -> dict[str, int]:
    """How often each text occurs, but for the missing ones."""
    return {level: times for level, times in Counter(texts).items() if not _is_missing(level)}


def _is_missing(text: str) -> bool:
    return text.strip().lower() in _MISSING
