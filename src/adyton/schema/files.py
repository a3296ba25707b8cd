"""Schema files: reading and writing TOML, with a message for everything that can be wrong in one."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from adyton.errors import SchemaError
from adyton.messages import listing, shorten, suggestion
from adyton.schema.attributes import Attribute, Boolean, Categorical, Identifier
from adyton.schema.numbers import Duration, Integer, Latitude, Longitude, Numeric, Point
from adyton.schema.reading import KEYS_OF, Reading
from adyton.schema.times import Date, Datetime

_CLASSES = (Categorical, Boolean, Integer, Numeric, Date, Datetime, Duration, Point, Longitude, Latitude, Identifier)
_TYPES: dict[str, type[Attribute] | type[Point]] = {attribute.kind: attribute for attribute in _CLASSES}
_WHOLE = ("rows_per_unit", "rows", "unit", "no_unit", "multiline", "file", "report")
"""What a schema says about the table as a whole."""
_POLICIES = ("nulls", "outside")
_TIMES = ("min", "max", "by", "every", "zone", "format", "column", *_POLICIES)
_KEYS: dict[str, tuple[str, ...]] = {
    "categorical": ("levels", "groups", *_POLICIES),
    "boolean": _POLICIES,
    "integer": ("min", "max", "step", *_POLICIES),
    "numeric": ("min", "max", "bins", "edges", *_POLICIES),
    "date": _TIMES,
    "datetime": _TIMES,
    "duration": ("min", "max", "bins", "edges", "unit", "column", *_POLICIES),
    "point": ("box", "grid", "longitude", "latitude", *_POLICIES),
    "longitude": ("min", "max", "bins", "edges", "column", *_POLICIES),
    "latitude": ("min", "max", "bins", "edges", "column", *_POLICIES),
    "identifier": (),
}
_REQUIRED: dict[str, tuple[str, ...]] = {
    "categorical": ("levels",),
    "integer": ("min", "max"),
    "point": ("box", "grid"),
}
_DEFAULTS = {"nulls": "drop", "outside": "drop", "step": 1, "every": 1, "groups": ()}


def read_toml(source: str | Path) -> dict[str, Any]:
    """The content of a TOML file, or of a TOML text of several lines."""
    if isinstance(source, str) and "\n" in source:
        text, origin = source, "the schema"
    elif isinstance(source, str | Path):
        text, origin = _read_text(Path(source)), f"the schema file {str(source)!r}"
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


def _read_text(path: Path) -> str:
    problem = "cannot be read"
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        problem = "does not exist"
    except IsADirectoryError:
        problem = "is a directory"
    except UnicodeDecodeError:
        problem = "is not UTF-8 text"
    except (OSError, ValueError):
        pass
    raise SchemaError(f"the schema file {str(path)!r} {problem}. Give the path of a TOML file.")


def attributes_from_dict(content: Mapping[str, Any]) -> tuple[dict[str, Attribute | Point], dict[str, Any]]:
    """The attributes in the content of a schema file, and what else it says."""
    if not isinstance(content, Mapping):
        raise SchemaError(f"the content of a schema must be a mapping, given {shorten(content)}.")
    _check_keys(content, (*_WHOLE, "attributes"), "the schema")
    tables = content.get("attributes", {})
    if not isinstance(tables, Mapping):
        raise SchemaError(f"attributes must be tables like [attributes.age], given {shorten(tables)}.")
    attributes = {name: _attribute(name, table) for name, table in tables.items()}
    return attributes, {key: content[key] for key in _WHOLE if key in content}


def _attribute(name: object, table: object) -> Attribute | Point:
    where = f"attribute {shorten(name)}"
    if not isinstance(table, Mapping):
        raise SchemaError(f"{where} must be a table like [attributes.age], given {shorten(table)}.")
    kind = table.get("type")
    if kind is None:
        raise SchemaError(f"{where} has no type. Write type = one of {listing(_TYPES)}.")
    if not isinstance(kind, str) or kind not in _TYPES:
        raise SchemaError(
            f"{where} has the unknown type {shorten(kind)}. Allowed are {listing(_TYPES)}.{suggestion(kind, _TYPES)}"
        )
    _check_keys(table, ("type", *_KEYS[kind], *KEYS_OF.get(kind, ())), where)
    missing = [key for key in _REQUIRED.get(kind, ()) if key not in table]
    if missing:
        raise SchemaError(
            f"{where} has no {' and no '.join(missing)}: {kind} needs {' and '.join(_REQUIRED[kind])}. "
            "In a draft, uncomment these lines and fill them in from public knowledge."
        )
    problem = ""
    try:
        about = KEYS_OF.get(kind, ())
        own = {key: value for key, value in table.items() if key != "type" and key not in about}
        if about:
            own["reading"] = Reading(**{key: value for key, value in table.items() if key in about})
        return _TYPES[kind](**own)
    except SchemaError as error:
        problem = str(error)
    raise SchemaError(f"{where}: {problem}")


def _check_keys(table: Mapping[str, Any], allowed: tuple[str, ...], where: str) -> None:
    for key in table:
        if key not in allowed:
            raise SchemaError(
                f"{where} has the unknown key {shorten(key)}. Allowed are {listing(allowed)}.{suggestion(key, allowed)}"
            )


def attribute_to_dict(attribute: Attribute) -> dict[str, Any]:
    """What a schema file says about an attribute, without the defaults."""
    entries: dict[str, Any] = {"type": attribute.kind}
    hidden = {"min", "max", "bins"} if getattr(attribute, "edges", None) is not None else {"edges"}
    for key in _KEYS[attribute.kind]:
        value = getattr(attribute, key)
        if key not in hidden and value != _DEFAULTS.get(key):
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
