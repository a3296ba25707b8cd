"""Ugly files are read right: what people write in them is public knowledge, and each row is read by itself."""

from __future__ import annotations

import bz2
import gzip
import random
import zipfile

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from adyton.errors import PredicateError, SchemaError
from adyton.kernel.counting import open_table
from adyton.kernel.reading import csv_reader
from adyton.kernel.reading.csv_reader import as_utf8
from adyton.kernel.reading.texts import Amounts, Translation
from adyton.schema import Boolean, Categorical, Date, FileFormat, Identifier, Integer, Numeric, Reading, Schema
from adyton.schema.files import ENCODINGS
from adyton.schema.misfits import misfits_of
from adyton.schema.predicates import parse_predicate

DOLLARS = Reading(currency=["$", "USD"], thousands=",", missing=["NA", "-", -99])
EUROS = Reading(currency="€", thousands=".", decimal=",", missing=["k. A.", -99])
BOROUGHS = {"north": ["BX", "MN"], "south": ["BK", "QN", "SI"]}
PLACE = Reading(trim=True, case="ignore", missing=["?", "n/a"])


def schema(reading, file=None):
    attributes = {
        "pay": Numeric(-1000, 1000, bins=20, nulls="level", outside="other", reading=reading),
        "place": Categorical(BOROUGHS, nulls="level", outside="other", reading=PLACE, groups={"city": list(BOROUGHS)}),
        "smoker": Boolean(nulls="level", outside="other"),
    }
    return Schema(attributes, file=file or FileFormat())


AMERICAN = [
    ("$950.50", "BX ", "yes"), ("USD -1,000", "\tqn", "0"), ("($ 999.99)", "North", "maybe"), ("NA", "?", ""),
    ("12,5", "N/A", "t"), ("$1,234,567.00", "Utopia", "no"), (" -99 ", "si", "Y"), ("1e2", "BK\u00a0", "1"),
    ("", "", "f"),
]  # fmt: skip
GERMAN = [
    ("950,50 €", "BX ", "yes"), ("-1.000", "\tqn", "0"), ("(999,99€)", "North", "maybe"), ("k. A.", "?", ""),
    ("12.5", "N/A", "t"), ("€ 1.234.567,00", "Utopia", "no"), ("-99,0", "si", "Y"), ("100", "BK\u00a0", "1"),
    ("", "", "f"),
]  # fmt: skip
# 950.5 → bin 19, −1000 → 0, −999.99 → 0, missing → 21, unreadable → 21, outside → 20, −99 → 21, 100 → 11, missing → 21
EXPECTED = np.zeros((22, 4, 4), dtype=np.int64)
for cell in [(19, 0, 1), (0, 1, 0), (0, 0, 2), (21, 3, 3), (21, 3, 1), (20, 2, 0), (21, 1, 1), (11, 1, 1), (21, 3, 0)]:
    EXPECTED[cell] += 1


def written(rows, delimiter, ending, header=True):
    lines = [("pay", "place", "smoker")] * header + list(rows)
    quote = '"' if delimiter in ",\t" else ""
    return "".join(delimiter.join(f"{quote}{field}{quote}" for field in row) + ending for row in lines)


@pytest.mark.parametrize(
    ("name", "rows", "reading", "delimiter", "ending", "encoding", "file"),
    [
        ("plain.csv", AMERICAN, DOLLARS, ",", "\n", "utf-8", FileFormat()),
        ("bom-and-returns.csv", AMERICAN, DOLLARS, ",", "\r\n", "utf-8-sig", FileFormat()),
        ("old-mac.csv.gz", GERMAN, EUROS, ";", "\r", "utf-8", FileFormat()),
        ("office.txt", GERMAN, EUROS, "\t", "\r\n", "utf-16", FileFormat(encoding="utf-16")),
        ("windows.csv.bz2", GERMAN, EUROS, ";", "\r\n", "cp1252", FileFormat(encoding="windows-1252", delimiter=";")),
        ("no-header.tsv.zst", GERMAN, EUROS, "\t", "\n", "utf-8-sig", FileFormat(
            header=False, columns=["pay", "place", "smoker"])),
        ("no-header-cr.dat.csv", GERMAN, EUROS, "~", "\r", "utf-8", FileFormat(
            header=False, columns=["pay", "place", "smoker"], delimiter="~", line_end="cr", compression="gzip")),
    ],
)  # fmt: skip
def test_a_table_of_ugly_files(tmp_path, name, rows, reading, delimiter, ending, encoding, file):
    raw = written(rows, delimiter, ending, file.header).encode(encoding)
    if name.endswith(".gz") or file.compression == "gzip":
        raw = gzip.compress(raw)
    elif name.endswith(".bz2"):
        raw = bz2.compress(raw)
    elif name.endswith(".zst"):
        raw = pyarrow.compress(raw, codec="zstd", asbytes=True)
    (tmp_path / name).write_bytes(raw)
    table = open_table(tmp_path / name, schema(reading, file))
    assert table.count() == len(rows)
    assert (table.vectorize() == EXPECTED).all()


