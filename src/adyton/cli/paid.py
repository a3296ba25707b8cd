"""What is paid for must reach the person: into a folder, or onto standard output, or else into a file."""

from __future__ import annotations

import os
import secrets
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from adyton.cli.console import InterruptedRelease, output_is_open, print_json
from adyton.errors import AdytonError, BadInput
from adyton.exact import display
from adyton.interrupts import deferred

if TYPE_CHECKING:
    from adyton.result.staging import Place

Saved = TypeVar("Saved")


@dataclass
class Paid:
    """Something that was paid for, the folder that it goes to, if any, and the words for it."""

    noun: str
    """What it is called: “release”."""
    epsilon: Fraction
    place: Place | None
    plain: Callable[[], dict[str, Any]]
    """All of it, as it is printed where it cannot be written."""
    _printed: str = field(default="printed", init=False)
    """Where it was printed."""

    def put_down(self, save: Callable[[], Saved]) -> Saved:
        """Have it where nothing can happen to it: in the folder, or else on standard output."""
        try:
            return save()
        except KeyboardInterrupt as interrupt:  # it may hide that the folder could not be written
            if not self._settled:
                self.print()
            raise self.interrupted(interrupt) from None
        except Exception as error:
            if self._settled:  # all of it is on the disk, and the message says where
                raise
            self.print()
            raise AdytonError(
                f"the {self.noun} could not be written ({reason_of(error)}). It is paid for, so all of it is "
                f"{self._printed} instead: keep that in a .json file, which ad.load and `adyton explain` open."
            ) from None

    def print(self) -> None:
        """All of it, whatever interrupts come: on standard output, on standard error, or in a file of its own."""
        with deferred():
            self._printed = printed(self.plain())

    def show(self, printing: Callable[[], None], *, needed: bool = False) -> None:
        """Print it in words. Where that fails and no folder has it, all of it is printed elsewhere; where it is so
        short that a reader takes all of it or nothing (*needed*), also if nobody reads it."""
        try:
            with nullcontext() if self._settled else deferred():
                printing()
                sys.stdout.flush()
        except BrokenPipeError:
            if not needed:
                raise  # the reader, such as head, has seen enough
            self.print()
            raise AdytonError(f"the {self.noun} could not be printed: nobody reads it. {self.kept()}") from None
        except (OSError, ValueError) as error:
            if not self._settled:
                self.print()
            raise AdytonError(f"the {self.noun} could not be printed ({reason_of(error)}). {self.kept()}") from None

    def interrupted(self, came: KeyboardInterrupt) -> InterruptedRelease:
        """The error that says what became of it."""
        return InterruptedRelease(f"interrupted. {self.kept()}", came)

    def kept(self) -> str:
        """Where it is, and what it cost."""
        where = self._printed
        if self.place is not None and self.place.settled:
            where = f"in {self.place.there}"
        return f"The {self.noun} is {where}; ε = {display(self.epsilon)} was charged for it and stays spent."

    @property
    def _settled(self) -> bool:
        return self.place is not None and self.place.settled


def printed(plain: dict[str, Any]) -> str:
    """Print plain values as JSON where they can be printed; where that was, in words. A terminal that was closed takes
    nothing any more, and a disk may be full: then the next place is tried."""
    for stream, where in ((sys.stdout, "printed"), (sys.stderr, "printed on standard error")):
        with suppress(OSError, ValueError):
            if output_is_open() or stream is sys.stderr:
                print_json(plain, stream)
                stream.flush()
                return where
    for folder in (".", tempfile.gettempdir()):
        with suppress(OSError):
            file = os.path.join(folder, f"adyton-{secrets.token_hex(4)}.json")
            with open(file, "x", encoding="utf-8") as opened:
                print_json(plain, opened)
            return f"in {file}"
    raise AdytonError("the answer was paid for, and there is no place that takes it: not even a temporary file.")


def reason_of(error: BaseException) -> str:
    """Why something failed: in words that are ours, or the system's, or else the kind of the error."""
    reason = str(error).rstrip(".") if isinstance(error, AdytonError) else getattr(error, "strerror", None)
    return reason or type(error).__name__


# ---- before anything is paid ----------------------------------------------------------------------------------------


def check_folder(folder: Path | None, used: Iterable[str | Path | None], *, overwrite: bool) -> None:
    """Refuse to write where a file lies that the command works with."""
    if folder is None:
        if overwrite:
            raise BadInput("--overwrite belongs to --out. Name the folder that may be overwritten.")
        check_output()
        return
    for file in used:
        if file and folder.resolve() in Path(file).resolve().parents:
            raise BadInput(f"{file} lies in {folder}, which is to be written whole. Give --out another folder.")


def check_output() -> None:
    """Refuse to pay for what would be printed nowhere."""
    if not output_is_open():
        raise BadInput("standard output is closed, so the answer would be paid for and lost. Open it, or give --out.")
