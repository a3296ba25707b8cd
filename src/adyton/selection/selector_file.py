"""Selectors in files."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from adyton.choice.checked_file import FileKind
from adyton.errors import BadInput
from adyton.messages import shorten

if TYPE_CHECKING:
    from adyton.selection.selector import Selector

FORMAT, VERSION = "adyton selector", 1
_KIND = FileKind(FORMAT, VERSION, "a selector", "`adyton train` writes selectors.")


def body_of(selector: Selector) -> dict[str, Any]:
    """All that is kept of a selector."""
    return {
        **_KIND.head,
        "kind": selector.kind,
        "training": asdict(selector.training),
        "share": str(selector.share),
        "learnt": selector.learnt(),
    }


def write(selector: Selector, path: str | os.PathLike[str]) -> None:
    """Write the whole file, or nothing."""
    _KIND.write(body_of(selector), path)


def read(path: str | os.PathLike[str]) -> Selector:
    """The selector in a file."""
    return _KIND.read(path, _selector)


def _selector(plain: dict[str, Any]) -> Selector:
    from adyton.selection.kinds import KINDS
    from adyton.selection.selector import Training

    about: dict[str, Any] = {}
    for name, value in plain["training"].items():
        about[name] = tuple(value) if isinstance(value, list) else value
    if not isinstance(plain["share"], str):
        raise BadInput(f"the share of a selector is a text such as '1/100', given {shorten(plain['share'])}.")
    return KINDS[plain["kind"]].from_learnt(Training(**about), plain["share"], plain["learnt"])
