"""The experiments of the Pythia paper: how well selectors choose on a held-out data set.

Kotsogiannis, Machanavajjhala, Hay and Miklau, "Pythia: data dependent differentially private algorithm selection",
SIGMOD 2017, section 8. Every data set is held out in turn; a selector is learnt from the others and tested on it,
including the cost of its features.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from adyton.arrays import Reals
from adyton.choice.checked_file import digest_of
from adyton.choice.pythia import Pythia, shipped_selector
from adyton.choice.selector import Selector, workload_named
from adyton.choice.trained_selectors import TreeSelector
from adyton.report.plot import draw
from adyton_lab.corpus import Shape, dpbench_corpus
from adyton_lab.reproduce.evaluation import Evaluation, Given, Started
from adyton_lab.reproduce.pythia_regrets import ALGORITHMS, DEFAULT, DEFAULT_RUN, RUN, SHIPPED, Record
from adyton_lab.reproduce.pythia_report import all_figures, all_sheets
from adyton_lab.training.delphi import CRITERIA, USUAL_WORKLOADS, Delphi
from adyton_lab.training.engine import Advance, unseen
from adyton_lab.training.experiments import LINE_SIZES, PLANE_SIDES, SCALES, Experiments, Measured
from adyton_lab.training.replay import expected_errors, held_out

PAPER = {1: ALGORITHMS["1-D"], 2: ALGORITHMS["2-D"]}
"""The algorithms of the paper's Table 1."""
KNOWN = {1: ("hb", "uniform", "ahp"), 2: ("dyadic", "hb", "uniform", "ahp", "dpcube")}
"""The best-known algorithms of the library, compared in addition to those that the package's selectors choose among.
In a first experiment the others were best, or nearly so, on at most a few inputs."""
PAPER_TRIALS, LIBRARY_TRIALS = 20, 10
FEW_SCALES = SCALES[::2]
"""The scales at which the default selector is learnt, at ε = 1 and 0.1."""
_QUICK = {1: LINE_SIZES[::3], 2: PLANE_SIDES[1::2]}
_DRAWS = 10
_CHECKED = 7
"""The default selector is actually run on one input in this many, to check its expected errors."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """One of the two tasks, with one budget."""

    dimensions: int
    epsilon: str
    shapes: tuple[Shape, ...]
    public: bool
    """Whether the user has confirmed that the shapes are public."""
    cache: Path
    quick: bool = False

    def delphi(self, algorithms: Sequence[str], trials: int) -> Delphi:
        """The measurements: on the paper's grid, or a coarse one; at the second budget, at every other scale."""
        scales = SCALES if self.epsilon == "1" else FEW_SCALES
        return Delphi(
            corpus=self.shapes,
            public=self.public,
            dimensions=self.dimensions,
            algorithms=algorithms,
            sides=_QUICK[self.dimensions] if self.quick else None,
            scales=scales[::2] if self.quick else scales,
            epsilons=(self.epsilon,),
            trials=trials,
            cache=self.cache,
        )

    def paper(self) -> Delphi:
        """The measurements that trees are grown from: those of the paper's candidates."""
        return replace(self.delphi(PAPER[self.dimensions], PAPER_TRIALS), kind="tree")

    def contenders(self) -> Delphi:
        """The algorithms of the library that are compared."""
        return self.delphi((*_panel(self.dimensions), *KNOWN[self.dimensions]), LIBRARY_TRIALS)


def _panel(dimensions: int) -> tuple[str, ...]:
    """The algorithms that the selectors of the package choose among."""
    return shipped_selector(dimensions).training.algorithms


def start(given: Given) -> Started:
    """One and two dimensions, at ε = 1 and 0.1."""
    settings = all_settings(given)
    candidates = [task.paper() for task in settings if task.epsilon == "1"]
    steps = sum(delphi.steps() for delphi in (*candidates, *(task.contenders() for task in settings)))
    return steps, lambda advance: run(settings, advance)


