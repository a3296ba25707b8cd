"""The routes, with what they take and return, as OpenAPI describes it at ``/openapi.json``."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any
from uuid import uuid4

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.security import HTTPBearer
from pydantic import BaseModel, Field

from adyton.errors import AdytonError
from adyton.service.access import Person
from adyton.service.calls import Service, as_json, owner_of
from adyton.service.channel import Forbidden
from adyton.service.limits import check_json
from adyton.service.receipts import public_text
from adyton.service.settings import Strict

NAME = r"^[A-Za-z0-9_-]{1,64}$"
"""Ids of requests and doors."""
router = APIRouter()


class Ask(Strict):
    """A request for a release, as ``Request.to_dict`` writes it."""

    request: dict[str, Any]
    id: Annotated[str | None, Field(pattern=NAME)] = None
    """Chosen by the client: the same request with the same id is charged once."""
    wait: Annotated[float, Field(ge=0, le=600)] = 30
    """How many seconds to wait for the result; 0: the reply is that it is under way."""


class Consent(Strict):
    """A curator's answer to a request that waits for it."""

    grant: bool
    analyst: Annotated[str, Field(max_length=100)]
    word: Annotated[str | None, Field(max_length=1000)] = None


class Transform(Strict):
    """A transform of a source behind a door."""

    source: int | Annotated[str, Field(pattern=NAME)]
    operator: str
    """As the kernel's wire writes it."""


class Measure(Transform):
    """A measurement of a source behind a door."""

    epsilon: Annotated[str, Field(pattern=r"^[0-9]{1,100}(/[0-9]{1,100})?$")]
    id: Annotated[str | None, Field(pattern=NAME)] = None


class Afford(Strict):
    """Whether a measurement could be paid for."""

    source: int | Annotated[str, Field(pattern=NAME)]
    epsilon: Annotated[str, Field(pattern=r"^[0-9]{1,100}(/[0-9]{1,100})?$")]


class Forget(Strict):
    """Sources that are not needed any more."""

    sources: Annotated[list[int | Annotated[str, Field(pattern=NAME)]], Field(max_length=10_000)]


class ErrorText(BaseModel):
    """What an error says."""

    kind: str
    message: str
    asked: str | None = None
    left: str | None = None
    total: str | None = None


class ErrorBody(BaseModel):
    """The body of every reply that is an error."""

    error: ErrorText


class Status(BaseModel):
    """A request that has no result yet."""

    id: str
    status: str


Id = Annotated[str, Path(pattern=NAME)]
Owner = Annotated[str | None, Query(max_length=100, description="Curators: whose request.")]
_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorBody} for status in (400, 401, 403, 404, 405, 408, 409, 410, 413, 429, 500, 503)
}
_RESULT: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The result, as it would be saved.",
        "content": {"application/json": {"schema": {}}},
        "headers": {
            "Adyton-Request": {"description": "The id.", "schema": {"type": "string"}},
            "Adyton-Receipt": {"description": "The signed receipt.", "schema": {"type": "string"}},
        },
    },
    202: {"description": "No result yet.", "model": Status},
}
_AUTHORIZED: dict[str, Any] = {
    "dependencies": [Depends(HTTPBearer(auto_error=False, description="A token of adyton token."))],
    "responses": _ERRORS,
}
_RESULTS: dict[str, Any] = {**_AUTHORIZED, "responses": {**_ERRORS, **_RESULT}}


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


@router.get("/health", tags=["service"])
async def health() -> Response:
    """Whether the HTTP process runs."""
    return as_json({"status": "ok"})


