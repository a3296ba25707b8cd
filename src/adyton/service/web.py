"""The HTTP process of the service: ``python -m adyton.service.web``.

It reads its :class:`~adyton.service.settings.Settings` as one line of JSON from standard input, writes
``{"ready": address}`` to standard output, and serves until it is asked to end. Later lines replace its data sets. It
knows the sockets of keepers, who may use which, hashes of tokens and the key of receipts; it has no rows, no ledger and
no password of the data, and does not load the code that could open them.
"""

from __future__ import annotations

import json
import resource
import sys
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Match

import adyton
from adyton.errors import AdytonError, BadInput
from adyton.service import channel
from adyton.service.access import Access, Doorkeeper, OpenId
from adyton.service.calls import Service
from adyton.service.gate import Gate, error_reply
from adyton.service.limits import CallCount, Rate
from adyton.service.listening import Listener
from adyton.service.observing import AuditLog, Metrics
from adyton.service.passing import Pages
from adyton.service.peers import Peers, is_peer
from adyton.service.routes import router
from adyton.service.settings import Settings, sentence
from adyton.service.timing import Clock, SystemClock

_FILES = 8192
"""How many files and connections the process may have open, if the system allows it; usual are 1024."""


def application(settings: Settings, *, clock: Clock | None = None) -> Gate:
    """The whole application: the routes behind the gate."""
    clock = clock or SystemClock()
    service = Service(settings, clock)
    limits = settings.limits
    audit = AuditLog(
        Path(settings.audit) if settings.audit else None,
        most=limits.audit_bytes,
        files=limits.audit_files,
        strangers=Rate(limits.refused_per_minute, clock.now),
    )
    metrics = Metrics(audit)
    app = _app(service, metrics)
    openid = OpenId(**settings.openid.model_dump()) if settings.openid else None
    return Gate(
        app=app,
        service=service,
        routes=router.routes,
        doorkeeper=Doorkeeper(Access(Path(settings.access)), openid, frozenset(settings.curators)),
        rate=Rate(limits.requests_per_minute, clock.now),
        calls=CallCount(limits.under_way, limits.under_way_each),
        clock=clock,
        durations=service.durations,
        audit=audit,
        metrics=metrics,
        datasets=frozenset(settings.datasets),
        most_body=limits.body,
        body_seconds=limits.body_seconds,
        proxies=Peers.of(settings.proxies),
        metrics_for=frozenset(name for name in settings.metrics if not is_peer(name)),
        metrics_at=Peers.of([name for name in settings.metrics if is_peer(name)]),
        peers=CallCount(limits.connections, limits.connections_each),
        refusals=Rate(limits.refused_per_minute, clock.now),
        pages=None if settings.pages is None else Pages(settings.pages),
    )


def _app(service: Service, metrics: Metrics) -> FastAPI:
    off: Any = dict.fromkeys(("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False)
    app = FastAPI(
        title="Adyton",
        version=adyton.__version__,
        description="Differentially private answers about tables that stay where they are.",
        docs_url=None,  # these pages load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        telemetry=off,  # durations depend on rows, and errors hold what was sent
    )
    app.state.service, app.state.metrics = service, metrics
    app.include_router(router)
    for kind in (AdytonError, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, _answered)
    return app


def replace_datasets(gate: Gate, text: str) -> None:
    """Serve the data sets of other settings; everything else stays as it is."""
    datasets = Settings.read(text).datasets
    gate.service.datasets, gate.datasets = datasets, frozenset(datasets)


async def _answered(request: Request, error: Exception) -> Response:
    """The reply for an error that a route raised."""
    if isinstance(error, RequestValidationError):
        error = BadInput(sentence(error.errors()))
    elif isinstance(error, HTTPException):
        error = _Unrouted(error)
    reply = error_reply(error, Service.passage(request))
    if reply.status == HTTPStatus.METHOD_NOT_ALLOWED:
        reply.headers.append((b"allow", _allowed(request)))
    response = Response(reply.body, reply.status)
    response.raw_headers = reply.headers
    return response


def _allowed(request: Request) -> bytes:
    """The methods that the path of a call has, in all of its routes."""
    routes = (*router.routes, *request.app.routes)
    found = [route for route in routes if route.matches(request.scope)[0] is not Match.NONE]
    methods = {method for route in found for method in getattr(route, "methods", None) or ()}
    return ", ".join(sorted(methods)).encode("ascii")


class _Unrouted(channel.Refused):
    """A path or method that there is none."""

    def __init__(self, error: HTTPException) -> None:
        if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            super().__init__({"kind": "MethodNotAllowed", "message": "This path has no such method."})
        elif error.status_code == HTTPStatus.NOT_FOUND:
            super().__init__({"kind": "NotFound", "message": "There is no such path. See /openapi.json."})
        else:
            super().__init__({"kind": "BadInput", "message": "The body cannot be read."})


def main() -> None:
    """Serve by the settings on standard input, until SIGTERM."""
    try:
        settings = Settings.read(sys.stdin.readline())
        gate = application(settings)
        gate.doorkeeper.access.create()
        limits = settings.limits
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        if most == resource.RLIM_INFINITY or most > _FILES:
            most = _FILES
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        Listener(
            gate,
            settings.listen,
            gate.audit,
            gate.metrics,
            gate.service.tasks,
            certificate=settings.certificate,
            certificate_key=settings.certificate_key,
            connections=limits.connections,
            connections_each=limits.connections_each,
            reserved=limits.reserved,
            proxies=gate.proxies,
            head_seconds=limits.head_seconds,
            idle_seconds=limits.idle_seconds,
            shutdown_seconds=limits.shutdown_seconds,
            parent=settings.parent,
            inside=settings.api,
            change=partial(replace_datasets, gate),
        ).run()
    except (AdytonError, OSError) as error:
        message = (
            f"{error.filename}: {error.strerror}." if isinstance(error, OSError) and error.filename else f"{error}"
        )
        sys.stdout.write(json.dumps({"error": {"message": message}}) + "\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
