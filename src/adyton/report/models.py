"""Models on a page: classifiers (trees with noisy counts, or the profiles of the classes), and configurations (the
guarantee against the number of instances, and the utility curve of public instances)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from adyton.arrays import Reals
from adyton.configuration.result import shown
from adyton.exact import display
from adyton.learning.class_profiles import ClassProfiles
from adyton.learning.model import Model
from adyton.learning.registry import AUTO
from adyton.learning.tree_model import NO_ROWS, ForestModel, TreeModel, shown_nodes
from adyton.report.axes import display_axis
from adyton.report.charts import MOST_BARS, MOST_SQUARES, Panel
from adyton.report.page import Block, Code, Fact, Table, View, Words, amount, factor, promise, spent, view_of, where
from adyton.report.pictures import Branch, Drawing, outline
from adyton.report.svg import figure, nice_ticks, people

if TYPE_CHECKING:
    from adyton.configuration.result import Configuration
    from adyton.learning.classifier import FittedClassifier


DrawnTree: TypeAlias = TreeModel
"""A model that has a tree, with counts and class probabilities in its nodes."""
_MOST_TREES, _MOST_PROFILES, _MOST_LINES = 3, 13, 80
"""How many trees are drawn, how many classes and attributes, and how many lines of a tree, from the root on."""
_LEAST = 1e-12
_COUNTS = (
    "Each line is a part of the rows: about how many there are, and how probable each class is among them, from noisy "
    "counts. Counts below zero are noise, and are shown as 0."
)
_PREDICTION = (
    "A guess from what was common among the rows of each class. It can be wrong about anybody, and it says nothing "
    "about whether that {} was in the data. The model can be used as often as you like: this costs no privacy and "
    "reveals nothing more about the data. The rows that predictions are made for are not protected: a prediction for a "
    "row is a fact about that row."
)
_UNKNOWN = (
    "Nothing is known beforehand: none of the public tables that were tried is like this one. Predict rows whose "
    "labels you know, and count how many predictions are right."
)


def model_drawings(model: Model, most: int | None) -> list[Drawing]:
    """Pictures of the classes and the most informative attributes, or of the first trees; empty if there are none."""
    if isinstance(model, ClassProfiles):
        return [Drawing.of(panel) for panel in class_panels(model)[: min(most or 7, _MOST_PROFILES)]]
    trees = _trees_of(model)
    few = _MOST_TREES if most is None else min(most, _MOST_TREES)
    return [_tree(tree, place, len(trees)) for place, tree in enumerate(trees[:few])]


def model_view(fitted: FittedClassifier) -> View:
    """The content of the page of a model."""
    model, dataset, counted = fitted.model, fitted.receipt.dataset, fitted.counted
    names, named = model.schema.names, fitted.classifier.method != AUTO
    noisy = ((counted.beside,) if counted else ()) + ("counted with noise; how far off is not known",)
    rows = () if model.rows is None else (Fact("Rows learnt from, about", people(model.rows), noisy),)
    options = ", ".join(f"{name} = {value}" for name, value in fitted.classifier.options.items())
    trees = len(_trees_of(model)) - _MOST_TREES
    profiles = len(names) + 1 - _MOST_PROFILES if isinstance(model, ClassProfiles) else 0
    left = f"{trees:,} more trees are" if trees > 0 else f"{profiles:,} more attributes are" if profiles > 0 else ""
    more = (Words(f"{left} in the JSON file.", quiet=True),) if left else ()
    return view_of(
        fitted,
        heading=f"Classifier of {model.label}",
        lead=(
            f"It predicts {model.label} from {', '.join(names)}, and was learnt from the rows of {dataset}"
            f"{where(fitted)}. "
            + promise(fitted, "It was made only from noisy counts, by the rules of differential privacy")
        ),
        figures=(
            Fact("Method", fitted.method, ("as asked for" if named else "the default",)),
            Fact("Classes", f"{len(model.classes):,}", (f"from {len(names)} attribute{'s' * (len(names) > 1)}",)),
            *rows,
            Fact("How often right", *_expected(fitted)),
        ),
        cost=(spent(fitted, f"of {display(fitted.asked)} that was asked for; " if fitted.asked else ""),),
        title="What was learnt",
        also=(
            *(Words(words) for words in (*fitted.cells_in_words(), *fitted.predicts())),
            *more,
            Code("The model in words", model.explain()),
        ),
        how=_quality(fitted),
        facts={
            "Label": f"{model.label}: {', '.join(map(str, model.classes))}",
            "Algorithm": fitted.method,
            "Options": options or "none given",
            "Metric": fitted.classifier.metric,
        },
        reading=(Words(_PREDICTION.format(fitted.receipt.unit), "What a prediction is."),),
    )


def _expected(fitted: FittedClassifier) -> tuple[str, tuple[str, ...]]:
    """How often predictions are right, in a few words: that is known of other tables only."""
    if fitted.look_alikes is None:
        return "not measured", ()
    right = [of.accuracy for of in fitted.look_alikes.results]
    low, high = (f"{100 * end:.0f}" for end in (min(right), max(right)))
    return "not measured", (f"{low} to {high}% on {len(right)} public tables like this one",)


def _quality(fitted: FittedClassifier) -> tuple[Block, ...]:
    """How well the method did on similar public tables."""
    if fitted.look_alikes is None:
        return (Words(_UNKNOWN, "What quality to expect."),)
    rows = [
        (of.table, people(of.rows), figure(of.epsilon), str(of.classes), f"{of.accuracy:.0%}", f"{of.majority:.0%}")
        for of in fitted.look_alikes.results
    ]
    said = "The public tables most like this one, by rows·ε/(cells·classes), classes and attributes; the closest first."
    return (Table.plain(("table", "rows", "ε", "classes", "right", "most frequent class"), rows, said),)


# ---- naive Bayes: how frequent each class is, and the distribution of each attribute in it --------------------------


def class_panels(model: ClassProfiles) -> list[Panel]:
    """The panel of the classes, then those of the attributes, the most informative first."""
    likely = {
        name: np.exp(profile.logarithms()) for name, profile in zip(model.schema.names, model.profiles, strict=True)
    }
    tables = {name: table / table.sum(axis=0) for name, table in likely.items()}  # P(cell | class), class by class
    bits = {name: _bits(table, model.prior) for name, table in tables.items()}
    ranked = sorted(tables, key=lambda name: -bits[name])
    return [_classes(model), *(_spread(model, name, tables[name], bits[name]) for name in ranked)]


def _bits(table: Reals, prior: Reals) -> float:
    """The mutual information of an attribute and the class, according to the model."""
    overall = np.maximum(table @ prior, _LEAST)[:, None]
    return float((table * np.log2(np.maximum(table, _LEAST) / overall)).sum(axis=0) @ prior)


def _classes(model: ClassProfiles) -> Panel:
    axis = display_axis(model.label, model.target.attribute, MOST_BARS)
    values = 100 * np.add.reduceat(model.prior, axis.first)
    about = "From noisy counts; a class that hardly occurs is shown with half a row."
    title = f"How frequent each {model.label} is"
    return Panel("bars", title, (axis,), axis.labels, values, None, None, unit="% of the rows", about=about)


def _spread(model: ClassProfiles, name: str, table: Reals, bits: float) -> Panel:
    across = display_axis(name, model.schema.attributes[name], MOST_SQUARES)
    up = display_axis(model.label, model.target.attribute, MOST_SQUARES)
    # if there are more classes than lines, a line is the mean of the classes it joins, weighted by frequency
    weights = np.maximum(np.add.reduceat(model.prior, up.first), _LEAST)
    joined = np.add.reduceat(table * model.prior, up.first, axis=1) / weights
    values = 100 * np.add.reduceat(joined, across.first, axis=0)
    tells = f"According to the model, it holds {bits:.2f} bits of information about {model.label}."
    about = f"Each line adds up to 100%: the distribution of {name} among the rows of a class. {tells}"
    title = f"{name} by {model.label}"
    return Panel("map", title, (across, up), (), values, None, None, unit="% of the class", about=about)


# ---- trees: each node with its noisy count and how probable each class is -------------------------------------------


def _trees_of(model: Model) -> tuple[DrawnTree, ...]:
    """The trees of a model; empty if it does not consist of trees."""
    if isinstance(model, ForestModel):
        return model.trees
    return (model,) if isinstance(model, DrawnTree) else ()


def _tree(model: DrawnTree, place: int, trees: int) -> Drawing:
    title = f"The tree for {model.label}" if trees == 1 else f"Tree {place + 1} of {trees} for {model.label}"
    leaves = len(model.tree.leaves)
    closed = " Only the part of the tree near its root is drawn." if model.tree.split.size > _MOST_LINES else ""
    words = f"{leaves:,} {'leaf' if leaves == 1 else 'leaves'}. {_COUNTS}{closed}"
    classes = [str(name) for name in model.classes]
    return Drawing(title, words, lambda width: outline(title, model.draw(most=8), classes, _branches(model), width))


def _branches(model: DrawnTree) -> list[Branch]:
    """The nodes from top to bottom: the condition that leads to each, the most probable class and the noisy number of
    rows."""
    tree, shown = model.tree, shown_nodes(model, _MOST_LINES)
    lines, stack = [], [(0, 0, "all rows")]
    while stack:
        node, depth, words = stack.pop()
        size, first = int(tree.sizes[node]), int(tree.first[node])
        opened = bool(size) and bool(shown[first])
        best = int(model.shares[node].argmax())
        rows = round(float(model.counts[node].sum()))
        said = f"{model.classes[best]} {model.shares[node, best]:.0%} of {people(rows)}" if rows > 0 else NO_ROWS
        name = tree.attributes[tree.split[node]] if size else ""
        more = f" (by {name} …)" if size and not opened else ""
        lines.append(Branch(depth, words + more, model.shares[node].tolist(), said))
        if opened:
            labels = model.schema.attributes[name].labels
            stack += [(first + cell, depth + 1, f"{name} = {labels[cell]}") for cell in reversed(range(size))]
    return lines


# ---- configurations --------------------------------------------------------------------------------------------------


_STEPS = 120
"""At how many numbers of instances the guarantee is drawn."""


def configuration_drawings(tuned: Configuration) -> list[Drawing]:
    """The guaranteed average loss against the number of instances, from 10 to 100,000; and the mean utility of public
    instances against the parameter."""
    times, unit = (100.0, "% lost, at most") if _regret(tuned) else (1.0, "lost, at most")
    counts = np.logspace(1, 5, _STEPS).astype(int).tolist()
    losses = np.array([times * tuned.guarantee.average_loss(count) for count in counts])
    ticks = [(_STEPS * place / 4, f"{10 ** (place + 1):,}") for place in range(5)]
    panels = [
        Panel(
            "line", "The guarantee against the number of instances", (), tuple(f"{count:,}" for count in counts),
            losses, None, None, unit=unit, along=("owners" if tuned.guarantee.by_owner else "instances", ticks),
            about=f"The largest possible average loss against the number of {tuned.receipt.unit}s.",
        )
    ]  # fmt: skip
    if tuned.curve is not None:
        (low, high), places = tuned.interval, [at for at, _ in tuned.curve]
        ticks = [((mark - low) / (high - low) * len(places), f"{mark:g}") for mark in nice_ticks(low, high)]
        panels.append(
            Panel(
                "line", "The mean utility of the instances against the parameter", (),
                tuple(f"{at:.4g}" for at in places), np.array([value for _, value in tuned.curve]), None, None,
                unit="mean utility", along=("parameter", ticks),
                about="The mean utility, from 0 to 1. It is only shown for public instances.",
            )
        )  # fmt: skip
    return [Drawing.of(panel) for panel in panels]


def _regret(tuned: Configuration) -> bool:
    return tuned.utility.name == "regret"


def configuration_view(tuned: Configuration) -> View:
    """The content of the page of a configuration."""
    interval = " × ".join(f"[{low:g}, {high:g}]" for low, high in tuned.intervals)
    default = () if tuned.default is None else (Fact("Today's value", shown(tuned.default), ("half of the prior",)),)
    unit, scale = tuned.receipt.unit, f"{float(tuned.utility.scale):.4g}"
    good = f"This is a good parameter of {tuned.family} for the instances it was tuned on."
    lead = f"{good} It was drawn as it would be for private instances, with {amount(tuned)}."
    record: tuple[Words, ...] = ()
    if tuned.private:
        lead = (
            f"{good} It was drawn by the rules of differential privacy: whether any one {unit} is among them stays "
            f"hidden, as strongly as {amount(tuned)} says. Neither how many there were nor anything else about them is "
            "published."
        )
        change = "replaced by another" if tuned.neighbours == "replace" else "added or removed"
        said = (
            f"For lawyers and auditors: the configuration satisfies pure ε-differential privacy with "
            f"{amount(tuned)}, where neighbouring sets differ by one {unit} that is {change}. No outcome is more than "
            f"{factor(tuned.epsilon)} times as likely with any one {unit} as without. The algorithm, the interval and "
            "the utility were declared beforehand and count as public."
        )
        record = (Words(said),)
    return view_of(
        tuned,
        heading=f"{tuned.family}: {shown(tuned.parameter)}",
        lead=lead,
        figures=(Fact("Parameter", shown(tuned.parameter), (f"of {interval}",)), *default),
        cost=(spent(tuned),) if tuned.private else (),
        title="How good it is at least",
        also=[Words(text) for text in tuned.own_paragraphs()[1:]],
        long=(),
        facts={
            **dict.fromkeys(("Rows counted", "Task", "Protected", "Options"), ""),
            "Algorithm": tuned.family,
            "Interval": interval,
            "Utility": f"{tuned.utility.name}, {'clip' if _regret(tuned) else 'bound'} {scale}",
            "Neighbours": f"{tuned.neighbours}, one {unit}",
        },
        simulated="These instances were declared public, and the noise was simulated. It protects nobody.",
        protection=(*map(Words, tuned.paragraphs()), *record),
        paid=tuned.private,
    )
