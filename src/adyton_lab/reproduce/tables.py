"""Tables of the Pythia evaluation: for a terminal, a text file or a report, with the plain figures behind them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from adyton_lab.reproduce.claims import claims
from adyton_lab.reproduce.records import Record
from adyton_lab.reproduce.summaries import CRITERIA, MeanRegret, Part, gains, parts

if TYPE_CHECKING:
    from rich.console import Group

WORDS = {
    "tree: group-regret": "Pythia (group regret)",
    "tree: group-regret, run": "Pythia, really run",
    "tree: best-algorithm": "tree, best algorithm (Gini)",
    "tree: least-regret": "tree, least mean regret",
    "tree: regret-variance": "tree, regret variance",
    "tree: mean-group-regret": "tree, groups by mean regret",
    "default": "Adyton's selector",
    "default, run": "Adyton's selector, really run",
    "informed": "informed decision",
    "private informed": "private informed decision",
}
EXPERIMENTS = {"paper": "the paper's algorithms", "library": "all algorithms"}
SPLITS = {"fig9": ("source", "data set"), "fig10": ("cells", "number of cells"), "fig11": ("scale", "number of rows")}
"""What Figs. 9 to 11 split the inputs by: the field of a record, and the word for it."""
FEW = 4
"""How many single algorithms Figs. 9 to 11 show beside the ways to choose."""


@dataclass(frozen=True)
class Sheet:
    """A table."""

    chapter: str
    """The chapter of the report: a figure of the paper such as ``fig4``, or ``gains`` or ``claims``."""
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    found: Sequence[Any]
    """The figures behind the table, one dataclass for each."""
    note: str = ""

    @property
    def figures(self) -> tuple[dict[str, Any], ...]:
        """What the table shows, unrounded, one plain dictionary for each figure."""
        return tuple(map(asdict, self.found))


def words(method: str) -> str:
    """The name of a method for readers; an algorithm's name is its own."""
    return WORDS.get(method, method)


def setting(part: Part) -> str:
    """Which experiment this is, in words."""
    return f"{EXPERIMENTS.get(part.experiment, part.experiment)}, ε = {part.epsilon}"


def all_sheets(records: Sequence[Record]) -> list[Sheet]:
    """Every table: what the user gets, the paper's claims, then figure by figure."""
    found = parts(records)
    sheets = [*gains_sheet(records), *claims_sheet(records)]
    for make in (fig4, fig7):
        sheets += [sheet for part in found for sheet in make(part)]
    return sheets + [sheet for figure in SPLITS for part in found for sheet in fig9_to_11(part, figure)]


def fig4(part: Part, most: int | None = None) -> list[Sheet]:
    """Mean regrets by workload, with the 95th percentile: a table for each dimension, ways to choose first.

    Of the single algorithms only those *most* with the least regret.
    """
    sheets = []
    for dimension, groups in by_dimension(part).items():
        methods = part.compared(groups, most)
        left_out = len(part.compared(groups)) - len(methods)
        found = {
            (group, name): part.means[group, name]
            for group in groups
            for name in methods
            if name in part.by_group[group]
        }
        says = {name: _paper(dimension, [found[key] for key in found if key[1] == name]) for name in methods}
        published = any(says.values())
        rows = [
            (words(name), *(_mean_and_tail(found.get((group, name))) for group in groups), *([says[name]] * published))
            for name in methods
        ]
        sheets.append(
            Sheet(
                "fig4",
                f"Fig. 4, {dimension}: mean regret (95th percentile), {setting(part)}",
                ("method", *(group.removeprefix(f"{dimension} ") for group in groups), *(["the paper"] * published)),
                tuple(rows),
                list(found.values()),
                _fewer(found.values())
                + (f"Algorithms of greater regret that are not shown: {left_out}." if left_out else ""),
            )
        )
    return sheets


def fig7(part: Part) -> list[Sheet]:
    """The splitting criteria compared."""
    sheets = []
    for dimension, groups in by_dimension(part).items():
        methods = [name for name in CRITERIA if all(name in part.by_group[group] for group in groups)]
        if len(methods) > 1:
            found = [part.means[group, name] for name in methods for group in groups]
            rows = [(words(name), *(f"{part.mean(group, name):.3f}" for group in groups)) for name in methods]
            title = f"Fig. 7, {dimension}: mean regret by the criterion that splits the tree, {setting(part)}"
            columns = ("criterion", *(group.removeprefix(f"{dimension} ") for group in groups))
            sheets.append(Sheet("fig7", title, columns, tuple(rows), found, _fewer(found)))
    return sheets


