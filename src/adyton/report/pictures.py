"""Pictures in files, drawn with matplotlib, which is an extra: what they may be called, and how they are written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adyton.errors import BadInput
from adyton.messages import path_of, shorten

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS = (".svg", ".png", ".pdf")
_UNDATED: dict[str, Any] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}


def check_ending(path: str | os.PathLike[str]) -> None:
    """Refuse a file whose name does not say what kind of picture it is."""
    if path_of(path).suffix.lower() not in ENDINGS:
        raise BadInput(f"a picture's name ends with {', '.join(ENDINGS)}, given {shorten(str(path))}.")


@contextmanager
def drawing(settings: dict[Any, Any]) -> Iterator[type[Figure]]:
    """The class of figures, with these settings of matplotlib as long as the block lasts."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise BadInput("pictures need matplotlib. Install it: pip install 'adyton[plots]'") from None
    with matplotlib.rc_context({"svg.hashsalt": "adyton", "text.parse_math": False} | settings):
        yield Figure


def write(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure, undated, so that the same figure gives the same file; the ending says in which format."""
    try:
        figure.savefig(path, dpi=150, metadata=_UNDATED.get(Path(path).suffix.lower(), {}))
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror or error}.") from None
