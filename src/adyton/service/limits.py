"""What a client may send: how much, how deep, how often, how many at once; checked before a keeper sees anything.

The limits are public, and so is everything that they depend on: what this client has sent, and what is under way.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

from adyton.errors import AdytonError, BadInput
from adyton.service.channel import Busy
from adyton.service.timing import SECOND

DEPTH, DIGITS, TEXT, VALUES = 64, 100, 2**20, 50_000
"""The most levels of a JSON value, digits of a number, characters of a text, and values in all."""
_MOST_BUCKETS = 10_000
_NOT_STORED = re.compile("[\0\ud800-\udfff]")


class TooLarge(AdytonError):
    """A body with more bytes than are allowed."""


class TooSlow(AdytonError):
    """A body that did not arrive in time."""


class TooMany(AdytonError):
    """More calls a minute than are allowed."""

    def __init__(self, message: str, after: int) -> None:
        super().__init__(message)
        self.after = after
        """In how many seconds the next call is allowed."""


class Rate:
    """A token bucket for each person: *per_minute* calls a minute, as many at once after a minute of silence."""

    def __init__(self, per_minute: int, now: Callable[[], int]) -> None:
        self._most, self._step, self._now = per_minute, 60 * SECOND // per_minute, now
        self._full_at: dict[str, int] = {}
        """For each person, when their bucket is full again."""

    def take(self, name: str) -> None:
        """Count a call, or refuse it with :class:`TooMany`."""
        now = self._now()
        full_at = max(self._full_at.get(name, now), now) + self._step
        if (over := full_at - now - self._most * self._step) > 0:
            raise TooMany(f"More than {self._most} calls a minute. Wait, then go on.", -(-over // SECOND))
        if len(self._full_at) >= _MOST_BUCKETS:
            self._full_at = {other: full for other, full in self._full_at.items() if full > now}
        self._full_at[name] = full_at


@dataclass
class CallCount:
    """How many calls are under way, of all and of each person."""

    most: int
    most_each: int

    def __post_init__(self) -> None:
        self.all, self._each = 0, Counter[str]()

    @contextmanager
    def one_more(self, name: str) -> Iterator[None]:
        """Count a call while it is under way, or refuse it as :class:`Busy`."""
        if self._each[name] >= self.most_each:
            raise Busy(
                f"{self.most_each} calls of yours are under way, which is the most. Try again when one has ended."
            )
        if self.all >= self.most:
            raise Busy("Too many calls are under way. Try again later.")
        self.all += 1
        self._each[name] += 1
        try:
            yield
        finally:
            self.all -= 1
            self._each[name] -= 1
            if not self._each[name]:
                del self._each[name]


def check_json(body: bytes, *, most_values: int | None = VALUES) -> Any:
    """The value in a body of JSON, if it is one that may be passed on; else :class:`BadInput` says what is wrong.

    Refused are also what readers of JSON understand differently: a name that occurs twice, NaN, numbers that overflow;
    and texts that a database cannot store: half of a surrogate pair, the character NUL.

    >>> check_json(b'{"epsilon": 0.5}')
    {'epsilon': 0.5}
    """
    try:
        value = json.loads(
            body.decode("utf-8"),
            parse_int=_whole,
            parse_float=_decimal,
            parse_constant=_no_number,
            object_pairs_hook=_object,
        )
    except RecursionError:
        raise BadInput(f"The body is nested more than {DEPTH} levels deep.") from None
    except UnicodeDecodeError:
        raise BadInput("The body is not UTF-8.") from None
    except json.JSONDecodeError:
        raise BadInput("The body is not JSON.") from None
    _check_values(value, most_values)
    return value


def _check_values(value: Any, most: int | None) -> None:
    """Refuse values that are too deep, too many or too long, or texts that cannot be stored."""
    level, depth, count = [value], 0, 0
    while level:
        depth, count = depth + 1, count + len(level)
        if depth > DEPTH:
            raise BadInput(f"The body is nested more than {DEPTH} levels deep.")
        if most is not None and count > most:
            raise BadInput(f"The body has more than {most} values.")
        inner: list[Any] = []
        for item in level:
            if isinstance(item, str):
                _check_text(item)
            elif isinstance(item, dict):
                inner += item  # the names
                inner += item.values()
            elif isinstance(item, list):
                inner += item
        level = inner


def _check_text(text: str) -> None:
    if len(text) > TEXT:
        raise BadInput(f"A text in the body has more than {TEXT} characters.")
    if _NOT_STORED.search(text):
        raise BadInput("A text in the body has a character that cannot be stored (NUL, or half of a surrogate pair).")


def _whole(text: str) -> int:
    _check_digits(text)
    return int(text)


def _decimal(text: str) -> float:
    _check_digits(text)
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise BadInput("A number in the body is too large.")
    return value


def _check_digits(text: str) -> None:
    if len(text) > DIGITS:
        raise BadInput(f"A number in the body has more than {DIGITS} digits.")


def _no_number(_: str) -> NoReturn:
    raise BadInput("The body has a number that is none: NaN and Infinity are not JSON.")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise BadInput("An object in the body has the same name twice.")
    return found
