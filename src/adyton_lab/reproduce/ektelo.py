"""εKTELO's own experiments again: workload-based reduction, variants of MWEM, and the time that inference takes.

Zhang et al., "εKTELO", SIGMOD 2018, Section 8.2: Tables 2 and 3, Fig. 4.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.plans import simulate
from adyton.queries import Hierarchy, Queries, RandomRanges, Ranges
from adyton.solving.trees import TreeSolver, nonnegative_tree_least_squares
from adyton_lab.bench.shapes import shapes
from adyton_lab.reproduce.outcomes import Job
from adyton_lab.training.engine import distances

REDUCED = {"ahp": (128, 128), "dawa": (4096,), "identity": (256, 256), "hb": (4096,)}
"""The algorithms of Table 2, and their domains."""
VARIANTS = ("mwem", "mwem-b", "mwem-c", "mwem-d")
EPSILON, CELLS, RANGES = "0.1", 4096, 1000
SOLVERS = ("tree", "tree, non-negative", "sparse iterative", "dense direct")
_LARGEST = {"tree": 22, "tree, non-negative": 20, "sparse iterative": 20, "dense direct": 12}
"""Up to which power of two each way to solve is timed."""


def trials(*, quick: bool) -> int:
    """How often everything is repeated."""
    return 1 if quick else 5


def powers(*, quick: bool) -> range:
    """Domain sizes of Fig. 4, as powers of two."""
    return range(8, 19 if quick else 23, 2)


def jobs(data: str, *, public: bool, quick: bool = False) -> Iterator[Job]:
    """Everything, part by part."""
    yield from _inference_jobs(quick=quick)
    for trial in range(trials(quick=quick)):
        yield from _reduction_jobs(data, public, trial)
        yield from _variant_jobs(data, public, trial)


def steps(*, quick: bool) -> int:
    """How many trials there are, nearly: there are nine maps and seven lines."""
    timed = sum(power <= _LARGEST[way] for power in powers(quick=quick) for way in SOLVERS)
    return timed + trials(quick=quick) * (2 * (9 + 7 + 9 + 7) + len(VARIANTS) * 7)


@lru_cache(maxsize=4)
def _counts(data: str, ndim: int, side: int, public: bool) -> dict[str, Integers]:
    found = shapes(ndim, side, data, public=public)
    return {name: np.rint(counts).astype(np.int64) for name, counts in found.items()}


def _reduction_jobs(data: str, public: bool, trial: int) -> Iterator[Job]:
    """Table 2: small random ranges, with and without merging the cells that they do not tell apart."""
    for name, domain in REDUCED.items():
        for source, x in _counts(data, len(domain), domain[0], public).items():
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


def _variant_jobs(data: str, public: bool, trial: int) -> Iterator[Job]:
    """Table 3."""
    for source, x in _counts(data, 1, CELLS, public).items():
        for name in VARIANTS:
            yield Job("table3", source, "random ranges", EPSILON, name, trial, partial(_varied, name, x))


def _varied(name: str, x: Integers, seed: int) -> float:
    workload = _ranges(x.shape, "any")
    return float(distances(workload, simulate(name, x, workload, EPSILON, seed=seed)[None], x)[0])


def _inference_jobs(*, quick: bool) -> Iterator[Job]:
    """Fig. 4: a binary hierarchy with all levels; the figure is the processor time."""
    for power in powers(quick=quick):
        for way in SOLVERS:
            if power <= _LARGEST[way]:
                yield Job("fig4", f"{1 << power:,} cells", "binary hierarchy", "", way, 0, partial(_timed, power, way))


def _timed(power: int, way: str, seed: int) -> float:
    """Seconds for one solution, after one that prepares compiled loops; matrices are not timed."""
    tree = Hierarchy.of_blocks(1 << power, [1 << level for level in range(power, -1, -1)])
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
    from scipy import sparse
    from scipy.sparse.linalg import lsmr

    levels = [
        sparse.csr_array((np.ones(tree.cells), np.arange(tree.cells), level), shape=(level.size - 1, tree.cells))
        for level in tree.boundaries
    ]
    stacked: Any = sparse.vstack(levels, format="csr")
    return lambda answers: lsmr(stacked, answers)[0]