@pytest.mark.parametrize(("rows", "reading"), [(AMERICAN, DOLLARS), (GERMAN, EUROS)])
def test_the_same_texts_in_parquet_and_in_memory(tmp_path, rows, reading):
    columns = dict(zip(("pay", "place", "smoker"), map(list, zip(*rows, strict=True)), strict=True))
    frame = pyarrow.table({name: [value or None for value in values] for name, values in columns.items()})
    pyarrow.parquet.write_table(frame, tmp_path / "t.parquet")
    for data in (frame, tmp_path / "t.parquet"):
        assert (open_table(data, schema(reading)).vectorize() == EXPECTED).all()


DATES = [
    "31.12.2023 ",
    "12/31/2023",
    " 2023-12-31",
    "01/02/2024",
    "1.1.2024",
    "2.1.2024",
    "soon",
    "13/13/2023",
    "",
    "2024-01-03",
]
DAYS = [3, 1, 2, 1, 3]
"""The last day of a year, two days after, another one, and what is no date or none."""


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "memory"])
def test_three_ways_to_write_a_date(tmp_path, kind):
    declared = Schema(
        {
            "day": Date(
                "2023-12-31", "2024-01-02", by="day", format=["%d.%m.%Y", "%m/%d/%Y", "%Y-%m-%d"],
                column="Tag", nulls="level", outside="other",
            )
        }
    )  # fmt: skip
    frame, path = pyarrow.table({"Tag": [text or None for text in DATES]}), tmp_path / f"t.{kind}"
    if kind == "parquet":
        pyarrow.parquet.write_table(frame, path)
    elif kind != "memory":
        raw = "".join(f"{text};1 \r" for text in ["Tag;x", *DATES]).replace("Tag;x;1 ", "Tag;x").encode("utf-8-sig")
        path.write_bytes(gzip.compress(raw) if kind == "csv.gz" else raw)
    assert open_table(frame if kind == "memory" else path, declared).vectorize().tolist() == DAYS


def test_numbers_that_are_typed_already_need_no_signs(tmp_path):
    numbers = pyarrow.table({"pay": [950.5, -99.0, None], "code": [1, 2, 7]})
    pyarrow.parquet.write_table(numbers, tmp_path / "t.parquet")
    declared = Schema(
        {
            "pay": Numeric(-1000, 1000, bins=2, nulls="level", reading=DOLLARS),
            "side": Categorical({"left": [1], "right": [2]}, outside="other", reading=Reading(column="code")),
        }
    )
    for data in (numbers, tmp_path / "t.parquet"):
        assert open_table(data, declared).vectorize().tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 1]]


def test_words_for_missing_count_as_missing(tmp_path):
    (tmp_path / "t.csv").write_text(written(AMERICAN, ",", "\n"), encoding="utf-8")
    declared = Schema({"pay": Numeric(-1000, 1000, bins=20, reading=DOLLARS)})
    misfits = misfits_of(declared, ["pay"])
    found = open_table(tmp_path / "t.csv", declared).misfits(misfits)
    assert {one.reason: rows for one, rows in zip(misfits, found[1:].tolist(), strict=True)} == {
        "unreadable": 1, "missing": 3, "out of bounds": 1,
    }  # fmt: skip


