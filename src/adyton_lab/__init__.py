"""The laboratory, for public data only: corpora, experiments, training, benchmarks, comparisons, reproductions, audit.

Begin with ``commands``: what ``adyton compare``, ``train``, ``reproduce``, ``bench`` and ``audit`` run.
"""