def fig9_to_11(part: Part, figure: str) -> list[Sheet]:
    """Mean regrets of a group by data set (``fig9``), cells (``fig10``) or scale (``fig11``), for the main methods."""
    by, word = SPLITS[figure]
    sheets = []
    for group in part.groups:
        methods = part.compared([group], FEW)
        found = {(one.value, one.method): one for one in part.split(group, by, methods)}
        values = list(dict.fromkeys(value for value, _ in found))
        rows = [
            (f"{value:,}" if isinstance(value, int) else value, *(_mean(found.get((value, name))) for name in methods))
            for value in values
        ]
        title = f"Fig. {figure.removeprefix('fig')}, {group}: mean regret by {word}, {setting(part)}"
        note = "The single algorithms are those of least mean regret."
        sheets.append(Sheet(figure, title, (word, *map(words, methods)), tuple(rows), list(found.values()), note))
    return sheets


def gains_sheet(records: Iterable[Record]) -> list[Sheet]:
    """What the user gets; no table if the records do not have both sides."""
    found = gains(records)
    rows = [
        (
            one.group,
            one.epsilon,
            f"{one.inputs:,}",
            f"{one.ratio:.3f}",
            f"{one.better:.0%}",
            f"{one.percentile_95:.3f}",
        )
        for one in found
    ]
    sheet = Sheet(
        "gains",
        "What the user gets: the error of Adyton's selector divided by that of the paper's Pythia",
        ("workload", "ε", "inputs", "geometric mean", "inputs with less error", "95th percentile"),
        tuple(rows),
        found,
        "Adyton's selector chooses among all algorithms, Pythia among the paper's, on the same inputs.",
    )
    return [sheet] if found else []


def claims_sheet(records: Iterable[Record]) -> list[Sheet]:
    """The paper's claims; no table if the records do not speak about any."""
    found = claims(records)
    rows = tuple((one.paper, one.here, one.holds) for one in found)
    title = "What the paper says, and what came out here (its algorithms, ε = 1)"
    sheet = Sheet("claims", title, ("the paper says", "here", "holds"), rows, found)
    return [sheet] if found else []


def as_rich(sheet: Sheet) -> Group:
    """The table for a terminal, its title above and its note below."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, column in enumerate(sheet.columns):
        table.add_column(Text(column), justify="left" if place == 0 or sheet.chapter == "claims" else "right")
    for row in sheet.rows:
        table.add_row(*map(Text, row))
    note = [Text(f"{sheet.note}\n", style="dim")] if sheet.note else []
    return Group(Text(sheet.title, style="bold"), table, *note)


def by_dimension(part: Part) -> dict[str, list[str]]:
    """The groups of each dimension, their sum first."""
    found: dict[str, list[str]] = {}
    for group in part.by_group:
        found.setdefault(group.split()[0], []).append(group)
    return found


def rounded(regret: float) -> str:
    """A regret with two decimals; from 100 on, without any.

    >>> rounded(1.2749), rounded(12345.6)
    ('1.27', '12,346')
    """
    return f"{regret:.2f}" if regret < 100 else f"{regret:,.0f}"


def _mean(one: MeanRegret | None) -> str:
    return "–" if one is None else rounded(one.mean)


def _mean_and_tail(one: MeanRegret | None) -> str:
    if one is None:
        return "–"
    return f"{rounded(one.mean)} ({rounded(one.percentile_95)}){'' if one.complete else '*'}"


def _paper(dimension: str, means: Sequence[MeanRegret]) -> str:
    """What the paper says about a method, with the workloads that it says it about."""
    said = {one.group.removeprefix(f"{dimension} "): one.paper for one in means if one.paper and "–" not in one.paper}
    return ", ".join(f"{group} {text}" for group, text in said.items())


def _fewer(means: Iterable[MeanRegret]) -> str:
    return "" if all(one.complete for one in means) else "* was not run on all inputs. "
