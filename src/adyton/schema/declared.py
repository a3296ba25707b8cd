"""What can be declared as the attributes of a table: names, types, and points as two axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adyton.errors import SchemaError
from adyton.messages import listing, shorten
from adyton.schema.attributes import Attribute
from adyton.schema.checks import writable
from adyton.schema.files import attribute_to_dict
from adyton.schema.places import Point

_LONGEST_NAME = 1000


def declared_attributes(attributes: Mapping[str, Attribute | Point]) -> dict[str, Attribute]:
    """The attributes, with two for every point; an error unless each can be one."""
    if not isinstance(attributes, Mapping):
        raise SchemaError(f"attributes must map names to attributes, given {shorten(attributes)}.")
    if not attributes:
        raise SchemaError("a schema needs at least one attribute. Declare the columns that may be asked about.")
    for name, attribute in attributes.items():
        check_name(name)
        if not isinstance(attribute, Attribute | Point):
            raise SchemaError(
                f"attribute {name!r} must be a Categorical, Boolean, Integer, Numeric, Date, Datetime, Duration, Point "
                f"or Identifier, given {'a list' if isinstance(attribute, list) else shorten(attribute)}."
            )
    declared: dict[str, Attribute] = {}
    for name, attribute in attributes.items():
        found = attribute.axes(name) if isinstance(attribute, Point) else {name: attribute}
        twice = [one for one in found if one in declared or (one != name and one in attributes)]
        if twice:
            raise SchemaError(f"the point {name!r} stands for {listing(found)}, but {twice[0]!r} is declared too.")
        declared |= found
    return declared


def check_name(name: object) -> None:
    """An error unless an attribute can be called so."""
    if not isinstance(name, str) or not name or len(name) > _LONGEST_NAME:
        raise SchemaError(
            f"the name of an attribute must be a text of 1 to {_LONGEST_NAME} characters, given {shorten(name)}."
        )
    writable(name, "the name of an attribute")


def check_case(names: Sequence[str]) -> None:
    """An error if engines could mistake one name for another."""
    folded: dict[str, str] = {}
    for name in names:
        other = folded.setdefault(name.casefold(), name)
        if other != name:
            raise SchemaError(
                f"attributes {other!r} and {name!r} differ only in case, which engines do not tell apart. Rename one."
            )


def described(attribute: Attribute) -> str:
    """An attribute as a person would write it; long lists are shortened."""
    entries = {key: value for key, value in attribute_to_dict(attribute).items() if key != "type"}
    shown = (f"{key}={value if isinstance(value, str) else shorten(value)}" for key, value in entries.items())
    return f"{type(attribute).__name__}({', '.join(shown)})"
