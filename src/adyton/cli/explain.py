"""``adyton explain``: why a release used its algorithm, how its numbers compare with each other or with an earlier
release, or what a selector has learnt; ``adyton combine``: one release out of several of the same attributes."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from adyton.choice.checked_file import named_format
from adyton.choice.decision import Choice
from adyton.choice.pythia import shipped_selector
from adyton.choice.selector import Selector, workload_named
from adyton.cli.console import out, plain_table, print_json, printable, progress, remark, say
from adyton.cli.delivery import print_sheets
from adyton.cli.options import Quiet
from adyton.cli.request import check_folder
from adyton.errors import BadInput
from adyton.exact import as_number, display, positive
from adyton.kernel.kernel import Kernel
from adyton.programs import load
from adyton.report.plot import check_ending, draw
from adyton.result.combining import combine as combined_release
from adyton.result.comparing import Changing, Comparable, Comparison, change
from adyton.result.folder import file_in, says_so
from adyton.schema import Schema

_FILE = (
    "A selector that `adyton train` wrote, or the folder or JSON file of any result. Without it, the selector that "
    "comes with Adyton."
)
_OPENS = (
    "Give a folder that `adyton release --out` or `adyton fit --out` wrote, the JSON file in one, or the file of a "
    "selector that `adyton train` wrote."
)


_Releases = Annotated[
    list[Path], typer.Argument(metavar="FOLDER…", help="Folders that `adyton release --out` wrote, two or more.")
]
_Folder = Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Write the combined release here.")]
_Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace a release in FOLDER.")]


def combine(releases: _Releases, out_folder: _Folder, overwrite: _Overwrite = False, quiet: Quiet = False) -> None:
    """Combine releases of the same attributes of the same rows into one that has less noise than each of them.

    Releases with less noise get more weight. Combining spends nothing, and needs no data.
    """
    check_folder(out_folder, [folder / "release.json" for folder in releases], overwrite=overwrite)
    parts: list[Any] = [load(folder) for folder in releases]
    release = combined_release(parts)
    release.save(out_folder, overwrite=overwrite)
    for paragraph in release.explain().paragraphs:
        say(paragraph)
    if not quiet:
        remark(f"Everything is in {out_folder}; begin with report.html.")


def command(
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help=_FILE)] = None,
    dimensions: Annotated[
        int | None, typer.Option(min=1, max=2, help="Without a file: the selector for this many attributes.")
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="Draw the selector: FILE.svg, FILE.png or FILE.pdf.")] = None,
    workload: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Show the choice for this workload: identity, prefix, short, …, mixed."),
    ] = None,
    cells: Annotated[int | None, typer.Option(min=1, help="With --workload: how many cells the domain has.")] = None,
    rows: Annotated[
        int | None, typer.Option(min=0, max=2**62, help="With --workload: how many rows, if public.")
    ] = None,
    epsilon: Annotated[str, typer.Option(help="With --workload: the budget.")] = "1",
    share: Annotated[
        str | None,
        typer.Option(metavar="QUERY", help="Compare: which part of all rows this is; of other rows, with --of."),
    ] = None,
    ratio: Annotated[
        str | None, typer.Option(metavar="QUERY", help="Compare: how many times as many rows this has as --of.")
    ] = None,
    difference: Annotated[
        str | None, typer.Option(metavar="QUERY", help="Compare: how many rows more this has than --of.")
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(
            metavar="QUERY",
            help="Compare: how many rows this has per 1,000 (--per) of --of, a query or a public number.",
        ),
    ] = None,
    of: Annotated[str | None, typer.Option(metavar="QUERY", help="With these four: what to compare with.")] = None,
    per: Annotated[str, typer.Option(metavar="N", help="With --rate: per how many.")] = "1000",
    earlier: Annotated[
        Path | None,
        typer.Option("--change", metavar="FOLDER", help="Compare: what changed since the earlier release in FOLDER."),
    ] = None,
    query: Annotated[
        list[str] | None,
        typer.Option(metavar="QUERY", help="With --change: only this; as often as you like."),
    ] = None,
    confidence: Annotated[float, typer.Option(help="The confidence of comparisons.")] = 0.95,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Explain why a release used its algorithm, compare its numbers, or explain how a selector chooses.

    Only public information is read: selectors are learnt from public data, and a release is public. Comparisons cost
    no privacy. A QUERY is written ward=cardiology, or age=20..29 and sex=F,M, or in JSON.
    """
    asked = {"share": share, "ratio": ratio, "difference": difference, "rate": rate}
    given = {name: text for name, text in asked.items() if text is not None}
    if given or earlier is not None or of is not None or query:
        _compare(file, given, of, per, (earlier, query), confidence, as_json=as_json)
        return
    if picture is not None:
        check_ending(picture)
    if file is not None and not file.exists():
        raise BadInput(f"there is no file or folder {file}. {_OPENS}")
    if file is not None and _holds_result(file):
        _show_result(
            file, as_json=as_json, others=picture is not None or workload is not None or dimensions is not None
        )
        return
    selector = _selector(file, dimensions)
    if workload is not None or cells is not None or rows is not None:
        if workload is None or cells is None or rows is None:
            raise BadInput("to ask what would be chosen, give all of --workload, --cells and --rows.")
        _show_choice(_would_choose(selector, workload, cells, rows, epsilon), as_json=as_json, left="is left")
    elif as_json:
        about = {"kind": selector.kind, "share": as_number(selector.share), "training": asdict(selector.training)}
        print_json({**about, "in_words": selector.in_words(), "picture": None if picture is None else str(picture)})
    else:
        _show_selector(selector)
    if picture is not None:
        draw(selector, picture)


