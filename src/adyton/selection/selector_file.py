"""Selectors in files: JSON with a digest. A file is checked as a stranger's would be before anything is done by it."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adyton.errors import BadInput
from adyton.messages import shorten

if TYPE_CHECKING:
    from adyton.selection.selector import Selector

FORMAT, VERSION = "adyton selector", 1
_WRONG = (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, RecursionError, MemoryError)
"""What reading a file that nobody of us wrote can end in. UnicodeError and JSON's own errors are ValueErrors."""


def body_of(selector: Selector) -> dict[str, Any]:
    """All that is kept of a selector."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": selector.kind,
        "training": asdict(selector.training),
        "share": str(selector.share),
        "learnt": selector.learnt(),
    }


def digest_of(body: dict[str, Any]) -> str:
    """A checksum of the whole, which shows changes that were not meant."""
    text = json.dumps(body, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def write(selector: Selector, path: str | os.PathLike[str]) -> None:
    """Write the whole file, or nothing."""
    file = Path(path)
    text = json.dumps({"digest": selector.digest, **body_of(selector)}, ensure_ascii=False, allow_nan=False)
    try:
        with tempfile.NamedTemporaryFile("w", dir=file.parent, suffix=".part", delete=False, encoding="utf-8") as part:
            part.write(text + "\n")
        os.chmod(part.name, 0o644)
        os.replace(part.name, file)
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror or error}.") from None


def read(path: str | os.PathLike[str]) -> Selector:
    """The selector in a file."""
    try:
        plain = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror or error}.") from None
    except _WRONG:
        raise BadInput(f"{path} is not a selector: it is no JSON file. `adyton train` writes selectors.") from None
    if not isinstance(plain, dict) or plain.get("format") != FORMAT:
        raise BadInput(f"{path} is not a selector. `adyton train` writes selectors.")
    if plain.get("version") != VERSION:
        given = shorten(plain.get("version"))
        raise BadInput(f"{path} is a selector of version {given}, this is version {VERSION}. Train it again.")
    try:
        if plain.pop("digest", None) != digest_of(plain):
            raise BadInput(f"{path} was changed after it was written: its digest does not fit. Train it again.")
        return _selector(plain)
    except BadInput:
        raise
    except _WRONG:
        raise BadInput(f"{path} is not a selector that can be read: parts of it are missing or wrong.") from None


def _selector(plain: dict[str, Any]) -> Selector:
    from adyton.selection.kinds import KINDS
    from adyton.selection.selector import Training

    about: dict[str, Any] = {}
    for name, value in plain["training"].items():
        about[name] = tuple(value) if isinstance(value, list) else value
    if not isinstance(plain["share"], str):
        raise BadInput(f"the share of a selector is a text such as '1/100', given {shorten(plain['share'])}.")
    return KINDS[plain["kind"]].from_learnt(Training(**about), plain["share"], plain["learnt"])
