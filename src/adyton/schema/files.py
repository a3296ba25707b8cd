"""Schema files: reading and writing TOML, with a message for everything that can be wrong in one."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from adyton.errors import SchemaError
from adyton.messages import listing, shorten, suggestion
from adyton.schema.attributes import Attribute, Boolean, Categorical, Identifier
from adyton.schema.look_up_files import LevelsFile, public_text
from adyton.schema.numbers import Duration, Integer, Latitude, Longitude, Numeric, Point
from adyton.schema.reading import EVERY_KEY, LookUp, check_keys
from adyton.schema.times import Date, Datetime

_CLASSES = (Categorical, Boolean, Integer, Numeric, Date, Datetime, Duration, Point, Longitude, Latitude, Identifier)
_TYPES: dict[str, type[Attribute] | type[Point]] = {attribute.kind: attribute for attribute in _CLASSES}
_WHOLE = ("rows_per_unit", "rows", "unit", "no_unit", "multiline", "keep_texts", "file", "report")
"""What a schema says about the table as a whole."""
_POLICIES = ("nulls", "outside")
_PYTHON = ("reading", "spellings")
"""What an attribute is made with in Python beside the keys of a schema file; it says nothing that they do not say."""
_REQUIRED: dict[str, tuple[str, ...]] = {
    "categorical": ("levels",),
    "integer": ("min", "max"),
    "point": ("box", "grid"),
}
_DEFAULTS = {"nulls": "drop", "outside": "drop", "step": 1, "every": 1, "groups": ()}
SHARED = (*_POLICIES, "zone", "format", *(key for key in EVERY_KEY if key not in ("column", "first", "lookup")))
"""What [defaults] may say for all attributes that know the key."""


def keys_of(kind: str) -> tuple[str, ...]:
    """The keys of a type of attribute: what its class is made with. Those about the reading of values come last.

    >>> keys_of("duration")
    ('min', 'max', 'bins', 'edges', 'unit', 'nulls', 'outside', 'column', 'missing')
    """
    names = [one.name for one in fields(_TYPES[kind]) if one.name not in _PYTHON]
    return tuple(sorted(names, key=lambda name: (name in _POLICIES) + 2 * (name in EVERY_KEY)))


def read_toml(source: str | Path) -> dict[str, Any]:
    """The content of a TOML file, or of a TOML text of several lines."""
    if isinstance(source, str) and "\n" in source:
        text, origin = source, "the schema"
    elif isinstance(source, str | Path):
        origin = f"the schema file {str(source)!r}"
        text = public_text(source, origin, "Give the path of a TOML file")
    else:
        raise SchemaError(f"a schema is read from a path or a TOML text, given {shorten(source)}.")
    content: dict[str, Any] | None = None
    problem = ""
    try:
        content = tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        problem = str(error)
    if content is None:
        raise SchemaError(f"{origin} is not valid TOML: {problem}.")
    return content


def attributes_from_dict(
    content: Mapping[str, Any], folder: str = ""
) -> tuple[dict[str, Attribute | Point], dict[str, Any]]:
    """The attributes in the content of a schema file in that folder, and what else it says."""
    if not isinstance(content, Mapping):
        raise SchemaError(f"the content of a schema must be a mapping, given {shorten(content)}.")
    check_keys(content, (*_WHOLE, "types", "defaults", "attributes"), "the schema")
    tables, types, defaults = (_tables(content, name) for name in ("attributes", "types", "defaults"))
    check_keys(defaults, SHARED, "[defaults]")
    for name, table in types.items():
        where = f"[types.{toml_key(name)}]"
        if name in _TYPES:
            raise SchemaError(f"{where} is the name of a type that there is already. Choose another name.")
        check_keys(table, ("type", *keys_of(_kind(table, where, _TYPES))), where)
    attributes = {}
    for name, table in tables.items():
        where = f"attribute {shorten(name)}"
        kind = _kind(table, where, {**_TYPES, **types})
        shared = types.get(kind, {"type": kind})
        own = {**shared, **table, "type": shared["type"]}
        attributes[name] = _attribute(where, own.pop("type"), own, defaults, folder)
    return attributes, {key: content[key] for key in _WHOLE if key in content}


def _tables(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A table of a schema file."""
    table, shown = content.get(name, {}), {"types": "[types.likert]", "defaults": "[defaults]"}
    if not isinstance(table, Mapping):
        what = shown.get(name, "[attributes.age]")
        raise SchemaError(f"{name} must be tables like {what}, given {shorten(table)}.")
    return table


