"""A fitted classifier explained in words, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adyton.exact import display
from adyton.messages import listing
from adyton.result.explanation import Explanation, budget_in_words

if TYPE_CHECKING:
    from adyton.learning.fitted_classifier import FittedClassifier


def explanation(fitted: FittedClassifier) -> Explanation:
    """What was learnt from what, how and why, how good that may be, what it cost; then the model itself."""
    where = f", of rows where {fitted.where}" if fitted.where else ""
    names = listing(fitted.model.schema.names)
    asked = f"Learnt: {fitted.model.label!r} from {names}{where}; {len(fitted.model.classes)} classes."
    asked = fitted.counted.after(asked)
    return Explanation(
        (asked, *choice_in_words(fitted), *quality_in_words(fitted), _budget(fitted), fitted.model.explain())
    )


def choice_in_words(fitted: FittedClassifier) -> tuple[str, ...]:
    """Why the method is what it is, and what else was decided."""
    if not fitted.decisions:
        how = "which is what auto stands for here" if fitted.classifier.method != fitted.learner else "as asked"
        return (f"Method: {fitted.learner}, {how}.",)
    first, *others = fitted.decisions
    return (f"Method: {first}", *(f"Then: {one}" for one in others))


def quality_in_words(fitted: FittedClassifier) -> tuple[str, ...]:
    """What quality to expect; nothing where nothing is known."""
    return () if fitted.look_alikes is None else (f"Quality: {fitted.look_alikes.in_words()}",)


def _budget(fitted: FittedClassifier) -> str:
    words = budget_in_words(fitted.receipt, fitted.epsilon, "model")
    if fitted.asked is None:
        return words
    return (
        f"{words} ε = {display(fitted.asked)} was asked for; {fitted.learner} needed less, and the rest is not spent."
    )
