"""Properties that are computed once, without a lock.

Until Python 3.11, ``functools.cached_property`` holds a lock while it computes, one for all objects of a class: threads
wait for one another, and a child that is forked meanwhile waits for ever. What is computed twice does no harm here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, TypeVar

Value = TypeVar("Value")


class cached_property(functools.cached_property[Value]):  # noqa: N801
    """Like ``functools.cached_property`` of Python 3.12."""

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        super().__init__(compute)
        self.lock = nullcontext()
