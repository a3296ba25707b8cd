"""The report of a classifier: one HTML file that opens anywhere; and what a notebook shows of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adyton.learning.classifier_words import choice_in_words
from adyton.report.classifier_pictures import ModelPicture, model_pictures
from adyton.report.own_words import word_facts
from adyton.report.page import NARROW, WIDE
from adyton.report.paid import paid_facts
from adyton.report.scales import figure, number
from adyton.report.templates import templates

if TYPE_CHECKING:
    from adyton.learning.fitted_classifier import FittedClassifier

_PICTURES, _NOTEBOOK_PICTURES, _NOTEBOOK_WIDTH = 13, 3, 640


def render(fitted: FittedClassifier) -> str:
    """The whole page."""
    pictures, more = model_pictures(fitted.model, _PICTURES)
    page = templates().get_template("classifier.html.j2")
    drawn = [_drawn(one) for one in pictures]
    return page.render(**_facts(fitted), pictures=drawn, more=more, schema=fitted.model.target.whole.to_toml().strip())


def to_html(fitted: FittedClassifier) -> str:
    """A piece of HTML that takes its colours from the notebook around it."""
    from markupsafe import Markup

    pictures = [
        {"title": one.title, "caption": one.caption, "drawing": Markup(one.draw(_NOTEBOOK_WIDTH))}
        for one in model_pictures(fitted.model, _NOTEBOOK_PICTURES)[0]
    ]
    page = templates().get_template("classifier_notebook.html.j2")
    return page.render(**_facts(fitted), pictures=pictures, width=_NOTEBOOK_WIDTH)


def _drawn(picture: ModelPicture) -> dict[str, Any]:
    from markupsafe import Markup

    return {
        "title": picture.title,
        "caption": picture.caption,
        "wide": Markup(picture.draw(WIDE)),
        "narrow": Markup(picture.draw(NARROW)),
    }


def _facts(fitted: FittedClassifier) -> dict[str, Any]:
    """What every view of a classifier says."""
    model = fitted.model
    return {
        "fitted": fitted,
        "model": model,
        "heading": f"Classifier of {model.label}",
        "names": list(model.schema.names),
        "story": list(choice_in_words(fitted)),
        "alike": fitted.look_alikes,
        "learnt": model.explain(),
        "options": fitted.classifier.options,
        "number": number,
        "figure": figure,
        **word_facts(model.target.whole),
        **paid_facts(fitted.receipt, fitted.epsilon, "model"),
    }
