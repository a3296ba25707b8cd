"""Files that hold what was learnt: JSON with a digest. Every file is checked as untrusted input before it is used."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn, TypeVar

from adyton.drafts import replaced
from adyton.errors import BadInput
from adyton.messages import shorten

Content = TypeVar("Content")
_MOST_BYTES = 1 << 30
_SMALL = 1 << 20
"""The most characters that the parts which are never long, and the blanks between parts, may have in total."""
_HEAD = 4096
_RUN = 10_000
_BLANK, _BLANKS = re.compile(r"[ \t\r\n]*"), re.compile(rf"[ \t\r\n]{{{_RUN}}}")
_MARK = re.compile(r'"format": ?"(adyton [a-z ]+)"')
FOLDERS = ("release.json", "tables.json", "numbers.json", "classifier.json", "measurements.json")
"""The files that say what a folder holds."""
_OPENED = {
    "adyton release": ("a result", "ad.load"),
    "adyton tables": ("a release of tables", "ad.load"),
    "adyton numbers": ("a release of numbers", "ad.load"),
    "adyton classifier": ("a classifier", "ad.load"),
    "adyton model": ("a model", "adyton.learning.model.Model.load"),
    "adyton selector": ("a selector", "ad.Selector.load"),
    "adyton configuration": ("a configuration", "ad.load"),
    "adyton learned choices": ("learned choices", "ad.LearnedChoices.load"),
    "adyton choice maker": ("what a choice maker has learnt", "the load method of a choice maker with its options"),
    "adyton measurements": ("the measurements of an unfinished request", "any program that reads JSON"),
    "SQLite": ("a database, such as a ledger", "ad.Ledger.read or adyton ledger"),
}
"""For every mark: what the file holds, and what opens it."""
WRONG = (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, RecursionError, MemoryError)
"""The exceptions that reading a foreign file can raise. UnicodeError and JSON's own errors are ValueErrors."""


@dataclass(frozen=True)
class FileKind:
    """A kind of file: its mark, its version, what it holds in words, and what writes it."""

    format: str
    version: int
    holds: str
    """Such as “a selector”."""
    writer: str
    """A sentence on where such files come from."""
    cure: str = "Train it again."
    """What to do about a file of another version, or one that was changed."""
    long: tuple[str, ...] = ("learnt",)
    """The parts that may be long."""
    unsigned: bool = False
    """Whether there are older files without a digest."""

    @property
    def marks(self) -> set[str]:
        """The marks of all files that it reads."""
        return {self.format}

    @property
    def head(self) -> dict[str, Any]:
        """The fields that every such file begins with."""
        return {"format": self.format, "version": self.version}

    def write(self, body: dict[str, Any], path: str | os.PathLike[str]) -> None:
        """Write the whole file, or nothing."""
        text = json.dumps({"digest": self.digest(body), **body}, ensure_ascii=False, allow_nan=False)
        try:
            with replaced(Path(path)) as part:
                part.write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise BadInput(f"{path} cannot be written: {error.strerror or error}.") from None

    def read(self, path: str | os.PathLike[str], made: Callable[[dict[str, Any]], Content]) -> Content:
        """The body of a file, converted by *made*; any fault of the file is reported in one sentence."""
        try:
            if os.path.getsize(path) > _MOST_BYTES:
                raise BadInput(f"{path} is not {self.holds}: it has more than {_MOST_BYTES:,} bytes. {self.writer}")
            plain, texts = _parts_of(Path(path).read_text(encoding="utf-8"), self.long)
        except OSError as error:
            why = "it does not exist" if isinstance(error, FileNotFoundError) else error.strerror or error
            raise BadInput(f"{path} cannot be read: {why}. {self.other(Path(path)) or self.writer}") from None
        except BadInput as problem:
            raise BadInput(f"{path} is not {self.holds}: {problem} {self.other(Path(path)) or self.writer}") from None
        except (RecursionError, MemoryError):
            raise BadInput(f"{path} is not {self.holds}: it is nested too deeply. {self.writer}") from None
        except WRONG:
            other = self.other(Path(path)) or self.writer
            raise BadInput(f"{path} is not {self.holds}: it is not a JSON file. {other}") from None
        if isinstance(plain, dict) and plain.get("format") not in self.marks and self.other(Path(path)):
            raise BadInput(f"{path} is not {self.holds}. {self.other(Path(path))}")
        return self.made(plain, str(path), made, texts)

    def parsed(self, text: str, name: str, made: Callable[[dict[str, Any]], Content]) -> Content:
        """As :meth:`read`, from the content of such a file, which messages call *name*."""
        try:
            plain, texts = _parts_of(text, self.long)
        except BadInput as problem:
            raise BadInput(f"{name} is not {self.holds}: {problem}") from None
        except WRONG:
            raise BadInput(f"{name} is not {self.holds}: it is not JSON, or is nested too deeply.") from None
        return self.made(plain, name, made, texts)

    def other(self, path: Path) -> str:
        """A sentence that says what a file or folder holds instead, if it has the mark of another kind."""
        inside = [path / name for name in FOLDERS] if path.is_dir() else [path]
        for mark in filter(None, map(named_format, inside)):
            if mark not in self.marks and mark in _OPENED:
                holds, opener = _OPENED[mark]
                return f"It holds {holds}: open it with {opener}."
        return ""

    def digest(self, body: dict[str, Any]) -> str:
        """A checksum of the body, which reveals accidental changes."""
        return digest_of(body)

    def fits(self, digest: object, body: dict[str, Any], texts: Mapping[str, str]) -> bool:
        """Whether this is the digest of the body; *texts* are what its long parts were read from."""
        return digest == self.digest(body)

    def made(
        self,
        plain: Any,
        path: str,
        made: Callable[[dict[str, Any]], Content],
        texts: Mapping[str, str] = MappingProxyType({}),
    ) -> Content:
        """As :meth:`read`, from values that are already parsed; messages name *path* as their origin."""
        if not isinstance(plain, dict) or plain.get("format") != self.format:
            raise BadInput(f"{path} is not {self.holds}. {self.writer}")
        if plain.get("version") != self.version:
            given = shorten(plain.get("version"))
            raise BadInput(f"{path} is {self.holds} of version {given}; this program reads {self.version}. {self.cure}")
        try:
            plain = dict(plain)
            digest = plain.pop("digest", None)
            if not (self.unsigned and digest is None) and not self.fits(digest, plain, texts):
                raise BadInput(f"{path} was changed after it was written: its digest does not fit. {self.cure}")
            return made(plain)
        except BadInput:
            raise
        except WRONG:
            raise BadInput(f"{path} is not {self.holds} that can be read: parts of it are missing or wrong.") from None


