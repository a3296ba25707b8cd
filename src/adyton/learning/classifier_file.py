"""Classifiers from plain values that a stranger may have written: JSON, never pickle."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from adyton.choice.decision import Decision
from adyton.errors import BadInput
from adyton.learning.classifier import Classifier
from adyton.learning.model import Model
from adyton.result.receipt import read_bought, read_figures
from adyton.schema.numbers import axes_of
from adyton.schema.plain_values import as_amount, as_text, of_kind, part_of


def own_parts(plain: Mapping[str, Any], common: Mapping[str, Any]) -> dict[str, Any]:
    """The parts that a classifier has beside those of every result, by name."""
    model, classifier, epsilon = Model.from_plain(part_of(plain, "model")), common["task"], common["epsilon"]
    known = model.schema.attributes
    if not isinstance(classifier, Classifier):
        raise BadInput("the task is no classifier.")
    asked = {axis for name in classifier.attributes or () for axis in axes_of(name, known)}
    if common["schema"] != model.target.whole:
        raise BadInput("the model is about another schema than the record.")
    if classifier.label != model.label or not asked <= known.keys():
        raise BadInput("the model predicts something else than what was asked for.")
    more = plain.get("asked")  # older files have none
    return {
        "asked": None if more is None else as_amount(more, "what was asked for", most=common["receipt"].total),
        "model": model,
        "decisions": tuple(_decision(one, epsilon) for one in of_kind(list, part_of(plain, "decisions"), "decisions")),
    }


def _decision(plain: object, epsilon: Fraction) -> Decision:
    return Decision(
        as_text(part_of(plain, "chosen"), "what was chosen"),
        as_amount(part_of(plain, "left"), "what was left", zero=True, most=epsilon),
        tuple(read_bought(one, epsilon) for one in of_kind(list, part_of(plain, "bought"), "bought")),
        read_figures(part_of(plain, "regrets"), "regrets"),
        tuple(as_text(note, "a note") for note in of_kind(list, part_of(plain, "notes"), "notes")),
    )
