"""A fitted classifier explained in words, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adyton.exact import display

if TYPE_CHECKING:
    from adyton.learning.fitted_classifier import FittedClassifier


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


def less_in_words(fitted: FittedClassifier) -> str:
    """That less was needed than what was asked for; nothing where all of it was charged."""
    if fitted.asked is None:
        return ""
    return f" ε = {display(fitted.asked)} was asked for; {fitted.learner} needed less, and the rest is not spent."
