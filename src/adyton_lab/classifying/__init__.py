"""Experiments with classifiers on public tables: which method wins where, and what quality to expect."""
