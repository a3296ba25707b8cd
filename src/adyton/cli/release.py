"""``adyton release``: a private count or histogram from a table."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adyton.cli.console import (
    InterruptedRelease,
    notes,
    out,
    plain_table,
    print_json,
    printable,
    progress,
)
from adyton.errors import BadInput
from adyton.exact import as_number, display, positive

if TYPE_CHECKING:
    import numpy.typing as npt

    from adyton.kernel.kernel import Kernel
    from adyton.kernel.sources import VectorSource
    from adyton.plans import Plan
    from adyton.queries import Measurement, Queries
    from adyton.queries.base import Reals
    from adyton.schema import Schema
    from adyton.selection.selector import Choice

_CONFIDENCE = 0.95
_ROWS_SHOWN = 60
_LARGEST = 1_000_000


def command(
    data: Annotated[str, typer.Argument(metavar="DATA", help="CSV, Parquet or DuckDB file (file.duckdb#table).")],
    schema: Annotated[Path, typer.Option(help="The schema file: what is public about the table.")],
    epsilon: Annotated[str, typer.Option(help="The privacy budget of this release, for example 0.5.")],
    histogram: Annotated[str | None, typer.Option(metavar="A[,B…]", help="Count the rows of every cell.")] = None,
    count: Annotated[bool, typer.Option("--count", help="Count all rows.")] = False,
    where: Annotated[str | None, typer.Option(metavar="PREDICATE", help='Only these rows: "age >= 65".')] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(help="For a histogram: an algorithm, or auto to have one chosen; else noise on each cell."),
    ] = None,
    ledger: Annotated[Path | None, typer.Option(help="The file that remembers what was spent.")] = None,
    total: Annotated[
        str | None, typer.Option(help="The total budget of a new ledger; as EPSILON if not given.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the release as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress bar and no remarks.")] = False,
) -> None:
    """Release a count or a histogram under differential privacy."""
    from adyton.kernel.kernel import Kernel

    declared, names, cells, plan = _asked(schema, histogram, algorithm, count=count)
    kernel = Kernel(data, schema=declared, epsilon=_total(epsilon, total, ledger), ledger=ledger)
    before = kernel.spent
    try:
        source = kernel.root if where is None else kernel.root.where(where)
        row_epsilon = positive(epsilon, "epsilon") / source.stability  # what a row gets, so that a person gets epsilon
        with progress("counting", quiet=quiet or as_json):
            if cells is None:
                axes: dict[str, Any] = {}
                answer = source.count(row_epsilon)
            else:
                selected = source.select(names)
                axes = {name: attribute.labels for name, attribute in selected.schema.attributes.items()}
                if plan is None:
                    answer = selected.vectorize().measure(cells, row_epsilon)
                else:
                    estimated = _estimate(plan, selected.vectorize(), cells, row_epsilon)
    except KeyboardInterrupt:
        charged = kernel.spent - before
        kept = f"; ε = {display(charged)} was charged already and stays spent" if charged else ""
        raise InterruptedRelease(f"interrupted{kept}.") from None
    if plan is not None:
        _show_estimate(kernel, axes, *estimated, epsilon, as_json=as_json, quiet=quiet)
    elif as_json:
        print_json(_as_json(kernel, axes, answer, epsilon))
    else:
        _print(axes, answer.answers)
        if not quiet:
            _remark(kernel, answer, ledger)


def _asked(
    schema: Path, histogram: str | None, algorithm: str | None, *, count: bool
) -> tuple[Schema, list[str], Queries | None, Plan | None]:
    """The schema, the attributes and the cells to count, and the plan, if one was named: all checked."""
    from adyton.queries import Identity
    from adyton.schema import Schema

    if count == (histogram is not None):
        raise BadInput("ask for one thing: --count, or --histogram with the attributes to count by.")
    if algorithm is not None and histogram is None:
        raise BadInput("--algorithm is for histograms. Leave it out for a count.")
    plan = None if algorithm is None else _plan(algorithm)
    declared = Schema.from_toml(schema)
    if histogram is None:
        return declared, [], None, None
    names = [name.strip() for name in histogram.split(",")]
    selected = declared.select(names)
    if selected.cells > _LARGEST:
        raise BadInput(
            f"this histogram has {selected.cells:,} cells, allowed are {_LARGEST:,}. Choose fewer attributes, or "
            "declare fewer levels or bins; from Python there is no such limit."
        )
    cells = Identity(selected.shape)
    if plan is not None:
        plan.check(cells)
    return declared, names, cells, plan


def _total(epsilon: str, total: str | None, ledger: Path | None) -> Fraction:
    """What may be spent in all: what the ledger holds; for a new one, what was asked for; without one, this release."""
    asked = positive(epsilon, "--epsilon")
    given = None if total is None else positive(total, "--total")
    if ledger is None:
        return given or asked
    if ledger.is_file():
        from adyton.kernel.ledger import Ledger

        held = Ledger.read(ledger).total
        if given not in (None, held):
            raise BadInput(f"{ledger} has a total of {display(held)}, given --total {total}. Leave --total out.")
        return held
    if given is None and not ledger.exists():
        raise BadInput(f"{ledger} does not exist yet. Say what may be spent in all, for example --total 1.")
    if given is not None and asked > given:
        raise BadInput(f"--epsilon {epsilon} is more than --total {total}. Ask for less, or allow more.")
    return given or asked


def _radius(answer: Measurement) -> int:
    from adyton.noise.probabilities import discrete_laplace_radius

    return discrete_laplace_radius(1 / answer.epsilon, _CONFIDENCE)


def _plan(algorithm: str) -> Plan:
    from adyton.plans import plan_named

    return plan_named("pythia" if algorithm == "auto" else algorithm)


def _estimate(plan: Plan, x: VectorSource, workload: Queries, epsilon: Fraction) -> tuple[str, Choice | None, Reals]:
    """The algorithm that was run, the choice that led to it, if any, and the estimate."""
    from adyton.selection.pythia import Pythia

    if not isinstance(plan, Pythia):
        return plan.name, None, plan.estimate(x, workload, epsilon)
    choice = plan.choose(x, workload, epsilon)
    return choice.algorithm, choice, plan.follow(x, workload, choice)


def _show_estimate(
    kernel: Kernel[Any],
    axes: dict[str, Any],
    algorithm: str,
    choice: Choice | None,
    estimate: Reals,
    epsilon: str,
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    if as_json:
        print_json(
            {
                "dataset": kernel.ledger.dataset,
                "axes": {name: list(labels) for name, labels in axes.items()},
                "estimate": estimate.tolist(),
                "algorithm": algorithm,
                "choice": None if choice is None else choice.to_plain(),
                **_budget(kernel, epsilon),
            }
        )
        return
    _print(axes, estimate.round(1))
    if not quiet:
        how = f"Estimated by {algorithm}." if choice is None else f"Estimated by {choice}"
        notes().print(f"{how} Spent ε = {display(kernel.spent)} of {display(kernel.total)}.")


def _print(axes: dict[str, Any], answers: npt.NDArray[Any]) -> None:
    if not axes:
        out().print(f"{answers.reshape(-1)[0]}")
        return
    table = plain_table()
    for name in axes:
        table.add_column(printable(name))
    table.add_column("count", justify="right")
    cells = itertools.product(*axes.values())
    for labels, value in itertools.islice(zip(cells, answers.reshape(-1).tolist(), strict=True), _ROWS_SHOWN):
        table.add_row(*(printable(str(label)) for label in labels), str(value))
    out().print(table)
    if answers.size > _ROWS_SHOWN:
        out().print(f"… and {answers.size - _ROWS_SHOWN} more cells: --json prints them all.")


def _remark(kernel: Kernel[Any], answer: Measurement, ledger: Path | None) -> None:
    spent = f"Spent ε = {display(kernel.spent)} of {display(kernel.total)}"
    kept = f", recorded in {ledger}." if ledger else ". Nothing remembers it: give --ledger FILE to keep count."
    radius = _radius(answer)
    apart = f"at most {radius} apart" if radius else "equal"
    notes().print(f"Each count is the true one plus noise; in 95 of 100 cases the two are {apart}. {spent}{kept}")


def _as_json(kernel: Kernel[Any], axes: dict[str, Any], answer: Measurement, epsilon: str) -> dict[str, Any]:
    shape = tuple(len(labels) for labels in axes.values())
    return {
        "dataset": kernel.ledger.dataset,
        "axes": {name: list(labels) for name, labels in axes.items()},
        "counts": answer.answers.reshape(shape).tolist() if axes else answer.value,
        "private": answer.private,
        "variance": float(answer.variances[0]),
        "within": {"confidence": _CONFIDENCE, "radius": _radius(answer)},
        **_budget(kernel, epsilon),
    }


def _budget(kernel: Kernel[Any], epsilon: str) -> dict[str, Any]:
    return {
        "epsilon": as_number(positive(epsilon, "epsilon")),
        "total": as_number(kernel.total),
        "spent": as_number(kernel.spent),
        "remaining": as_number(kernel.remaining),
    }
