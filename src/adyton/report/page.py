"""The report of a result: one HTML file that opens anywhere, without scripts or external files; and the view in a
notebook.

A page has sections made of blocks. :func:`view_of` makes the content of any result's page; a kind of result whose page
says more changes parts of it (see :meth:`adyton.result.result.Result.view`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from adyton import odds
from adyton.exact import display
from adyton.kernel.recorder import CHANGED
from adyton.report.charts import Panel, example, in_common
from adyton.report.pictures import Drawing
from adyton.report.svg import figure, number, people, plain, span
from adyton.result.sheets import Column, Sheet, Sheets
from adyton.schema.files import NO_WORDS
from adyton.tasks.numbers import statistic_in_words

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from adyton.result.result import Result
    from adyton.tasks import Task


WIDE, NARROW = 720.0, 358.0
"""The width of a picture in pixels, on a screen and on a telephone; the page shows the one that fits."""
_PICTURES, _TABLES, _LINES, _OPEN = 24, 24, 2000, 40
"""How many pictures and tables a page has at most, how many lines a table has, and up to how many it is unfolded."""
_FIGURES = 3
"""How many numbers of a single line are shown at the top of a page."""
_PRINTED = 10
_SHORT = 80
_PROMISE = "Every number carries noise, by the rules of differential privacy"
_LARGEST = 600.0
_EXACT = "Of all releases made in this way, {} in 100 have the true number inside its interval."
_GUESSED = "An approximate interval is meant to hold the true number in {} of 100 releases, without a formal guarantee."

Cell: TypeAlias = tuple[str, str]
"""A number as text, and the small text below it, which may be empty."""


# ---- what sections are made of --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Words:
    """A paragraph; *lead* is set in bold before it."""

    block: ClassVar[str] = "words"
    text: str
    lead: str = ""
    quiet: bool = False


@dataclass(frozen=True)
class Picture:
    """A picture with its caption; *narrow*, if given, is shown on small screens."""

    block: ClassVar[str] = "picture"
    wide: Markup
    caption: str = ""
    narrow: Markup | None = None
    title: str = ""

    @classmethod
    def of(cls, drawing: Drawing, widths: Sequence[float] = (WIDE, NARROW)) -> Picture:
        """The picture of a drawing, at one or two widths."""
        from markupsafe import Markup

        wide, *narrow = (Markup(drawing.svg(width)) for width in widths)  # nosec B704 # svg escapes its texts
        return cls(wide, drawing.caption, narrow[0] if narrow else None, drawing.title)


@dataclass(frozen=True)
class Table:
    """Lines of labels and numbers."""

    block: ClassVar[str] = "table"
    names: tuple[str, ...]
    """The headings of the labels."""
    columns: tuple[Cell, ...]
    """The headings of the numbers."""
    lines: Sequence[tuple[tuple[str, ...], tuple[Cell, ...]]]
    caption: str = ""
    fold: str = ""
    """The text on the fold; empty if the table is not folded."""
    open: bool = False
    """Whether it is unfolded at first."""
    chosen: str | None = None
    """The label of a line that is marked."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Labels that link to anchors on the page."""

    @classmethod
    def plain(cls, heads: Sequence[str], rows: Iterable[Sequence[str]], caption: str, **looks: Any) -> Table:
        """A table whose first column holds the labels, without small text."""
        lines = [((label,), tuple((text, "") for text in texts)) for label, *texts in rows]
        return cls(tuple(heads[:1]), tuple((head, "") for head in heads[1:]), lines, caption, **looks)


@dataclass(frozen=True)
class Code:
    """Text that is shown as it is, folded."""

    block: ClassVar[str] = "code"
    fold: str
    text: str


@dataclass(frozen=True)
class Section:
    """A heading with blocks below it."""

    anchor: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Part(Section):
    """A section within another: hidden until somebody follows a link to it, unless it is among the *first*."""

    block: ClassVar[str] = "part"
    first: bool = True
    back: str = ""
    """The anchor to link back to."""


Block: TypeAlias = Words | Picture | Table | Code | Part


class Fact(NamedTuple):
    """One of the few figures at the top of a page, with small lines below it."""

    name: str
    value: str
    small: tuple[str, ...] = ()


View: TypeAlias = dict[str, Any]
"""The content that differs from page to page, by the names that the templates use; see :func:`view_of`."""


