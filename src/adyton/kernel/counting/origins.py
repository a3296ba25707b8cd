"""Where tables come from: files, databases and data frames, each looked at before anything is read."""

from __future__ import annotations

import os
from typing import Any

from adyton.errors import SchemaError
from adyton.kernel.counting.locations import check_path, is_address, reader_at
from adyton.kernel.reading.frames import frame_reader
from adyton.kernel.reading.parts import ADVICE, exists, file_reader
from adyton.kernel.reading.readers import Reader
from adyton.schema import FileFormat
from adyton.schema.file_format import PLAIN


def reader_for(data: Any, *, multiline: bool = False, file: FileFormat = PLAIN) -> Reader:
    """The reader of any kind of table that can be opened.

    *multiline* allows line ends inside the quotes of CSV, *file* says how its files are written. Several files of one
    kind make one table: given as a list, as a folder, or by a pattern such as ``week-*.csv`` or ``book.xlsx#*``.
    """
    several = data if isinstance(data, list | tuple) and data else [data]
    if all(isinstance(one, str | os.PathLike) for one in several):
        given = [os.fsdecode(one) for one in several]
        if len(given) == 1 and is_address(given[0]):
            return reader_at(given[0])
        for text in given:
            if not exists(text):
                check_path(text)
        return file_reader(given, multiline=multiline, file=file)
    if type(data).__name__ == "DataFrame" and type(data).__module__.startswith("pyspark.sql."):
        from adyton.kernel.engines.spark import SparkReader

        return SparkReader(data)
    reader = frame_reader(data)
    if reader is None:
        raise SchemaError(f"a {type(data).__name__} cannot be opened as a table. {ADVICE}.")
    return reader
