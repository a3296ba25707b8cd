"""The words that a page takes from the data set's own schema: its title and notes, and examples from its attributes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from adyton.report.charts import peak
from adyton.report.geography import ground_of
from adyton.report.scales import people
from adyton.report.shown import Panel
from adyton.schema import Identifier, Schema
from adyton.schema.report_words import NO_WORDS

_MAIL = re.compile(r"[\w.+-]+@[\w-]+(\.[\w-]+)+", re.ASCII)
_PAGE = re.compile(r"https?://[\w.-]+(:\d+)?(/[\w./%~+#?=&;,-]*)?", re.ASCII)


def word_facts(schema: Schema | None, panels: Sequence[Panel] = ()) -> dict[str, Any]:
    """For templates: of a page about these attributes that shows these pictures."""
    words = NO_WORDS if schema is None else schema.report
    return {
        "words": words,
        "contact_link": link_to(words.contact),
        "enforced": schema is not None and schema.unit is not None,
        "common": _common(schema, panels),
    }


def link_to(contact: str) -> str | None:
    """Where a click on a contact leads: to a letter if it is a mail address, to a page if it is one.

    >>> link_to("help@office.example"), link_to("https://office.example/data"), link_to("room 12, javascript:alert(1)")
    ('mailto:help@office.example', 'https://office.example/data', None)
    """
    text = contact.strip()
    if _MAIL.fullmatch(text):
        return f"mailto:{text}"
    return text if _PAGE.fullmatch(text) else None


def example(panel: Panel, kind: str) -> str:
    """What one number of a picture says, in a sentence: the greatest, and *kind* of bounds on it."""
    if not panel.people:
        return ""
    place = int(panel.values.reshape(-1).argmax())
    count = people(float(panel.values.reshape(-1)[place]))
    of = "Up to" if " up to each " in panel.title else "Around" if is_place(panel) else "Of"
    said = f"{of} {peak(panel)} there are about {count} {panel.unit}"
    if panel.lower is None or panel.upper is None or panel.kind == "map":
        return f"{said}."
    low, high = (people(float(bound.reshape(-1)[place])) for bound in (panel.lower, panel.upper))
    return f"{said}: the {kind} reaches from {low} to {high}, and the true number is most likely between the two."


def is_place(panel: Panel) -> bool:
    """Whether a picture is a map of places."""
    return len(panel.axes) == 2 and ground_of(*panel.axes) is not None


def _common(schema: Schema | None, panels: Sequence[Panel]) -> str:
    """What the counts say about people who are not in the data."""
    told = "that says something about everybody to whom it applies, in the data or not."
    shown = next((panel for panel in panels if panel.people and panel.values.size), None)
    if shown is not None:
        fact = f"many are around {peak(shown)}" if is_place(shown) else f"{peak(shown)} is common"
        return f"If the counts show that {fact}, {told}"
    names = [] if schema is None else [n for n, one in schema.attributes.items() if not isinstance(one, Identifier)]
    if schema is None or not names:
        return f"Whatever is common in the data, {told}"
    label = schema.attributes[names[0]].labels[0]
    return f"If the numbers show that {names[0]} {label} is common, {told}"
