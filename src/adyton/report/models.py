"""Models on a page: trees with noisy counts, or the profiles of the classes; why this method, and what to expect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from adyton.arrays import Reals
from adyton.exact import display
from adyton.learning.class_profiles import ClassProfiles, Profile
from adyton.learning.classifier_words import choice_in_words
from adyton.learning.model import Model
from adyton.learning.tree_model import ForestModel, LeafProfiles, TreeModel, shown_nodes
from adyton.report import svg
from adyton.report.axes import display_axis
from adyton.report.bars import MOST as MOST_BARS
from adyton.report.charts import MOST_SQUARES, Panel, in_common
from adyton.report.drawing import Drawing
from adyton.report.palette import COLOURS
from adyton.report.scales import figure, number, people
from adyton.report.view import (
    Block,
    Code,
    Fact,
    Heading,
    Picture,
    Section,
    Table,
    View,
    Words,
    facts_of,
    promise,
    spent,
    tables_of,
    view_of,
)  # fmt: skip

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from adyton.learning.fitted_classifier import FittedClassifier

DrawnTree: TypeAlias = TreeModel | LeafProfiles
"""Whatever has a tree, with counts and shares in its nodes."""
_PICTURES, _MOST_TREES, _FEW = 13, 3, 7
"""How many pictures a page has, how many of them trees, and how many profiles of classes a figure."""
MOST_LINES, _PLOTTED = 80, 60
"""Of a larger tree, whole families near the root are drawn; in a figure, fewer."""
_ROW, _BAR, _INDENT = 24.0, 13.0, 14.0
_SWATCH, _BELOW_KEYS = 11.0, 20.0
_INCHES, _INK = 0.24, "#1D2329"
"""The height of a line in a figure, and the colour of letters."""
_LEAST = 1e-12
_COUNTS = (
    "Each line is a part of the rows: about how many there are, and how probable each class is among them, by noisy "
    "counts. Counts below zero are noise, and shown as 0."
)
_PREDICTION = (
    "A guess from what was common among the rows of each class. It can be wrong about anybody, and it says nothing "
    "about whether that {} was in the data. The model may be asked as often as you like: that costs nothing, and tells "
    "nothing more. The rows that are asked about are not protected by it: what was predicted for a row is a fact about "
    "that row."
)
_UNKNOWN = (
    "Nothing is known beforehand: no public tables that were tried are like this one. Ask for predictions of rows "
    "whose labels you know, and count how many are right."
)


def drawings(model: Model, most: int | None) -> list[Drawing]:
    """The classes and the attributes that tell most about them, or the first trees; none of a model that has none."""
    if isinstance(model, ClassProfiles):
        return [Drawing.of(panel) for panel in class_panels(model, (_FEW if most is None else most) - 1)]
    trees = _trees_of(model)
    few = _MOST_TREES if most is None else min(most, _MOST_TREES)
    return [_tree(tree, place, len(trees)) for place, tree in enumerate(trees[:few])]


def view(fitted: FittedClassifier) -> View:
    """What the page of a model says."""
    model, receipt, counted = fitted.model, fitted.receipt, fitted.counted
    names, auto = model.schema.names, fitted.classifier.method == "auto"
    drawn = drawings(model, _PICTURES)
    only = f" where {fitted.where}" if fitted.where else ""
    lead = (
        f"It predicts {model.label} from {', '.join(names)}, and was learnt from the rows of "
        f"{receipt.dataset}{counted.aside}{only}. "
        + promise(fitted, "It was made of noisy counts alone, by the rules of differential privacy")
    )
    rows = () if model.rows is None else (_rows(fitted, model.rows),)
    asked = f"of {display(fitted.asked)} that was asked for; " if fitted.asked else ""
    options = ", ".join(f"{name} = {value}" for name, value in fitted.classifier.options.items())
    facts = facts_of(fitted) | {
        "Label": f"{model.label}: {', '.join(map(str, model.classes))}",
        "Algorithm": fitted.method,
        "Options": options or "none given",
    }
    words = Code("The model in words", model.explain())
    learnt = [*map(Picture.of, drawn), *_more(model, len(drawn)), *tables_of(fitted.sheets()), words]
    return view_of(
        fitted,
        heading=f"Classifier of {model.label}",
        lead=lead,
        figures=(
            Fact("Method", fitted.method, ("taken by itself" if auto else "as asked for",)),
            Fact("Classes", f"{len(model.classes):,}", (f"from {len(names)} attribute{'s' * (len(names) > 1)}",)),
            *rows,
            spent(fitted, asked),
        ),
        short=(Section("learnt", "What was learnt", tuple(learnt)),),
        long=(Section("choice", "The method, and why", (*map(Words, choice_in_words(fitted)), *_quality(fitted))),),
        facts=facts,
        reading=(Heading("What a prediction is"), Words(_PREDICTION.format(receipt.unit))),
        meaning="",
        common=in_common(fitted.schema, ()),
    )


def _rows(fitted: FittedClassifier, rows: float) -> Fact:
    noisy = f"{fitted.counted.beside}, counted with noise" if fitted.counted else "counted with noise"
    return Fact("Rows, about", people(rows), (noisy,))


def _more(model: Model, drawn: int) -> tuple[Words, ...]:
    """That there are more trees, or attributes, than pictures."""
    trees = _trees_of(model)
    profiles = len(model.schema.names) + 1 if isinstance(model, ClassProfiles) else 0
    left, what = (len(trees) - drawn, "trees") if trees else (profiles - drawn, "attributes")
    return (Words(f"{left:,} more {what} are in release.json.", quiet=True),) if left > 0 else ()


def _quality(fitted: FittedClassifier) -> tuple[Block, ...]:
    """What quality to expect, from public tables that are alike."""
    title, alike = Heading("What quality to expect"), fitted.look_alikes
    if alike is None:
        return title, Words(_UNKNOWN)
    lines = [
        (
            (one.table,),
            tuple(
                (text, "")
                for text in (
                    people(one.rows), figure(one.epsilon), people(one.classes), f"{people(100 * one.accuracy)}%",
                    f"{people(100 * one.majority)}%",
                )
            ),
        )
        for one in alike.results
    ]  # fmt: skip
    heads = tuple((name, "") for name in ("rows", "ε", "classes", "right", "most frequent class"))
    said = (
        "The public tables most like this one, by rows·ε/(cells·classes), classes and attributes; the most alike first."
    )
    return title, Words(alike.in_words()), Table(("table",), heads, lines, said)


# ---- naive Bayes: how frequent each class is, and how the values of each attribute are spread in it -----------------


def class_panels(model: ClassProfiles, most: int) -> list[Panel]:
    """The classes first, then at most so many attributes, those that tell most about the class first."""
    tables = {name: shares(profile) for name, profile in zip(model.schema.names, model.profiles, strict=True)}
    ranked = sorted(tables, key=lambda name: -told(tables[name], model.prior))
    return [_classes(model), *(_spread(model, name, tables[name]) for name in ranked[:most])]


def shares(profile: Profile) -> Reals:
    """P(cell | class), one column for each class."""
    likely = np.exp(profile.logarithms())
    return np.asarray(likely / likely.sum(axis=0))


def told(table: Reals, prior: Reals) -> float:
    """How much an attribute tells about the class, by the model itself: their mutual information, in bits."""
    overall = np.maximum(table @ prior, _LEAST)[:, None]
    return float((table * np.log2(np.maximum(table, _LEAST) / overall)).sum(axis=0) @ prior)


def _classes(model: ClassProfiles) -> Panel:
    axis = display_axis(model.label, model.target.attribute, MOST_BARS)
    values = 100 * np.add.reduceat(model.prior, axis.first)
    about = "By noisy counts; a class that hardly occurs is shown with half a row."
    title = f"How frequent each {model.label} is"
    return Panel("bars", title, (axis,), axis.labels, values, None, None, unit="% of the rows", about=about)


def _spread(model: ClassProfiles, name: str, table: Reals) -> Panel:
    across = display_axis(name, model.schema.attributes[name], MOST_SQUARES)
    up = display_axis(model.label, model.target.attribute, MOST_SQUARES)
    # where there are more classes than lines, a line is the mean of those that it joins, by how frequent they are
    weights = np.maximum(np.add.reduceat(model.prior, up.first), _LEAST)
    joined = np.add.reduceat(table * model.prior, up.first, axis=1) / weights
    values = 100 * np.add.reduceat(joined, across.first, axis=0)
    tells = f"It tells {told(table, model.prior):.2f} bits about {model.label}, by the model itself."
    about = f"Each line adds up to 100%: which part of the rows of a class has which {name}. {tells}"
    title = f"{name} by {model.label}"
    return Panel("map", title, (across, up), (), values, None, None, unit="% of the class", about=about)


# ---- trees, line by line like the folders of a disk: each node with its noisy count and a bar -----------------------


def _trees_of(model: Model) -> tuple[DrawnTree, ...]:
    """The trees that a model consists of; none where it is something else."""
    if isinstance(model, ForestModel):
        return model.trees
    return (model,) if isinstance(model, DrawnTree) else ()


def _tree(model: DrawnTree, place: int, trees: int) -> Drawing:
    title = f"The tree for {model.label}" if trees == 1 else f"Tree {place + 1} of {trees} for {model.label}"
    leaves = len(model.tree.leaves)
    closed = " Of a tree of this size, the part near its root is drawn." if model.tree.split.size > MOST_LINES else ""
    words = f"{leaves:,} {'leaf' if leaves == 1 else 'leaves'}. {_COUNTS}{closed}"

    def drawn(width: float) -> str:
        return tree_picture(model, title=title, description=model.draw(most=8), width=width)

    height = _INCHES * len(node_lines(model, _PLOTTED)) + 1.0
    return Drawing(title, words, drawn, lambda axes: _plot_tree(axes, model, title if trees > 1 else ""), height)


def _plot_tree(axes: Axes, model: DrawnTree, title: str) -> None:
    """Line by line: the answer, a bar of the classes, and the noisy number of rows."""
    from matplotlib.patches import Patch

    lines = node_lines(model, _PLOTTED)
    axes.set(xlim=(0, 100), ylim=(len(lines), 0))
    axes.axis("off")
    for row, line in enumerate(lines):
        axes.text(2.5 * line.depth, row + 0.5, line.words[:60], va="center", color=_INK)
        start = 50.0
        for place, share in enumerate(line.shares):
            axes.barh(row + 0.5, 24 * share, left=start, height=0.6, color=colour_of(place), alpha=0.9)
            start += 24 * share
        axes.text(75.5, row + 0.5, line.said[:40], va="center", color=_INK)
    keys = [Patch(facecolor=colour_of(place), label=str(one)) for place, one in enumerate(model.classes[:8])]
    axes.legend(handles=keys, ncols=4, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), title=title)


@dataclass(frozen=True)
class NodeLine:
    """One node, as it is drawn."""

    depth: int
    words: str
    """The answer that leads to it."""
    shares: tuple[float, ...]
    """How probable each class is."""
    said: str
    """The most probable class, and the noisy number of rows."""


def node_lines(model: DrawnTree, most: int = MOST_LINES) -> list[NodeLine]:
    """The nodes from top to bottom, at most so many."""
    tree, shown = model.tree, shown_nodes(model, most)
    lines, stack = [], [(0, 0, "all rows")]
    while stack:
        node, depth, words = stack.pop()
        size, first = int(tree.sizes[node]), int(tree.first[node])
        opened = bool(size) and bool(shown[first])
        best = int(model.shares[node].argmax())
        rows = number(max(0.0, float(model.counts[node].sum())), 0)
        said = f"{model.classes[best]} {model.shares[node, best]:.0%} of {rows}"
        more = f" (by {tree.attributes[tree.split[node]]} …)" if size and not opened else ""
        lines.append(NodeLine(depth, words + more, tuple(model.shares[node].tolist()), said))
        if opened:
            name = tree.attributes[tree.split[node]]
            labels = model.schema.attributes[name].labels
            stack += [(first + cell, depth + 1, f"{name} = {labels[cell]}") for cell in reversed(range(size))]
    return lines


def colour_of(place: int) -> str:
    """The colour of a class; those beyond the palette share its last one."""
    return COLOURS[min(place, len(COLOURS) - 1)]


def tree_picture(model: DrawnTree, *, title: str, description: str, width: float) -> str:
    """The tree, so many pixels wide, as SVG; colours are explained at the top."""
    lines = node_lines(model)
    parts, top = _keys([str(one) for one in model.classes], width)
    left, right = 0.5 * width, 0.74 * width
    above: dict[int, float] = {}
    for row, line in enumerate(lines):
        middle, x = top + _ROW * (row + 0.5), _INDENT * line.depth
        if line.depth:
            parts += [
                svg.line(x - 8, above[line.depth - 1], x - 8, middle, 0.35),
                svg.line(x - 8, middle, x - 2, middle, 0.35),
            ]
        above[line.depth] = middle + _ROW / 3
        parts.append(svg.text(x + 2, middle, svg.cut(line.words, left - x - 8)))
        parts += _bar(line.shares, left, right, middle)
        parts.append(svg.text(right + 8, middle, svg.cut(line.said, width - right - 8)))
    return svg.drawing(width, top + _ROW * len(lines) + 6, title, description, parts)


def _bar(shares: Sequence[float], left: float, right: float, middle: float) -> list[str]:
    parts, start = [], left
    for place, share in enumerate(shares):
        length = share * (right - left)
        if length >= 0.5:
            parts.append(svg.box(start, middle - _BAR / 2, length, _BAR, colour_of(place), 0.9))
        start += length
    return parts


def _keys(classes: Sequence[str], width: float) -> tuple[list[str], float]:
    """A square and a name for each class, in as many lines as they take; and where the tree begins."""
    shown = list(classes[: len(COLOURS)])
    if len(classes) > len(COLOURS):
        shown[-1] = f"{len(classes) - len(COLOURS) + 1} others"
    parts: list[str] = []
    x, y = 0.0, 10.0
    for place, words in enumerate(svg.cut(one, width - 30) for one in shown):
        room = _SWATCH + 6 + svg.width_of([words]) + 14
        if x and x + room > width:
            x, y = 0.0, y + 20
        parts += [
            svg.box(x, y - _SWATCH / 2, _SWATCH, _SWATCH, colour_of(place), 0.9),
            svg.text(x + _SWATCH + 6, y, words),
        ]
        x += room
    return parts, y + _BELOW_KEYS
