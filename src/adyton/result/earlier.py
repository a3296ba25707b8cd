"""Files of earlier versions, brought up to date: then each kind of result had its own file, and its own words in it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from adyton.choice.checked_file import digest_of
from adyton.errors import BadInput
from adyton.schema.plain_values import part_of

LONG = ("axes", "estimate")


class Earlier(NamedTuple):
    """A format of before: the name of its file, and the kind of result that it holds."""

    file: str
    kind: str


EARLIER = {
    "adyton release": Earlier("release.json", "counts"),
    "adyton tables": Earlier("tables.json", "tables"),
    "adyton numbers": Earlier("numbers.json", "numbers"),
    "adyton classifier": Earlier("classifier.json", "classifier"),
    "adyton configuration": Earlier("configuration.json", "tuning"),
}
"""All of them have version 1."""


def is_earlier(plain: Mapping[str, Any]) -> bool:
    """Whether a file has one of these formats."""
    return plain.get("format") in EARLIER and plain.get("version") == 1


def whole(plain: dict[str, Any]) -> bool:
    """Whether its digest fits; the oldest releases have none."""
    body = dict(plain)
    digest = body.pop("digest", None)
    if body["format"] != "adyton release":
        return bool(digest == digest_of(body))
    texts = {name: json.dumps(body[name], ensure_ascii=False, allow_nan=False) for name in LONG if name in body}
    sums = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}
    return digest is None or digest == digest_of({**body, **sums})


def brought_up_to_date(plain: dict[str, Any]) -> dict[str, Any]:
    """The same result in the words of today's files."""
    kind = EARLIER[plain["format"]].kind
    now = {"options": {}, "unfinished": None, "misfits": None, **plain, "kind": kind}
    if kind == "counts" and "parts" in plain:
        parts = plain["parts"]
        if not isinstance(parts, list) or not all(isinstance(one, dict) and is_earlier(one) for one in parts):
            raise BadInput("its parts must be releases.")
        now["parts"] = [brought_up_to_date(one) for one in parts]
    if kind == "classifier":
        model = part_of(plain, "model")
        now["task"] = {"task": "classifier", **dict(part_of(plain, "classifier"))}
        now |= {"algorithm": part_of(plain, "learner"), "schema": part_of(model, "schema")}
    if kind == "tuning":
        default, points = plain.get("default"), plain.get("points")
        asked = {name: part_of(plain, name) for name in ("family", "intervals", "neighbours", "utility")}
        now["task"] = {"task": "tuning", **asked, "default": default, "points": points}
        now |= {"algorithm": asked["family"], "where": None, "schema": None}
    return now
