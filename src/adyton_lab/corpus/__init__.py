"""Public data for training and testing: histograms and tables in files, made-up histograms, tables of R packages.

Begin with :mod:`adyton_lab.corpus.shapes` (distributions) or :mod:`adyton_lab.corpus.tables` (rows).
"""

from adyton_lab.corpus.public_files import confirm_public
from adyton_lab.corpus.shapes import (
    Shape,
    dpbench_corpus,
    held_out_corpus,
    made_up_corpus,
    rdatasets_corpus,
    read_corpus,
    wide_corpus,
)

__all__ = [
    "Shape",
    "confirm_public",
    "dpbench_corpus",
    "held_out_corpus",
    "made_up_corpus",
    "rdatasets_corpus",
    "read_corpus",
    "wide_corpus",
]
