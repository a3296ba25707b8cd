"""Private tables on any engine: opened, transformed and counted without a row coming out."""

from adyton.kernel.tables.private_table import PrivateTable, open_table

__all__ = ["PrivateTable", "open_table"]
