"""Benchmarks against peers, both measured in one run."""
