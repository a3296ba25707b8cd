"""When to compile the samplers: as soon as drawing without them has cost about as much as loading them would."""

from __future__ import annotations

import sys

DRAWS_BEFORE_NUMBA = 50_000
DRAWS_BEFORE_COMPILING = 5_000
"""So many draws in Python, 10 µs each, take as long as to load Numba, or only the samplers where it is loaded."""

SMALLEST_COMPILED_SAMPLE = 4
"""Below this, preparing arrays for a compiled sampler takes longer than to draw in Python."""

_drawn_in_python = 0


def compiled_pays(draws: int) -> bool:
    """Whether to draw this many numbers with the compiled sampler. Only sizes decide, and sizes are public.

    A single noisy count never waits for a compiler; a program that draws little at a time, but often, gets it in the
    end.
    """
    global _drawn_in_python
    if draws < SMALLEST_COMPILED_SAMPLE:
        return False
    most = DRAWS_BEFORE_COMPILING if "numba" in sys.modules else DRAWS_BEFORE_NUMBA
    if _drawn_in_python <= most:
        _drawn_in_python += draws
    return _drawn_in_python > most
