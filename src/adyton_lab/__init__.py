"""The laboratory, for public data only: corpora, experiments, training, benchmarks, comparisons, reproductions, audit.

Begin with ``commands``, which holds ``adyton compare``, ``train``, ``reproduce``, ``bench`` and ``audit``.
"""
