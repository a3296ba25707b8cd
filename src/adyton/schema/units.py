"""The privacy unit: the column that says whose row it is, and where rows go that say nothing."""

from __future__ import annotations

from adyton.errors import SchemaError
from adyton.messages import listing, shorten
from adyton.schema.checks import writable

DROP, ONE = "drop", "one"
NO_UNIT = (DROP, ONE)
"""Rows without a unit are left out, or all of them are one unit with the same limit. That each of them is a unit of its
own cannot be said: whose rows are blank would have as many as there are."""


def check_unit(unit: object, no_unit: object) -> None:
    """An error unless these can be what a schema says about the unit.

    >>> check_unit("person_id", "one")
    """
    if unit is not None and (not isinstance(unit, str) or not unit.strip()):
        raise SchemaError(
            f'unit must be the name of the column that says whose row it is, like "person_id", given {shorten(unit)}.'
        )
    if isinstance(unit, str):
        writable(unit, "unit")
    if no_unit not in NO_UNIT:
        raise SchemaError(
            f"no_unit must be one of {listing(NO_UNIT)}, given {shorten(no_unit)}: rows without a unit are left out, "
            "or all of them are one unit."
        )
    if unit is None and no_unit != DROP:
        raise SchemaError(
            f'no_unit = "{no_unit}" needs a unit. Write unit = "…", the column that says whose row it is.'
        )
