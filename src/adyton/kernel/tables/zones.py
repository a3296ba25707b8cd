"""From universal time to the clock of a time zone, inside the engine.

The rules come from Python's database of time zones, not from the machine's settings, and are turned into a table of the
moments at which the clock changes. Looking a moment up in it cannot fail, and every moment shows exactly one time.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

import numpy as np

from adyton.arrays import Integers
from adyton.schema.calendar import DAY, moment
from adyton.schema.times import time_zone

_FIRST, _LAST = moment(datetime(1900, 1, 1)), moment(datetime(2100, 1, 1))
"""Clock changes are known in these years; before and after, clocks stay as they are at the ends."""


def on_clock(seconds: Any, zone: str) -> Any:
    """A column of seconds since 1970 in universal time, as the clock of a zone shows them."""
    return seconds if zone == "UTC" else _shifter(zone)(seconds)


@lru_cache(64)
def _shifter(zone: str) -> Any:
    import ibis
    import pyarrow

    moments, offsets = clock_changes(zone)

    def shift(values: Any) -> Any:
        if isinstance(values, pyarrow.ChunkedArray):
            values = values.combine_chunks()
        seconds = values.fill_null(0).to_numpy(zero_copy_only=False)
        shown = seconds + offsets[np.searchsorted(moments, seconds, side="right")]
        return pyarrow.array(shown, mask=np.asarray(values.is_null().to_numpy(zero_copy_only=False)))

    name = f"clock_{hashlib.sha256(zone.encode() + moments.tobytes() + offsets.tobytes()).hexdigest()[:16]}"
    return ibis.udf.scalar.pyarrow(shift, name=name, signature=(("int64",), "int64"))


@lru_cache(64)
def clock_changes(zone: str) -> tuple[Integers, Integers]:
    """The moments at which the clock of a zone changes, and how far ahead it is before the first and after each."""
    rules = time_zone(zone)

    def ahead(second: int) -> int:
        shown = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=second)).astimezone(rules).utcoffset()
        assert shown is not None
        return shown // timedelta(seconds=1)

    moments: list[int] = []
    offsets = [ahead(_FIRST)]
    for day in range(_FIRST, _LAST, DAY):
        if ahead(day + DAY) != offsets[-1]:
            low, high = day, day + DAY  # the clock changes between them
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if ahead(middle) == offsets[-1] else (low, middle)
            moments.append(high)
            offsets.append(ahead(day + DAY))
    return np.array(moments, dtype=np.int64), np.array(offsets, dtype=np.int64)