# ---- comparisons -----------------------------------------------------------------------------------------------------


def _compare(
    file: Path | None,
    asked: dict[str, str],
    of: str | None,
    per: str,
    since: tuple[Path | None, list[str] | None],
    confidence: float,
    *,
    as_json: bool,
) -> None:
    """Compare numbers of the release in *file*, with each other or with those of an earlier one."""
    if file is None:
        raise BadInput("name the folder of a release whose numbers are compared.")
    earlier, queries = since
    if earlier is not None and (asked or of is not None):
        raise BadInput("--change compares two releases. Leave out --of and other comparisons.")
    if earlier is None and (queries or not asked):
        raise BadInput("--of goes with --share, --ratio, --difference or --rate, and --query with --change.")
    result = load(file)
    if earlier is not None:
        _show_change(load(earlier), result, queries, confidence, as_json=as_json)
    else:
        _show_comparisons(result, asked, of, per, confidence, as_json=as_json)


def _show_comparisons(
    result: Any, asked: dict[str, str], of: str | None, per: str, confidence: float, *, as_json: bool
) -> None:
    """Print shares, ratios, differences and rates in words."""
    if not isinstance(result, Comparable):
        raise BadInput(f"this is {result.holds}, which has no numbers to compare. Give a release of counts or numbers.")
    needed = [name for name in asked if name != "share"]
    if needed and of is None:
        raise BadInput(f"--{needed[0]} compares with something: name it with --of.")
    found = [_compared(result, name, _question(result, text), of, per, confidence) for name, text in asked.items()]
    if as_json:
        print_json({"comparisons": [comparison.to_plain() for comparison in found]})
        return
    for comparison in found:
        said = comparison.meaning if comparison.bounded or not comparison.note else f"{comparison!r}. {comparison.note}"
        say(f"{comparison.counted and comparison.counted + ': '}{said[:1].upper()}{said[1:]}")


def _compared(result: Any, name: str, asked: Any, of: str | None, per: str, confidence: float) -> Comparison:
    if name == "rate":
        number = _number(of or "")
        whole = _question(result, of or "") if isinstance(number, str) else number
        return cast("Comparison", result.rate(asked, of=whole, per=per, confidence=confidence))
    whole = None if of is None else _question(result, of)
    return cast("Comparison", getattr(result, name)(asked, whole, confidence=confidence))


