"""Excel workbooks, written cell by cell as Excel writes them, and as it never would."""

import datetime as dt
import zipfile
from xml.sax.saxutils import escape, quoteattr

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATED = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
FORMATS = ["General", "yyyy-mm-dd", "[h]:mm:ss", 'dd.mm.yyyy\\ hh:mm;@"d"', '0.00" days"', "[Red]0.00", "h:mm AM/PM"]
PLAIN, DATE, LENGTH, MOMENT, MONEY, RED, CLOCK = range(7)


class Raw:
    """A cell that is written as it is said here: its type, its text and its format."""

    def __init__(self, text, kind=None, style=None, inner="v"):
        self.text, self.kind, self.style, self.inner = text, kind, style, inner


def letters(place):
    return letters(place // 26 - 1) + chr(65 + place % 26) if place >= 26 else chr(65 + place)


def cell(value, place, row):
    """One cell; None is no cell at all."""
    if value is None:
        return ""
    raw = value if isinstance(value, Raw) else as_raw(value)
    kind = "" if raw.kind is None else f' t="{raw.kind}"'
    style = "" if raw.style is None else f' s="{raw.style}"'
    inner = f"<v>{escape(raw.text)}</v>" if raw.inner == "v" else raw.inner
    return f'<c r="{letters(place)}{row}"{kind}{style}>{inner}</c>'


def as_raw(value):
    """A value of Python's as Excel stores it; what Excel has no number for, as text."""
    if isinstance(value, bool):
        return Raw(str(int(value)), "b")
    if isinstance(value, int | float):
        return Raw(repr(value))
    if isinstance(value, dt.timedelta):
        return Raw(repr(value / dt.timedelta(days=1)), style=LENGTH)
    if isinstance(value, dt.date):
        moment = dt.datetime.combine(value, dt.time()) if not isinstance(value, dt.datetime) else value
        if moment.tzinfo is None and not moment.microsecond and moment.year > 1900:
            days = (moment - dt.datetime(1899, 12, 30)) / dt.timedelta(days=1)
            return Raw(repr(int(days) if days.is_integer() else days), style=MOMENT)
    return Raw("", "inlineStr", inner=f'<is><t xml:space="preserve">{escape(str(value))}</t></is>')


def write_workbook(path, sheets, *, shared=(), merged=(), since_1904=False, prefix=""):
    """A workbook of sheets, each a list of rows of cells; a row that is a number leaves so many lines free."""
    files = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        "_rels/.rels": relations([("officeDocument", "xl/workbook.xml")]),
        "xl/_rels/workbook.xml.rels": relations(
            [("worksheet", f"worksheets/sheet{number}.xml") for number in range(len(sheets))]
            + [("styles", "/xl/styles.xml"), ("sharedStrings", "sharedStrings.xml")]
        ),
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{RELATED}">'
        + f'<workbookPr date1904="{int(since_1904)}"/><sheets>'
        + "".join(f'<sheet name={quoteattr(name)} r:id="r{number}"/>' for number, name in enumerate(sheets))
        + "</sheets></workbook>",
        "xl/styles.xml": f'<styleSheet xmlns="{MAIN}"><numFmts>'
        + "".join(f"<numFmt numFmtId='{164 + n}' formatCode={quoteattr(code)}/>" for n, code in enumerate(FORMATS))
        + '</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs>'
        + "".join(f'<xf numFmtId="{164 + number}"/>' for number in range(len(FORMATS)))
        + "".join(f'<xf numFmtId="{number}"/>' for number in range(60))
        + "</cellXfs></styleSheet>",
        "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}">'
        + "".join(f'<si><r><t xml:space="preserve">{escape(text)}</t></r><rPh><t>x</t></rPh></si>' for text in shared)
        + "</sst>",
    }
    for number, rows in enumerate(sheets.values()):
        lines, line = [], 0
        for row in rows:
            line += row if isinstance(row, int) else 1
            if not isinstance(row, int):
                cells = "".join(cell(value, place, line) for place, value in enumerate(row))
                lines.append(f'<row r="{line}">{cells}</row>')
        spans = "".join(f'<mergeCell ref="{span}"/>' for span in merged)
        body = f"<sheetData>{''.join(lines)}</sheetData><mergeCells>{spans}</mergeCells>"
        text = f'<worksheet xmlns="{MAIN}">{body}</worksheet>'
        if prefix:
            text = text.replace("xmlns=", f"xmlns:{prefix}=").replace("</", "\0").replace("<", f"<{prefix}:")
            text = text.replace("\0", f"</{prefix}:")
        files[f"xl/worksheets/sheet{number}.xml"] = text
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, '<?xml version="1.0" encoding="UTF-8"?>' + text)
    return path


def relations(parts):
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
    own = "".join(f'<Relationship Id="r{n}" Type="{kind}{name}" Target="{to}"/>' for n, (name, to) in enumerate(parts))
    return f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{own}</Relationships>'
