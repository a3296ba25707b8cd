"""Compilation of hot loops. Numba is slow to load: a module that imports this one is imported when its loops run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile with Numba and let other threads run meanwhile; keep the machine code on disk where there is a place."""
    try:
        return cast(Function, numba.njit(cache=True, nogil=True)(function))
    except RuntimeError:  # neither the package's directory nor the user's cache can be written
        return cast(Function, numba.njit(nogil=True)(function))
