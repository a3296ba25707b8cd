"""Benchmarks against peers, measured in the same run: what ``adyton bench`` prints.

Begin with :mod:`adyton_lab.bench.common`: a suite is a function that returns how many rows its table has, and the rows.
"""
