"""Comparisons of released numbers on public data: how often the bounds of shares, ratios, differences and changes hold,
how often a sum is above another that it is said to be above, and how often a cell that is said to be among the largest
with some chance is.

Ratios and shares are measured where the denominator is at least ten deviations of its noise, because otherwise there
are no bounds: nearly all intervals are then bounded, and those that are not count as missed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

import adyton as ad
from adyton.arrays import Integers
from adyton.noise import SimulatedNoise
from adyton.result.comparing import Comparison, change
from adyton_lab.bench.common import Coverage, Folder, Held, needed, shapes
from adyton_lab.corpus.public_files import draw
from adyton_lab.corpus.tables import JUDGED, NumberRows, PublicTable, cases_in, number_rows, public_table

EPSILONS = ("0.1", "1")
ALGORITHMS = {"identity": "counts", "optimal-hierarchy": "a hierarchy", "auto": "chosen algorithms"}
_SIDE, _BLOCK, _ROWS, _SHAPES = 64, 8, 100_000, 6
_LARGEST, _MORE = 5, 5
"""How many of the largest cells are asked for; and how many times as many releases of tables are made, because fewer
comparisons in them are independent."""
_STRONG = 60
"""Denominators have at least this many rows, divided by ε: more than ten deviations of eight noisy cells."""
_TABLE, _ATTRIBUTES = "adult", ("workclass", "education", "sex", "income")


def comparison_coverage(data: Folder, trials: int = 60, *, public: bool = False) -> Iterator[Coverage]:
    """Every kind of comparison with every budget: *trials* releases of each data set, with several comparisons each."""
    folder = needed(data, "public histograms and tables", "comparisons are measured")
    counts = {name: draw(shape, _ROWS, 0) for name, shape in shapes(1, _SIDE, folder, public=public).items()}
    even = sorted(counts, key=lambda name: float(np.square(counts[name]).sum()))[:_SHAPES]  # those with large blocks
    chosen = {name: counts[name] for name in even}
    numbers = [number_rows(case, folder, public=public) for case in cases_in(folder, JUDGED)[:3]]
    table = public_table(_TABLE, folder, public=public)
    for epsilon in EPSILONS:
        for algorithm, words in ALGORITHMS.items():
            yield from _of_counts(chosen, algorithm, words, epsilon, trials)
        yield from _of_tables(table, epsilon, trials)
        yield from _of_numbers(numbers, epsilon, trials)


def _session(frame: Any, schema: ad.Schema, seed: int) -> Callable[..., Any]:
    """Releases with seeded noise: of public data, so that nothing needs to be protected."""
    seeds = itertools.count(1000 * seed)

    def release(task: Any, epsilon: str, **options: Any) -> Any:
        session = ad.Session(frame, schema=schema, epsilon=epsilon, noise=SimulatedNoise(next(seeds)))
        return session.release(task, epsilon, **options)

    return release


# ---- counts ----------------------------------------------------------------------------------------------------------


def _of_counts(
    counts: dict[str, Integers], algorithm: str, words: str, epsilon: str, trials: int
) -> Iterator[Coverage]:
    """Shares, ratios and differences inside eight blocks of eight cells, and changes between two releases."""
    import pandas as pd

    kinds = ("share", "ratio", "rate", "difference of sums that overlap", "change", "relative change")
    held = {kind: Held(kind=f"{kind}, {words}", epsilon=epsilon) for kind in kinds}
    ranked: list[tuple[float, bool]] = []
    verdicts: list[bool] = []
    schema = ad.Schema({"x": ad.Integer(0, _SIDE - 1)})
    for place, (name, x) in enumerate(counts.items()):
        frame = pd.DataFrame({"x": np.repeat(np.arange(_SIDE), x)})
        release = _session(frame, schema, place)
        for _ in range(trials):
            one, other = (release(ad.Ranges("x"), epsilon, algorithm=algorithm) for _ in range(2))
            verdicts += [verdict for made in (one, other) for verdict in _inside_blocks(held, name, x, made, epsilon)]
            _between(held, name, x, (one, other), epsilon)
            top = one.top(_LARGEST)
            least = np.sort(x)[-_LARGEST]
            ranked += zip(top["chance"].tolist(), (x[top["x"].astype(int)] >= least).tolist(), strict=True)
    yield from (kind.coverage() for kind in held.values() if kind.stretches)
    yield Coverage(
        kind=f"above or not, {words}",
        data=f"{len(counts)} data sets",
        epsilon=epsilon,
        intervals=len(verdicts),
        holds=100 * float(np.mean(verdicts)),
    )
    chances = np.array(ranked, dtype=float)
    chances = chances[np.isfinite(chances[:, 0])]
    belong = float(chances[:, 1].mean())
    yield Coverage(
        kind=f"among the {_LARGEST} largest, {words}",
        data=f"{len(counts)} data sets",
        epsilon=epsilon,
        intervals=len(chances),
        holds=100 * belong,
        expected=float(chances[:, 0].mean()) / belong,
    )


def _three(comparison: Comparison) -> tuple[float, float, float]:
    return comparison.estimate, comparison.lower, comparison.upper


def _strong(rows: float, epsilon: str) -> bool:
    return rows >= _STRONG / float(Fraction(epsilon))


def _inside_blocks(held: dict[str, Held], name: str, x: Integers, release: Any, epsilon: str) -> Iterator[bool]:
    """Compare; for each pair of which one is said to be above, whether it is."""
    for first in range(0, _SIDE, _BLOCK):
        last = first + _BLOCK - 1
        part, half, rest = (first, first + 2), (first, first + 3), (first + 4, last)
        if _strong(_sum(x, (first, last)), epsilon):
            truth = _sum(x, part) / _sum(x, (first, last))
            held["share"].add(name, *_three(release.share(part, (first, last))), truth)
        if _strong(_sum(x, rest), epsilon):
            held["ratio"].add(name, *_three(release.ratio(half, rest)), _sum(x, half) / _sum(x, rest))
        rate = release.rate(half, of=_ROWS)
        held["rate"].add(name, *_three(rate), 1000 * _sum(x, half) / _ROWS)
        left, right = (first, last - 2), (first + 2, last)
        truth = _sum(x, left) - _sum(x, right)
        difference = release.difference(left, right)
        held["difference of sums that overlap"].add(name, *_three(difference), truth)
        if difference.lower > 0 or difference.upper < 0:  # then it is said which of them is above
            yield truth > 0 if difference.lower > 0 else truth < 0


def _sum(x: Integers, ends: tuple[int, int]) -> float:
    return float(x[ends[0] : ends[1] + 1].sum())


def _between(held: dict[str, Held], name: str, x: Integers, releases: tuple[Any, Any], epsilon: str) -> None:
    """The change between two releases of the same rows, which is 0."""
    blocks = [(first, first + _BLOCK - 1) for first in range(0, _SIDE, _BLOCK)]
    strong = [block for block in blocks if _strong(_sum(x, block), epsilon)]
    if not strong:
        return
    lines = change(*releases, strong)
    for kind, columns in (
        ("change", ("difference", "lower", "upper")),
        ("relative change", ("change", "change_lower", "change_upper")),
    ):
        middle, low, high = (lines[column] for column in columns)
        held[kind].add(name, middle, low, high, np.zeros(len(strong)))


# ---- tables and numbers ----------------------------------------------------------------------------------------------


def _of_tables(table: PublicTable, epsilon: str, trials: int) -> Iterator[Coverage]:
    """Shares, ratios and differences of cells of all pairs of some attributes, each pair of a release once."""
    import pandas as pd

    names = [name for name in _ATTRIBUTES if name in table.schema.names]
    places = [table.schema.names.index(name) for name in names]
    schema = ad.Schema({name: ad.Integer(0, table.schema.attributes[name].size - 1) for name in names})
    frame = pd.DataFrame({name: table.codes[:, place] for name, place in zip(names, places, strict=True)})
    held = {kind: Held(kind=f"{kind}, tables of pairs", epsilon=epsilon) for kind in ("share", "ratio", "difference")}
    release, (first, *others) = _session(frame, schema, 5), names
    for _ in range(_MORE * trials):
        made = release(ad.Marginals(way=2), epsilon, algorithm="all-pairs")
        for other in others:
            counts = np.zeros((schema.attributes[other].size, schema.attributes[first].size))
            np.add.at(counts, (frame[other], frame[first]), 1)
            rows, parts = counts.sum(axis=1), counts[:, 0]
            for one in range(0, len(rows) - 1, 2):
                if not _strong(rows[one + 1], epsilon):
                    continue
                both, beside = {other: one, first: 0}, {other: one + 1, first: 0}
                if _strong(rows[one], epsilon):
                    held["share"].add(table.name, *_three(made.share(both, {other: one})), parts[one] / rows[one])
                ratio = made.ratio({other: one}, {other: one + 1})
                held["ratio"].add(table.name, *_three(ratio), rows[one] / rows[one + 1])
                held["difference"].add(table.name, *_three(made.difference(both, beside)), parts[one] - parts[one + 1])
    yield from (kind.coverage() for kind in held.values() if kind.stretches)


def _of_numbers(cases: list[NumberRows], epsilon: str, trials: int) -> Iterator[Coverage]:
    """Differences and ratios of the means, and shares of the sums, of neighbouring groups."""
    import pandas as pd

    held = {
        kind: Held(kind=kind, epsilon=epsilon) for kind in ("difference of means", "ratio of means", "share of a sum")
    }
    for place, rows in enumerate(cases):
        case, name = rows.case, str(rows.case)
        columns = dict(zip(case.schema.names, rows.codes.T, strict=True))
        labels = {group: np.array(case.schema.attributes[group].labels)[columns[group]] for group in case.groups}
        frame = pd.DataFrame({**labels, case.attribute: rows.values})
        release = _session(frame, case.schema, 11 + place)
        groups = rows.grouped(True)
        usable = [line for line, values in enumerate(groups) if _strong(values.size, epsilon) and values.mean() > 0]
        pairs = list(zip(usable[::2], usable[1::2], strict=False))
        for _ in range(trials):
            means = release(ad.Mean(case.attribute, by=case.groups), epsilon)
            sums = release(ad.Sum(case.attribute, by=case.groups), epsilon)
            for one, other in pairs:
                a, b = means.groups[one], means.groups[other]
                x, y = groups[one], groups[other]
                held["difference of means"].add(name, *_three(means.difference(a, b)), x.mean() - y.mean())
                held["ratio of means"].add(name, *_three(means.ratio(a, b)), x.mean() / y.mean())
                if case.numbers.min >= 0:
                    truth = x.sum() / (x.sum() + y.sum())
                    held["share of a sum"].add(name, *_three(sums.share(a, [a, b])), truth)
    yield from (kind.coverage() for kind in held.values() if kind.stretches)
