"""From a stored value to its cell, once: texts by one reader, typed columns by one table of types.

Begin with :mod:`~adyton.kernel.reading.values`, then :mod:`~adyton.kernel.reading.texts` and
:mod:`~adyton.kernel.reading.cells`. Nothing here fails on a value, and no value is read with the help of another.
"""
