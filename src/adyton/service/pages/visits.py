"""What a view gets and returns: the visit of a visitor, and a page. They are values that know nothing of sockets."""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_DOWN, Context, Decimal
from fractions import Fraction
from functools import cached_property
from importlib.resources import files
from typing import Any, TypeAlias
from urllib.parse import quote, urlencode

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from adyton.errors import AdytonError, BadInput
from adyton.exact import display
from adyton.messages import shorten
from adyton.report.page import sentence
from adyton.service import channel
from adyton.service.channel import Forbidden, Refused
from adyton.session.client import Address, Client
from adyton.session.remote import RemoteSession

Fields: TypeAlias = Mapping[str, list[str]]
"""The fields of a form or of a query, each with all of its values."""
_DIGITS = 15
_THOUSANDS = re.compile(r"\d{1,3}([,'’ \u00a0\u202f])\d{3}(\1\d{3})*")
_LINKS = re.compile(r'[ \n](?:href|src|action|formaction|data-live|data-refresh)="/(?=[^/])')
"""Where a path of ours begins in a template; what visitors have typed has other quotes there."""
_LONGEST_RATIO = 5
_FIRST_DIGITS = Context(prec=6, rounding=ROUND_DOWN)
_PATIENCE = 5.0
"""For how many seconds a view waits for a service that is starting again."""
_SECONDS = 110
HTML = "text/html; charset=utf-8"


class NoSuchPage(AdytonError):
    """A path that leads nowhere, or to something that this visitor may not see."""


class SignIn(AdytonError):
    """A page that only visitors who have signed in may see."""


@dataclass(frozen=True)
class Page:
    """What is sent back."""

    body: bytes
    status: int = 200
    kind: str = HTML
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Visitor:
    """Somebody who has signed in."""

    token: str
    name: str
    role: str
    form_key: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    """What each form carries, so that other sites cannot send one in the visitor's name."""
    kept: dict[str, Any] = field(default_factory=dict)
    """What views keep for this visitor, such as drafts."""
    seen: float = 0.0

    @property
    def is_curator(self) -> bool:
        """Whether the visitor decides about data sets."""
        return self.role == "curator"


@dataclass
class Visit:
    """One call of a browser."""

    method: str
    path: str
    query: Fields
    form: Fields
    visitor: Visitor | None
    site: Any
    """The site, for what all visits share: its settings, and results that were read before."""
    secure: bool = False
    """Whether it came over TLS."""
    host: str = ""
    """The host and port that the browser asked, as it says."""
    cookie: str = ""

    @property
    def person(self) -> Visitor:
        """Who has signed in; everybody else is sent to the page where that is done."""
        if self.visitor is None:
            raise SignIn("Sign in first.")
        return self.visitor

    def text(self, name: str, otherwise: str = "") -> str:
        """The first value of a field, without blanks around it."""
        values = self.form.get(name) or self.query.get(name)
        return values[0].strip() if values else otherwise

    def texts(self, name: str) -> list[str]:
        """All values of a field that are not empty."""
        return [text.strip() for text in (self.form.get(name) or self.query.get(name) or []) if text.strip()]

    # ---- the service, as this visitor sees it -----------------------------------------------------------------------

    @cached_property
    def client(self) -> Client:
        """Calls of the service with the visitor's token."""
        return Client(Address.of(f"unix:{self.site.settings['api']}"), self.person.token, _PATIENCE)

    def session(self, table: str) -> RemoteSession:
        """A session about a table, with the budget as it is now."""
        return RemoteSession(self.client, table)

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """What the service replies to a call, as plain values."""
        return self.client.call(method, path, body).plain()

    def tables(self) -> list[dict[str, Any]]:
        """What the service says of each table that the visitor may use."""
        listed: list[dict[str, Any]] = self.ask("GET", "/v1/datasets")["datasets"]
        return listed

    def local(self, call: str, **given: Any) -> Any:
        """What the supervisor replies: to the curator of a service for one person, and to nobody else."""
        place = self.site.settings.get("workplace")
        if place is None:
            raise NoSuchPage("The tables of this service are in its configuration. Ask its curator to add one.")
        if not self.person.is_curator:
            raise Forbidden("Only the curator may open tables. Ask for one to be opened for you.")
        try:
            return asyncio.run(_called(place, {"call": call, **given}))
        except TimeoutError:
            raise BadInput("The table could not be opened in time. Try again, or look into the terminal.") from None
        except Refused as problem:
            if problem.kind == "NotFound":
                raise NoSuchPage(str(problem)) from None
            raise

    # ---- pages ------------------------------------------------------------------------------------------------------

    def page(self, template: str, *, status: int = 200, **values: Any) -> Page:
        """The page of a template."""
        own = {"visitor": self.visitor, "path": self.path, "local": self.site.settings.get("workplace") is not None}
        text = templates().get_template(template).render(**own, **values)
        if self.site.base:
            text = _LINKS.sub(rf"\g<0>{self.site.base[1:]}/", text)
        return Page(text.encode("utf-8"), status)


