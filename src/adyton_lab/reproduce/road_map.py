"""Road intersections on a map, and rectangles of four shapes on it: DAWA's spatial study."""

from __future__ import annotations

import gzip
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from adyton.arrays import Integers
from adyton.queries import Ranges

FILE = "road_california.csv.gz"
SHAPES = {"(1, 1)": (1.0, 1.0), "(5, 5)": (5.0, 5.0), "(10, 10)": (10.0, 10.0), "(15, 0.2)": (15.0, 0.2)}
"""Degrees of longitude and latitude."""


@dataclass(frozen=True, eq=False)
class Roads:
    """How many intersections each cell has, longitude along the first axis, and how many degrees a cell has."""

    counts: Integers
    degrees: tuple[float, float]

    @classmethod
    def read(cls, folder: str | os.PathLike[str], side: int) -> Roads:
        """On a grid with so many cells along each axis."""
        with gzip.open(Path(folder) / FILE, "rt", encoding="utf-8") as file:
            points = np.loadtxt(file, delimiter=",", skiprows=1, ndmin=2)
        low, high = points.min(axis=0), points.max(axis=0)
        cells = np.minimum(side - 1, ((points - low) / (high - low) * side).astype(np.int64))
        counts = np.zeros((side, side), dtype=np.int64)
        np.add.at(counts, tuple(cells.T), 1)
        width, height = ((high - low) / side).tolist()
        return cls(counts, (width, height))

    def boxes(self, shape: str, number: int) -> Ranges:
        """Random rectangles of one of the :data:`SHAPES`, to whole cells, and no larger than the map."""
        side = self.counts.shape[0]
        degrees = zip(SHAPES[shape], self.degrees, strict=True)
        sizes = [min(side, max(1, round(length / cell))) for length, cell in degrees]
        random = np.random.default_rng(list(SHAPES).index(shape))
        lower = np.stack([random.integers(0, side - size + 1, number) for size in sizes], axis=1)
        return Ranges((side, side), lower, lower + np.array(sizes) - 1)
