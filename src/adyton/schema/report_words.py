"""What a report says besides the numbers: its title, who made it, whom to ask, and notes for its readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from adyton.errors import SchemaError
from adyton.messages import listing, shorten, suggestion
from adyton.schema.checks import writable

_LONGEST, _MOST_NOTES = 2000, 50
_HOW = 'Write notes = ["Visits of day patients are not counted."].'


@dataclass(frozen=True)
class ReportWords:
    """The table ``[report]`` of a schema file. Nothing of it changes what is counted, or what it costs.

    >>> ReportWords(title="Visits in 2024", office="City Hospital", notes="Day patients are not counted.").notes
    ('Day patients are not counted.',)
    """

    title: str = ""
    """The heading of every report."""
    office: str = ""
    """Who publishes it."""
    contact: str = ""
    """Whom to ask: an address, a telephone number, a page."""
    notes: str | Sequence[str] = ()
    """What readers should know, a paragraph each."""

    def __post_init__(self) -> None:
        for name in ("title", "office", "contact"):
            _check(getattr(self, name), name)
        given: Any = self.notes
        if isinstance(given, Mapping | bytes) or not hasattr(given, "__iter__"):
            raise SchemaError(f"notes must be a text or a list of texts, given {shorten(given)}. {_HOW}")
        notes = (given,) if isinstance(given, str) else tuple(given)
        if len(notes) > _MOST_NOTES:
            raise SchemaError(f"a report has at most {_MOST_NOTES} notes, given {len(notes)}. Join some of them.")
        for one in notes:
            _check(one, "a note")
        object.__setattr__(self, "notes", tuple(one for one in notes if one.strip()))

    def to_dict(self) -> dict[str, Any]:
        """What a schema file says, without what is left out."""
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in plain.items() if value}

    @classmethod
    def of(cls, given: object) -> ReportWords:
        """From the table ``[report]`` of a schema file."""
        if isinstance(given, cls):
            return given
        if not isinstance(given, Mapping):
            raise SchemaError(f"report must be a table like [report], given {shorten(given)}.")
        allowed = [one.name for one in fields(cls)]
        for key in given:
            if key not in allowed:
                raise SchemaError(
                    f"[report] has the unknown key {shorten(key)}. Allowed are {listing(allowed)}."
                    + suggestion(key, allowed)
                )
        return cls(**given)


def _check(text: object, name: str) -> None:
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise SchemaError(
            f"{name} of a report must be a text of at most {_LONGEST:,} characters, given {shorten(text)}."
        )
    writable(text, f"{name} of a report")


NO_WORDS = ReportWords()
