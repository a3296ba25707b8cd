"""What the HTTP process reads when it starts, as JSON on standard input."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from adyton.errors import BadInput
from adyton.messages import shorten


class Strict(BaseModel):
    """Values of exactly these names and types."""

    model_config = ConfigDict(extra="forbid", strict=True)


class DataSet(Strict):
    """A data set as the HTTP process knows it."""

    socket: str
    """The path of its keeper's socket."""
    analysts: list[str] = []
    """Who may use it, beside the curators."""
    results: str = "own"
    """Who may fetch a result: the analyst who asked, or ``all``."""
    cells: dict[str, int] = {}
    """The number of cells of each attribute of the schema."""
    account: str | None = None
    """What data sets with one ledger have in common; None: it has its own."""


class Limits(Strict):
    """What clients may send, and how long they may take."""

    body: Annotated[int, Field(ge=1024, le=2**25)] = 2**20
    requests_per_minute: Annotated[int, Field(ge=1, le=10**6)] = 600
    under_way: Annotated[int, Field(ge=1)] = 64
    under_way_each: Annotated[int, Field(ge=1)] = 16
    connections: Annotated[int, Field(ge=1)] = 512
    connections_each: Annotated[int, Field(ge=1)] = 64
    """Of one peer."""
    reserved: Annotated[int, Field(ge=0)] = 128
    """How many of the connections are for those that have shown a valid token."""
    head_seconds: Annotated[float, Field(gt=0)] = 10
    body_seconds: Annotated[float, Field(gt=0)] = 30
    refused_per_minute: Annotated[int, Field(ge=1)] = 120
    """How many calls of one peer without a valid token are written down in a minute, and answered at once."""
    audit_bytes: Annotated[int, Field(ge=4096)] = 2**26
    """The largest file of the audit log."""
    audit_files: Annotated[int, Field(ge=0, le=1000)] = 15
    """How many earlier files are kept."""
    idle_seconds: Annotated[int, Field(ge=1)] = 15
    shutdown_seconds: Annotated[int, Field(ge=0)] = 30


class Timing(Strict):
    """The public durations of classes, in seconds."""

    on: bool = True
    count: Annotated[float, Field(gt=0)] = 0.5
    small: Annotated[float, Field(gt=0)] = 2
    large: Annotated[float, Field(gt=0)] = 30


class OpenIdSettings(Strict):
    """An OpenID Connect issuer whose tokens are accepted."""

    issuer: str
    audience: str
    claim: str = "sub"


class Settings(Strict):
    """What the HTTP process needs to know."""

    listen: str
    """``host:port`` or ``unix:path``."""
    certificate: str | None = None
    certificate_key: str | None = None
    datasets: dict[str, DataSet]
    curators: list[str] = []
    access: str
    """The file of tokens."""
    audit: str | None = None
    receipts: str
    """The file of the signing key."""
    parent: int | None = None
    """The process without which this one ends."""
    pages: str | None = None
    """The socket of the process that makes pages; None: there are none."""
    api: str | None = None
    """The socket on which that process asks this one."""
    proxies: list[str] = []
    """The peers whose ``X-Forwarded-For`` is believed."""
    metrics: list[str] = []
    """Who may read the metrics: names of tokens of the role ``metrics``, and peers."""
    limits: Limits = Limits()
    timing: Timing = Timing()
    openid: OpenIdSettings | None = None

    @classmethod
    def read(cls, text: str) -> Settings:
        """From JSON."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise BadInput(f"the settings of the HTTP process: {sentence(error.errors(include_input=False))}") from None


def sentence(errors: Any) -> str:
    """What is wrong with values, in one sentence, without them."""
    first = errors[0]
    place = [part for part in first["loc"] if part not in ("body", "query", "path")]
    return f"{'.'.join(shorten(part).strip(chr(39)) for part in place) or 'The body'}: {first['msg']}."
