"""What ``adyton reproduce jostle`` runs and shows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from adyton_lab.corpus.labelled_tables import table_file
from adyton_lab.reproduce import jostle
from adyton_lab.reproduce.evaluation import Evaluation, Given
from adyton_lab.reproduce.jostle import all_sheets
from adyton_lab.reproduce.naive_bayes import TREE_TABLES, Score, means
from adyton_lab.reproduce.score_figures import draw, mean_panel, panels
from adyton_lab.training.engine import Advance


def _steps(given: Given) -> int:
    for name in TREE_TABLES:
        table_file(name, given.data)
    return jostle.steps(quick=given.quick)


def _run(given: Given, advance: Advance) -> list[Score]:
    return jostle.run(given.data, public=given.public, quick=given.quick, advance=advance)


def _pictures(scores: Sequence[Score], given: Given) -> list[Path]:
    """One picture: a panel for each table, as in the paper, and one for their mean."""
    found = panels(means(scores))
    shown = [*found, mean_panel("mean of all tables", found)]
    title = "Accuracy against ε: published private trees, and ours"
    return [draw(given.folder / f"{jostle.FIGURE}.svg", title, shown, "rows predicted right (bars: standard errors)")]


EVALUATION = Evaluation(
    name="jostle",
    title="Jostle's decision trees, evaluated again",
    needs="the tables nursery, contraceptive and HIV-1 (nursery.csv.gz, cmc.csv, hiv1_protease.csv)",
    why_public="It is made for tables that were published for this purpose.",
    about=(
        "Imola and Yang, Automatic, fine-grained algorithmic choice for differential privacy, 2018, Fig. 4.2: the part "
        "of the rows whose class is predicted right, on 30 % of the rows that nothing was learnt from. Five published "
        "private trees; beside them the chosen tree, naive Bayes, naive-Bayes trees and profiled trees, which are "
        "the default. All methods learn from the same splits, each with noise of its own.",
        "The paper's figure has curves and prints no numbers, so what it says in words stands beside what came out "
        "here.",
        "The recipe of the chosen tree (James–Stein shrinkage of leaf posteriors, support 3/2) was fixed after trials "
        "on these same three tables, with other seeds. Its lead here is therefore a little too good.",
        "Friedman–Schuster spends as published: what a stopped branch does not need stays unspent.",
        "The paper's Fig. 1.2 and its synthesis example are programs, not measurements: the documentation has both, "
        "written with this library (Let a program choose).",
    ),
    chapters={
        "claims": "What is claimed, and what came out here",
        jostle.FIGURE: "Accuracy against ε (Fig. 4.2)",
    },
    main=("claims", jostle.FIGURE),
    steps=_steps,
    run=_run,
    sheets=all_sheets,
    printed=all_sheets,
    pictures=_pictures,
)
