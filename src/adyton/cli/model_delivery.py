"""What comes of a model once it is paid for: it reaches the person, whatever happens next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adyton.cli.console import InterruptedRelease, notes, out, print_json, printable, progress
from adyton.cli.delivery import print_anything
from adyton.errors import AdytonError
from adyton.exact import display
from adyton.interrupts import deferred

if TYPE_CHECKING:
    from adyton.learning import FittedClassifier
    from adyton.learning.classifier_saving import SavedClassifier
    from adyton.release.staging import Place


def deliver(
    fitted: FittedClassifier,
    place: Place | None,
    *,
    as_json: bool,
    quiet: bool,
    interrupt: KeyboardInterrupt | None = None,
) -> None:
    """Write the model, then its report, then say what was learnt; after an interrupt, only the model."""
    print_anything()
    saved, problems = _put_down(fitted, place), list[str]()
    try:
        if as_json:
            _print(fitted)
        if interrupt is not None:
            raise interrupt
        if saved is not None:
            with progress("writing the report", quiet=quiet or as_json):
                problems = saved.finish()
        if not as_json:
            _show(fitted, place, quiet=quiet)
    except KeyboardInterrupt as came:
        raise InterruptedRelease(_interrupted(fitted, place), came) from None
    for problem in problems:
        notes().print(printable(problem), soft_wrap=True)


def _put_down(fitted: FittedClassifier, place: Place | None) -> SavedClassifier | None:
    """Have the model where nothing can happen to it: in the folder, or else on standard output."""
    from adyton.learning.classifier_saving import save

    try:
        return None if place is None else save(fitted, place)
    except KeyboardInterrupt as interrupt:  # it may hide that the folder could not be written
        if place is None or not place.settled:
            _print(fitted)
        raise InterruptedRelease(_interrupted(fitted, place), interrupt) from None
    except Exception as error:
        if place is not None and place.settled:  # all of it is on the disk, and the message says where
            raise
        _print(fitted)
        reason = str(error) if isinstance(error, AdytonError) else getattr(error, "strerror", None)
        raise AdytonError(
            f"the model could not be written ({reason or type(error).__name__}). It is paid for, so that all of it was "
            "printed instead: keep that in a file, and `adyton predict` reads it."
        ) from None


def _print(fitted: FittedClassifier) -> None:
    """All of it, whatever interrupts come."""
    with deferred():
        print_json(fitted.to_dict())


def _show(fitted: FittedClassifier, place: Place | None, *, quiet: bool) -> None:
    """The model on standard output, and what else there is to say on standard error."""
    from adyton.release.saving import REPORT

    *paragraphs, model = fitted.explain().paragraphs
    for line in model.splitlines():
        out().print(printable(line), soft_wrap=True)
    if quiet or place is None:
        return
    for paragraph in paragraphs[1:]:
        notes().print(printable(paragraph), soft_wrap=True)
    whole = (place.folder / REPORT).exists()
    said = f"Everything is in {place.given}; begin with {REPORT}." if whole else f"The model is in {place.given}."
    notes().print(printable(f"{said} `adyton predict {place.given} DATA` asks it, for nothing."), soft_wrap=True)


def _interrupted(fitted: FittedClassifier, place: Place | None) -> str:
    where = "printed"
    if place is not None and place.settled:
        where = f"in {place.given if place.folder == place.goal else place.folder}"
    return f"interrupted. The model is {where}; ε = {display(fitted.epsilon)} was charged for it and stays spent."
