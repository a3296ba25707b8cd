"""The types of arrays, by what they hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
"""Numbers of any type."""
Reals = npt.NDArray[np.float64]
"""Noisy counts, estimates, weights."""
Singles = npt.NDArray[np.float32]
"""Numbers of single precision, where there are very many."""
Integers = npt.NDArray[np.int64]
"""Counts and other whole numbers."""
Places = npt.NDArray[np.int64]
"""Where something stands: numbers of cells, groups, rows or nodes."""
Flags = npt.NDArray[np.bool_]
"""Yes or no, for each one."""
