"""Spark."""

from adyton.kernel.engines.duckdb import DuckDb


class Spark(DuckDb):
    name = "pyspark"
