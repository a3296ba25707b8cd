"""Experiments with classifiers on public tables: how accurate each method is, and what the chosen tree learns."""