def _show_change(before: Any, after: Any, texts: Sequence[str] | None, confidence: float, *, as_json: bool) -> None:
    """Print what changed, a line for each number."""
    for result in (before, after):
        if not isinstance(result, Changing):
            raise BadInput(f"{result.holds} has no numbers whose change can be found. Give two releases of counts.")
    found = change(before, after, [_question(after, text) for text in texts] if texts else None, confidence=confidence)
    if as_json:
        lines = [dict(zip(found.columns, line, strict=True)) for line in found]
        finite = [{name: _finite(value) for name, value in line.items()} for line in lines]
        about = {"confidence": found.confidence, "kind": found.kind, "meaning": found.meaning}
        print_json({"change": finite, **about, "counted": found.counted})
        return
    if found.counted:
        say(f"Counted: {found.counted}.")
    for line in found:
        named = dict(zip(found.columns, line, strict=True))
        say(f"{named['query']}: {named['before']:,.6g} → {named['after']:,.6g}, {named['in_words']}")
    remark(found.meaning)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _question(result: Any, text: str) -> Any:
    """A query in JSON, or in words: ``ward=cardiology,surgery and age=20..29``; a bare value, where there is one
    attribute. For a release of numbers, a group, or ``["mean", "F"]``."""
    if text[:1] in "{[":
        try:
            plain = json.loads(text)
        except ValueError:
            raise BadInput(f"this is not JSON: {text!r}. Write a query like ward=cardiology.") from None
        return tuple(plain) if isinstance(plain, list) and result.kind == "numbers" else plain
    if result.kind == "numbers":
        group = text.split(",")
        return tuple(group) if len(group) > 1 else text
    schema: Schema = result.schema
    found = {}
    for part in text.split(" and "):
        name, equals, values = (word.strip() for word in part.partition("="))
        if not equals and len(schema.names) == 1:
            name, values = schema.names[0], name
        (name,) = schema.check_names(name)
        found[name] = _values(schema.attributes[name].labels, values)
    return found


def _values(labels: Sequence[Any], text: str) -> Any:
    """A value, several with commas between them, or the ends of a range with two dots between them."""
    known = {str(label): label for label in labels}
    if text in known:
        return known[text]
    low, dots, high = text.partition("..")
    if dots:
        return tuple(None if not end.strip() else known.get(end.strip(), _number(end.strip())) for end in (low, high))
    several = [known.get(value.strip(), _number(value.strip())) for value in text.split(",")]
    return several if len(several) > 1 else several[0]


