"""Engines: what holds the rows and counts them. One file each, behind the one interface that ``engine`` describes."""

from __future__ import annotations

from typing import Any

from adyton.kernel.engines.duckdb import DuckDb
from adyton.kernel.engines.engine import Engine
from adyton.kernel.engines.postgres import Postgres
from adyton.kernel.engines.server import Server
from adyton.kernel.engines.spark import Spark

__all__ = ["ENGINES", "Engine", "Server", "engine_of"]

ENGINES: dict[str, type[Any]] = {engine.name: engine for engine in (DuckDb, Postgres, Spark)}
"""By Ibis's name."""


def engine_of(table: Any) -> Any:
    """The engine of an Ibis table that has been checked."""
    (backend, *_), _ = table._find_backends()
    return ENGINES[backend.name](backend)
