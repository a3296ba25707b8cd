"""Blanks around texts, where an engine is told which signs they are."""

from __future__ import annotations

from typing import Any

from adyton.kernel.engines import Engine
from adyton.kernel.engines.engine import engine_function

BLANKS = "".join(chr(number) for number in range(0x3001) if chr(number).isspace())
"""What Python strips: all kinds of white space."""


def stripped(text: Any, signs: str, engine: Engine) -> Any:
    """A text without some signs at its ends."""
    return engine_function("btrim", ("string", "string"), "string")(text, engine.constant(signs))
