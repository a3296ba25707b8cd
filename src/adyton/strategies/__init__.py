"""Strategies: which queries to measure, and how precisely, when the workload is known and the data are not.

Start with :class:`adyton.strategies.base.Strategy`; the other chapters find good ones, each for a kind of workload.
"""