def run(settings: Sequence[Settings], advance: Advance = unseen) -> list[Record]:
    """All records; measurements are kept in the cache of the settings."""
    records: list[Record] = []
    trees: dict[str, Selector] = {}
    for task in settings:
        if task.epsilon == "1":
            delphi = task.paper()
            measured = delphi.measure(advance)
            trees = held_out(measured, delphi.learn)
            records += paper(task, delphi, measured, trees)
        records += library(task, trees, advance)
    return records


def all_settings(given: Given) -> list[Settings]:
    """The two tasks with both budgets, from the folder that holds the DPBench histograms."""
    assert given.kept is not None
    return [
        Settings(
            dimensions=dimensions,
            epsilon=epsilon,
            shapes=tuple(shapes),
            public=given.public,
            cache=given.kept,
            quick=given.quick,
        )
        for dimensions in USUAL_WORKLOADS
        for shapes in [dpbench_corpus(given.data, dimensions, public=given.public)]
        for epsilon in ("1", "0.1")
    ]


def paper(settings: Settings, delphi: Delphi, measured: Measured, trees: dict[str, Selector]) -> Iterator[Record]:
    """The paper's experiment at ε = 1: each of its candidates alone, and trees by every criterion."""
    criteria = {
        name: trees if name == delphi.criterion else held_out(measured, replace(delphi, criterion=name).learn)
        for name in CRITERIA
    }
    for workload in USUAL_WORKLOADS[settings.dimensions]:
        judge = _Judge("paper", settings, measured, workload, measured.best_errors(workload))
        yield from judge.blind()
        yield from judge.chosen("private informed", private_informed(measured, workload))
        for name, selectors in criteria.items():
            yield from judge.chosen(f"tree: {name}", expected_errors(measured, selectors, workload))
        yield from judge.chosen(RUN, really_run(settings, measured, trees, workload))


def library(settings: Settings, trees: dict[str, Selector], advance: Advance = unseen) -> Iterator[Record]:
    """The whole library: each contender alone; the default selector, learnt at both budgets or as shipped; and the
    paper's tree."""
    delphi = settings.contenders()
    measured = delphi.measure(advance)
    both = replace(
        delphi,
        algorithms=_panel(settings.dimensions),
        epsilons=("1", "0.1"),
        scales=FEW_SCALES[::2] if settings.quick else FEW_SCALES,
    )
    selectors = held_out(both.measure(), both.learn)
    shipped = dict.fromkeys(measured.sources, shipped_selector(settings.dimensions))
    for workload in USUAL_WORKLOADS[settings.dimensions]:
        judge = _Judge("library", settings, measured, workload, measured.best_errors(workload))
        yield from judge.blind()
        yield from judge.chosen(DEFAULT, expected_errors(measured, selectors, workload))
        yield from judge.chosen(SHIPPED, expected_errors(measured, shipped, workload))
        yield from judge.chosen(RUN, really_run(settings, measured, trees, workload))
        some = replace(judge, measured=measured.every(_CHECKED), best=judge.best[::_CHECKED])
        yield from some.chosen(DEFAULT_RUN, really_run(settings, some.measured, selectors, workload))


def private_informed(measured: Measured, workload: str, share: float = 0.1) -> Reals:
    """The expected error if errors were estimated privately, for algorithms whose error has a known sensitivity.

    Of the paper's candidates, plain noise, HB and Privelet have errors that do not depend on the data. The error of a
    uniform estimate is ‖W·(x − even)‖₂ apart from noise, which one row changes by at most the largest L2 norm of a
    column of W. A tenth of the budget is spent to measure that error; the algorithm with the least error is chosen.
    The errors of the other candidates cannot be known.
    """
    random = np.random.default_rng(0)
    means = measured.mean_errors(workload)
    known = [measured.algorithms.index(name) for name in ("identity", "hb", "privelet")]
    even = measured.algorithms.index("uniform")
    sensitivities = {
        domain: float(np.sqrt(workload_named(workload, domain).column_sums().max()))
        for domain in {entry.domain for entry in measured.inputs}
    }
    noise = np.array([sensitivities[entry.domain] / (share * float(entry.epsilon)) for entry in measured.inputs])
    noisy = means[:, even] + noise * random.laplace(0, 1, (_DRAWS, len(means)))
    others = means[:, known].min(axis=1)
    return np.asarray(np.where(noisy < others, means[:, even], others).mean(axis=0) / (1 - share))


