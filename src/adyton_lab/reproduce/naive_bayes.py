"""Scores of naive Bayes summed up: a table for each figure, and what the papers say beside what came out."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.kernel.kernel import Kernel
from adyton.learning.model import Model
from adyton.learning.registry import Learner, learner_named
from adyton_lab.corpus.labelled_tables import LabelledTable, labelled_table, split
from adyton_lab.reproduce.claims import Claim
from adyton_lab.reproduce.tables import Sheet
from adyton_lab.training.engine import Advance, unseen

UNPERTURBED = "unperturbed"
NO_NOISE = "1000"
"""An ε with which no count is changed: what a classifier would do without noise."""
HISTOGRAMS = {
    UNPERTURBED: {"smoothing": "half"},
    "laplace": {"histograms": "identity", "workload": "identity", "smoothing": "half"},
    "dawa": {"histograms": "dawa", "workload": "identity", "smoothing": "half"},
    "recipe": {"histograms": "recipe"},
    "auto": {"histograms": "auto"},
}
"""The options of naive Bayes for the methods of Figs. 5 and 6. DAWA has the noise that its proof needs."""
PLANS = (UNPERTURBED, "contingency", "workload", "workload-ls", "select-ls", "recipe", "auto")
"""The methods of Fig. 3, and ours."""
TREE_TABLES = ("nursery", "contraceptive", "hiv-1")
_JUDGED = 5000
"""By so many rows a classifier is judged at most."""


@dataclass(frozen=True)
class Score:
    """How a method did in one trial."""

    figure: str
    """``fig5`` and ``fig6`` (misclassified), ``fig3`` (area under the curve) or ``trees`` (accuracy)."""
    table: str
    rows: int
    """How many rows there are to learn from and to judge by."""
    epsilon: str
    method: str
    trial: int
    value: float


@dataclass(frozen=True)
class Protocol:
    """One figure on one table: what is varied, and how often it is repeated."""

    figure: str
    table: str
    sizes: tuple[int | None, ...]
    epsilons: tuple[str, ...]
    methods: tuple[str, ...]
    trials: int

    @property
    def steps(self) -> int:
        """How many classifiers are learnt."""
        return len(self.sizes) * self.trials * sum(1 for _ in self.budgets())

    def budgets(self) -> Iterator[tuple[str, str]]:
        """Each method with each ε; without noise once."""
        for method in self.methods:
            for epsilon in (NO_NOISE,) if method == UNPERTURBED else self.epsilons:
                yield method, epsilon


def protocols(*, quick: bool = False) -> list[Protocol]:
    """All figures; *quick* with fewer trials and without the largest tables."""
    methods, trials = tuple(HISTOGRAMS), 3 if quick else 20
    sizes = {"skin": (1000, 10_000, 100_000), "credit-16": (1000, 10_000)}
    drawn = [
        Protocol(figure, table, sizes[table][: 2 if quick else 3], ("0.1", "1"), methods, trials)
        for figure in ("fig5", "fig6")
        for table in sizes
    ]
    area = Protocol("fig3", "credit", (None,), ("0.001", "0.01", "0.1", "1"), PLANS, 10 if quick else 100)
    accuracy = [
        Protocol(
            "trees", name, (None,), ("0.1", "0.5", "1", "2"), (UNPERTURBED, "workload", "recipe"), 5 if quick else 20
        )
        for name in TREE_TABLES
    ]
    return [*drawn, area, *accuracy]


def steps(*, quick: bool = False) -> int:
    """How many classifiers are learnt in all."""
    return sum(protocol.steps for protocol in protocols(quick=quick))


def run(data: str | os.PathLike[str], *, public: bool, quick: bool = False, advance: Advance = unseen) -> list[Score]:
    """Every score. *public* says that the tables in the folder *data* are public: nothing here is protected."""
    scores = []
    for protocol in protocols(quick=quick):
        table = labelled_table(protocol.table, data, public=public)
        for size in protocol.sizes:
            for trial in range(protocol.trials):
                found = list(_scores(protocol, table, size or len(table.codes), trial))
                scores += found
                advance(len(found))
    return scores


def _scores(protocol: Protocol, table: LabelledTable, rows: int, trial: int) -> Iterator[Score]:
    """All methods on the same split, with noise of their own."""
    learning, judging = _split(protocol, table, rows, trial)
    for number, (method, epsilon) in enumerate(protocol.budgets()):
        model = _learnt(table, learning, _learner(protocol, method), epsilon, seed=(trial, number))
        value = _judged(protocol.figure, model, table.inputs[judging], table.classes[judging])
        yield Score(protocol.figure, protocol.table, rows, "" if epsilon == NO_NOISE else epsilon, method, trial, value)


def _split(protocol: Protocol, table: LabelledTable, rows: int, trial: int) -> tuple[Integers, Integers]:
    """Halves of a sample (Pythia), ten folds, one for each trial (εKTELO), or 70 and 30 % (trees)."""
    if protocol.figure == "fig3":
        order = np.random.default_rng([trial // 10]).permutation(len(table.codes))
        held_out = np.arange(len(order)) % 10 == trial % 10
        return order[~held_out], order[held_out]
    if protocol.figure == "trees":
        return split(len(table.codes), 0.7, trial)
    sample = np.random.default_rng([rows, trial]).permutation(len(table.codes))[:rows]
    return sample[: rows // 2], sample[rows // 2 :][:_JUDGED]


@lru_cache(maxsize=64)
def _learner(protocol: Protocol, method: str) -> Learner:
    if method not in HISTOGRAMS:
        return learner_named(method)
    model = "gaussian" if protocol.figure == "fig5" else "multinomial"
    return learner_named("naive-bayes", model=model, **HISTOGRAMS[method])


def _learnt(table: LabelledTable, rows: Integers, learner: Learner, epsilon: str, seed: tuple[int, int]) -> Model:
    noise = np.random.SeedSequence(seed)
    kernel = Kernel.simulated_table(table.codes[rows], table.schema, epsilon=epsilon, seed=noise)
    return learner.fit(kernel.root, table.target.label, epsilon)


def _judged(figure: str, model: Model, inputs: Integers, classes: Integers) -> float:
    probabilities = model.probabilities(inputs)
    if figure == "fig3":
        return area_under_curve(probabilities[:, 1], classes == 1)
    hits = float((probabilities.argmax(axis=1) == classes).mean())
    return hits if figure == "trees" else 1 - hits


def area_under_curve(scores: Reals, positive: Integers) -> float:
    """How often a positive row has the higher score than a negative one; equal scores count half.

    >>> area_under_curve(np.array([0.1, 0.4, 0.4, 0.9]), np.array([False, False, True, True]))
    0.875
    """
    _, place, times = np.unique(scores, return_inverse=True, return_counts=True)
    rank = (np.cumsum(times) - (times - 1) / 2)[place]
    hits = int(positive.sum())
    others = len(positive) - hits
    return float((rank[positive].sum() - hits * (hits + 1) / 2) / (hits * others))


TITLES = {
    "fig5": "Pythia's Fig. 5, Gaussian: misclassified rows",
    "fig6": "Pythia's Fig. 6, multinomial: misclassified rows",
    "fig3": "εKTELO's Fig. 3: area under the ROC curve on credit default, median",
    "trees": "Accuracy on the tables of Jostle's evaluation",
}
MAJORITY_AREA = 0.5067
"""εKTELO's majority classifier on credit default (Section 8.1.2)."""