# ---- the view of any result -----------------------------------------------------------------------------------------


def view_of(
    result: Result,
    *,
    figures: Sequence[Fact] | None = None,
    cost: Sequence[Fact] | None = None,
    short: tuple[Section, ...] = (),
    title: str = "The numbers",
    also: Sequence[Block] = (),
    drawings: Sequence[Drawing] | None = None,
    sheets: Sheets | None = None,
    how: Iterable[Block] = (),
    facts: Mapping[str, str] | None = None,
    **own: Any,
) -> View:
    """The view of a result: its pictures, its numbers and its words.

    A kind of result can give its own first *figures* and *cost*, blocks to show *also* between pictures and tables or
    *short* sections instead of them, more on *how* it was made, and *facts*. *drawings* and *sheets* are given if they
    are known already. Other *own* parts replace those of the same name.
    """
    drawings = result.drawings(_PICTURES) if drawings is None else drawings
    panels = [drawing.panel for drawing in drawings if drawing.panel is not None]
    if not short:
        sheets = result.sheets() if sheets is None else sheets
        pictures, tables = [Picture.of(drawing) for drawing in drawings], tables_of(sheets)
        blocks: list[Block] = [*pictures, *reading_example(panels), *also, *tables]
        if len(pictures) == len(sheets.sheets) > 1:  # each picture with its table
            pairs = zip(pictures, tables[-len(pictures) :], strict=True)
            blocks = [*chain.from_iterable(pairs), *reading_example(panels), *also, *tables[: -len(pictures)]]
        short = (Section("numbers", title, tuple(blocks)),)
        figures, own = first_figure(sheets) if figures is None else figures, {"meaning": meaning_of(sheets)} | own
    what, dataset = result.task.title, result.receipt.dataset
    known = {
        "Data set": dataset,
        "Rows counted": result.which_rows,
        "Task": f"{result.task}{result.extent}",
        "Protected": f"one {protected(result)}",
        "Algorithm": result.algorithm,
        "Options": ", ".join(f"{name} = {value}" for name, value in result.options.items()) or "none given",
        **(facts or {}),
    }
    words = map(Words, (result.asked_in_words(), *result.own_paragraphs()))
    paid = (spent(result), Fact("Algorithm", result.algorithm)) if cost is None else cost
    return {
        "heading": heading_of(result.task, result.where),
        "kicker": f"{'Differentially private' if result.receipt.private else 'Simulated'} {result.noun} from {dataset}",
        "lead": f"{what}{where(result)}, from {dataset}. {promise(result)}",
        "simulated": f"The noise in this {result.noun} was simulated. It protects nobody: do not publish it.",
        "figures": (*(figures or ()), *paid),
        "short": short,  # what everybody reads
        "long": (Section("how", "How it was made", (*words, *how)),),  # for those who check it
        "facts": {name: said for name, said in known.items() if said},
        "common": in_common(result.schema, panels),  # what can be learnt about people who are not in the data
        "meaning": "",  # what intervals promise
        "confidence": 0.95,
        "why_no_bounds": "",
        "reading": (),  # other advice on reading it
        "protection": (),  # whom it protects, if the usual words do not apply
        "paid": True,  # whether a budget was charged
        **own,
    }


def heading_of(task: Task, where: str | None) -> str:
    """What was asked, with a short filter: the lead has a long one, too."""
    return f"{task.title}{filter_in_short(where)}"


def filter_in_short(where: str | None) -> str:
    """A filter after what it belongs to; nothing if there is none, or if it is long."""
    return f" where {where}" if where and len(where) <= _SHORT else ""


def sentence(words: str) -> str:
    """The words with a capital first letter; ε and the name of a file stay as they are.

    >>> sentence("a total is missing."), sentence("visits.ledger is not there.")
    ('A total is missing.', 'visits.ledger is not there.')
    """
    named = "." in words.partition(" ")[0][:-1]
    return words if named or words.startswith("ε") else words[:1].upper() + words[1:]


def where(result: Result) -> str:
    """Which rows were counted, to follow the task in a sentence."""
    return f"{result.counted.aside}{f', counting only rows where {result.where}' if result.where else ''}"


