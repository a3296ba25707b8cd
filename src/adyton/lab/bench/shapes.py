"""Shapes of data to measure algorithms on: the DPBench histograms from a folder, or made-up ones."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from adyton.errors import BadInput
from adyton.lab.corpus import Shape, made_up_corpus, read_corpus
from adyton.lab.corpus.histograms import regrid

Shapes: TypeAlias = dict[str, npt.NDArray[np.float64]]

_LINE, _PLANE = "dpbench_1d.csv", "dpbench_2d.csv.gz"


def shapes(ndim: int, side: int, folder: str | os.PathLike[str] | None = None, *, public: bool = False) -> Shapes:
    """Counts over *side* cells along each axis, by name; from a folder with the DPBench histograms if given.

    *public* says that what the folder holds is public: nothing here is protected.
    """
    found = made_up_corpus(ndim) if folder is None else _read(ndim, Path(folder), public)
    return {shape.name: _coarsen(shape, side) for shape in found}


def draw(shape: npt.NDArray[np.float64], scale: int, seed: int) -> npt.NDArray[np.int64]:
    """*scale* rows, drawn independently from a distribution over the cells."""
    random = np.random.default_rng(seed)
    return random.multinomial(scale, shape.reshape(-1) / shape.sum()).reshape(shape.shape)


def _read(ndim: int, folder: Path, public: bool) -> list[Shape]:
    path = folder / (_LINE if ndim == 1 else _PLANE)
    if not path.is_file():
        raise BadInput(f"there is no {path.name} in {folder}. Give the folder that holds it, or leave --data out.")
    return read_corpus(path, ndim, public=public)


def _coarsen(shape: Shape, side: int) -> npt.NDArray[np.float64]:
    """Neighbouring cells added up until *side* are left along each axis: a shape that is counts stays counts."""
    if shape.counts.shape[0] % side:
        raise BadInput(f"{shape.counts.shape[0]} cells cannot be added up to {side}. Choose a divisor.")
    return regrid(shape.counts, (side,) * shape.counts.ndim)
