"""Private tables, wherever they are: opened, transformed and counted without a row coming out."""

from adyton.kernel.counting.opening import open_table
from adyton.kernel.counting.table import PrivateTable

__all__ = ["PrivateTable", "open_table"]
