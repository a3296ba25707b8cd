"""Private tables, wherever they are: opened, transformed and counted without a row coming out."""

from adyton.kernel.counting.opening import open_table
from adyton.kernel.reading.local_table import LocalTable as PrivateTable

__all__ = ["PrivateTable", "open_table"]
