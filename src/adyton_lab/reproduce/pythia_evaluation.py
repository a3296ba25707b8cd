"""What ``adyton reproduce pythia`` runs and shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from adyton_lab.engine import Advance
from adyton_lab.reproduce import figures, pythia
from adyton_lab.reproduce.evaluation import Evaluation, Given
from adyton_lab.reproduce.records import Record
from adyton_lab.reproduce.summaries import parts
from adyton_lab.reproduce.tables import Sheet, all_sheets, claims_sheet, fig4, fig7, gains_sheet

_BEST = 6
"""How many single algorithms of the whole library are printed; the files have all of them."""


def _kept(given: Given) -> Path:
    """Every run of this evaluation has such a file."""
    assert given.kept is not None
    return given.kept


def _steps(given: Given) -> int:
    return pythia.steps(given.data, _kept(given), public=given.public, quick=given.quick)


def _run(given: Given, advance: Advance) -> list[Record]:
    return pythia.run(given.data, cache=_kept(given), public=given.public, quick=given.quick, advance=advance)


def _printed(records: Sequence[Record]) -> list[Sheet]:
    found = parts(records)
    sheets = [sheet for part in found for sheet in fig4(part, None if part.experiment == "paper" else _BEST)]
    sheets += [sheet for part in found for sheet in fig7(part)]
    return [*sheets, *claims_sheet(records), *gains_sheet(records)]


def _pictures(records: Sequence[Record], given: Given) -> list[Path]:
    return figures.all_figures(records, given.folder) + _trees(given)


def _trees(given: Given) -> list[Path]:
    """Pictures of the trees that are learnt from all data sets at ε = 1; everything they need is in the cache.

    ``trees-2d.svg`` has all trees for a plane; that of short boxes, the paper's Fig. 8, is in ``fig8.svg`` too.
    """
    from adyton.report.plot import draw
    from adyton.selection.tree_selector import TreeSelector

    pictures = {}
    for settings in pythia.all_settings(given.data, _kept(given), public=given.public, quick=given.quick):
        if settings.epsilon == "1":
            selector = settings.paper().train()
            if isinstance(selector, TreeSelector):
                pictures[given.folder / f"trees-{settings.dimensions}d.svg"] = selector
                if "short" in selector.trees:
                    pictures[given.folder / "fig8.svg"] = replace(selector, trees={"short": selector.trees["short"]})
    for path, one in pictures.items():
        draw(one, path)
        draw(one, path.with_suffix(".png"))
    return list(pictures)


EVALUATION = Evaluation(
    name="pythia",
    title="Pythia, evaluated again",
    needs="the DPBench histograms",
    why_public="It is made for the histograms of DPBench, which are.",
    about=(
        "Regret is the error of a method divided by that of the best algorithm for the same input. Every data set was "
        "held out in turn: no selector was trained on the data set that it is judged on.",
    ),
    chapters={
        "gains": "What the user gets",
        "claims": "What the paper says, and what came out here",
        "fig4": "Mean regret by workload (Fig. 4)",
        "fig7": "Splitting criteria (Fig. 7)",
        "fig8": "The tree for short boxes on a plane (Fig. 8)",
        "trees": "All trees",
        "fig9": "Mean regret by data set (Fig. 9)",
        "fig10": "Mean regret by number of cells (Fig. 10)",
        "fig11": "Mean regret by number of rows (Fig. 11)",
    },
    main=("gains", "claims", "fig4", "fig7"),
    steps=_steps,
    run=_run,
    sheets=all_sheets,
    printed=_printed,
    pictures=_pictures,
    keeps=True,
)
