"""The report of a result: one HTML file that opens anywhere, with no script and nothing to fetch; and what a notebook
shows of it."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from adyton import odds
from adyton.exact import display
from adyton.kernel.recorder import CHANGED
from adyton.report.scales import number
from adyton.report.view import factor, protected, rate_of, rows_of, sentence, table_of
from adyton.schema.declaration import NO_WORDS

if TYPE_CHECKING:
    from jinja2 import Environment

    from adyton.result.result import Result

_NOTEBOOK_LINES, _NOTEBOOK_WIDTH = 10, 640.0
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(\.[\w-]+)+", re.ASCII)
_PAGE = re.compile(r"https?://[\w.-]+(:\d+)?(/[\w./%~+#?=&;,-]*)?", re.ASCII)


def render(result: Result) -> str:
    """The whole page."""
    schema, view = result.schema, result.view()
    words = NO_WORDS if schema is None else schema.report
    page = templates().get_template("page.html.j2")
    return page.render(
        **_facts(result),
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
    """A piece of HTML that takes its colours from the notebook around it: first lines, one picture, what it cost."""
    from markupsafe import Markup

    sheets = result.glance(bounds=True)
    drawn = result.drawings(1)[:1]
    piece = templates().get_template("notebook.html.j2")
    return piece.render(
        **_facts(result),
        heading=sentence(str(result.task)),
        table=table_of(sheets.sheets[0], rate_of(sheets), most=_NOTEBOOK_LINES),
        note=sheets.note,
        more=sheets.lines > min(sheets.sheets[0].lines, _NOTEBOOK_LINES),
        lines=sheets.lines,
        pictures=[(Markup(drawing.svg(_NOTEBOOK_WIDTH)), f"{drawing.title}. {drawing.caption}") for drawing in drawn],
        remarks=result.remarks(),
        width=f"{_NOTEBOOK_WIDTH:g}",
    )


def _facts(result: Result) -> dict[str, Any]:
    """What a page and a notebook say; of the budget exact decimals, and parts of the whole."""
    receipt = result.receipt
    warnings = [] if result.misfits is None else [" ".join(result.misfits.warnings())]
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
        "warnings": [text for text in warnings if text],
        "budget": {name: display(value) for name, value in amounts.items()} | shares,
        "made": receipt.created,
    }


def link_to(contact: str) -> str | None:
    """Where a click on a contact leads: to a letter if it is a mail address, to a page if it is one.

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
    """What is filled in is escaped, but for drawings, which escape their own words."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("adyton.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
