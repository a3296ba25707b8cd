"""Shapes of data to measure algorithms on: real histograms from a folder, or made-up ones that ship with the code."""

from __future__ import annotations

import csv
import gzip
import os
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from adyton.errors import BadInput

Shapes: TypeAlias = dict[str, npt.NDArray[np.float64]]

_LINE, _PLANE = "dpbench_1d.csv", "dpbench_2d.csv.gz"
_CELLS, _SIDE = 4096, 256


def shapes(ndim: int, side: int, folder: str | os.PathLike[str] | None = None) -> Shapes:
    """Distributions over *side* cells along each axis, by name; from a folder with the DPBench histograms if given."""
    found = made_up(ndim) if folder is None else _read(ndim, Path(folder))
    return {name: _coarsen(shape, side) for name, shape in found.items()}


def draw(shape: npt.NDArray[np.float64], scale: int, seed: int) -> npt.NDArray[np.int64]:
    """*scale* rows, drawn independently from a distribution over the cells."""
    random = np.random.default_rng(seed)
    return random.multinomial(scale, shape.reshape(-1) / shape.sum()).reshape(shape.shape)


def made_up(ndim: int) -> Shapes:
    """Shapes of many kinds: sparse, spiky, stepped, smooth, heavy-tailed."""
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

    def hill(middle: tuple[int, int], width: int) -> npt.NDArray[np.float64]:
        return np.asarray(np.exp(-((row - middle[0]) ** 2 + (column - middle[1]) ** 2) / (2 * width**2)))

    return {
        "hills": hill((60, 80), 20) + hill((180, 40), 8) + 2 * hill((130, 200), 30),
        "corner": 1.0 / ((row + 1.0) * (column + 1.0)),
        "dust": np.where(random.random((_SIDE, _SIDE)) < 0.02, random.pareto(1, (_SIDE, _SIDE)), 0.0) + 1e-9,
        "roads": np.where((row % 37 == 0) | (column % 53 == 0), 1.0, 0.01),
        "diagonal": np.exp(-np.abs(row - column) / 6.0),
    }


def _read(ndim: int, folder: Path) -> Shapes:
    path = folder / (_LINE if ndim == 1 else _PLANE)
    if not path.is_file():
        raise BadInput(f"there is no {path.name} in {folder}. Give the folder that holds it, or leave --data out.")
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    records = list(csv.DictReader(raw.decode("utf-8").splitlines()))
    if ndim == 1:
        names = [name for name in records[0] if name != "bin"]
        return {name: np.array([float(record[name]) for record in records]) for name in names}
    found: Shapes = {}
    for record in records:
        table = found.setdefault(record["dataset"], np.zeros((_SIDE, _SIDE)))
        table[int(record["row"]), int(record["col"])] = float(record["count"])
    return found


def _coarsen(shape: npt.NDArray[np.float64], side: int) -> npt.NDArray[np.float64]:
    """Neighbouring cells added up until *side* are left along each axis."""
    if shape.shape[0] % side:
        raise BadInput(f"{shape.shape[0]} cells cannot be added up to {side}. Choose a divisor.")
    for axis in range(shape.ndim):
        parts = np.arange(0, shape.shape[axis], shape.shape[axis] // side)
        shape = np.add.reduceat(shape, parts, axis=axis)
    return shape
