"""The fields of a form: what was typed into them, and which attributes of a schema each of them offers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adyton.errors import BadInput
from adyton.report.charts import spoken
from adyton.schema import Boolean, Categorical, Identifier, Integer, Numeric, Schema
from adyton.schema.numbers import Latitude, Longitude, axes_of
from adyton.service.pages.visits import Fields, whole_number

AXES = ("first", "second", "third")
"""The fields of up to three attributes that are counted together."""


CHOOSE = "choose …"
"""What a list says in which something must be chosen."""


class Wrong(BadInput):
    """A value of a field that is not allowed."""

    def __init__(self, field: str, message: str, *, missing: bool = False) -> None:
        super().__init__(message)
        self.field = field
        self.missing = missing
        """Whether nothing has been chosen yet."""


class Form:
    """The fields of a form, as they were typed."""

    def __init__(self, fields: Fields) -> None:
        self.fields = fields

    def text(self, name: str, otherwise: str = "") -> str:
        """The first value of a field, without blanks around it."""
        values = self.fields.get(name)
        return values[0].strip() if values else otherwise

    def name(self, field: str, known: Sequence[str]) -> str:
        """The attribute that is chosen in a field; empty if none is."""
        return next(iter(self.names(field, known)), "")

    def names(self, field: str, known: Sequence[str]) -> list[str]:
        """The attributes that are chosen in a field. Browsers write line ends in their own way."""
        by_text = {_unified(name): name for name in known}
        return [by_text.get(_unified(text), text) for text in self.fields.get(field, ()) if text]

    def whole(self, field: str, what: str, most: int) -> int | None:
        """The whole number in a field; None if it is empty."""
        text = self.text(field)
        if not text:
            return None
        try:
            return whole_number(text, what, 1, most)
        except BadInput as problem:
            raise Wrong(field, str(problem)) from None

    def with_field(self, name: str, text: str) -> Form:
        """The same with another text in a field."""
        return Form({**self.fields, name: [text]})

    def chosen(self, field: str, known: Sequence[str], what: str) -> str:
        """The attribute that must be chosen in a field."""
        name = self.name(field, known)
        if not name:
            raise Wrong(field, f"Choose {what}.", missing=True)
        return name


def _unified(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


@dataclass(frozen=True)
class Input:
    """A field of a question, with what is in it."""

    kind: str
    """``select``, ``checks`` or ``text``."""
    name: str
    label: str
    help: str = ""
    options: tuple[tuple[str, str], ...] = ()
    """Values with their words."""
    chosen: tuple[str, ...] = ()
    usual: str = ""
    """What is in the field at first."""


@dataclass(frozen=True)
class Inputs:
    """Makes the fields of a question from a form."""

    form: Form
    schema: Schema

    def select(
        self, name: str, label: str, names: Sequence[str], none: str = "", *, help: str = "", **words: str
    ) -> Input:
        """One of some attributes; *none* are the words for no attribute, where that is allowed. None is chosen until
        somebody chooses it: what nobody chose is not asked. *words* replace names that say too little."""
        options = [("", none or CHOOSE), *((own, words.get(own, own)) for own in names)]
        return Input("select", name, label, help, tuple(options), (self.form.name(name, names),))

    def checks(self, label: str, help: str) -> Input:
        """Any of all attributes."""
        known = names_of(self.schema)
        chosen = tuple(self.form.names("attributes", known))
        return Input("checks", "attributes", label, help, tuple((name, name) for name in known), chosen)

    def text(self, name: str, label: str, help: str, usual: str = "") -> Input:
        """A text, such as a number."""
        return Input("text", name, label, help, (), (self.form.text(name, usual),), usual)

    def named(self, label: str, names: Sequence[str]) -> list[Input]:
        """One to three attributes, the first of *names*."""
        known = names_of(self.schema)
        more = [self.select(name, "and each value of", known, "nothing else") for name in AXES[1:]]
        return [self.select(AXES[0], label, names), *more]

    def numbers(self, *more: Input) -> list[Input]:
        """A number, and the groups that it is asked for."""
        known = names_of(self.schema)
        return [
            self.select("number", "The number", numbers_of(self.schema)),
            self.select("by", "For each value of", known, "all rows together"),
            self.select("by2", "and each value of", known, "nothing else"),
            *more,
        ]

    def rows(self) -> Input:
        """The rows of a group."""
        about = "Only to show the expected error beforehand. Never count them in the table."
        return self.text("rows", "Rows of a group, if that is public", about)


# ---- what a schema offers -------------------------------------------------------------------------------------------


def names_of(schema: Schema) -> list[str]:
    """The attributes that can be counted; a point has one name."""
    return [name for name in spoken(schema) if not isinstance(schema.attributes.get(name), Identifier)]


def ordered_of(schema: Schema) -> list[str]:
    """Those with an order."""
    return [name for name in names_of(schema) if schema.attributes[axes_of(name, schema.attributes)[0]].ordered]


def lines_of(schema: Schema) -> list[str]:
    """Those with one order, from the least to the greatest value."""
    return [name for name in ordered_of(schema) if name in schema.attributes]


def numbers_of(schema: Schema) -> list[str]:
    """Those with numbers that can be added up."""
    places = Longitude | Latitude
    kinds = {name: schema.attributes[name] for name in names_of(schema) if name in schema.attributes}
    return [name for name, own in kinds.items() if isinstance(own, Integer | Numeric) and not isinstance(own, places)]


def labels_of(schema: Schema) -> list[str]:
    """Those that a classifier can predict."""
    return [name for name, own in schema.attributes.items() if isinstance(own, Categorical | Boolean)]
