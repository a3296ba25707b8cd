"""Strategies: which queries to measure, and how precisely, when the workload is known and the data are not.

Start with :class:`adyton.strategies.base.Strategy`; each of the other modules finds strategies for one kind of
workload.
"""