@dataclass(frozen=True, kw_only=True)
class MeanScore:
    """The scores of a method, averaged over trials."""

    figure: str
    table: str
    rows: int
    epsilon: str
    """Empty for what has no noise."""
    method: str
    trials: int
    mean: float
    deviation: float
    """The standard error of the mean."""
    median: float
    quartiles: tuple[float, float]


def means(scores: Iterable[Score]) -> list[MeanScore]:
    """By figure, table, rows, ε and method, in the order in which they come."""
    values: dict[tuple[str, str, int, str, str], list[float]] = defaultdict(list)
    for one in scores:
        values[one.figure, one.table, one.rows, one.epsilon, one.method].append(one.value)
    found = []
    for (figure, table, rows, epsilon, method), each in values.items():
        low, median, high = np.quantile(each, [0.25, 0.5, 0.75]).tolist()
        found.append(
            MeanScore(
                figure=figure,
                table=table,
                rows=rows,
                epsilon=epsilon,
                method=method,
                trials=len(each),
                mean=float(np.mean(each)),
                deviation=float(np.std(each, ddof=1) / np.sqrt(len(each))) if len(each) > 1 else float("nan"),
                median=median,
                quartiles=(low, high),
            )
        )
    return found


def all_sheets(scores: Iterable[Score]) -> list[Sheet]:
    """The papers' claims, then a table for each figure and public table."""
    found = means(scores)
    groups = dict.fromkeys((one.figure, one.table) for one in found)
    sheets = [
        _sheet(figure, [one for one in found if (one.figure, one.table) == (figure, table)]) for figure, table in groups
    ]
    said = list(claims(found))
    rows = tuple((one.paper, one.here, one.holds) for one in said)
    title = "What the papers say, and what came out here"
    return [Sheet("claims", title, ("the papers say", "here", "holds"), rows, said), *sheets]


