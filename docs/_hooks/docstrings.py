"""Makes the docstrings of the reference into Markdown. The hooks are loaded before it, and ``wording`` with them."""

from __future__ import annotations

from typing import Any

import griffe
from wording import with_fences, without_roles


class ReadableDocstrings(griffe.Extension):
    """Changes the text of every docstring as it is found."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite one docstring."""
        if obj.docstring is not None:
            obj.docstring.value = with_fences(without_roles(obj.docstring.value))
