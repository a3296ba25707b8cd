"""Work done at first use: compiling hot loops, caching properties. Also: limiting linear algebra to one thread.

Numba takes half a second to load, so it is not loaded before a loop is called.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar

Value = TypeVar("Value")


class cached_property(functools.cached_property[Value]):  # noqa: N801
    """A property that is computed once, without a lock, as in Python 3.12.

    Up to Python 3.11, ``functools.cached_property`` holds a lock while it computes, shared by all objects of a class:
    threads wait for one another, and a child process forked meanwhile never continues. Computing twice is harmless.
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        super().__init__(compute)
        self.lock = nullcontext()


def one_thread() -> AbstractContextManager[Any]:
    """Within the block, matrix products use one thread, if threadpoolctl is installed (scikit-learn requires it).

    For many small products: linear algebra libraries start several threads, which wait for each other.

    >>> with one_thread():
    ...     2 + 2
    4
    """
    try:
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        return nullcontext()
    limits: AbstractContextManager[Any] = threadpool_limits(1)
    return limits


Given = ParamSpec("Given")
Result = TypeVar("Result")

_guarded = False
"""Whether forks wait for compilations."""


class Loop(Generic[Given, Result]):
    """A function that is compiled when first called, from Python or from another loop."""

    def __init__(self, function: Callable[Given, Result]) -> None:
        self.function = function
        update_wrapper(self, function)

    def __call__(self, *arguments: Given.args, **named: Given.kwargs) -> Result:
        """The function's result; the first call also compiles the function."""
        return self.machine_code(*arguments, **named)  # type: ignore[no-any-return]

    @cached_property
    def machine_code(self) -> Any:
        """The compiled function. It releases the interpreter lock, and is cached on disk where possible."""
        numba = _load_numba()
        try:
            return numba.njit(cache=True, nogil=True)(self.function)
        except RuntimeError:  # neither the package's directory nor the user's cache can be written
            return numba.njit(nogil=True)(self.function)

    @property
    def _numba_type_(self) -> Any:
        """Read by Numba when another loop calls this one."""
        return self.machine_code._numba_type_


def compiled(function: Callable[Given, Result]) -> Loop[Given, Result]:
    """Compile this function when first called.

    >>> @compiled
    ... def doubled(value: float) -> float:
    ...     return 2 * value
    >>> doubled(21.0)
    42.0
    """
    return Loop(function)


def _load_numba() -> Any:
    """Load Numba; from then on, a fork waits for running compilations to finish."""
    global _guarded
    import numba
    from numba.core.compiler_lock import global_compiler_lock

    with global_compiler_lock:
        if not _guarded and hasattr(os, "register_at_fork"):  # a child would never get another thread's lock
            os.register_at_fork(
                before=global_compiler_lock.acquire,
                after_in_parent=global_compiler_lock.release,
                after_in_child=global_compiler_lock.release,
            )
        _guarded = True
    return numba