@router.get("/metrics", tags=["service"], response_class=Response)
async def counted(request: Request) -> Response:
    """Counters for Prometheus: from this machine, or with a token of the role metrics."""
    return Response(request.app.state.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


@router.get("/v1/me", tags=["service"], **_AUTHORIZED)
async def me(request: Request) -> Response:
    """Who is calling, and what they may still spend on each data set."""
    service = _service(request)
    person: Person = service.passage(request).person  # type: ignore[assignment]
    budgets = {about["dataset"]: about.get("budget") for about in await _all_described(request)}
    return as_json({"name": person.name, "role": person.role, "datasets": budgets})


@router.get("/v1/key", tags=["service"], **_AUTHORIZED)
async def key(request: Request) -> Response:
    """The public key that receipts are signed with."""
    service = _service(request)
    return as_json({"algorithm": "Ed25519", "key": public_text(service.key)})


@router.get("/v1/datasets", tags=["data sets"], **_AUTHORIZED)
async def datasets(request: Request) -> Response:
    """The data sets that were granted, with what is public about them."""
    return as_json({"datasets": await _all_described(request)})


@router.get("/v1/datasets/{name}", tags=["data sets"], **_AUTHORIZED)
async def dataset(request: Request, name: str) -> Response:
    """What is public about a data set, and the budget."""
    service = _service(request)
    return as_json(await service.described(name, service.granted(request, name)))


@router.post("/v1/datasets/{name}/requests", tags=["requests"], **_RESULTS)
async def ask(request: Request, name: str, body: Ask) -> Response:
    """Ask for a release. The same request with the same id is charged once, and returns the same result."""
    service = _service(request)
    person = service.granted(request, name)
    identifier = service.passage(request).request = body.id or uuid4().hex
    outcome = await service.work(
        request,
        name,
        "ask",
        (name, owner_of(person), identifier),
        wait=body.wait,
        id=identifier,
        request=body.request,
    )
    return service.outcome(name, person.name, identifier, outcome)


@router.get("/v1/datasets/{name}/requests", tags=["requests"], **_AUTHORIZED)
async def requests(request: Request, name: str) -> Response:
    """The requests that this person may see."""
    service = _service(request)
    found = await service.keeper(name, service.granted(request, name), "list")
    for row in found if isinstance(found, list) else []:
        if isinstance(row, dict) and (name, row.get("analyst"), row.get("id")) in service.works:
            row["status"] = "under way"
    return as_json({"requests": found})


@router.get("/v1/datasets/{name}/requests/{id}", tags=["requests"], **_RESULTS)
async def fetch(request: Request, name: str, id: Id, analyst: Owner = None) -> Response:
    """The result of a request that was made before."""
    service = _service(request)
    person = service.granted(request, name, curator=analyst is not None and not service.shows_all(name))
    service.passage(request).request = id
    owner = analyst or owner_of(person)
    outcome, key = None, (name, owner, id)
    if key not in service.works:
        outcome = await service.keeper(name, person, "fetch", id=id, analyst_of=analyst)
        if service.durations.on and isinstance(outcome, dict) and outcome.get("status") == "under way":
            # begun before this process was: its end shows at a boundary, like that of every other
            outcome = await service.work(request, name, "fetch", key, owner=owner, wait=0, id=id, analyst_of=analyst)
    return service.outcome(name, owner or person.name, id, outcome)


@router.post("/v1/datasets/{name}/requests/{id}/consent", tags=["requests"], **_RESULTS)
async def consent(request: Request, name: str, id: Id, body: Consent) -> Response:
    """Curators: let a request run that waits for consent, or refuse it."""
    service = _service(request)
    service.granted(request, name, curator=True)
    service.passage(request).request = id
    outcome = await service.work(
        request,
        name,
        "consent",
        (name, body.analyst, id),
        owner=body.analyst,
        wait=0,
        id=id,
        analyst_of=body.analyst,
        grant=body.grant,
        word=body.word,
    )
    return service.outcome(name, body.analyst, id, outcome)


@router.delete("/v1/datasets/{name}/requests/{id}", tags=["requests"], **_AUTHORIZED)
async def cancel(request: Request, name: str, id: Id) -> Response:
    """Cancel a request from which nothing was charged yet."""
    service = _service(request)
    person = service.granted(request, name)
    service.passage(request).request = id
    work = service.works.get((name, owner_of(person), id))
    if work is not None and not work.begun and work.subject.startswith('["ask"'):  # not a consent to it, or a fetch
        await work.cancel()
    else:
        await service.keeper(name, person, "cancel", id=id)
    return as_json({"id": id, "status": "cancelled"})


@router.get("/v1/datasets/{name}/ledger", tags=["curators"], **_AUTHORIZED)
async def ledger(request: Request, name: str) -> Response:
    """Curators: what was spent, by whom, on what."""
    service = _service(request)
    return as_json(await service.keeper(name, service.granted(request, name, curator=True), "ledger"))


@router.get("/v1/datasets/{name}/analysts", tags=["curators"], **_AUTHORIZED)
async def analysts(request: Request, name: str) -> Response:
    """Curators: analysts and their parts of the budget."""
    service = _service(request)
    return as_json(await service.keeper(name, service.granted(request, name, curator=True), "analysts"))


@router.post("/v1/datasets/{name}/door", tags=["door"], **_AUTHORIZED)
async def open_door(request: Request, name: str) -> Response:
    """Open a door to the kernel, for a program that runs at the client."""
    service = _service(request)
    service.granted(request, name)
    return as_json(await service.work(request, name, "open"))


@router.post("/v1/datasets/{name}/door/{door}/transform", tags=["door"], **_AUTHORIZED)
async def transform(request: Request, name: str, door: Id, body: Transform) -> Response:
    """Derive sources; costs nothing."""
    return await _at_door(request, name, "transform", door, body)


@router.post("/v1/datasets/{name}/door/{door}/measure", tags=["door"], **_AUTHORIZED)
async def measure(request: Request, name: str, door: Id, body: Measure) -> Response:
    """Measure a source. The same measurement with the same id is charged once."""
    service = _service(request)
    body.id = service.passage(request).request = body.id or uuid4().hex
    return await _at_door(request, name, "measure", door, body, body.id)


@router.post("/v1/datasets/{name}/door/{door}/afford", tags=["door"], **_AUTHORIZED)
async def afford(request: Request, name: str, door: Id, body: Afford) -> Response:
    """Whether a measurement of a source could be paid for."""
    return await _at_door(request, name, "afford", door, body)


@router.post("/v1/datasets/{name}/door/{door}/forget", tags=["door"], **_AUTHORIZED)
async def forget(request: Request, name: str, door: Id, body: Forget) -> Response:
    """Forget sources that are not needed any more."""
    return await _at_door(request, name, "forget", door, body)


@router.delete("/v1/datasets/{name}/door/{door}", tags=["door"], **_AUTHORIZED)
async def close(request: Request, name: str, door: Id) -> Response:
    """Close a door."""
    service = _service(request)
    service.granted(request, name)
    return as_json(await service.work(request, name, "close", door=door))


async def _all_described(request: Request) -> list[dict[str, Any]]:
    service = _service(request)

    async def described(name: str) -> list[dict[str, Any]]:
        try:
            person = service.granted(request, name)
            return [{**await service.described(name, person), "dataset": name}]
        except Forbidden:
            return []
        except AdytonError:
            return [{"dataset": name, "status": "starting"}]

    return [about for parts in await asyncio.gather(*map(described, service.datasets)) for about in parts]


async def _at_door(
    request: Request, name: str, call: str, door: str, body: Strict, identifier: str | None = None
) -> Response:
    service = _service(request)
    person = service.granted(request, name)
    if isinstance(body, Transform):
        check_json(body.operator.encode("utf-8"), most_values=None)
    key = (name, owner_of(person), identifier) if identifier else None
    return as_json(await service.work(request, name, call, key, door=door, **body.model_dump(exclude_none=True)))
