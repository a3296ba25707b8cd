"""Compilation of hot loops. Numba is slow to load: a module that imports this one is imported when its loops run."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core.compiler_lock import global_compiler_lock

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile with Numba and let other threads run meanwhile; keep the machine code on disk where there is a place."""
    try:
        return cast(Function, numba.njit(cache=True, nogil=True)(function))
    except RuntimeError:  # neither the package's directory nor the user's cache can be written
        return cast(Function, numba.njit(nogil=True)(function))


if hasattr(os, "register_at_fork"):  # a child would wait for ever for a compilation that another thread had under way
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )
