"""Sessions of Spark Connect that we open ourselves, by their addresses.

They are never let go. Spark's client closes a session when Python collects it, and waits for a lock meanwhile. If that
happens in the middle of a query of another session, the query has that lock already, and waits for ever.
"""

from __future__ import annotations

from typing import Any

from adyton.kernel.engines.spark_traces import be_impatient
from adyton.kernel.sealed import quietly

_SECONDS = 15
"""As long is waited for a server that does not answer."""
_kept: list[Any] = []
_answering: dict[str, Any] = {}


def session_at(address: str) -> Any | None:
    """A session at an address whose server answers, the last one if it still does; None if there is none."""
    last = _answering.pop(address, None)
    session = last if last is not None and _answers(last) else quietly(lambda: _answering_session(address))
    if session is not None:
        _answering[address] = session
    return session


def _answering_session(address: str) -> Any | None:
    """A new one. If its server does not answer it is closed at once: threads of its own would go on asking."""
    from pyspark.sql.connect.session import SparkSession

    session = SparkSession.builder.remote(address).create()
    _kept.append(session)
    if _answers(session):
        return session
    session.client.close()
    return None


def _answers(session: Any) -> bool:
    """Whether its server does, within some seconds; Spark itself would ask again for ten minutes."""
    from grpc import channel_ready_future

    def asked() -> str:
        ready = channel_ready_future(session.client._channel)
        try:
            ready.result(timeout=_SECONDS)
        finally:
            ready.cancel()
        return str(session.conf.get("spark.sql.session.timeZone"))  # the version would be remembered

    quietly(lambda: be_impatient(session))
    return not session.client.is_closed and quietly(asked) is not None
