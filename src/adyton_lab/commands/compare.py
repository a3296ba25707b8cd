"""``adyton compare``: the errors of all algorithms on public data, side by side, and what the selector would choose."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from adyton.cli.console import make_folder, notes, out, plain_table, print_json, printable, progress
from adyton.cli.options import Quiet, Trials
from adyton.exact import display, positive
from adyton.report.svg import figure
from adyton_lab.compare.data_sets import data_sets
from adyton_lab.compare.experiment import EPSILONS, Experiment, confirm_comparing
from adyton_lab.compare.results import PAGE, Case, Comparison, check, write
from adyton_lab.corpus import read_corpus

_MANY_CELLS = 1024


def command(
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA",
            help="PUBLIC data: folders or files of .npy histograms with one or two axes, or .csv tables or histograms, "
            "as `adyton train` reads them.",
        ),
    ],
    public: Annotated[
        bool,
        typer.Option(
            "--public", help="Confirm that the data are already public: nothing done with them here is protected."
        ),
    ] = False,
    epsilon: Annotated[
        list[str] | None, typer.Option(metavar="E", help="Budgets; can be repeated. By default 0.01, 0.1 and 1.")
    ] = None,
    workload: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="identity, prefix, short, medium, long or mixed; can be repeated."),
    ] = None,
    algorithm: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Algorithms to compare; can be repeated. By default all.")
    ] = None,
    dataset: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Data sets to use; can be repeated. By default all.")
    ] = None,
    trials: Trials = 5,
    cells: Annotated[
        int | None,
        typer.Option(
            min=1, help="Cells of the domain; in two dimensions, a square. By default the data's own, at most 4096."
        ),
    ] = None,
    rows: Annotated[
        int | None, typer.Option(min=1, help="Rows to draw from each data set. By default its own counts.")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="The seed of the simulated noise: equal seeds give equal errors.")
    ] = 0,
    folder: Annotated[
        Path | None, typer.Option("--out", help="The folder to write to: compare.html, errors.csv, compare.json.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON, without the histograms.")] = False,
    quiet: Quiet = False,
) -> None:
    """Run every algorithm on PUBLIC data, and show the errors side by side with the selector's choice.

    The data must be public: nothing here is protected, and nothing is charged.
    """
    confirm_comparing(public)
    budgets = [positive(amount, "--epsilon") for amount in epsilon or ()]
    shapes = [shape for path in data for shape in read_corpus(path, public=public)]
    chosen = data_sets(shapes, dataset, cells=cells, rows=rows)
    experiment = Experiment(
        datasets=chosen,
        public=public,
        epsilons=budgets or EPSILONS,
        workloads=workload,
        algorithms=algorithm,
        trials=trials,
        seed=seed,
    )
    if folder is not None:
        make_folder(folder)
        check(folder)
    shown = not (quiet or as_json)
    if shown:
        _announce(experiment)
    with progress("comparing", experiment.steps(), quiet=not shown) as advance:
        comparison = experiment.run(advance)
    if folder is not None:
        write(comparison, folder)
    if as_json:
        print_json(comparison.to_plain(histograms=False))
        return
    _print(comparison)
    if folder is not None and shown:
        notes().print(printable(f"Everything is in {folder}; begin with {PAGE}."), soft_wrap=True)


def _announce(experiment: Experiment) -> None:
    """Report which data are compared, and which algorithms will take long."""
    chosen = experiment.datasets
    more = f"; and {len(chosen) - 3} more" if len(chosen) > 3 else ""
    few = "; ".join(map(str, chosen[:3]))
    notes().print(printable(f"{few}{more}, taken as public: nothing is protected."), soft_wrap=True)
    plans = [plan for data in chosen if data.counts.size > _MANY_CELLS for plan in experiment.plans(data).values()]
    for name in sorted({plan.name for plan in plans if plan.effort == "search"}):
        remark = f"{name} first optimises its strategy, for minutes on many cells: the progress bar pauses meanwhile."
        notes().print(remark, soft_wrap=True)


def _print(comparison: Comparison) -> None:
    console = out()
    console.print("Public data, nothing protected. Errors: root mean square of one answer; ×: relative to the least.")
    together: dict[tuple[str, str], list[Case]] = {}
    for case in comparison.cases:
        together.setdefault((case.dataset, case.workload), []).append(case)
    about = {data.name: str(data) for data in comparison.datasets}
    for (dataset, workload), cases in together.items():
        console.print(printable(f"\n{about[dataset]}; workload {workload}"[1:]), style="bold")
        _print_errors(cases)
        for case in cases:
            console.print(printable(_advice(case)), soft_wrap=True)
        console.print()


def _print_errors(cases: Sequence[Case]) -> None:
    """A row for each algorithm; algorithms that rank well at all budgets come first."""
    table = plain_table()
    table.add_column("algorithm")
    for case in cases:
        table.add_column(f"ε = {display(case.epsilon)}", justify="right")
        table.add_column("×", justify="right")
    outcomes = [{outcome.algorithm: outcome for outcome in case.outcomes} for case in cases]
    failures = []
    ranks = [list(by_name) for by_name in outcomes]
    for name in sorted(outcomes[0], key=lambda name: sum(order.index(name) for order in ranks)):
        line = []
        for case, by_name in zip(cases, outcomes, strict=True):
            error, regret, reason = by_name[name].error, case.regret(name), by_name[name].failure
            line += ["–", ""] if error is None or regret is None else [figure(error), f"{regret:,.2f}"]
            if reason is not None and (name, reason) not in failures:
                failures.append((name, reason))
        table.add_row(printable(name), *line)
    out().print(table)
    for name, reason in failures:
        out().print(printable(f"{name} failed: {reason}"), soft_wrap=True)


def _advice(case: Case) -> str:
    best, advice = case.best, case.recommendation
    truth = "no algorithm succeeded" if best is None else f"the best of those compared is {best.algorithm}"
    if advice.algorithm is None:
        said = f"the selector does not choose: {advice.failure}"
    else:
        regret = case.regret(advice.algorithm)
        cost = "not among those compared" if regret is None else f"{regret:,.2f} × the least error"
        times, looks = advice.choices[advice.algorithm], sum(advice.choices.values())
        said = f"the selector chooses {advice.algorithm} in {times} of {looks} runs, {cost}"
    return f"ε = {display(case.epsilon)}: {said}; {truth}."
