"""Objects that must not give away what they hold: no iteration, no indexing, no conversion, no pickle."""

from __future__ import annotations

from typing import Any, NoReturn


class Sealed:
    """A base for everything that holds private data or leads to it.

    >>> list(Sealed())
    Traceback (most recent call last):
    TypeError: a Sealed cannot be read: private data leave the kernel through measurements only.
    """

    __slots__ = ()

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} cannot be read: private data leave the kernel through measurements only."
        )

    __getitem__ = __iter__ = __len__ = __contains__ = __array__ = __bool__ = __int__ = __float__ = _refuse

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} cannot be pickled or copied: it holds private data or leads to it.")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: sealed>"

    def __format__(self, specification: str) -> str:
        return repr(self)