def test_groups_in_predicates(tmp_path):
    (tmp_path / "t.csv").write_text(written(AMERICAN, ",", "\n"), encoding="utf-8")
    declared = schema(DOLLARS)
    table = open_table(tmp_path / "t.csv", declared)
    asked = {"place = 'city'": 5, "place in ('city', 'north')": 5, "place != 'city'": 1, "place = 'north'": 2}
    for text, rows in asked.items():
        assert table.where(parse_predicate(text, declared)).count() == rows
    with pytest.raises(PredicateError, match="its groups 'city'"):
        parse_predicate("place = 'cities'", declared)


def test_several_files_are_one_table(tmp_path):
    for week in range(3):
        text = "age;sex\n34;F\n" if week else "sex;age\nM;51\nF;20\n"
        (tmp_path / f"week-{week}.csv").write_text(text)
    declared = Schema({"age": Integer(0, 99, step=50), "sex": Categorical(["F", "M"])})
    for data in (tmp_path / "week-*.csv", sorted(tmp_path.glob("*.csv")), tmp_path):
        assert open_table(data, declared).vectorize().tolist() == [[3, 0], [0, 1]]
    with pytest.raises(SchemaError, match="given twice"):
        open_table([tmp_path / "week-1.csv", tmp_path / "week-1.csv"], declared)
    (tmp_path / "other.csv").write_text("CANARY;sex\n34;F\n")
    with pytest.raises(SchemaError, match="does not name the same columns") as caught:
        open_table(tmp_path, declared)
    assert "CANARY" not in str(caught.value)


def test_a_look_up_keeps_one_row_one_row(tmp_path):
    (tmp_path / "zips.csv").write_text(
        "zip,region,homes\n10451,north,\n11201,south,1200\n11201,south,1200\n00501,north,900\n"
    )
    (tmp_path / "s.toml").write_text(
        """
        [attributes.region]
        type = "categorical"
        column = "zip"
        levels = ["north", "south"]
        nulls = "level"
        lookup = {file = "zips.csv", key = "zip", value = "region"}
        [attributes.homes]
        type = "integer"
        column = "zip"
        min = 0
        max = 1999
        step = 1000
        nulls = "level"
        lookup = {file = "zips.csv", key = "zip", value = "homes"}
        """
    )
    declared = Schema.from_toml(tmp_path / "s.toml")
    (tmp_path / "t.csv").write_text("zip,x\n10451,1\n 11201,1\n00501,2\n99999,3\n,4\n")
    expected = [[1, 0, 1], [0, 1, 0], [0, 0, 2]]
    assert open_table(tmp_path / "t.csv", declared).vectorize().tolist() == expected
    whole = pyarrow.table({"zip": [10451, 11201, 501, 99999, None]})  # a library that has read them as numbers
    assert open_table(whole, declared).vectorize().tolist() == expected
    (tmp_path / "zips.csv").write_text("zip,region,homes\n10451,north,1\n10451,south,1\n")
    with pytest.raises(SchemaError, match="gives the key '10451' two values, 'north' and 'south'"):
        open_table(tmp_path / "t.csv", declared)


