"""``adyton bench``: speed and error against peers, measured side by side in one run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Annotated, Any, TypeAlias

import typer

from adyton.cli.console import out, plain_table, print_json, progress
from adyton.errors import BadInput
from adyton.messages import no_such

_Records: TypeAlias = list[dict[str, Any]]
_HELP = (
    "noise (against OpenDP), vectorize (against plain DuckDB SQL), plans (time and error beside published figures), "
    "inference (against LSMR and L-BFGS-B on sparse matrices), scarce (few rows, against the published DAWA, which is "
    "not private), variants (of MWEM, against MWEM), selections (partitions of a million cells), choosing (how long "
    "it takes to choose an algorithm), clipped (what is chosen, against noise cut off at zero), judged (the selectors "
    "of the package on the inputs of the Pythia paper) or intervals (how often they hold the true count)."
)


def command(
    subject: Annotated[str, typer.Argument(help=_HELP)],
    data: Annotated[
        str | None,
        typer.Option("--data", help="A folder with the DPBench histograms (clipped: any corpus); else made-up."),
    ] = None,
    public: Annotated[
        bool, typer.Option("--public", help="Say that --data are public: nothing done with them is protected.")
    ] = False,
    plan: Annotated[
        list[str] | None, typer.Option("--plan", help="plans, scarce: only this one; can be repeated.")
    ] = None,
    trials: Annotated[int, typer.Option("--trials", min=1, help="How many runs each error is averaged over.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress bar.")] = False,
) -> None:
    """Measure the product and its peers in the same run, and print the ratios."""
    from adyton.lab.corpus import confirm_public
    from adyton.plans import plan_named

    if subject not in _BENCHMARKS:
        raise BadInput(no_such("benchmark", subject, _BENCHMARKS))
    if data is not None:
        confirm_public(public, "a benchmark", "Leave --data out to measure on made-up data.")
    for name in plan or ():
        plan_named(name)
    asked = _Asked(data, plan, trials, quiet or as_json)
    records = _BENCHMARKS[subject](asked)
    if as_json:
        print_json(records)
        return
    table = plain_table()
    for name in records[0]:
        table.add_column(name.replace("_", " "), justify="right")
    for record in records:
        table.add_row(*(_show(value) for value in record.values()))
    out().print(table)


def _show(value: Any) -> str:
    match value:
        case None:
            return "–"
        case float():
            return f"{value:.4g}"
        case tuple():
            return " ".join(_show(one) for one in value)
        case _:
            return str(value)


@dataclass(frozen=True)
class _Asked:
    """What to measure on, and how."""

    data: str | None
    plans: list[str] | None
    trials: int
    quiet: bool

    def gather(self, subject: str, steps: int, compare: Callable[..., Iterable[Any]], **options: Any) -> _Records:
        """Run a benchmark that tells of its steps."""
        with progress(f"bench {subject}", steps, quiet=self.quiet) as advance:
            return [asdict(record) for record in compare(**options, advance=lambda: advance(1))]

    @property
    def on(self) -> dict[str, Any]:
        """The data, which were said to be public, and the number of runs."""
        return {"data": self.data, "public": True, "trials": self.trials}


def _plans(asked: _Asked) -> _Records:
    from adyton.lab.bench.plans import compare, steps

    return asked.gather("plans", steps(plans=asked.plans), compare, plans=asked.plans, **asked.on)


def _scarce(asked: _Asked) -> _Records:
    from adyton.lab.bench.scarce import compare, steps

    return asked.gather("scarce", steps(asked.plans), compare, plans=asked.plans, **asked.on)


def _variants(asked: _Asked) -> _Records:
    from adyton.lab.bench.variants import compare, steps

    return asked.gather("variants", steps(), compare, **asked.on)


def _selections(asked: _Asked) -> _Records:
    from adyton.lab.bench.selections import compare, steps

    return asked.gather("selections", steps(), compare)


def _choosing(asked: _Asked) -> _Records:
    from adyton.lab.bench.choosing import compare, steps

    return asked.gather("choosing", steps(), compare)


def _intervals(asked: _Asked) -> _Records:
    from adyton.lab.bench.intervals import compare, steps

    return asked.gather("intervals", steps(), compare, **asked.on)


def _clipped(asked: _Asked) -> _Records:
    from adyton.lab.bench.clipped import compare, detailed_corpus, held_out_tables

    shapes = detailed_corpus() if asked.data is None else held_out_tables(asked.data)
    return asked.gather("clipped", len(shapes), compare, shapes=shapes, trials=asked.trials)


def _judged(asked: _Asked) -> _Records:
    from adyton.lab.bench.judged import compare, steps

    return asked.gather("judged", steps(), compare, **asked.on)


def _noise(asked: _Asked) -> _Records:
    from adyton.lab.bench.noise import compare

    with progress("bench noise", quiet=asked.quiet):
        return [
            {
                "scale": str(record.scale),
                "draws": record.draws,
                "seconds": record.seconds,
                "opendp_seconds": record.opendp_seconds,
                "times_faster": record.ratio,
                "fit_p": record.fit,
                "opendp_fit_p": record.opendp_fit,
                "same_law_p": record.same_law,
            }
            for record in compare()
        ]


def _vectorize(asked: _Asked) -> _Records:
    from adyton.lab.bench.vectorize import compare

    with progress("bench vectorize", quiet=asked.quiet):
        record = compare()
    return [{**asdict(record), "times_the_sql": record.ratio}]


def _inference(asked: _Asked) -> _Records:
    from adyton.lab.bench.inference import compare

    with progress("bench inference", quiet=asked.quiet):
        return [{**asdict(record), "times_faster": record.ratio} for record in compare()]


_BENCHMARKS: dict[str, Callable[[_Asked], _Records]] = {
    "noise": _noise,
    "vectorize": _vectorize,
    "plans": _plans,
    "inference": _inference,
    "scarce": _scarce,
    "variants": _variants,
    "selections": _selections,
    "choosing": _choosing,
    "clipped": _clipped,
    "judged": _judged,
    "intervals": _intervals,
}
