"""Tables of many attributes from noisy tables of few: which to measure, a model of them, any table, synthetic rows.

Start with ``program``: the requested tables, and what a program is; ``tables_release`` is the result.
"""