def test_an_identifier_is_one_however_it_is_written():
    people = pyarrow.table({"who": ["P1", " p1", "P1\t", "p2", "none", None]})
    declared = Schema({"who": Identifier(reading=Reading(trim=True, case="ignore", missing=["None"]))})
    grouped = open_table(people, declared).group_by("who", "rows", 9)
    assert grouped.select("rows").vectorize().tolist() == [1, 1, 1, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("encoding", ["cp932", "gb18030", "utf-16"])
def test_neighbours_differ_by_one_row_in_any_encoding(tmp_path, monkeypatch, encoding):
    monkeypatch.setattr(csv_reader, "_BLOCK", 64)
    monkeypatch.setattr(csv_reader, "LONGEST_LINE", 24)
    draw = random.Random(7)
    wide = encoding == "utf-16"
    pieces = [b",", b'"', b"\x81", b"\xff", b"7", b" ", b"\xef\xbb\xbf", b"\x84\x31\x95\x33", b"$1,0"]
    units = [piece + bytes(len(piece) % 2) for piece in pieces] + [b"\x00\xd8", b"\n\xd8", b",\x00", b'"\x00']
    end = b"\n\x00" if wide else b"\n"
    lines = [b"".join(draw.choices(units if wide else pieces, k=draw.randrange(1, 14))) for _ in range(40)]
    lines = [(b"x\x00" if wide else b"x") + line.replace(end, b"") for line in lines]
    file = FileFormat(header=False, columns=["a", "b"], encoding="utf-16-le" if wide else encoding)
    levels = Categorical({"x": ["x7", "x "]}, nulls="level", outside="other", reading=Reading(trim=True, case="ignore"))
    numbers = Numeric(0, 10, bins=5, nulls="level", outside="other", reading=DOLLARS)
    declared = Schema({"a": levels, "b": numbers}, file=file)

    def counts(kept):
        (tmp_path / "t.csv").write_bytes(b"".join(line + end for line in kept))
        return open_table(tmp_path / "t.csv", declared).vectorize()

    whole = counts(lines)
    assert whole.sum() == 40
    for place in (0, 39):
        assert np.abs(whole - counts(lines[:place] + lines[place + 1 :])).sum() == 1


def test_no_letter_of_an_encoding_holds_a_line_end_or_a_quote():
    for encoding in ENCODINGS:
        if encoding.startswith("utf-16"):
            continue
        file = FileFormat(encoding=encoding)
        for sign in b'\n\r",;\t| ':
            assert as_utf8(bytes([sign]), file) == bytes([sign])
        for lead in range(0x80, 0x100):
            assert as_utf8(bytes([lead]) + b"\nB\n", file).count(b"\n") == 2


def test_translations_take_every_text():
    draw = random.Random(8)
    attribute = Categorical(BOROUGHS, reading=Reading(trim=True, case="ignore", first=2, missing=["", 7]))
    translate = Translation.of(attribute).translate
    for _ in range(300):
        text = "".join(chr(draw.choice([*range(1, 300), 0x130, 0x1F600, 0xFB01])) for _ in range(draw.randrange(6)))
        assert translate(text) is None or isinstance(translate(text), str)
    found = [translate(text) for text in (" bxy", "7", "north", "zz")]
    assert found == ["north", None, "\0north", "\0zz"]


@pytest.mark.parametrize(
    ("reading", "texts"),
    [
        (Reading(thousands=" ", decimal=","), {"1 250,5": True, "1\u202f250": True, "1250,5": True, "1 25": False,
                                               "1.5": False}),
        (Reading(thousands="'"), {"1'250.5": True, "1\u2019250": True, "12'50": False}),
        (Reading(thousands=","), {"12,34,567": True, "1,234": True, ",123": False, "1,,234": False, "$5": False}),
        (Reading(currency="CHF"), {"chf 5.": True, "5CHF": True, "CHF5CHF": True, "-CHF 5": True, "CHF": False,
                                   "(5": False}),
        (Reading(decimal=","), {"0,5": True, ",5": True, "5,": True, ",": False, "inf": False, "nan": False}),
    ],
)  # fmt: skip
def test_what_a_number_looks_like(reading, texts):
    column = pyarrow.table({"x": list(texts)})
    declared = Schema({"x": Numeric(-10000, 2e6, bins=1, nulls="level", reading=reading)})
    read = sum(texts.values())
    assert open_table(column, declared).vectorize().tolist() == [read, len(texts) - read]
    assert {text: Amounts.of(reading).plain(text) is not None for text in texts} == texts


def test_a_zip_archive_is_the_one_file_in_it(tmp_path):
    def packed(name, *files):
        with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in files:
                archive.writestr(file, "age\n34\n51\n" * (not file.endswith("/")))
        return tmp_path / name

    schema = Schema({"age": Integer(0, 99)})
    for name in ("visits.csv.zip", "visits.zip"):
        assert open_table(packed(name, "inner/", "inner/visits.csv", "__MACOSX/x"), schema).count() == 2
    headless = Schema({"age": Integer(0, 99)}, file=FileFormat(header=False, columns=["age"]))
    bad = {"two.zip": ("a.csv", "b.csv"), "none.zip": ()}
    for archive, words in ((packed(name, *files), f"holds {len(files)} files") for name, files in bad.items()):
        for declared in (schema, headless):
            with pytest.raises(SchemaError, match=words):
                open_table(archive, declared)
    (tmp_path / "broken.zip").write_bytes(b"no archive")
    with pytest.raises(SchemaError, match="is not a zip archive"):
        open_table(tmp_path / "broken.zip", headless)