def _number(text: str) -> int | float | str:
    """A number, if it is one."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


# ---- selectors -------------------------------------------------------------------------------------------------------


def _selector(file: Path | None, dimensions: int | None) -> Selector:
    """The selector in the file, or the one that is part of the package."""
    if file is not None:
        selector = Selector.load(file)
        if dimensions not in (None, selector.training.dimensions):
            raise BadInput(f"{file} is for {selector.training.dimensions} dimensions, given --dimensions {dimensions}.")
        return selector
    number = dimensions or 1
    try:
        return shipped_selector(number)
    except (BadInput, OSError):
        raise BadInput(
            f"the selector for {number} dimensions that comes with Adyton cannot be read. Install Adyton again, or "
            f"train one of your own: `adyton train --dimensions {number} --out selector.json`."
        ) from None


def _show_selector(selector: Selector) -> None:
    out().print(printable(str(selector)))
    table = plain_table()
    table.show_header = False
    table.add_column()
    table.add_column(overflow="fold")
    for name, value in asdict(selector.training).items():
        words = ", ".join(value) if isinstance(value, tuple) else str(value)
        table.add_row(name, printable(words))
    out().print(table)
    for line in selector.in_words().splitlines():
        say(line)


def _would_choose(selector: Selector, workload: str, cells: int, rows: int, epsilon: str) -> Choice:
    """The choice, if public information decides it; refused if the selector would measure the data."""
    import numpy as np

    amount, ndim = positive(epsilon, "--epsilon"), selector.training.dimensions
    if cells > 2**24:
        raise BadInput(f"--cells is at most {2**24:,}, given {cells:,}.")
    side = math.isqrt(cells) if ndim == 2 else cells
    if side**ndim != cells:
        raise BadInput(f"--cells of two attributes is a square number, such as 4096 for 64 × 64, given {cells}.")
    if workload == "prefix" and ndim == 2:
        raise BadInput(
            "there is no prefix workload for two attributes. Ask about identity, short, medium, long or mixed."
        )
    domain = (side,) * ndim
    queries = workload_named(workload, domain)
    nobody = Kernel.simulated(np.zeros(domain, dtype=np.int64), epsilon=amount, seed=np.random.SeedSequence(0)).root
    choice = selector.choose(nobody, queries, amount, rows)
    if choice.bought:
        names = " and ".join(feature.name for feature in choice.bought)
        raise BadInput(f"that depends on the data: this selector would buy {names}. Read its trees instead.")
    return choice


def _holds_result(file: Path) -> bool:
    """Whether a folder or a file holds a result, and not a selector."""
    if says_so(file) or (file.is_dir() and file_in(file).exists()):
        return True
    if file.is_dir() or (file.suffix != ".json" and named_format(file) is None):
        raise BadInput(f"{file} holds nothing that can be explained. {_OPENS}")
    return False


def _show_result(file: Path, *, as_json: bool, others: bool) -> None:
    """Print why the result is as it is, which features decided the choice, and how far off it is."""
    result = load(file)
    if others:
        raise BadInput(f"{file} is {result.holds}: --picture, --workload and --dimensions are for selectors.")
    with progress("estimating the error", quiet=as_json):
        paragraphs, sheets = result.paragraphs(), result.explained()
    if as_json:
        plain = {name: part for name, part in result.to_dict().items() if name not in result.bulky}
        shown = {"tables": [table for group in sheets for table in group.to_plain()["tables"]]}
        print_json({"explanation": list(paragraphs), **plain, **(shown if sheets else {})})
        return
    for line in "\n".join(paragraphs).splitlines():
        say(line)
    choice = getattr(result, "choice", None)
    if choice is not None:
        _show_choice(choice, as_json=False, rows_per_unit=result.rows_per_unit)
    for group in sheets:
        print_sheets(group, "--json has them all")


def _show_choice(choice: Choice, *, as_json: bool, left: str = "was left", rows_per_unit: int = 1) -> None:
    if as_json:
        print_json(choice.to_plain())
        return
    name, bought = printable(choice.algorithm), choice.bought
    said = f"after measuring {len(bought)} noisy feature{'s' * (len(bought) > 1)} of the data" if bought else ""
    out().print(f"Chosen: {name}, {said or 'from public information, at no cost in privacy'}.")
    if bought:
        table = plain_table()
        for title in ("feature", "noisy value", "deviation", "price ε"):
            table.add_column(title, justify="left" if title == "feature" else "right")
        for feature in bought:
            price = display(feature.spent * rows_per_unit)
            table.add_row(printable(feature.words), f"{feature.value:,.4g}", f"± {feature.deviation:,.3g}", price)
        out().print(table)
    table = plain_table()
    for title in ("algorithm", "expected error, relative to the best", ""):
        table.add_column(title, justify="right" if title.startswith("expected") else "left")
    for candidate, regret in choice.ranked():
        table.add_row(printable(candidate), regret, "chosen" if candidate == choice.algorithm else "")
    out().print(table)
    out().print(f"ε = {display(choice.left * rows_per_unit)} {left} for {name}.")
    for note in choice.notes:
        out().print(printable(f"Note: {note}"))
