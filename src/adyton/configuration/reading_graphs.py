"""Graphs with weights from text files: the format of rudy, in which max-cut and spin-glass instances are published."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from adyton.configuration.cut_graph import CutGraph
from adyton.errors import BadInput
from adyton.messages import shorten

LARGEST = 20_000
"""Graphs of more vertices are not read: the matrix of their weights would not fit."""


def read_cut_graph(path: str | os.PathLike[str]) -> CutGraph:
    """The graph in a file: "vertices edges", then a line "i j weight" for each edge; vertices count from 1.

    An edge without a weight weighs 1; edges between the same two vertices are added up. What is wrong with a file is
    told by the number of a line, never by what stands in it: that may be secret.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise BadInput(f"{shorten(str(path))} cannot be read as text. Give a file in rudy's format.") from None
    filled = [(number, line.split()) for number, line in enumerate(lines, 1) if line.strip()]
    if not filled:
        raise BadInput(f"{shorten(str(path))} is empty. It must begin with how many vertices and edges there are.")
    size, edges = _header(path, *filled[0])
    if len(filled) != edges + 1:
        raise BadInput(f"{shorten(str(path))} does not have as many edges as its first line says. Complete it.")
    weights = np.zeros((size, size))
    for number, words in filled[1:]:
        one, other, weight = _edge(path, number, words, size)
        weights[one, other] += weight
        if one != other:
            weights[other, one] += weight
    return CutGraph(weights)


def _header(path: str | os.PathLike[str], number: int, words: list[str]) -> tuple[int, int]:
    try:
        size, edges = map(int, words)
    except ValueError:
        size, edges = -1, -1
    if not (0 <= size <= LARGEST and edges >= 0):
        raise BadInput(
            f"line {number} of {shorten(str(path))} must hold two whole numbers: the vertices, at most {LARGEST}, and "
            "the edges. Write it like 50 120."
        )
    return size, edges


def _edge(path: str | os.PathLike[str], number: int, words: list[str], size: int) -> tuple[int, int, float]:
    try:
        one, other, weight = int(words[0]) - 1, int(words[1]) - 1, float(words[2]) if len(words) > 2 else 1.0
    except (ValueError, IndexError):
        one = other = -1
        weight = 0.0
    if not (0 <= one < size and 0 <= other < size and len(words) <= 3):
        raise BadInput(
            f"line {number} of {shorten(str(path))} must hold two vertices, from 1 to as many as the first line says, "
            "and a weight. Write it like 3 7 2.5."
        )
    return one, other, weight
