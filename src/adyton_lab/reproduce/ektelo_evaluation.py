"""What ``adyton reproduce ektelo`` runs and shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from adyton.errors import BadInput
from adyton_lab.corpus.shapes import FILES
from adyton_lab.reproduce import ektelo
from adyton_lab.reproduce.compared import Compared, beside, compared, grid_sheet
from adyton_lab.reproduce.evaluation import Evaluation, Given
from adyton_lab.reproduce.figures import draw_bars
from adyton_lab.reproduce.outcomes import MeanOutcome, Notebook, Outcome, means
from adyton_lab.reproduce.tables import Sheet
from adyton_lab.training.engine import Advance

REDUCTION = {"ahp": (1.29, 5.36), "dawa": (0.99, 0.92), "identity": (2.89, 0.73), "hb": (1.34, 0.62)}
"""Table 2: by which factor reduction lowers error and time."""
VARIANTS = {"mwem-b": (1.03, 2.80, 7.93, 354.9), "mwem-c": (0.78, 1.08, 1.54, 1.0), "mwem-d": (0.89, 2.64, 8.13, 9.0)}
"""Table 3: by which factor the error of MWEM is lowered (least, mean, most), and time divided by that of MWEM."""
_RANGES = "The paper does not say how many ranges there were, nor how short, nor on which data."
_TIMES = {
    "dawa": "Ours weights a tree for intervals in closed form; after merging they are none, and are read one by one.",
    "ahp": "Another implementation on another machine, and perhaps other ranges.",
    "identity": "Another implementation: ours takes milliseconds, with and without merging.",
    "hb": "Another implementation: ours takes milliseconds, with and without merging.",
}
_MWEM = "Ten queries say little about sets of millions of rows, such as PATENT, which make the mean; there are seven."
_SLOW = "Another implementation on another machine."


def _steps(given: Given) -> int:
    for name in FILES.values():
        if not (given.data / name).is_file():
            raise BadInput(f"there is no {name} in {given.data}. Give the folder that holds DPBench's histograms.")
    return ektelo.steps(quick=given.quick)


def _run(given: Given, advance: Advance) -> list[Outcome]:
    return Notebook(given.kept).carry_out(ektelo.jobs(str(given.data), public=given.public, quick=given.quick), advance)


def sheets(outcomes: Sequence[Outcome]) -> list[Sheet]:
    """Table 2, Table 3, Fig. 4."""
    found = means(outcomes)
    shown = []
    if reduced := list(_reduction(found)):
        note = "By which factor reduction lowers the error, and the processor time: geometric means over all sets."
        shown.append(beside("table2", "Table 2: workload-based reduction", reduced, note))
    if varied := list(_variants(found)):
        note = "By which factor a variant lowers the error of MWEM, over the sets; and its time divided by MWEM's."
        shown.append(beside("table3", "Table 3: variants of MWEM", varied, note))
    timed = [one for one in found if one.part == "fig4"]
    if timed:
        note = "Processor seconds. Dense and direct is left out above 4,096 cells, where its matrix takes gigabytes."
        shown.append(grid_sheet("fig4", "Fig. 4: time of inference", timed, lambda one: one.data, note))
    return shown


def _reduction(found: Sequence[MeanOutcome]) -> Iterator[Compared]:
    own = {(one.method, one.data): one for one in found if one.part == "table2"}
    for name, (error, seconds) in REDUCTION.items():
        sets = [data for method, data in own if method == f"{name}, original"]
        pairs = [(own[f"{name}, original", data], own[f"{name}, reduced", data]) for data in sets]
        if pairs:
            here = _geometric([before.mean / after.mean for before, after in pairs])
            faster = _geometric([max(before.seconds, 1e-6) / max(after.seconds, 1e-6) for before, after in pairs])
            yield compared("table2", "error", name, error, here, _RANGES)
            yield compared("table2", "time", name, seconds, faster, _TIMES[name])


def _variants(found: Sequence[MeanOutcome]) -> Iterator[Compared]:
    own = {(one.method, one.data): one for one in found if one.part == "table3"}
    sets = [data for method, data in own if method == "mwem"]
    for name, (least, mean, most, slower) in VARIANTS.items():
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


def _geometric(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def _pictures(outcomes: Sequence[Outcome], given: Given) -> list[Path]:
    timed = [one for one in means(outcomes) if one.part == "fig4"]
    title = "Seconds of inference on a binary hierarchy, on a log axis"
    return [draw_bars(given.folder / "fig4.svg", title, timed, lambda one: one.data)] if timed else []


EVALUATION = Evaluation(
    name="ektelo",
    title="εKTELO's operators, evaluated again",
    needs="DPBench's histograms (dpbench_1d.csv, dpbench_2d.csv.gz)",
    why_public="It is made for histograms that were published for this purpose.",
    about=(
        "Zhang et al., εKTELO, SIGMOD 2018, Section 8.2. Table 2: a thousand random ranges of up to a sixteenth of the "
        "domain, once on all cells and once after cells that no range tells apart were merged. Table 3: MWEM with "
        "other ways to choose queries and to fit, on a thousand random ranges over 4,096 cells at ε = 0.1. Fig. 4: "
        "the time of least squares and of non-negative least squares on binary hierarchies.",
        "Times are processor times of this machine; only their ratios can be compared with the paper.",
    ),
    chapters={
        "table2": "Workload-based reduction (Table 2)",
        "table3": "Variants of MWEM (Table 3)",
        "fig4": "Time of inference (Fig. 4)",
    },
    main=("table2", "table3", "fig4"),
    steps=_steps,
    run=_run,
    sheets=sheets,
    printed=sheets,
    pictures=_pictures,
    keeps=True,
    csv=True,
)
