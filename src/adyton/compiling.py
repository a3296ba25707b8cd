"""Compilation of hot loops at their first call. Numba takes half a second to load: nothing here loads it before."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar

from adyton.remembered import cached_property

Given = ParamSpec("Given")
Result = TypeVar("Result")

_guarded = False
"""Whether forks wait for compilations."""


class Loop(Generic[Given, Result]):
    """A function that is compiled when it is first called, from Python or from another loop."""

    def __init__(self, function: Callable[Given, Result]) -> None:
        self.function = function
        update_wrapper(self, function)

    def __call__(self, *arguments: Given.args, **named: Given.kwargs) -> Result:
        """The function's result; the first call takes the time to compile."""
        return self.machine_code(*arguments, **named)  # type: ignore[no-any-return]

    @cached_property
    def machine_code(self) -> Any:
        """What Numba makes of it: other threads run meanwhile; kept on disk where there is a place."""
        numba = _load_numba()
        try:
            return numba.njit(cache=True, nogil=True)(self.function)
        except RuntimeError:  # neither the package's directory nor the user's cache can be written
            return numba.njit(nogil=True)(self.function)

    @property
    def _numba_type_(self) -> Any:
        """Numba asks for this when the loop is called in another one."""
        return self.machine_code._numba_type_


def compiled(function: Callable[Given, Result]) -> Loop[Given, Result]:
    """Compile this function when it is first called.

    >>> @compiled
    ... def doubled(value: float) -> float:
    ...     return 2 * value
    >>> doubled(21.0)
    42.0
    """
    return Loop(function)


def _load_numba() -> Any:
    """Numba; from its first use on, a fork waits for compilations under way."""
    global _guarded
    import numba
    from numba.core.compiler_lock import global_compiler_lock

    with global_compiler_lock:
        if not _guarded and hasattr(os, "register_at_fork"):  # a child would wait for ever for another thread's lock
            os.register_at_fork(
                before=global_compiler_lock.acquire,
                after_in_parent=global_compiler_lock.release,
                after_in_child=global_compiler_lock.release,
            )
        _guarded = True
    return numba
