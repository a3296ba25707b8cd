"""The laboratory, for public data only: corpora, experiments, training, benchmarks, comparisons and reproductions."""