def promise(result: Result, begin: str = _PROMISE) -> str:
    """A sentence on what the noise hides."""
    if not result.receipt.private:
        return "The noise is simulated, and hides nothing."
    unit, epsilon = result.receipt.unit, amount(result)
    hidden = f"whether any one {unit} is in the data stays hidden, as strongly as {epsilon} says"
    return f"{begin}: {hidden}. {odds.in_words(result.epsilon, unit)}"


def amount(result: Result) -> str:
    """The price, without line breaks."""
    return f"ε\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{display(result.epsilon)}"


def factor(epsilon: Fraction) -> str:
    """How many times as likely an outcome becomes, at most, because one unit is in the data: e^ε.

    >>> factor(Fraction(1, 2)), factor(Fraction(1, 500)), factor(Fraction(8))
    ('1.65', '1.002', '2,981')
    """
    amount = min(float(epsilon), _LARGEST)
    digits = 2 - min(0, math.floor(math.log10(amount)) + 1)  # enough to show the effect of a small ε
    return figure(math.exp(amount)) if amount > 1 else number(math.exp(amount), digits)


def spent(result: Result, before: str = "") -> Fact:
    """The price, and what was left; of a rehearsal, what the request would cost."""
    if not result.receipt.private:
        return Fact("Would cost", amount(result), (before.rstrip("; "),) if before else ())
    left, total = display(result.receipt.remaining), display(result.receipt.total)
    return Fact("Privacy spent", amount(result), (f"{before}{left} of {total} was left",))


def protected(result: Result) -> str:
    """The privacy unit, in words; those for a unit without a name already say how many rows it has."""
    receipt = result.receipt
    rows = rows_of(result)
    if receipt.enforced:
        return f"{receipt.unit} with all of its rows"
    named = receipt.unit != "row" and not receipt.unit.endswith(rows)
    return f"{receipt.unit} (at most {rows})" if named else receipt.unit


def rows_of(result: Result) -> str:
    """How many rows a unit may have, in words."""
    most = result.rows_per_unit
    return f"{most} row{'s' * (most > 1)}"


def first_figure(sheets: Sheets) -> tuple[Fact, ...]:
    """The numbers themselves, if there is only one or a few on a single line."""
    known = [column for column in sheets.sheets[0].columns if column.known][:_FIGURES]
    if sheets.lines != 1 or not known:
        return ()
    ((_, cells),) = lines_of(known, sheets.sheets[0].labels, 1)
    facts = []
    for column, (text, bounds) in zip(known, cells, strict=True):
        name = statistic_in_words(column.name)
        small = bounds + " (approximate)" * (column.kind == "approximate")
        words = sentence(f"{name} quantile" if name.endswith("%") else name)
        facts.append(Fact(words, text, (small,) if small else ()))
    return tuple(facts)


def reading_example(panels: Sequence[Panel]) -> tuple[Words, ...]:
    """How to read the first picture."""
    said = example(panels[0]) if panels else ""
    return (Words(said, "How to read it."),) if said else ()


def meaning_of(sheets: Sheets) -> str:
    """What the bounds of the sheets promise."""
    columns = [column for sheet in sheets.sheets for column in sheet.columns]
    kinds = {column.kind == "approximate" for column in columns if column.known and column.lower is not None}
    return meaning(sheets.confidence or 0.95, exact=False in kinds, guessed=True in kinds)


def meaning(confidence: float, *, exact: bool, guessed: bool) -> str:
    """What bounds promise, if some are *exact*, some *guessed*."""
    rate = f"{100 * confidence:g}"
    return " ".join([_EXACT.format(rate)] * exact + [_GUESSED.format(rate)] * guessed)


# ---- numbers in words -----------------------------------------------------------------------------------------------


def tables_of(sheets: Sheets) -> list[Block]:
    """The first lines of the first sheets, with notes."""
    shown, several = sheets.sheets[:_TABLES], len(sheets.sheets) > 1
    blocks: list[Block] = [Words(sheets.note, quiet=True)] if sheets.note else []
    for sheet in shown:
        fold = f"{sheet.title}{sheet.among}, as a table" if several else "The numbers as a table"
        blocks.append(table_of(sheet, rate_of(sheets), fold=fold, open=not several and sheet.lines <= _OPEN))
    if left := len(sheets.sheets) - len(shown):
        blocks.append(Words(f"{left:,} more tables are in {sheets.file} beside this page.", quiet=True))
    return blocks