def digest_of(body: dict[str, Any]) -> str:
    """A checksum of the body, which reveals accidental changes."""
    text = json.dumps(body, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def named_format(file: Path, *, whole: bool = False) -> str | None:
    """The format that a file declares, None if it declares none. With *whole*, only if the entire file can be read."""
    try:
        with file.open("rb") as opened:
            head = opened.read(_HEAD)
        if head.startswith(b"SQLite format 3\0"):
            return "SQLite"
        found = _MARK.search(head.decode("utf-8", "replace"))
        if found and not whole:
            return found[1]
        most = _MOST_BYTES if whole else 16 * _SMALL
        plain = json.loads(file.read_text(encoding="utf-8")) if file.stat().st_size <= most else None
    except (OSError, ValueError, RecursionError, MemoryError):
        return None
    mark = plain.get("format") if isinstance(plain, dict) else None
    return mark if isinstance(mark, str) else None


def _parts_of(text: str, long: Collection[str]) -> tuple[Any, dict[str, str]]:
    """The object in a JSON text, read part by part: a part that is too long is refused before it is decoded. And the
    texts of its long parts."""
    decoder, place, taken = json.JSONDecoder(parse_constant=_refuse), _blanks(text, 0), 0
    parts: dict[str, Any] = {}
    texts: dict[str, str] = {}
    sampled = range(0, len(text), _RUN)  # none of so many blanks in a row is missed
    if any(_BLANKS.search(text, max(0, at - _RUN), at + _RUN) for at in sampled if text[at].isspace()):
        raise BadInput("it has thousands of blanks in a row.")

    def short() -> tuple[Any, int]:
        room = max(0, _SMALL - (place - taken))
        try:
            value, end = decoder.raw_decode(text[place : place + room])
        except ValueError:
            if place + room < len(text):
                raise BadInput("it is longer than such a file can be.") from None
            raise
        return value, place + end

    if not text.startswith("{", place):
        return short()[0], texts
    while not parts or text.startswith(",", place):
        place = _blanks(text, place + 1)
        name, place = short()
        place = _blanks(text, place)
        if not isinstance(name, str) or name in parts or not text.startswith(":", place):
            raise ValueError("no object")
        place = start = _blanks(text, place + 1)
        if name in long:
            parts[name], place = decoder.raw_decode(text, place)
            texts[name] = text[start:place]
            taken += place - start
        else:
            parts[name], place = short()
        place = _blanks(text, place)
    if not text.startswith("}", place) or _blanks(text, place + 1) != len(text):
        raise ValueError("no object")
    if len(text) - taken > _SMALL:
        raise BadInput("it is longer than such a file can be.")
    return parts, texts


def _blanks(text: str, place: int) -> int:
    """The position after the blanks."""
    found = _BLANK.match(text, place)
    return place if found is None else found.end()


def _refuse(constant: str) -> NoReturn:
    raise BadInput(f"it holds {constant}, which is not a number.")
