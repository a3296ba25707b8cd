"""What ``adyton reproduce dawa`` runs and shows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from adyton_lab.reproduce import dawa
from adyton_lab.reproduce.dawa_tables import sheets
from adyton_lab.reproduce.evaluation import Evaluation, Given
from adyton_lab.reproduce.figures import draw_bars
from adyton_lab.reproduce.outcomes import MeanOutcome, Notebook, Outcome, means
from adyton_lab.reproduce.road_map import Roads
from adyton_lab.reproduce.tables import Sheet
from adyton_lab.training.engine import Advance

_PRINTED = ("claims", "table1", "table2")


def _steps(given: Given) -> int:
    dawa.check_files(given.data)
    return dawa.steps(len(dawa.SETS), quick=given.quick)


def _run(given: Given, advance: Advance) -> list[Outcome]:
    lines = dawa.lines(given.data, public=given.public)
    roads = Roads.read(given.data, dawa.protocol(quick=given.quick).side)
    return Notebook(given.kept).carry_out(dawa.jobs(lines, roads, quick=given.quick), advance)


def _printed(outcomes: Sequence[Outcome]) -> list[Sheet]:
    return [sheet for sheet in sheets(outcomes) if sheet.chapter in _PRINTED]


def _pictures(outcomes: Sequence[Outcome], given: Given) -> list[Path]:
    """Fig. 3 for each ε, and Figs. 4 to 7."""
    found, drawn = means(outcomes), []
    for epsilon in dict.fromkeys(one.epsilon for one in found if one.part == "fig3"):
        own = [one for one in found if (one.part, one.epsilon, one.workload) == ("fig3", epsilon, dawa.WORKLOADS[0])]
        title = f"Uniform intervals, ε = {epsilon}: mean |error| of a query, on a log axis"
        drawn.append(draw_bars(given.folder / f"fig3-{epsilon}.svg", title, own, lambda one: one.data))
    for part, title in (
        ("fig4", "DAWA with a step left out"),
        ("fig5", "Cost of the chosen partition"),
        ("fig6", "Other second steps"),
        ("fig7", "Rectangles on a map"),
    ):
        own = [one for one in found if one.part == part]
        if own:
            drawn.append(draw_bars(given.folder / f"{part}.svg", title, own, _place))
    return drawn


def _place(one: MeanOutcome) -> str:
    if one.part == "fig7":
        return f"{one.workload}, ε = {one.epsilon}"
    return f"{one.data}, {one.workload}" if one.part == "fig6" else one.data


EVALUATION = Evaluation(
    name="dawa",
    title="DAWA, evaluated again",
    needs="DPBench's lines and the road intersections (dpbench_1d.csv, road_california.csv.gz)",
    why_public="It is made for histograms that were published for this purpose.",
    about=(
        "Li, Hay, Miklau and Wang, A data- and workload-aware algorithm for range queries under differential privacy, "
        "PVLDB 2014, Section 5: seven lines of 4,096 cells, four workloads, four budgets. The error is the mean of "
        "|answer − truth| over the queries.",
        "DAWA here has as much noise in the choice of its intervals as the proof of the paper's Theorem 2 needs, and "
        "an allowance for it. The published DAWA has half of the noise on intervals and none on single cells, and is "
        "not private; it runs on these public counts to be compared with.",
        "Figures of the paper are pictures without numbers; its Tables 1 and 2 stand beside ours.",
        "The map has 21,048 intersections in California; the paper's had 1.6 million in the western United States, so "
        "that only the order of the methods can be compared.",
    ),
    chapters={
        "claims": "What is claimed, and what came out here",
        "table2": "Errors divided by DAWA's (Table 2)",
        "table1": "How many buckets (Table 1)",
        "fig3": "Errors on lines (Fig. 3)",
        "fig4": "Each step by itself (Fig. 4)",
        "fig5": "What partitions cost (Fig. 5)",
        "fig6": "Other second steps (Fig. 6)",
        "fig7": "A map (Fig. 7)",
    },
    main=_PRINTED,
    steps=_steps,
    run=_run,
    sheets=sheets,
    printed=_printed,
    pictures=_pictures,
    keeps=True,
    csv=True,
)
