"""The colours of charts: from those that people of every kind of colour vision tell apart (Okabe and Ito, 2008)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

COLOURS = ("#56B4E9", "#E69F00", "#009E73", "#F0E442", "#CC79A7", "#0072B2", "#D55E00", "#BBBBBB")
"""Eight that people of every kind of colour vision tell apart, grey in the place of black."""
SKY, ORANGE, BLUE, VERMILION = (COLOURS[place] for place in (0, 1, 5, 6))
DATA = f"var(--adyton-data,{BLUE})"
"""The colour of what was estimated; a page may set another one for a dark background."""
SECOND = f"var(--adyton-second,{VERMILION})"
"""The colour of what stands beside it."""
SERIES = (DATA, SECOND, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8A949E")
"""The colours of several things in one picture."""

_ABOVE = ("#F7F7F5", SKY, BLUE, "#00263C")
_BELOW = ("#F7F7F5", ORANGE, VERMILION, "#571F00")


def heat(shares: npt.NDArray[np.float64]) -> npt.NDArray[np.uint8]:
    """Red, green and blue for numbers from −1 to 1: nearly white at 0, darker blue above it, darker orange below."""
    strength = np.abs(shares) * (len(_ABOVE) - 1)
    above, below = (_mixed(strength, stops) for stops in (_ABOVE, _BELOW))
    return np.where(shares[..., None] < 0, below, above).round().astype(np.uint8)


def _mixed(strength: npt.NDArray[np.float64], stops: tuple[str, ...]) -> npt.NDArray[np.float64]:
    channels = np.array([[int(stop[place : place + 2], 16) for place in (1, 3, 5)] for stop in stops], dtype=float)
    return np.stack([np.interp(strength, range(len(stops)), channel) for channel in channels.T], axis=-1)


def is_deep(red: int, green: int, blue: int) -> bool:
    """Whether white letters are easier to read on a colour than black ones."""
    return 0.299 * red + 0.587 * green + 0.114 * blue < 112
