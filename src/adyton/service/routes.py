"""The routes, with what they take and return, as OpenAPI describes it at ``/openapi.json``."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import uuid4

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.security import HTTPBearer
from pydantic import BaseModel, ConfigDict, Field

from adyton.errors import AdytonError, BadInput
from adyton.service.access import Person, TokenEntry
from adyton.service.calls import Service, as_json, owner_of
from adyton.service.channel import Forbidden, NotFound
from adyton.service.limits import check_json
from adyton.service.receipts import public_text
from adyton.service.settings import Strict

NAME = r"^[A-Za-z0-9_-]{1,64}$"
"""Ids of requests and doors."""
_PERSON = r"^\S(.*\S)?$"
"""Names of people: not empty, and without spaces around them."""
_CONSENT_SECONDS = 1
"""How long a consent waits for its request: by then it is known whether there is such a request."""
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
    analyst: Annotated[str, Field(max_length=100, pattern=_PERSON)]
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """That of the request which was read, as the list of requests has it. Another one is not decided on."""
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


class Token(BaseModel):
    """A token, without its secret; times in UTC."""

    id: str
    name: str
    role: str
    made: str
    expires: str | None
    state: str
    """``valid``, ``revoked`` or ``expired``."""
    own: bool
    """Whether it is the token of this call."""


class Tokens(BaseModel):
    """All tokens, the oldest first."""

    tokens: list[Token]


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
    """A request, and how far it is."""

    id: str
    status: str


class Health(BaseModel):
    """Whether the HTTP process runs."""

    status: str


class Me(BaseModel):
    """Who is calling; for each data set, amounts as exact fractions, or nothing while it starts."""

    name: str
    role: str
    datasets: dict[str, dict[str, str] | None]


class Key(BaseModel):
    """The public key of receipts, as base64url."""

    algorithm: str
    key: str


class About(BaseModel):
    """A data set. Of one that is starting, only its name and that."""

    model_config = ConfigDict(extra="allow")

    dataset: str
    budget: dict[str, str] | None = None
    status: str | None = None


class Datasets(BaseModel):
    """The data sets that were granted."""

    datasets: list[About]


class Line(Status):
    """A request that was made; nobody's is the curators'."""

    analyst: str | None
    request: dict[str, Any]
    digest: str
    """SHA-256 of the request as it is stored, which a consent names."""
    made: str


class Lines(BaseModel):
    """Requests that were made."""

    requests: list[Line]


class Opened(BaseModel):
    """A door, and what is public about its first source."""

    door: str
    facts: str


class Measured(BaseModel):
    """The answer of a measurement, as the kernel's wire writes it."""

    status: str
    result: str
    budget: dict[str, str]


Id = Annotated[str, Path(pattern=NAME)]
TokenId = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$")]
Owner = Annotated[
    str | None,
    Query(max_length=100, pattern=_PERSON, description="Whose request, where it is another analyst's."),
]
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


def _returns(model: Any) -> dict[str, Any]:
    """What a route says of its replies, where one without an error is of this model."""
    return {**_AUTHORIZED, "responses": {**_ERRORS, 200: {"model": model}}}


_RESULTS: dict[str, Any] = {**_AUTHORIZED, "responses": {**_ERRORS, **_RESULT}}


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


@router.get("/health", tags=["service"], responses={200: {"model": Health}})
async def health() -> Response:
    """Whether the HTTP process runs."""
    return as_json({"status": "ok"})


@router.get(
    "/metrics",
    tags=["service"],
    response_class=Response,
    responses={200: {"content": {"text/plain": {}}}, 401: {"model": ErrorBody}, 403: {"model": ErrorBody}},
)
async def counted(request: Request) -> Response:
    """Counters for Prometheus: from this machine, or with a token of the role metrics."""
    return Response(request.app.state.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


@router.get("/v1/me", tags=["service"], **_returns(Me))
async def me(request: Request) -> Response:
    """Who is calling, and what they may still spend on each data set."""
    service = _service(request)
    person: Person = service.passage(request).person  # type: ignore[assignment]
    budgets = {about["dataset"]: about.get("budget") for about in await _all_described(request)}
    return as_json({"name": person.name, "role": person.role, "datasets": budgets})


@router.get("/v1/key", tags=["service"], **_returns(Key))
async def key(request: Request) -> Response:
    """The public key that receipts are signed with."""
    service = _service(request)
    return as_json({"algorithm": "Ed25519", "key": public_text(service.key)})


@router.get("/v1/datasets", tags=["data sets"], **_returns(Datasets))
async def datasets(request: Request) -> Response:
    """The data sets that were granted, with what is public about them."""
    return as_json({"datasets": await _all_described(request)})


@router.get("/v1/datasets/{name}", tags=["data sets"], **_returns(About))
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
        request, name, "ask", (name, owner_of(person), identifier), wait=body.wait, id=identifier, request=body.request
    )
    return service.outcome(name, owner_of(person), identifier, outcome)


