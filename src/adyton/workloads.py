"""The query sets that a person can ask for."""

from adyton.queries import Explicit, Identity, Partition, Prefix, Queries, Total

__all__ = ["Explicit", "Identity", "Partition", "Prefix", "Queries", "Total"]
