"""The adyton: the only room that sees private data."""
