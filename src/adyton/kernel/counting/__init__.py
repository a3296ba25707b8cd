"""Private tables in files, frames or servers: opened, transformed and counted; no row leaves this package.

Begin with :func:`~adyton.kernel.counting.opening.open_table` and :class:`~adyton.kernel.counting.table.PrivateTable`.
"""

from adyton.kernel.counting.opening import open_table
from adyton.kernel.counting.table import PrivateTable

__all__ = ["PrivateTable", "open_table"]
