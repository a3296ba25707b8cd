"""What a page shows of a result: the pictures, numbers and words of its report, as much as fits on a page, and files.

It is made once for a result, beside the calls that ask for it: the intervals of a large result take minutes, and its
page is there at once. Whatever fails, what was paid for can be had: then the page says so, and offers the JSON.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import pyarrow as pa
from markupsafe import Markup
from pyarrow import csv, parquet

from adyton.errors import AdytonError, BadInput
from adyton.report.page import Block, Fact, Part, Picture, Table, facts_of, heading_of, render, spent
from adyton.report.page import Section as ReportSection
from adyton.result.combining import COMBINED
from adyton.result.folder import JSON, REPORT, for_spreadsheets
from adyton.result.release import QUICK, Release
from adyton.result.released import Released
from adyton.result.result import Result
from adyton.result.rows import MOST_ROWS, sampled_table
from adyton.result.sheets import AS_IT_IS, CONFIDENCE, Sheets
from adyton.service.pages.results.outcomes import PATIENCE, Job, Saved
from adyton.service.pages.visits import NoSuchPage, Page, document, download, templates

_ROOM = 150_000
"""For how many characters of pictures and tables there is room on a page; the report has all of them."""
_MOST_PREVIEWED = 2
_LARGEST = 190 * 2**20
"""The most bytes of a file that a page can pass on: they grow by a third on their way."""
MOST_VALUES = 2_000_000
"""The most values of synthetic rows that are made for a download."""
RECEIPT = "receipt.txt"
_REPORT_LINK = "report-of-this-result"


class File(NamedTuple):
    """A file to save."""

    name: str
    """As a saved folder has it."""
    what: str
    saved_as: str
    """The name under which a browser saves it."""


@dataclass(frozen=True)
class Section:
    """A heading with what is below it."""

    anchor: str
    title: str
    html: Markup


@dataclass(frozen=True)
class Content:
    """What a page shows of a result."""

    heading: str
    lead: str
    figures: tuple[Fact, ...]
    sections: tuple[Section, ...]
    meaning: str
    files: tuple[File, ...]
    warnings: tuple[str, ...]
    left_out: bool = False
    """Whether the report shows more than there is room for."""
    advice: tuple[str, ...] = ()
    """What whoever asked can do where something looks wrong; readers of the report are not told."""
    unmeasured: str = ""
    """What the result cannot say because it was not measured."""
    missing_in_rows: str = ""
    """The same of synthetic rows."""
    problem: str = ""
    """Why there are no numbers and pictures, if there are none."""


class Rendering(NamedTuple):
    """What was computed from a result: what its page shows, and its report."""

    content: Content
    report: str


def rendering_of(saved: Saved) -> Job:
    """The rendering of a result; for a large one it takes minutes to compute the intervals."""
    return saved.job("page", lambda: _rendered(saved.result))


def preview_of(saved: Saved) -> Job:
    """What can be shown of a result while its intervals are being computed."""
    return saved.job("preview", lambda: preview(saved.result, pictures=True))


def preview(result: Result, *, pictures: bool = False) -> Content:
    """What can be shown of a result at once; with *pictures*, also those of many counts, without intervals."""
    cost = (spent(result), Fact("Algorithm", result.algorithm))
    lead = result.asked_in_words()
    sections: tuple[Section, ...] = ()
    if pictures and isinstance(result, Release) and result.estimate.size > QUICK:
        drawn = [Picture.of(drawing) for drawing in result.drawings(_MOST_PREVIEWED)]
        sections, _ = _fitted([ReportSection("numbers", "The estimate, still without intervals", tuple(drawn))])
    files = (file_to_save(result, JSON),)
    missing = result.unmeasured(complete=False)
    return Content(heading_of(result.task, result.where), lead, cost, sections, "", files, (), unmeasured=missing)


def _rendered(result: Result) -> Rendering:
    try:
        view = result.view()
        sections, left_out = _fitted(view["short"])
        content = Content(
            heading=view["heading"],
            lead=view["lead"],
            figures=view["figures"],
            sections=sections,
            meaning=view["meaning"] or (view["why_no_bounds"] and f"There are no intervals: {view['why_no_bounds']}"),
            files=tuple(_files(result)),
            warnings=tuple(facts_of(result)["warnings"]),
            left_out=left_out,
            advice=result.advice(),
            unmeasured=result.unmeasured(),
            missing_in_rows=result.missing_in_rows() if isinstance(result, Released) else "",
        )
        return Rendering(content, render(result, view))
    except Exception as error:  # it was paid for: its page says what it is, and has its JSON
        why = str(error) if isinstance(error, AdytonError) else type(error).__name__
        problem = f"The numbers and pictures of this result cannot be shown ({why.rstrip('.')})."
        return Rendering(replace(preview(result), problem=problem), "")


def _fitted(sections: Sequence[ReportSection]) -> tuple[tuple[Section, ...], bool]:
    """As much of some sections as there is room for, and whether something is left out."""
    room, every, left_out = _ROOM, [], False
    for section in sections:
        pieces: list[str] = []
        for block in _with_links(section.blocks):
            piece = _html(block) if room > 0 else ""
            if piece and (len(piece) <= room or not pieces):
                pieces.append(piece)
                room -= len(piece)
            elif isinstance(block, Picture) and block.narrow is not None and len(piece) <= 2 * room:
                pieces.append(_html(replace(block, narrow=None)))  # it is as wide as the screen, in any case
                room -= len(pieces[-1])
            else:
                left_out = True
        every.append(Section(section.anchor, section.title, Markup("").join(map(Markup, pieces))))
    return tuple(every), left_out or any(isinstance(block, Part) for part in sections for block in part.blocks)


def _with_links(blocks: Sequence[Block]) -> Iterator[Block]:
    """The blocks of a page that leaves single tables of many to the report: links to them lead there."""
    gone = {block.anchor for block in blocks if isinstance(block, Part) and not block.first}
    for block in blocks:
        if isinstance(block, Part) and not block.first:
            continue
        if isinstance(block, Table) and gone & set(block.links.values()):
            yield replace(block, links={name: at for name, at in block.links.items() if at not in gone})
        elif isinstance(block, Picture) and gone:
            yield replace(block, wide=_redirected(block.wide, gone))
        else:
            yield block


def _redirected(drawing: Markup, gone: set[str]) -> Markup:
    def there(match: re.Match[str]) -> str:
        return f'href="{_REPORT_LINK}#{match[1]}"' if match[1] in gone else match[0]

    return Markup(re.sub(r'href="#([\w-]+)"', there, str(drawing)))  # nosec B704 # our own drawing


def linked(html: Markup, report: str) -> Markup:
    """The same with links to the report of a result."""
    to = f'"{Markup.escape(report)}#'
    return Markup(str(html).replace(f'"{_REPORT_LINK}#', to))  # nosec B704 # our own page, and an escaped link


def _html(block: Block) -> str:
    parts = templates().get_template("blocks.html.j2").make_module({})
    return str(parts.blocks([block]))  # type: ignore[attr-defined]


# ---- files -----------------------------------------------------------------------------------------------------------

_MAIN = ("estimate", "number", "numbers", "release")
"""Files that are called after what was asked alone; the names of others end with their own."""
_LONGEST_NAME = 80
_WHAT = {
    JSON: "Everything, as the service returned it: opens again here, in Python and in the shell",
    REPORT: "The report: one page that opens anywhere, with what is protected, for readers and auditors",
    RECEIPT: "The receipt that the service signed for exactly these bytes",
}


def file_to_save(result: Result, name: str, what: str = "") -> File:
    """A file of a result, which browsers save under a name that says what is in it."""
    stem, _, kind = name.rpartition(".")
    saved_as = f"{name_of(result)}{'' if stem in _MAIN else f'_{stem}'}.{kind}"
    return File(name, what or _WHAT[name], saved_as)


_SIGNS = {">=": "at least", "<=": "at most", "!=": "not", ">": "above", "<": "below", "=": "is"}
"""Comparisons, as the name of a file has them."""


def name_of(result: Result) -> str:
    """The data set and what was asked of it, as the name of a file."""
    data, dot, kind = result.receipt.dataset.rpartition(".")
    words = f"{data if dot and kind.isalpha() else result.receipt.dataset} {heading_of(result.task, result.where)}"
    for sign, said in _SIGNS.items():
        words = words.replace(sign, f" {said} ")
    stem = re.sub(r"\W+", "_", words.lower()).strip("_")[:_LONGEST_NAME].rstrip("_") or "result"
    return f"{stem}_{COMBINED}" if result.algorithm == COMBINED else stem


def _files(result: Result) -> Iterator[File]:
    for number, sheets in enumerate(_all_sheets(result)):
        stem = sheets.file.removesuffix(".csv")
        what = "The numbers with their intervals" if number == 0 else f"More numbers: {stem}"
        yield file_to_save(result, sheets.file, f"{what}, with all digits, for spreadsheets")
        yield file_to_save(result, f"{stem}.parquet", f"{what}, for programs")
    yield file_to_save(result, REPORT)
    yield file_to_save(result, JSON)


def _all_sheets(result: Result) -> tuple[Sheets, ...]:
    return (result.sheets(AS_IT_IS, None), *result.more_sheets(AS_IT_IS, None))


def _sheets_of(result: Result, name: str) -> Sheets:
    """The sheets that a file holds, with bounds where they can be had, as ``save`` writes them."""
    ways: list[Callable[[float | None], tuple[Sheets, ...]]] = [
        lambda rate: (result.sheets(AS_IT_IS, rate),),
        lambda rate: result.more_sheets(AS_IT_IS, rate),
    ]
    for way in ways:
        if not any(sheets.file == name for sheets in way(None)):
            continue
        try:
            return next(sheets for sheets in way(CONFIDENCE) if sheets.file == name)
        except Exception:  # the numbers are there without bounds, too
            return next(sheets for sheets in way(None) if sheets.file == name)
    raise NoSuchPage(f"This result has no file {name!r}. Its page lists those that there are.")


def file_of(saved: Saved, name: str) -> Page:
    """A file of a result, as ``save`` writes it."""
    stem, _, kind = name.rpartition(".")
    if name == JSON:
        return _passed(saved.data, file_to_save(saved.result, name), "application/json")
    if name == REPORT:
        report = _report(saved).encode("utf-8")
        return _passed(report, file_to_save(saved.result, name), "text/html; charset=utf-8")
    if kind not in KINDS:
        raise NoSuchPage(f"This result has no file {name!r}. Its page lists those that there are.")
    data = saved.job(name, lambda: table_data(_sheets_of(saved.result, f"{stem}.csv").to_arrow(), kind))
    return _passed(data.value(PATIENCE), file_to_save(saved.result, name, stem), KINDS[kind])


KINDS = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}
"""The kinds of files of tables, by the endings of their names."""


def table_data(table: pa.Table, kind: str) -> bytes:
    """A table as CSV that spreadsheets can open safely, or as Parquet."""
    out = io.BytesIO()
    if kind == "csv":
        csv.write_csv(for_spreadsheets(table), out)
    else:
        parquet.write_table(table, out, compression="zstd")
    return out.getvalue()


def _passed(data: bytes, file: File, kind: str) -> Page:
    if len(data) > _LARGEST:
        raise BadInput(
            f"{file.name} has {len(data) / 2**20:,.0f} MB, and a page passes on at most {_LARGEST / 2**20:,.0f} MB. "
            "Fetch the result in Python, and save it there: the page of the result has the line to copy."
        )
    return download(data, file.saved_as, kind)


def _report(saved: Saved) -> str:
    made: Rendering = rendering_of(saved).value(PATIENCE)
    if not made.report:
        raise BadInput(f"There is no report. {made.content.problem} Its JSON is among its files.")
    return made.report


def report_of(saved: Saved) -> Page:
    """The report, as a page of its own."""
    return document(_report(saved))


# ---- synthetic rows --------------------------------------------------------------------------------------------------


def most_rows(result: Result) -> int:
    """How many synthetic rows can be made for a download; 0 if the result has none."""
    if not isinstance(result, Released):
        return 0
    return min(MOST_ROWS, MOST_VALUES // len(result.schema.names))


def rows_file(result: Result, count: int, kind: str) -> Page:
    """Synthetic rows as a file."""
    if not isinstance(result, Released):
        raise NoSuchPage("Synthetic rows are made from counts and tables, and this result has none.")
    table, _ = sampled_table(result.row_source, result.schema, count, None, result.head_of_rows)
    file = file_to_save(result, f"synthetic_rows.{kind}", "Synthetic rows")
    return _passed(table_data(table, kind), file, KINDS[kind])
