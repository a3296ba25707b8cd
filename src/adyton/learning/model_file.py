"""Models in files: JSON with a digest, never pickle. A file is checked as a stranger's would be."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adyton.errors import BadInput
from adyton.learning.target import Target
from adyton.messages import listing, shorten
from adyton.release.plain_values import as_real
from adyton.schema import Schema
from adyton.selection.selector_file import digest_of

if TYPE_CHECKING:
    from adyton.learning.model import Model

FORMAT, VERSION = "adyton model", 1
_KEYS = {"format", "version", "kind", "schema", "label", "rows", "learnt"}
_MOST_BYTES = 1 << 28
WRONG = (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, RecursionError, MemoryError)
"""What reading a file that nobody of us wrote can end in. UnicodeError and JSON's own errors are ValueErrors."""


def body_of(model: Model) -> dict[str, Any]:
    """All that is kept of a model."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": model.kind,
        "schema": model.target.whole.to_dict(),
        "label": model.label,
        "rows": model.rows,
        "learnt": model.learnt(),
    }


def write(model: Model, path: str | os.PathLike[str]) -> None:
    """Write the whole file, or nothing."""
    file, body = Path(path), body_of(model)
    text = json.dumps({"digest": digest_of(body), **body}, ensure_ascii=False, allow_nan=False)
    try:
        with tempfile.NamedTemporaryFile("w", dir=file.parent, suffix=".part", delete=False, encoding="utf-8") as part:
            part.write(text + "\n")
        os.chmod(part.name, 0o644)
        os.replace(part.name, file)
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror or error}.") from None


def read(path: str | os.PathLike[str]) -> Model:
    """The model in a file."""
    plain = plain_in(path, "model", "model.save writes models.")
    if isinstance(plain, dict) and plain.get("format") == FORMAT:
        check_digest(plain, path)
    return model_of(plain, str(path))


def plain_in(path: str | os.PathLike[str], what: str, advice: str) -> Any:
    """The plain values in a JSON file that is to hold a *what*; or an error with an advice."""
    try:
        if os.path.getsize(path) > _MOST_BYTES:
            raise BadInput(f"{path} is not a {what}: it has more than {_MOST_BYTES:,} bytes. {advice}")
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror or error}. {advice}") from None
    except BadInput:
        raise
    except WRONG:
        raise BadInput(f"{path} is not a {what}: it is no JSON file. {advice}") from None


def check_digest(plain: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Take the digest out of plain values; refuse them if it is another one than theirs."""
    digest = plain.pop("digest", None)
    if _digest(plain) != digest:
        raise BadInput(f"{path} was changed after it was written: its digest does not fit. Save it again.")


def model_of(plain: Any, name: str) -> Model:
    """The model that plain values describe; *name* says in messages where they come from."""
    from adyton.learning.registry import model_type

    if not isinstance(plain, dict) or plain.get("format") != FORMAT:
        raise BadInput(f"{name} is not a model. model.save writes models.")
    if plain.get("version") != VERSION:
        given = shorten(plain.get("version"))
        raise BadInput(f"{name} is a model of version {given}, this is version {VERSION}. Learn it again.")
    if plain.keys() != _KEYS:
        raise BadInput(f"{name} is not a model: it has the keys {listing(plain)}, wanted are {listing(sorted(_KEYS))}.")
    try:
        target = Target.of(Schema.from_dict(plain["schema"]), plain["label"])
        rows = None if plain["rows"] is None else as_real(plain["rows"], "the number of rows")
        return replace(model_type(plain["kind"]).from_learnt(target, plain["learnt"]), rows=rows)
    except BadInput as problem:
        raise BadInput(f"{name} is not a model that can be read: {problem}") from None
    except WRONG:
        raise BadInput(f"{name} is not a model that can be read: parts of it are missing or wrong.") from None


def _digest(plain: dict[str, Any]) -> str | None:
    """The digest of a stranger's values, None if they have none."""
    try:
        return digest_of(plain)
    except WRONG:
        return None
