"""Lines of CSV text cut into records and fields.

One loop, run by Python for a short text and compiled for a long one: it calls nothing and allocates nothing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from adyton.arrays import Places
from adyton.compiling import compiled

Octets = npt.NDArray[np.uint8]

_NEWLINE = 10
_RETURN = 13
_BLANK = 32
_QUOTE = 34


# Longer than 60 lines, because one function compiles sooner than several, and Python runs it faster without calls.
@compiled
def cut_records(  # noqa: PLR0912, PLR0915
    raw: bytes | Octets,
    final: bool,
    multiline: bool,
    longest: int,
    delimiter: int,
    slots: Places,
    data: Octets,
    ends: npt.NDArray[np.int32],
    filled: Octets,
) -> tuple[int, int]:
    """Read records from whole lines; return how many there were, and how many bytes of *raw* they took.

    A field is quoted if its first byte that is no blank is a quote: it ends at the next quote that is not doubled,
    after which only blanks may follow. In other fields quotes stand for themselves. ``slots[column]`` says where the
    fields of a column go, −1 for nowhere: their bytes to ``data[slot]``, the place behind them to ``ends[slot, record +
    1]``; ``filled[slot, record]`` is 0 where a field is empty or absent. A line that breaks these rules, or is longer
    than *longest*, is a record of absent fields. Bytes that are not taken begin a record whose end is not in *raw*.

    Claim.  Without *multiline*, a line makes one record (none if it is empty and there are several columns), and what
    is in the record depends on the bytes of that line alone.
    Proof.  Every loop over bytes ends at the first newline at the latest, and a record begins with all of the variables
    that its bytes are read by set anew.  ∎

    With *multiline*, a newline inside quotes is part of a field. A quote that no other closes within *longest* bytes
    makes its own line a record of absent fields, and the line after it begins the next.
    """
    length, width, columns = len(raw), len(data), len(slots)
    start, record = 0, 0
    while start < length:
        for slot in range(width):
            ends[slot, record + 1] = ends[slot, record]
            filled[slot, record] = 0
        position, column, whole, unclosed = start, 0, True, False
        while True:  # one field
            slot = slots[column] if column < columns else -1
            end = ends[slot, record] if slot >= 0 else 0
            first = position
            while raw[position] == _BLANK:
                position += 1
            if raw[position] == _QUOTE:
                position += 1
                unclosed = True
                while position < length:
                    byte = raw[position]
                    if byte == _QUOTE:
                        position += 1
                        if raw[position] != _QUOTE:
                            unclosed = False
                            break
                    elif byte == _NEWLINE and (not multiline or position - start >= longest):
                        break
                    if slot >= 0:
                        data[slot, end] = byte
                        end += 1
                    position += 1
                if unclosed:
                    whole = False
                    break
                while raw[position] == _BLANK:
                    position += 1
                if raw[position] == _RETURN and raw[position + 1] == _NEWLINE:
                    position += 1
                if raw[position] != delimiter and raw[position] != _NEWLINE:
                    whole = False
                    break
            else:
                position = first
                while raw[position] != delimiter and raw[position] != _NEWLINE:
                    position += 1
                stop = position
                if raw[position] == _NEWLINE and stop > first and raw[stop - 1] == _RETURN:
                    stop -= 1
                if slot >= 0:
                    for place in range(first, stop):
                        data[slot, end] = raw[place]
                        end += 1
            if slot >= 0:
                filled[slot, record] = end > ends[slot, record]
                ends[slot, record + 1] = end
            if raw[position] == _NEWLINE:
                break
            position += 1
            column += 1
        if unclosed and multiline:
            if position == length and length - start <= longest and not final:
                return record, start
            position = start
        while raw[position] != _NEWLINE:
            position += 1
        stop = position
        if stop > start and raw[stop - 1] == _RETURN:
            stop -= 1
        if not whole or stop - start > longest:
            for slot in range(width):
                ends[slot, record + 1] = ends[slot, record]
                filled[slot, record] = 0
        if stop > start or columns == 1:
            record += 1
        start = position + 1
    return record, length
