"""Engines: what holds the rows and counts them. One file each, behind one small interface."""

from adyton.kernel.engines.engine import Engine
from adyton.kernel.engines.known import ENGINES, engine_of

__all__ = ["ENGINES", "Engine", "engine_of"]
