"""Models in files: JSON with a digest, never pickle. A file is checked as a stranger's would be."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from adyton.choice.checked_file import WRONG, FileKind
from adyton.errors import BadInput
from adyton.learning.target import Target
from adyton.messages import listing, shorten
from adyton.schema import Schema

if TYPE_CHECKING:
    from adyton.learning.model import Model

KIND = FileKind("adyton model", 1, "a model", "model.save writes models.", "Learn it again.", ("schema", "learnt"))
_KEYS = {"format", "version", "kind", "schema", "label", "learnt"}


def body_of(model: Model) -> dict[str, Any]:
    """All that is kept of a model."""
    return {
        **KIND.head,
        "kind": model.kind,
        "schema": model.target.whole.to_dict(),
        "label": model.label,
        "learnt": model.learnt(),
    }


def write(model: Model, path: str | os.PathLike[str]) -> None:
    """Write the whole file, or nothing."""
    KIND.write(body_of(model), path)


def read(path: str | os.PathLike[str]) -> Model:
    """The model in a file."""
    return KIND.read(path, lambda plain: model_of(plain, str(path)))


def model_of(plain: Any, name: str) -> Model:
    """The model that plain values describe; *name* says in messages where they come from."""
    from adyton.learning.registry import MODELS

    if not isinstance(plain, dict) or plain.get("format") != KIND.format:
        raise BadInput(f"{name} is not a model. {KIND.writer}")
    if plain.get("version") != KIND.version:
        given = shorten(plain.get("version"))
        raise BadInput(f"{name} is a model of version {given}, this is version {KIND.version}. {KIND.cure}")
    if plain.keys() != _KEYS:
        raise BadInput(f"{name} is not a model: it has the keys {listing(plain)}, wanted are {listing(sorted(_KEYS))}.")
    try:
        target = Target.of(Schema.from_dict(plain["schema"]), plain["label"])
        return MODELS[plain["kind"]].from_learnt(target, plain["learnt"])
    except BadInput as problem:
        raise BadInput(f"{name} is not a model that can be read: {problem}") from None
    except WRONG:
        raise BadInput(f"{name} is not a model that can be read: parts of it are missing or wrong.") from None