@router.get("/v1/datasets/{name}/requests", tags=["requests"], **_returns(Lines))
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
    owner = owner_of(person) if analyst is None else analyst
    outcome, key = None, (name, owner, id)
    if key not in service.works:
        outcome = await service.keeper(name, person, "fetch", id=id, analyst_of=analyst)
        if service.durations.on and isinstance(outcome, dict) and outcome.get("status") == "under way":
            # begun before this process was: its end shows at a boundary, like that of every other
            outcome = await service.work(request, name, "fetch", key, owner=owner, wait=0, id=id, analyst_of=analyst)
    return service.outcome(name, owner, id, outcome)


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
        wait=_CONSENT_SECONDS,
        id=id,
        analyst_of=body.analyst,
        digest=body.digest,
        grant=body.grant,
        word=body.word,
    )
    return service.outcome(name, body.analyst, id, outcome)


@router.delete("/v1/datasets/{name}/requests/{id}", tags=["requests"], **_returns(Status))
async def cancel(request: Request, name: str, id: Id) -> Response:
    """Cancel a request that nothing was charged for yet, also while it is being prepared. Who waits for it is told so,
    and its id cannot be used again. After its first charge this is refused (409, `UnderWay`): the request is carried
    out, and its result can be fetched."""
    service = _service(request)
    person = service.granted(request, name)
    service.passage(request).request = id
    key = (name, owner_of(person), id)
    work = service.works.get(key)
    # what has not come to the keeper yet is withdrawn there all the same; and who waits is told after that, not before
    await service.keeper(name, person, "cancel", id=id, request=None if work is None else work.asked)
    if work is not None:
        await work.cancel()
        if service.works.get(key) is work:
            del service.works[key]
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


@router.get("/v1/tokens", tags=["curators"], **_returns(Tokens))
async def tokens(request: Request) -> Response:
    """Curators: the tokens of this service, without their secrets. ``adyton token`` makes them."""
    service = _service(request)
    person = service.curator(request)
    entries = await asyncio.to_thread(service.access.entries)
    return as_json({"tokens": [_token(entry, person).model_dump() for entry in entries]})


@router.delete("/v1/tokens/{id}", tags=["curators"], **_returns(Token))
async def revoke(request: Request, id: TokenId, own: bool = False) -> Response:
    """Curators: revoke a token; it is refused from the next call on. The token of this call needs ``own=true``."""
    service = _service(request)
    person = service.curator(request)
    service.passage(request).token = id
    if id == person.token and not own:
        raise BadInput(
            "This is the token that you use: without it you are signed out. Add own=true if you mean it. "
            "adyton token makes another."
        )
    entry = await asyncio.to_thread(service.access.revoke_token, id)
    if entry is None:
        raise NotFound("There is no token of this id. GET /v1/tokens lists them.")
    return as_json(_token(entry, person).model_dump())


@router.post("/v1/datasets/{name}/door", tags=["door"], **_returns(Opened))
async def open_door(request: Request, name: str) -> Response:
    """Open a door to the kernel, for a program that runs at the client."""
    service = _service(request)
    service.granted(request, name)
    return as_json(await service.work(request, name, "open"))


@router.post("/v1/datasets/{name}/door/{door}/transform", tags=["door"], **_AUTHORIZED)
async def transform(request: Request, name: str, door: Id, body: Transform) -> Response:
    """Derive sources; costs nothing."""
    return await _at_door(request, name, "transform", door, body)


@router.post("/v1/datasets/{name}/door/{door}/measure", tags=["door"], **_returns(Measured))
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


def _token(entry: TokenEntry, person: Person) -> Token:
    made, expires = (
        None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat()
        for seconds in (entry.made, entry.expires)
    )
    assert made is not None
    own = entry.id == person.token
    return Token(id=entry.id, name=entry.name, role=entry.role, made=made, expires=expires, state=entry.state, own=own)


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
