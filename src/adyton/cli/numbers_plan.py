"""``adyton plan`` for sums, means and quantiles: the error of each statistic against ε."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from adyton.cli.console import notes, out, plain_table, print_json, printable, say_counted
from adyton.exact import as_number, display

if TYPE_CHECKING:
    from adyton.result.receipt import RowsCounted
    from adyton.session.numbers_outlook import NumbersOutlook

_UNITS = {"mean": "mean × rows", "variance": "variance × rows", "deviation": "deviation × rows"}


def show_plan(
    outlook: NumbersOutlook,
    budgets: Sequence[Fraction],
    error: str | None,
    counted: RowsCounted,
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    """Print a line for each ε; what cannot be known without the rows is told times them."""
    found = {budget: (outlook.weighed(budget).chosen, outlook.errors(budget)) for budget in budgets}
    least = None if error is None else outlook.epsilon_for(error)
    task = str(outlook.asked.task)
    if as_json:
        lines = [
            {"epsilon": as_number(budget), "algorithm": name, "errors": errors}
            for budget, (name, errors) in found.items()
        ]
        print_json(
            {
                "counted": counted.sentence or None,
                "task": task,
                "errors": lines,
                "target": error,
                "least_epsilon": None if least is None else as_number(least),
            }
        )
        return
    say_counted(counted.sentence)
    table = plain_table()
    table.title, table.title_justify = printable(f"{task}: standard errors"), "left"
    table.add_column("ε", justify="right")
    for name in outlook.asked.task.statistics:
        title = f"{name}, rows" if name.endswith("%") else name
        known = outlook.asked.task.rows is not None
        table.add_column(printable(title if known else _UNITS.get(name, title)), justify="right")
    table.add_column("algorithm")
    for budget, (name, errors) in found.items():
        table.add_row(display(budget), *(f"{one:,.4g}" for one in errors.values()), name)
    out().print(table)
    if least is not None:
        out().print(f"The least ε with a standard error of at most {error} is {display(least)}.")
    if not quiet:
        for words in outlook.notes(budgets[-1]):
            notes().print(printable(words), soft_wrap=True)
        for words in outlook.misfits.notes(budgets[0]):
            notes().print(f"ε = {display(budgets[0])}: {words}", soft_wrap=True)
        if outlook.asked.task.rows is None and set(_UNITS) & set(outlook.asked.task.statistics):
            notes().print("Divide the figures × rows by the rows of a group; --group-rows N does so.", soft_wrap=True)
