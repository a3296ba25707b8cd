"""εKTELO's own experiments again: workload-based reduction, variants of MWEM, and the time that inference takes.

Zhang et al., "εKTELO", SIGMOD 2018, Section 8.2: Tables 2 and 3, Fig. 4.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.plans import simulate
from adyton.queries import Hierarchy, Queries, RandomRanges, Ranges
from adyton.solving.trees import TreeSolver, nonnegative_tree_least_squares
from adyton_lab.bench.common import shapes
from adyton_lab.bench.peers import binary_tree, sparse_matrix
from adyton_lab.reproduce.evaluation import Evaluation, Given
from adyton_lab.reproduce.outcomes import Job, MeanOutcome, Outcome, draw_bars, grid_sheet, means, started
from adyton_lab.reproduce.sheets import Compared, Sheet, beside, compared
from adyton_lab.training.engine import distances, geometric_mean

REDUCED = {"ahp": (128, 128), "dawa": (4096,), "identity": (256, 256), "hb": (4096,)}
"""The algorithms of Table 2, and their domains."""
VARIANTS = ("mwem", "mwem-b", "mwem-c", "mwem-d")
EPSILON, CELLS, RANGES = "0.1", 4096, 1000
SOLVERS = ("tree", "tree, non-negative", "sparse iterative", "dense direct")
_LARGEST = {"tree": 22, "tree, non-negative": 20, "sparse iterative": 20, "dense direct": 12}
"""The largest power of two at which each solver is timed."""


def jobs(given: Given) -> Iterator[Job]:
    """All jobs, part by part."""
    yield from _inference_jobs(range(8, 19 if given.quick else 23, 2))
    for trial in range(1 if given.quick else 5):
        yield from _reduction_jobs(given, trial)
        yield from _variant_jobs(given, trial)


@lru_cache(maxsize=4)
def _counts(given: Given, ndim: int, side: int) -> dict[str, Integers]:
    histograms = shapes(ndim, side, given.data, public=given.public)
    return {name: np.rint(counts).astype(np.int64) for name, counts in histograms.items()}


def _reduction_jobs(given: Given, trial: int) -> Iterator[Job]:
    """Table 2: small random ranges, with and without merging the cells that no range separates."""
    for name, domain in REDUCED.items():
        for source, x in _counts(given, len(domain), domain[0]).items():
            for reduce in (False, True):
                method = f"{name}, {'reduced' if reduce else 'original'}"
                yield Job("table2", source, "small ranges", EPSILON, method, trial, partial(_reduced, name, x, reduce))


@lru_cache(maxsize=8)
def _ranges(domain: tuple[int, ...], kind: str) -> Queries:
    if kind == "short" and len(domain) == 1:
        random = np.random.default_rng(1)
        lower = random.integers(0, domain[0], RANGES)
        upper = np.minimum(domain[0] - 1, lower + random.integers(0, domain[0] // 16, RANGES))
        return Ranges(domain, lower[:, None], upper[:, None])
    return RandomRanges(domain, RANGES, seed=1, kind=kind) if kind == "short" else RandomRanges(domain, RANGES, seed=1)


def _reduced(name: str, x: Integers, reduce: bool, seed: int) -> float:
    """‖W·x̂ − W·x‖₂/(queries·rows), as in the other experiments of the paper."""
    workload = _ranges(x.shape, "short")
    estimate = simulate(name, x, workload, EPSILON, seed=seed, reduce=reduce)
    return float(distances(workload, estimate[None], x)[0] / workload.count / max(1, x.sum()))


def _variant_jobs(given: Given, trial: int) -> Iterator[Job]:
    """Table 3."""
    for source, x in _counts(given, 1, CELLS).items():
        for name in VARIANTS:
            yield Job("table3", source, "random ranges", EPSILON, name, trial, partial(_varied, name, x))


def _varied(name: str, x: Integers, seed: int) -> float:
    workload = _ranges(x.shape, "any")
    return float(distances(workload, simulate(name, x, workload, EPSILON, seed=seed)[None], x)[0])


def _inference_jobs(powers: Sequence[int]) -> Iterator[Job]:
    """Fig. 4: the processor time on a binary hierarchy with all levels."""
    for power in powers:
        for way in SOLVERS:
            if power <= _LARGEST[way]:
                yield Job("fig4", f"{1 << power:,} cells", "binary hierarchy", "", way, 0, partial(_timed, power, way))


def _timed(power: int, way: str, seed: int) -> float:
    """Seconds for one solution, after one that compiles loops; building matrices is not timed."""
    tree = binary_tree(1 << power)
    random = np.random.default_rng(power)
    answers = (tree @ random.poisson(1, 1 << power)) + random.laplace(0, 1, tree.count)
    solve = _solution(tree, way)
    if power <= 16 and way != "dense direct":
        solve(answers)
    begun = time.process_time()
    solve(answers)
    return time.process_time() - begun


def _solution(tree: Hierarchy, way: str) -> Callable[[Reals], object]:
    ones = np.ones(tree.count)
    if way == "tree":
        return lambda answers: TreeSolver(tree, ones).solve(answers)
    if way == "tree, non-negative":
        return lambda answers: nonnegative_tree_least_squares(tree, answers, ones)
    if way == "dense direct":
        from scipy.linalg import lstsq

        matrix = np.concatenate(list(tree.rows()))
        return lambda answers: lstsq(matrix, answers, lapack_driver="gelsy")[0]  # by QR
    from scipy.sparse.linalg import lsmr

    matrix = sparse_matrix(tree)
    return lambda answers: lsmr(matrix, answers)[0]


# ---- what is shown --------------------------------------------------------------------------------------------------

REDUCTION = {"ahp": (1.29, 5.36), "dawa": (0.99, 0.92), "identity": (2.89, 0.73), "hb": (1.34, 0.62)}
"""Table 2: the factors by which reduction lowers error and time."""
VARIED = {"mwem-b": (1.03, 2.80, 7.93, 354.9), "mwem-c": (0.78, 1.08, 1.54, 1.0), "mwem-d": (0.89, 2.64, 8.13, 9.0)}
"""Table 3: the factor by which the error of MWEM is lowered (least, mean, most), and time divided by that of MWEM."""
_RANGES = "The paper does not say how many ranges there were, how short they were, or on which data."
_TIMES = {
    "dawa": "Ours weights a tree for intervals in closed form; merged, they are not intervals and are read one by one.",
    "ahp": "Another implementation on another machine, and perhaps other ranges.",
    "identity": "Another implementation: ours takes milliseconds, with and without merging.",
    "hb": "Another implementation: ours takes milliseconds, with and without merging.",
}
_MWEM = "Ten queries say little about sets of millions of rows, such as PATENT, which dominate the mean of seven sets."
_SLOW = "Another implementation on another machine."


def sheets(outcomes: Sequence[Outcome]) -> list[Sheet]:
    """Table 2, Table 3, Fig. 4."""
    figures = means(outcomes)
    shown = []
    if reduced := list(_reduction(figures)):
        note = "The factors by which reduction lowers the error and the processor time: geometric means over all sets."
        shown.append(beside("table2", "Table 2: workload-based reduction", reduced, note))
    if varied := list(_variants(figures)):
        note = "The factor by which a variant lowers the error of MWEM, over the sets; and its time divided by MWEM's."
        shown.append(beside("table3", "Table 3: variants of MWEM", varied, note))
    timed = [mean for mean in figures if mean.part == "fig4"]
    if timed:
        note = "Processor seconds. The dense direct solver is left out above 4,096 cells: its matrix takes gigabytes."
        shown.append(grid_sheet("fig4", "Fig. 4: time of inference", timed, lambda mean: mean.data, note))
    return shown


def _reduction(figures: Sequence[MeanOutcome]) -> Iterator[Compared]:
    own = {(mean.method, mean.data): mean for mean in figures if mean.part == "table2"}
    for name, (error, seconds) in REDUCTION.items():
        sets = [data for method, data in own if method == f"{name}, original"]
        pairs = [(own[f"{name}, original", data], own[f"{name}, reduced", data]) for data in sets]
        if pairs:
            here = geometric_mean([before.mean / after.mean for before, after in pairs])
            faster = geometric_mean([max(before.seconds, 1e-6) / max(after.seconds, 1e-6) for before, after in pairs])
            yield compared("table2", "error", name, error, here, _RANGES)
            yield compared("table2", "time", name, seconds, faster, _TIMES[name])


def _variants(figures: Sequence[MeanOutcome]) -> Iterator[Compared]:
    own = {(mean.method, mean.data): mean for mean in figures if mean.part == "table3"}
    sets = [data for method, data in own if method == "mwem"]
    for name, (least, mean, most, slower) in VARIED.items():
        if not sets:
            return
        factors = [own["mwem", data].mean / own[name, data].mean for data in sets]
        for words, paper, here in (
            ("least", least, min(factors)),
            ("mean", mean, float(np.mean(factors))),
            ("most", most, max(factors)),
        ):
            yield compared("table3", f"error, {words}", name, paper, here, _MWEM)
        times = [own[name, data].seconds / own["mwem", data].seconds for data in sets]
        yield compared("table3", "time", name, slower, float(np.mean(times)), _SLOW)


def _pictures(outcomes: Sequence[Outcome], given: Given) -> list[Path]:
    timed = [mean for mean in means(outcomes) if mean.part == "fig4"]
    title = "Seconds of inference on a binary hierarchy, on a log axis"
    return [draw_bars(given.folder / "fig4.svg", title, timed, lambda mean: mean.data)] if timed else []


EVALUATION = Evaluation(
    name="ektelo",
    title="εKTELO's operators, evaluated again",
    needs="DPBench's histograms (dpbench_1d.csv, dpbench_2d.csv.gz)",
    about=(
        "Zhang et al., εKTELO, SIGMOD 2018, Section 8.2. Table 2: a thousand random ranges of up to a sixteenth of the "
        "domain, once on all cells and once after merging cells that no range separates. Table 3: MWEM with other ways "
        "to choose queries and to fit, on a thousand random ranges over 4,096 cells at ε = 0.1. Fig. 4: the time of "
        "least squares and of non-negative least squares on binary hierarchies.",
        "Times are processor times on this machine; only their ratios can be compared with the paper.",
    ),
    chapters={
        "table2": "Workload-based reduction (Table 2)",
        "table3": "Variants of MWEM (Table 3)",
        "fig4": "Time of inference (Fig. 4)",
    },
    main=("table2", "table3", "fig4"),
    start=lambda given: started(given, jobs(given)),
    sheets=sheets,
    pictures=_pictures,
    keeps=True,
    csv=True,
)
