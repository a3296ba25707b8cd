"""Engines: what holds the rows and counts them. One file each, behind one small interface."""

from adyton.kernel.engines.engine import Engine
from adyton.kernel.engines.known import ENGINES, engine_of
from adyton.kernel.engines.server import Server

__all__ = ["ENGINES", "Engine", "Server", "engine_of"]
