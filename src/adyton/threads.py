"""One thread for many small products: libraries of linear algebra start several, which wait for each other."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any


def one_thread() -> AbstractContextManager[Any]:
    """Within, products of matrices take one thread, where threadpoolctl is installed (scikit-learn brings it).

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