def _kind(table: object, where: str, known: Mapping[str, object]) -> str:
    """The type that a table names, one of those that are known."""
    if not isinstance(table, Mapping):
        raise SchemaError(f"{where} must be a table like [attributes.age], given {shorten(table)}.")
    kind = table.get("type")
    if kind is None:
        raise SchemaError(f"{where} has no type. Write type = one of {listing(known)}.")
    if not isinstance(kind, str) or kind not in known:
        raise SchemaError(
            f"{where} has the unknown type {shorten(kind)}. There are {listing(known)}.{suggestion(kind, known)}"
        )
    return kind


def _attribute(
    where: str, kind: str, table: dict[str, Any], defaults: Mapping[str, Any], folder: str
) -> Attribute | Point:
    """One attribute, of a type that there is; *defaults* hold for keys that it leaves out."""
    allowed = keys_of(kind)
    check_keys(table, ("type", *allowed), where)
    missing = [key for key in _REQUIRED.get(kind, ()) if key not in table and f"{key}_file" not in table]
    if missing:
        raise SchemaError(
            f"{where} has no {' and no '.join(missing)}: {kind} needs {' and '.join(_REQUIRED[kind])}. "
            "In a draft, uncomment these lines and fill them in from public knowledge."
        )
    taken = {key: value for key, value in defaults.items() if key in allowed and key not in table}
    own, problem = {**table, **taken}, ""
    try:
        for key, file in (("lookup", LookUp), ("levels_file", LevelsFile)):
            if key in own:
                own[key] = file.of(own[key], folder)
        return _TYPES[kind](**own)
    except SchemaError as error:
        problem = str(error)
    said = next((key for key in taken if problem.startswith(key)), None)
    hint = "" if said is None else f" ([defaults] says so; the attribute can say {said} = … itself.)"
    raise SchemaError(f"{where}: {problem}{hint}")


def attribute_to_dict(attribute: Attribute) -> dict[str, Any]:
    """What a schema file says about an attribute, without the defaults; of a file of levels, the levels themselves."""
    entries: dict[str, Any] = {"type": attribute.kind}
    hidden = {"min", "max", "bins"} if getattr(attribute, "edges", None) is not None else {"edges"}
    for key in keys_of(attribute.kind):
        value = getattr(attribute, key)
        if key not in (*hidden, *EVERY_KEY, "levels_file") and value != _DEFAULTS.get(key):
            entries[key] = _plain(value)
    if isinstance(attribute, Categorical):
        if attribute.spellings:
            entries["levels"] = {str(level): list(own) for level, own in _spelled(attribute)}
        if attribute.groups:
            entries["groups"] = {name: list(own) for name, own in dict(attribute.groups).items()}
    return entries | attribute.reading.to_dict()


def _spelled(attribute: Categorical) -> Iterator[tuple[object, Sequence[str]]]:
    return zip(attribute.levels, attribute.spellings, strict=True)


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def write_toml(content: Mapping[str, Any]) -> str:
    """TOML text of what :func:`attributes_from_dict` reads."""
    tables = [key for key in ("file", "report") if key in content]
    lines = [f"{key} = {toml_value(content[key])}" for key in _WHOLE if key in content and key not in tables]
    for table in tables:
        lines += ["", f"[{table}]", *(f"{key} = {toml_value(value)}" for key, value in content[table].items())]
    for name, entries in content["attributes"].items():
        lines += ["", f"[attributes.{toml_key(name)}]"]
        lines += [f"{key} = {toml_value(value)}" for key, value in entries.items()]
    return "\n".join(lines) + "\n"


def matches(pattern: str, name: str) -> bool:
    """Whether a name matches a pattern, in which a * stands for any characters, or none.

    >>> matches("q*", "q12"), matches("q*", "age")
    (True, False)
    """
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name, re.DOTALL) is not None


def toml_key(name: str) -> str:
    """A name as a TOML key, quoted where it must be."""
    plain = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if plain else toml_value(name)


def toml_value(value: object) -> str:
    """A value as TOML writes it."""
    if isinstance(value, list):
        return f"[{', '.join(toml_value(entry) for entry in value)}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{toml_key(key)} = {toml_value(entry)}' for key, entry in value.items())}}}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
