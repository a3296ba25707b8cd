"""``adyton release``: a private count or histogram from a table."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adyton.cli.console import notes, out, print_json, printable, progress
from adyton.errors import BadInput
from adyton.exact import display, positive

if TYPE_CHECKING:
    from adyton.kernel.kernel import Kernel
    from adyton.queries import Measurement

_CONFIDENCE = 0.95
_ROWS_SHOWN = 60


def command(
    data: Annotated[str, typer.Argument(metavar="DATA", help="CSV, Parquet or DuckDB file (file.duckdb#table).")],
    schema: Annotated[Path, typer.Option(help="The schema file: what is public about the table.")],
    epsilon: Annotated[str, typer.Option(help="The privacy budget of this release, for example 0.5.")],
    histogram: Annotated[str | None, typer.Option(metavar="A[,B…]", help="Count the rows of every cell.")] = None,
    count: Annotated[bool, typer.Option("--count", help="Count all rows.")] = False,
    where: Annotated[str | None, typer.Option(metavar="PREDICATE", help='Only these rows: "age >= 65".')] = None,
    ledger: Annotated[Path | None, typer.Option(help="The file that remembers what was spent.")] = None,
    total: Annotated[
        str | None, typer.Option(help="The total budget of a new ledger; as EPSILON if not given.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the release as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress bar and no remarks.")] = False,
) -> None:
    """Release a count or a histogram under differential privacy."""
    if count == (histogram is not None):
        raise BadInput("ask for one thing: --count, or --histogram with the attributes to count by.")
    from adyton.kernel.kernel import Kernel

    kernel = Kernel(data, schema=schema, epsilon=_total(epsilon, total, ledger), ledger=ledger)
    source = kernel.root if where is None else kernel.root.where(where)
    share = positive(epsilon, "epsilon") / source.stability  # what a row gets, so that a person gets epsilon
    with progress("counting", quiet=quiet or as_json):
        if histogram is None:
            axes: dict[str, Any] = {}
            answer = source.count(share)
        else:
            from adyton.queries import Identity

            vector = source.select(*(name.strip() for name in histogram.split(","))).vectorize()
            axes = {name: attribute.labels for name, attribute in vector.schema.attributes.items()}
            answer = vector.measure(Identity(vector.shape), share)
    if as_json:
        print_json(_as_json(kernel, axes, answer, epsilon))
    else:
        _print(axes, answer)
        if not quiet:
            _remark(kernel, answer, ledger)


def _total(epsilon: str, total: str | None, ledger: Path | None) -> Any:
    """What the ledger should hold: what was asked for; else what it holds already; else this release alone."""
    if total is not None:
        return total
    if ledger is not None and ledger.is_file():
        from adyton.kernel.ledger import Ledger

        return Ledger.read(ledger).total
    return positive(epsilon, "epsilon")


def _radius(answer: Measurement) -> int:
    from adyton.noise.probabilities import discrete_laplace_radius

    return discrete_laplace_radius(1 / answer.epsilon, _CONFIDENCE)


def _print(axes: dict[str, Any], answer: Measurement) -> None:
    if not axes:
        out().print(f"{answer.value}")
        return
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in axes:
        table.add_column(printable(name))
    table.add_column("count", justify="right")
    cells = itertools.product(*axes.values())
    for labels, value in itertools.islice(zip(cells, answer.answers.tolist(), strict=True), _ROWS_SHOWN):
        table.add_row(*(printable(str(label)) for label in labels), str(value))
    out().print(table)
    if answer.answers.size > _ROWS_SHOWN:
        out().print(f"… and {answer.answers.size - _ROWS_SHOWN} more cells: --json prints them all.")


def _remark(kernel: Kernel, answer: Measurement, ledger: Path | None) -> None:
    spent = f"Spent ε = {display(kernel.spent)} of {display(kernel.total)}"
    kept = f", recorded in {ledger}." if ledger else ". Nothing remembers it: give --ledger FILE to keep count."
    notes().print(
        f"Each count is the true one plus noise, at most {_radius(answer)} apart in 95 of 100 cases. {spent}{kept}",
        markup=False,
    )


def _as_json(kernel: Kernel, axes: dict[str, Any], answer: Measurement, epsilon: str) -> dict[str, Any]:
    shape = tuple(len(labels) for labels in axes.values())
    return {
        "dataset": kernel.ledger.dataset,
        "axes": {name: list(labels) for name, labels in axes.items()},
        "counts": answer.answers.reshape(shape).tolist() if axes else answer.value,
        "epsilon": str(positive(epsilon, "epsilon")),
        "private": answer.private,
        "variance": float(answer.variances[0]),
        "within": {"confidence": _CONFIDENCE, "radius": _radius(answer)},
        "budget": {"total": str(kernel.total), "spent": str(kernel.spent), "remaining": str(kernel.remaining)},
    }
