"""What was learnt, in files: JSON with a digest. A file is checked as a stranger's would be before anything is done."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from adyton.errors import BadInput
from adyton.messages import shorten

Content = TypeVar("Content")
_MOST_BYTES = 1 << 28
WRONG = (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, RecursionError, MemoryError)
"""What reading a file that nobody of us wrote can end in. UnicodeError and JSON's own errors are ValueErrors."""


@dataclass(frozen=True)
class FileKind:
    """A kind of files: its mark, its version, what it holds in words, and who writes such files."""

    format: str
    version: int
    holds: str
    """Such as “a selector”."""
    writer: str
    """A sentence on where such files come from."""
    cure: str = "Train it again."
    """What to do about a file of another version, or one that was changed."""

    @property
    def head(self) -> dict[str, Any]:
        """What every such file begins with."""
        return {"format": self.format, "version": self.version}

    def write(self, body: dict[str, Any], path: str | os.PathLike[str]) -> None:
        """Write the whole file, or nothing."""
        file = Path(path)
        text = json.dumps({"digest": digest_of(body), **body}, ensure_ascii=False, allow_nan=False)
        try:
            with tempfile.NamedTemporaryFile(
                "w", dir=file.parent, suffix=".part", delete=False, encoding="utf-8"
            ) as part:
                part.write(text + "\n")
            os.chmod(part.name, 0o644)
            os.replace(part.name, file)
        except OSError as error:
            raise BadInput(f"{path} cannot be written: {error.strerror or error}.") from None

    def read(self, path: str | os.PathLike[str], made: Callable[[dict[str, Any]], Content]) -> Content:
        """What *made* makes of the body of a file; whatever is wrong with it is one sentence."""
        try:
            if os.path.getsize(path) > _MOST_BYTES:
                raise BadInput(f"{path} is not {self.holds}: it has more than {_MOST_BYTES:,} bytes. {self.writer}")
            plain = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise BadInput(f"{path} cannot be read: {error.strerror or error}. {self.writer}") from None
        except BadInput:
            raise
        except WRONG:
            raise BadInput(f"{path} is not {self.holds}: it is no JSON file. {self.writer}") from None
        return self.made(plain, str(path), made)

    def made(self, plain: Any, path: str, made: Callable[[dict[str, Any]], Content]) -> Content:
        """The same of plain values; *path* says in messages where they come from."""
        if not isinstance(plain, dict) or plain.get("format") != self.format:
            raise BadInput(f"{path} is not {self.holds}. {self.writer}")
        if plain.get("version") != self.version:
            given = shorten(plain.get("version"))
            raise BadInput(f"{path} is {self.holds} of version {given}, this is version {self.version}. {self.cure}")
        try:
            plain = dict(plain)
            if plain.pop("digest", None) != digest_of(plain):
                raise BadInput(f"{path} was changed after it was written: its digest does not fit. {self.cure}")
            return made(plain)
        except BadInput:
            raise
        except WRONG:
            raise BadInput(f"{path} is not {self.holds} that can be read: parts of it are missing or wrong.") from None


def digest_of(body: dict[str, Any]) -> str:
    """A checksum of the whole, which shows changes that were not meant."""
    text = json.dumps(body, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
