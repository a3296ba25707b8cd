"""The templates of this folder, and their compiled form: kept where Python keeps that of modules, if it does."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import suppress
from functools import cache
from importlib.util import cache_from_source
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

_NO_CODE = (NotImplementedError, ValueError, EOFError, TypeError)
"""What reading something else than compiled code ends with."""


@cache
def templates() -> Environment:
    """What is filled in is escaped, but for drawings, which escape their own words."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("adyton.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=_beside_modules(),
    )


def _beside_modules() -> Any:
    """Keeps compiled templates beside the compiled modules of this package; an older one is recognised by its source.

    Compiling a page takes longer than filling it in. Whoever could put something there could do so to the modules.
    """
    from jinja2 import BytecodeCache
    from jinja2.bccache import Bucket

    class BesideModules(BytecodeCache):
        def load_bytecode(self, bucket: Bucket) -> None:
            with suppress(OSError, *_NO_CODE), open(_file(bucket), "rb") as file:
                bucket.load_bytecode(file)

        def dump_bytecode(self, bucket: Bucket) -> None:
            if sys.dont_write_bytecode:
                return
            with suppress(OSError, NotImplementedError):  # a folder of others: then it is compiled each time
                target = _file(bucket)
                os.makedirs(os.path.dirname(target), exist_ok=True)
                with tempfile.NamedTemporaryFile(dir=os.path.dirname(target), delete=False) as file:
                    bucket.write_bytecode(file)
                os.replace(file.name, target)

    return BesideModules()


def _file(bucket: Any) -> str:
    """Where Python would keep a module of this name; the key is a digest of the template's name."""
    return cache_from_source(os.path.join(os.path.dirname(os.path.abspath(__file__)), f"template_{bucket.key}.py"))
