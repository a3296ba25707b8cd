"""When to load Numba: as soon as drawing without it has cost about as much as loading it would."""

from __future__ import annotations

import sys

DRAWS_BEFORE_LOADING = 50_000
"""Numba and the compiled samplers load in 0.5 to 0.8 s; a draw in Python takes 10 µs."""

SMALLEST_COMPILED_SAMPLE = 4
"""Below this, preparing arrays for a compiled sampler takes longer than to draw in Python."""

_drawn_in_python = 0


def compiled_pays(draws: int) -> bool:
    """Whether to draw this many numbers with the compiled sampler. Only sizes decide, and sizes are public.

    A single noisy count never waits for Numba; a program that draws little at a time, but often, gets it in the end.
    """
    global _drawn_in_python
    if draws < SMALLEST_COMPILED_SAMPLE:
        return False
    if "adyton.noise.compiled" not in sys.modules:
        _drawn_in_python += draws
        return _drawn_in_python > DRAWS_BEFORE_LOADING
    return True
