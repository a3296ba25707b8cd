"""What is paid for must reach the person: into a folder or, if that fails, onto standard output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

from adyton.cli.console import InterruptedRelease, print_json
from adyton.errors import AdytonError
from adyton.exact import display
from adyton.interrupts import deferred

if TYPE_CHECKING:
    from adyton.release.staging import Place

Saved = TypeVar("Saved")


@dataclass(frozen=True)
class Paid:
    """Something that was paid for, the folder that it goes to, if any, and the words for it."""

    what: str
    """Such as “the release”."""
    comes: str
    """Such as “The counts are”, with which a sentence on where they are begins."""
    epsilon: Fraction
    place: Place | None
    plain: Callable[[], dict[str, Any]]
    """All of it, as it is printed where it cannot be written."""
    advice: str = "keep that"
    """What to do with what was printed."""

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
                f"{self.what} could not be written ({reason_of(error)}). It is paid for, so that all of it was printed "
                f"instead: {self.advice}."
            ) from None

    def print(self) -> None:
        """All of it, whatever interrupts come."""
        with deferred():
            print_json(self.plain())

    def interrupted(self, came: KeyboardInterrupt) -> InterruptedRelease:
        """The error that says what became of it."""
        return InterruptedRelease(f"interrupted. {self.kept()}", came)

    def kept(self) -> str:
        """Where it is, and what it cost."""
        where, it = "printed", "them" if self.comes.endswith(" are") else "it"
        if self.place is not None and self.place.settled:
            where = f"in {self.place.given if self.place.folder == self.place.goal else self.place.folder}"
        return f"{self.comes} {where}; ε = {display(self.epsilon)} was charged for {it} and stays spent."

    @property
    def _settled(self) -> bool:
        return self.place is not None and self.place.settled


def reason_of(error: BaseException) -> str:
    """Why something failed: in words that are ours, or the system's, or else the kind of the error."""
    reason = str(error).rstrip(".") if isinstance(error, AdytonError) else getattr(error, "strerror", None)
    return reason or type(error).__name__
