"""Results: what was asked before, one result with its numbers and pictures, and the files to save."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adyton.report.page import View as Contents
from adyton.result.result import Result
from adyton.service.pages.tables import frame
from adyton.service.pages.visits import Page, View, Visit
from adyton.session.remote import RemoteSession


def show(visit: Visit, session: RemoteSession, table: str, result: Result, **more: Any) -> Page:
    """The page of a result, real or rehearsed: the pictures, numbers and words of its report."""
    contents: Contents = result.view()
    return visit.page("result.html.j2", **frame(session, table), result=result, view=contents, **more)


VIEWS: Mapping[tuple[str, str], View] = {}