def _sheet(figure: str, found: Sequence[MeanScore]) -> Sheet:
    """Methods by rows and ε; without noise there is no ε."""
    settings = list(dict.fromkeys((one.rows, one.epsilon) for one in found if one.epsilon))
    shown = {(one.method, one.rows, one.epsilon): one for one in found}
    methods = list(dict.fromkeys(one.method for one in found))
    rows = [
        (name, *(_shown(shown.get((name, rows, "" if name == UNPERTURBED else epsilon))) for rows, epsilon in settings))
        for name in methods
    ]
    columns = tuple(f"{rows:,} rows, ε = {epsilon}" for rows, epsilon in settings)
    note = f"Mean ± standard error of {found[0].trials} trials." if figure != "fig3" else "Median (quartiles)."
    return Sheet(figure, f"{TITLES[figure]} ({found[0].table})", ("method", *columns), tuple(rows), found, note)


def _shown(one: MeanScore | None) -> str:
    if one is None:
        return "–"
    if one.figure == "fig3":
        return f"{one.median:.3f} ({one.quartiles[0]:.3f}–{one.quartiles[1]:.3f})"
    return f"{one.mean:.3f} ± {one.deviation:.3f}"


def claims(found: Sequence[MeanScore]) -> Iterator[Claim]:
    """What can be said about these figures."""
    yield from _lowest(found)
    area = {(one.method, one.epsilon): one.median for one in found if one.figure == "fig3"}
    if area:
        yield from _areas(area)


def _lowest(found: Sequence[MeanScore]) -> Iterator[Claim]:
    by = {(one.figure, one.table, one.rows, one.epsilon, one.method): one for one in found}
    places = dict.fromkeys(key[:4] for key in by if key[0] in ("fig5", "fig6") and key[3])
    good = 0
    for place in places:
        auto, others = by[(*place, "auto")], [by[(*place, name)] for name in ("laplace", "dawa")]
        good += all(auto.mean <= other.mean + np.hypot(auto.deviation, other.deviation) for other in others)
    if places:
        yield Claim(
            paper="Pythia achieves lower error than any other differentially private strategy (Figs. 5 and 6).",
            here=f"auto is no worse than Laplace and honest DAWA, to a standard error, in {good} of {len(places)}",
            holds="yes" if good == len(places) else "in part" if good > len(places) / 2 else "no",
        )


def _areas(area: dict[tuple[str, str], float]) -> Iterator[Claim]:
    best = max(area["workload-ls", "1"], area["select-ls", "1"])
    yield Claim(
        paper="For larger ε the new plans outperform the baseline and come close to the unperturbed classifier.",
        here=f"at ε = 1: {best:.3f}; unperturbed {area[UNPERTURBED, '']:.3f}, identity {area['contingency', '1']:.3f}",
        holds="yes" if best > area["contingency", "1"] and area[UNPERTURBED, ""] - best < 0.02 else "no",
    )
    ratio = {epsilon: area["workload-ls", epsilon] - area["workload", epsilon] for epsilon in ("0.01", "0.1", "1")}
    yield Claim(
        paper="Least squares after the workload's histograms increase its performance significantly.",
        here="; ".join(f"ε = {epsilon}: {gain:+.3f}" for epsilon, gain in ratio.items()),
        holds="yes" if min(ratio.values()) > 0.01 else "no",
    )
    yield Claim(
        paper=f"At ε = 0.001 the areas come down to that of a random classifier (majority: {MAJORITY_AREA}).",
        here=", ".join(f"{name} {area[name, '0.001']:.3f}" for name in ("workload", "select-ls", "auto")),
        holds="yes" if max(area[name, "0.001"] for name in ("workload", "select-ls")) < 0.55 else "in part",
    )
