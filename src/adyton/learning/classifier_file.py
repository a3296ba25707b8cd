"""Classifiers in files: JSON with a digest, never pickle. A file is checked as a stranger's would be."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adyton.choice.checked_file import digest_of, named_format
from adyton.choice.decision import Decision
from adyton.errors import BadInput
from adyton.exact import as_number
from adyton.learning import model_file
from adyton.learning.classifier import Classifier
from adyton.learning.model import Model
from adyton.result.folder_kind import FolderKind
from adyton.result.plain_values import as_amount, as_text, of_kind, part_of
from adyton.result.receipt_reading import read_bought, read_figures, read_receipt
from adyton.schema.places import axes_of

if TYPE_CHECKING:
    from adyton.learning.fitted_classifier import FittedClassifier

KIND = FolderKind.of("classifier.json", "adyton classifier", "a classifier", "model", "classifier")


def to_dict(fitted: FittedClassifier) -> dict[str, Any]:
    """Everything that is needed to predict later, without the data, and to know what was done; with a digest."""
    body = {
        **KIND.file.head,
        "counted": fitted.counted.sentence or None,
        "classifier": fitted.classifier.to_plain(),
        "where": fitted.where,
        "learner": fitted.learner,
        "epsilon": as_number(fitted.epsilon),
        "asked": None if fitted.asked is None else as_number(fitted.asked),
        "decisions": [one.to_plain() for one in fitted.decisions],
        "record": fitted.receipt.to_plain(),
        "model": fitted.model.to_plain(),
    }
    return {"digest": digest_of(body), **body}


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The parts of the classifier in a folder or a file, by name."""
    return KIND.read(path, _parts)


def read_model(path: str | os.PathLike[str]) -> Model:
    """What predicts: the model of a saved classifier, or one that was saved by itself."""
    place = Path(path)
    if place.is_dir() or named_format(place) != model_file.KIND.format:
        model: Model = read(path)["model"]
        return model
    return model_file.read(path)


def _parts(plain: dict[str, Any]) -> dict[str, Any]:
    model = Model.from_plain(part_of(plain, "model"))
    receipt = read_receipt(part_of(plain, "record"), model.schema.rows_per_unit, enforced=model.schema.unit is not None)
    epsilon = as_amount(part_of(plain, "epsilon"), "epsilon", most=receipt.total)
    classifier, where = Classifier.from_plain(part_of(plain, "classifier")), part_of(plain, "where")
    known = model.schema.attributes
    asked = {axis for name in classifier.attributes or () for axis in axes_of(name, known)}
    if classifier.label != model.label or not asked <= known.keys():
        raise BadInput("the model predicts something else than what was asked for.")
    more = plain.get("asked")  # older files have none
    return {
        "asked": None if more is None else as_amount(more, "what was asked for", most=receipt.total),
        "classifier": classifier,
        "where": None if where is None else as_text(where, "where"),
        "learner": as_text(part_of(plain, "learner"), "learner"),
        "model": model,
        "epsilon": epsilon,
        "receipt": receipt,
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
