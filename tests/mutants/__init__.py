"""Seeded faults of what is proven, and the list of those that no default test notices; see ``run.py``."""