def rate_of(sheets: Sheets) -> str:
    """The name of the bounds of the sheets; empty if there are none."""
    return "" if sheets.confidence is None else f"{100 * sheets.confidence:g}% interval"


def table_of(sheet: Sheet, rate: str, *, most: int = _LINES, caption: str = "", **looks: Any) -> Table:
    """The first lines of a sheet: bounds are next to the number if there is one column, below each number if there are
    several; a single line of several numbers is shown from top to bottom."""
    columns, names = [column for column in sheet.columns if column.known], tuple(sheet.labels)
    total, shown = sheet.of or sheet.lines, min(most, sheet.lines)
    if not rate or all(column.lower is None for column in columns):
        rate, columns = "", [replace(column, lower=None, upper=None) for column in columns]
    caption += f" {shown:,} of {total:,} lines. The files beside this page hold all of them." if total > shown else ""
    single = len(columns) == 1
    lines = lines_of(columns, sheet.labels, shown, beside=single)
    guessed = ["approximate" * (column.kind == "approximate") for column in columns]
    if sheet.lines == 1 and len(columns) > 1:
        cells = zip(columns, lines[0][1], guessed, strict=True)
        turned = [
            ((statistic_in_words(head.name),), ((text, ""), *([(low, small)] if rate else [])))
            for head, (text, low), small in cells
        ]
        return Table(("statistic",), (("value", ""), *([(rate, "")] if rate else [])), turned, **looks)
    heads = [statistic_in_words(column.words if single and column.words else column.name) for column in columns]
    ends = f"From and to (lower and upper in the files): the {rate}." if single else f"Below each number its {rate}."
    said = ends if rate else ""
    beside = (("from", ""), ("to", "")) if single and rate else ()
    return Table(names, (*zip(heads, guessed, strict=True), *beside), lines, f"{caption} {said}".strip(), **looks)


def lines_of(
    columns: Sequence[Column], labels: Mapping[str, Sequence[Any]], most: int, *, beside: bool = False
) -> list[tuple[tuple[str, ...], tuple[Cell, ...]]]:
    """The first lines as text; bounds below each number, or *beside* it."""
    cells: list[list[Cell]] = []
    for column in columns:
        write = people if column.whole else _all_digits if column.lower is None else plain if column.years else figure
        three = (column.values, column.lower, column.upper)
        lists = [[] if part is None else np.asarray(part)[:most].tolist() for part in three]
        values = [_written(value, write) for value in lists[0]]
        ends = [
            (_written(low, write), _written(high, write)) if None in (low, high) else span(low, high, write)
            for low, high in zip(*lists[1:], strict=True)
        ]
        for line in () if column.held is None else np.flatnonzero(column.held[:most]).tolist():
            values[line] = "held back"
            ends[line : line + 1] = [("", "")] * bool(ends)
        if beside:
            cells += [[(text, "") for text in some] for some in (values, *zip(*ends, strict=True))]
        else:
            bounds = [" to ".join(filter(None, pair)) for pair in ends] or [""] * len(values)
            cells.append(list(zip(values, bounds, strict=True)))
    names = [[str(label) for label in list(some[:most])] for some in labels.values()]
    count = len(cells[0]) if cells else 0
    return [(tuple(name[line] for name in names), tuple(cell[line] for cell in cells)) for line in range(count)]


def _all_digits(value: float) -> str:
    """A number whose error is unknown, with all digits: which of them are meaningful is unknown, too."""
    return f"{value:,.8g}".replace("-", "−", 1)


def _written(value: float | None, write: Any) -> str:
    return "–" if value is None or math.isnan(value) else str(write(float(value)))


def printed(result: Result) -> str:
    """A result as text: what everybody has to know first, the first lines, then a description and the price."""
    sheets = result.glance()
    sheet = sheets.sheets[0]
    table = table_of(sheet, rate_of(sheets), most=_PRINTED)
    rows = [
        [*labels, *(f"{text} ({small})" if small else text for text, small in cells)]
        for labels, cells in [(table.names, table.columns), *table.lines]
    ]
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    labelled = len(table.names)
    lines = [
        "  ".join(text.ljust(width) if place < labelled else text.rjust(width) for place, (text, width) in texts)
        for texts in (enumerate(zip(row, widths, strict=True)) for row in rows)
    ]
    shown = min(sheet.lines, _PRINTED)
    more = [f"{shown} of {sheets.lines:,} lines: save() writes all of them."] if sheets.lines > shown else []
    mark = "" if result.receipt.private else " The noise is simulated: it protects nobody."
    only = f" where {result.where}" if result.where else ""
    left, total = display(result.receipt.remaining), display(result.receipt.total)
    asked = f"{sentence(str(result.task))}{only}{result.extent}, by {result.algorithm}"
    about = f"{asked}. ε = {display(result.epsilon)}; {left} of {total} is left.{mark}"
    return "\n".join([*result.head, *(line.rstrip() for line in lines), *more, about])


