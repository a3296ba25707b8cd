"""A visit without a service: its replies are written down, so that every one of them can be had."""

import json
from fractions import Fraction
from types import SimpleNamespace

from adyton.errors import ServiceError
from adyton.schema import Categorical, Schema
from adyton.service.pages.site import Site
from adyton.service.pages.visits import Visit, Visitor
from adyton.session.client import Reply

BUDGET = SimpleNamespace(total=Fraction(10), spent=Fraction(1), remaining=Fraction(9))


class Client:
    """Replies by method and path; an exception is raised, and so is one for what is not written down."""

    def __init__(self, replies):
        self.replies, self.calls = replies, []

    def call(self, method, path, body=None):
        self.calls.append((method, path, body))
        reply = self.replies.get((method, path.partition("?")[0]), ServiceError("There is no request of this id."))
        if isinstance(reply, Exception):
            raise reply
        return reply


def reply(body, status=200, **headers):
    """A reply with a text, or with values as JSON."""
    text = body if isinstance(body, str) else json.dumps(body)
    return Reply(status, {name.replace("_", "-"): value for name, value in headers.items()}, text)


def pretended(replies=None, *, who="mara", role="analyst", site=None, query=None, form=None, method="GET", **settings):
    """A visit of somebody who has signed in."""
    site = site or Site({"api": "/nowhere", **settings})
    visitor = Visitor("token", who, role)
    visit = Visit(method, "/", query or {}, form or {}, visitor, site)
    visit.__dict__["client"] = Client(replies or {})
    kernel = SimpleNamespace(known_budget=BUDGET)
    schema = Schema({"ward": Categorical(["eye", "ear"])})
    visit.session = lambda table: SimpleNamespace(budget=BUDGET, kernel=kernel, unit="row", about={}, schema=schema)
    return visit