def really_run(settings: Settings, measured: Measured, selectors: dict[str, Selector], workload: str) -> Reals:
    """The mean error of Pythia itself, including features and projection, on every input."""
    experiments = Experiments(settings.cache)
    errors = np.empty(len(measured.inputs))
    for source, selector in selectors.items():
        places = [place for place, entry in enumerate(measured.inputs) if entry.shape.source == source]
        inputs = [measured.inputs[place] for place in places]
        learnt = {"kind": selector.kind, "share": str(selector.share), "learnt": selector.learnt()}
        plans = {f"pythia/{digest_of(learnt)}": Pythia(selector)}  # the same name whenever it was learnt
        runs = experiments.measure(inputs, plans, [workload], trials=LIBRARY_TRIALS)
        errors[places] = runs.errors[workload][:, 0].mean(axis=-1)
    return errors


@dataclass(frozen=True, eq=False)
class _Judge:
    """Turns errors on inputs into records."""

    experiment: str
    settings: Settings
    measured: Measured
    workload: str
    best: Reals

    def blind(self) -> Iterator[Record]:
        """Every algorithm, used for all inputs."""
        means = self.measured.mean_errors(self.workload)
        for column, name in enumerate(self.measured.algorithms):
            yield from self.chosen(name, means[:, column])

    def chosen(self, method: str, errors: Reals) -> Iterator[Record]:
        """The records of a method, from its error on each input."""
        for entry, error, best in zip(self.measured.inputs, errors.tolist(), self.best.tolist(), strict=True):
            yield Record(
                experiment=self.experiment,
                epsilon=self.settings.epsilon,
                group=f"{self.settings.dimensions}-D {self.workload}",
                method=method,
                source=entry.shape.source,
                cells=int(np.prod(entry.domain)),
                scale=entry.scale,
                regret=error / best,
                error=error,
            )


def _pictures(records: Sequence[Record], given: Given) -> list[Path]:
    """All figures, and the trees learnt from all data sets at ε = 1; all measurements they need are in the cache.

    ``trees-2d.svg`` has all trees for two dimensions; that for short boxes, the paper's Fig. 8, is in ``fig8.svg`` too.
    """
    pictures = {}
    for settings in all_settings(given):
        if settings.epsilon == "1":
            selector = settings.paper().train()
            if isinstance(selector, TreeSelector):
                pictures[given.folder / f"trees-{settings.dimensions}d.svg"] = selector
                if "short" in selector.trees:
                    pictures[given.folder / "fig8.svg"] = replace(selector, trees={"short": selector.trees["short"]})
    for path, trees in pictures.items():
        draw(trees, path)
        draw(trees, path.with_suffix(".png"))
    return all_figures(records, given.folder) + list(pictures)


EVALUATION = Evaluation(
    name="pythia",
    title="Pythia, evaluated again",
    needs="the DPBench histograms",
    about=(
        "Regret is the error of a method divided by that of the best algorithm for the same input. Every data set was "
        "held out in turn: no selector was trained on the data set that it is tested on.",
    ),
    chapters={
        "gains": "What the user gets",
        "claims": "What the paper says, and the results here",
        "fig4": "Mean regret by workload (Fig. 4)",
        "fig7": "Splitting criteria (Fig. 7)",
        "fig8": "The tree for short boxes in two dimensions (Fig. 8)",
        "trees": "All trees",
        "fig9": "Mean regret by data set (Fig. 9)",
        "fig10": "Mean regret by number of cells (Fig. 10)",
        "fig11": "Mean regret by number of rows (Fig. 11)",
    },
    main=("gains", "claims", "fig4", "fig7"),
    start=start,
    sheets=all_sheets,
    pictures=_pictures,
    keeps=True,
)
