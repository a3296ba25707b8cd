"""From a stored value to its cell: one reader for all texts, one table of types for all typed columns.

Begin with :mod:`~adyton.kernel.reading.values`, then :mod:`~adyton.kernel.reading.texts` and
:mod:`~adyton.kernel.reading.cells`. No value causes an error, and no value influences how another one is read.
"""