async def _called(place: str, message: dict[str, Any]) -> Any:
    async with asyncio.timeout(_SECONDS):
        return await channel.call(place, message)


View: TypeAlias = Callable[..., Page]
"""A function from a visit, and the parts of its path by name, to a page."""


def redirect(path: str) -> Page:
    """Send the browser to another page, with GET."""
    return Page(b"", 303, headers={"location": path})


def download(data: bytes, name: str, kind: str) -> Page:
    """A file that the browser saves under a name."""
    plain = "".join(sign if sign.isascii() and (sign.isalnum() or sign in "._-") else "-" for sign in name)
    shown = f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
    return Page(data, 200, kind, {"content-disposition": shown})


def document(html: str) -> Page:
    """A page that stands for itself, with its own styles and without any script, such as a report."""
    policy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
    return Page(html.encode("utf-8"), headers={"content-security-policy": policy})


def path_to(*parts: str, **query: str) -> str:
    """A path made of parts, which may hold any characters, and a query.

    >>> path_to("tables", "a b", "ask", task="count")
    '/tables/a%20b/ask?task=count'
    """
    path = "/" + "/".join(quote(part, safe="") for part in parts)
    return f"{path}?{urlencode(query)}" if query else path


def whole_number(text: str, what: str, least: int, most: int) -> int:
    """A whole number of a field, in which commas, apostrophes or blanks may stand between the thousands.

    >>> whole_number("12,000", "The number of rows", 1, 20_000), whole_number("12'000", "It", 1, 20_000)
    (12000, 12000)
    """
    thousands = _THOUSANDS.fullmatch(text)
    plain = text.replace(thousands[1], "") if thousands else text
    if not (plain.isascii() and plain.isdecimal() and len(plain) <= _DIGITS and least <= int(plain) <= most):
        given = shorten(text) if text else "nothing"
        raise BadInput(f"{what} is a whole number from {least:,} to {most:,}, given {given}.")
    return int(plain)


def plain_ratio(said: str) -> str:
    """What is wrong with a number, without the quotes around a ratio, which are for Python."""
    return said.replace('"1/3"', "1/3")


def readable(amount: Fraction) -> str:
    """An amount to be compared with others: exact where that is short, else its first six digits.

    >>> readable(Fraction(1, 3)), readable(Fraction(6791, 375))
    ('1/3', '18.1093…')
    """
    shown = display(amount)
    if not shown.startswith("≈") and ("/" not in shown or len(shown) <= _LONGEST_RATIO):
        return shown
    return f"{_FIRST_DIGITS.divide(Decimal(amount.numerator), Decimal(amount.denominator)):f}…"


def breakable(name: str) -> Markup:
    """A name that may be broken into lines after its underscores."""
    return escape(name).replace("_", Markup("_<wbr>"))


_environment: list[Environment] = []


def templates() -> Environment:
    """The templates; inserted text is escaped. Those of reports are there, too: a page shows the same blocks."""
    if not _environment:
        own = Environment(
            loader=ChoiceLoader([PackageLoader("adyton.service.pages"), PackageLoader("adyton.report", ".")]),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        own.globals |= {"path_to": path_to}
        own.filters |= {"exact": display, "readable": readable, "sentence": sentence, "breakable": breakable}
        _environment.append(own)
    return _environment[0]


def static(name: str) -> Page:
    """A file that pages load: the style sheet, which begins with that of reports, or the script."""
    folder = files("adyton.service.pages").joinpath("static")
    kinds = {"site.css": "text/css", "site.js": "text/javascript", "icon.svg": "image/svg+xml"}
    if name not in kinds:
        raise NoSuchPage("There is no such file.")
    data = folder.joinpath(name).read_bytes()
    if name == "site.css":
        data = files("adyton.report").joinpath("page.css").read_bytes() + data
    return Page(data, 200, f"{kinds[name]}; charset=utf-8", {"cache-control": "no-cache"})