_NOTEBOOK_LINES, _NOTEBOOK_WIDTH = 10, 640.0
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(\.[\w-]+)+", re.ASCII)
_PAGE = re.compile(r"https?://[\w.-]+(:\d+)?(/[\w./%~+#?=&;,-]*)?", re.ASCII)


def render(result: Result, view: View | None = None) -> str:
    """The whole page; *view* is given if its content is known already."""
    schema = result.schema
    view = result.view() if view is None else view
    words = NO_WORDS if schema is None else schema.report
    page = templates().get_template("page.html.j2")
    return page.render(
        **facts_of(result),
        view=view,
        words=words,
        contact_link=link_to(words.contact),
        enforced=schema is not None and schema.unit is not None,
        schema=None if schema is None else schema.to_toml().strip(),
        factor=factor(result.epsilon),
        sure=odds.chance(result.epsilon),
        rows=rows_of(result),
        protected=protected(result),
        misses=f"{100 - 100 * view['confidence']:.0f}",
        misfits=result.misfit_paragraphs()[1],
        number=number,
        display=display,
    )


def to_html(result: Result) -> str:
    """A piece of HTML with the colours of the notebook around it: first lines, one picture, the price."""
    from markupsafe import Markup

    sheets = result.glance(bounds=True)
    drawn = result.drawings(1)[:1]
    piece = templates().get_template("notebook.html.j2")
    return piece.render(
        **facts_of(result),
        heading=heading_of(result.task, result.where),
        table=table_of(sheets.sheets[0], rate_of(sheets), most=_NOTEBOOK_LINES),
        note=sheets.note,
        more=sheets.lines > min(sheets.sheets[0].lines, _NOTEBOOK_LINES),
        lines=sheets.lines,
        pictures=[
            (Markup(drawing.svg(_NOTEBOOK_WIDTH)), f"{drawing.title}. {drawing.caption}")  # nosec B704 # svg escapes its texts
            for drawing in drawn
        ],
        remarks=result.remarks(),
        width=f"{_NOTEBOOK_WIDTH:g}",
    )


def facts_of(result: Result) -> dict[str, Any]:
    """What pages and notebooks have in common; amounts of the budget as exact decimals and as parts of the total."""
    receipt = result.receipt
    warnings = list(result.warnings())
    if result.unfinished is not None:
        warnings.append(f"{result.unfinished} What was measured until then is here.")
    if receipt.changed:
        warnings.append(f"{sentence(CHANGED)}.")
    this = min(result.epsilon, receipt.total)
    before = max(Fraction(0), receipt.total - receipt.remaining - this)
    amounts = {"this": result.epsilon, "before": before, "remaining": receipt.remaining, "total": receipt.total}
    shares = {"this_share": float(this / receipt.total), "before_share": float(before / receipt.total)}
    return {
        "result": result,
        "what": result.noun,
        "receipt": receipt,
        "counted": result.counted,
        "unmeasured": result.unmeasured(),
        "which_rows": result.which_rows,
        "warnings": [text for text in warnings if text],
        "budget": {name: display(value) for name, value in amounts.items()} | shares,
        "made": receipt.created,
    }


def link_to(contact: str) -> str | None:
    """The link of a contact, if it is an e-mail address or the address of a web page.

    >>> link_to("help@office.example"), link_to("https://office.example/data"), link_to("room 12, javascript:alert(1)")
    ('mailto:help@office.example', 'https://office.example/data', None)
    """
    text = contact.strip()
    if _MAIL.fullmatch(text):
        return f"mailto:{text}"
    return text if _PAGE.fullmatch(text) else None


# ---- templates -------------------------------------------------------------------------------------------------------


@cache
def templates() -> Environment:
    """The templates; inserted text is escaped, except for drawings, which escape their own."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("adyton.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
