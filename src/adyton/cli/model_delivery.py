"""What comes of a model once it is paid for: it reaches the person, whatever happens next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adyton.cli.console import notes, out, printable, progress, say_counted
from adyton.cli.delivery import print_anything
from adyton.cli.paid import Paid

if TYPE_CHECKING:
    from adyton.learning import FittedClassifier
    from adyton.result.staging import Place


def deliver(
    fitted: FittedClassifier,
    place: Place | None,
    *,
    as_json: bool,
    quiet: bool,
    interrupt: KeyboardInterrupt | None = None,
) -> None:
    """Write the model, then its report, then say what was learnt; after an interrupt, only the model."""
    from adyton.learning.classifier_saving import save

    print_anything()
    advice = "keep that in a file, and `adyton predict` reads it"
    paid = Paid("the model", "The model is", fitted.epsilon, place, fitted.to_dict, advice)
    saved, problems = paid.put_down(lambda: None if place is None else save(fitted, place)), list[str]()
    try:
        if as_json:
            paid.print()
        if interrupt is not None:
            raise interrupt
        if saved is not None:
            with progress("writing the report", quiet=quiet or as_json):
                problems = saved.finish()
        if not as_json:
            paid.show(lambda: _show(fitted, place, quiet=quiet))
    except KeyboardInterrupt as came:
        raise paid.interrupted(came) from None
    for problem in problems:
        notes().print(printable(problem), soft_wrap=True)


def _show(fitted: FittedClassifier, place: Place | None, *, quiet: bool) -> None:
    """The model on standard output, and what else there is to say on standard error."""
    from adyton.result.saving import REPORT

    *paragraphs, model = fitted.explain().paragraphs
    say_counted(fitted.counted.first(fitted.where))
    for line in model.splitlines():
        out().print(printable(line), soft_wrap=True)
    if quiet or place is None:
        return
    for paragraph in paragraphs[1:]:
        notes().print(printable(paragraph), soft_wrap=True)
    whole = (place.folder / REPORT).exists()
    said = f"Everything is in {place.given}; begin with {REPORT}." if whole else f"The model is in {place.given}."
    notes().print(printable(f"{said} `adyton predict {place.given} DATA` asks it, for nothing."), soft_wrap=True)
