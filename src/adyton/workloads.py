"""The public query sets."""

from adyton.queries import (
    AllRange,
    Explicit,
    Grid,
    Haar,
    Hierarchy,
    Identity,
    Kronecker,
    Marginals,
    Partition,
    Prefix,
    Queries,
    RandomRanges,
    Ranges,
    Stack,
    Total,
    Weighted,
)

__all__ = [
    "AllRange",
    "Explicit",
    "Grid",
    "Haar",
    "Hierarchy",
    "Identity",
    "Kronecker",
    "Marginals",
    "Partition",
    "Prefix",
    "Queries",
    "RandomRanges",
    "Ranges",
    "Stack",
    "Total",
    "Weighted",
]
