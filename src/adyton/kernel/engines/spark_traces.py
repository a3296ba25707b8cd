"""What a query leaves behind in a session of Spark: no name, no line in a log, and no setting."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from adyton.kernel.engines.spark_plans import check_frame, is_remote
from adyton.kernel.sealed import quietly

_FRAMES = "frames_of_adyton"


def name_for(frame: Any, backend: Any) -> str:
    """A name by which queries of a backend know a frame. No other thing can have it."""
    name = f"adyton_{uuid.uuid4().hex}"
    setattr(backend, _FRAMES, {**getattr(backend, _FRAMES, {}), name: frame})
    return name


@contextmanager
def named(backend: Any) -> Iterator[None]:
    """Frames have their names as long as a query runs.

    If it fails, a server may be gone: it is told in the background, because a client waits for it for minutes.
    """
    frames: dict[str, Any] = getattr(backend, _FRAMES, {})
    done = False
    try:
        for name, frame in frames.items():
            if is_remote(frame):
                check_frame(frame)  # Connect looks names up anew: a table may have become a view
            frame.createOrReplaceTempView(name)
        yield
        done = True
    finally:
        if done or not any(map(is_remote, frames.values())):
            _forget(frames)
        else:
            threading.Thread(target=_forget, args=(frames,), daemon=True).start()


def _forget(frames: dict[str, Any]) -> None:
    for name, frame in frames.items():
        quietly(lambda name=name, frame=frame: frame.sparkSession.catalog.dropTempView(name))  # type: ignore[misc]


@contextmanager
def quiet() -> Iterator[None]:
    """Spark's client writes down what went wrong, which may quote a row."""
    logger = logging.getLogger("SQLQueryContextLogger")
    disabled, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = disabled


def be_impatient(session: Any) -> None:
    """A client of Connect asks a server that is gone again for half a minute; of itself, for ten minutes."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    session.client.set_retry_policies([DefaultPolicy(max_retries=6, max_backoff=10_000)])


@contextmanager
def impatient(session: Any) -> Iterator[None]:
    """For the time of a query."""
    before = quietly(lambda: list(session.client.get_retry_policies())) if is_remote(session) else None
    if before is not None:
        quietly(lambda: be_impatient(session))
    try:
        yield
    finally:
        if before is not None:
            quietly(lambda: session.client.set_retry_policies(before))
