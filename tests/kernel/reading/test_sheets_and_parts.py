"""Excel sheets, where each cell is read by itself; and several files, sheets or folders as one table."""

import datetime as dt
import zipfile

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

import adyton as ad
from adyton.errors import SchemaError
from adyton.kernel.counting import open_table
from adyton.kernel.counting.opening import reader_for
from adyton.kernel.reading.sheets import ExcelReader
from workbooks import CLOCK, DATE, LENGTH, MOMENT, MONEY, RED, Raw, write_workbook

SCHEMA = ad.Schema({"age": ad.Integer(0, 99, step=50, nulls="level"), "sex": ad.Categorical(["F", "M"])})
HEADER = ["age", "sex"]
ROWS = [[34, "F"], [51.0, "M"], ["20", Raw("1", "s")]]
COUNTS = [[1, 1], [0, 1], [0, 0]]


def texts(path, rows, **options):
    """What the cells of one column are read as."""
    write_workbook(path, {"S": [["x", "y"], *([value, "."] for value in rows)]}, **options)
    (batch,) = ExcelReader(str(path), "S").batches(["x"])
    return batch[0].to_pylist()


CELLS = [
    *((34, "34"), (51.0, "51"), (0.1, "0.1"), (-2e300, "-2e+300"), (True, "True"), (False, "False"), ("007", "007")),
    *((" a\n<&> ", " a\n<&> "), ("", None), (None, None), (Raw("#N/A", "e"), None), (Raw("#NEW!", "e"), None)),
    *(
        (Raw("1", "s"), "é"),
        (Raw("7", "s"), None),
        (Raw("-1", "s"), None),
        (Raw("x", "s"), None),
        (Raw("0", "zz"), None),
    ),
    *((Raw("abc"), None), (Raw(""), None), (Raw("NaN"), None), (Raw("1", style=999), "1"), (Raw("1", style=-1), "1")),
    *((Raw("5", "str", inner="<f>A1+2</f><v>5</v>"), "5"), (Raw("2024-03-01T10:00:00", "d"), "2024-03-01T10:00:00")),
    *((Raw("45352", style=DATE), "2024-03-01"), (Raw("45352.75", style=MOMENT), "2024-03-01 18:00:00")),
    *((Raw("0.5", style=CLOCK), "12:00:00"), (Raw("1.5", style=LENGTH), "PT129600.0S"), (Raw("2", style=MONEY), "2")),
    *((Raw("2", style=RED), "2"), (Raw("59", style=DATE), "1900-02-28"), (Raw("60", style=DATE), None)),
    *((Raw("61", style=DATE), "1900-03-01"), (Raw("2958465", style=DATE), "9999-12-31")),
    *((Raw("2958466", style=DATE), None), (Raw("2958465.9999999999", style=DATE), None), (Raw("-1", style=DATE), None)),
    *((Raw(f"{sign}1e300", style=style), None) for sign in ("", "-") for style in (DATE, LENGTH, CLOCK)),
    *((Raw(word, style=style), None) for word in ("inf", "NaN") for style in (DATE, LENGTH)),
    *(
        (Raw("45352", style=7 + 14), "2024-03-01"),
        (Raw("1.5", style=7 + 46), "PT129600.0S"),
        (Raw("3", style=7 + 2), "3"),
    ),
]


def test_every_kind_of_cell(tmp_path):
    shared = ["a", "é"]
    assert texts(tmp_path / "t.xlsx", [value for value, _ in CELLS], shared=shared) == [text for _, text in CELLS]
    for value, text in CELLS:  # the same alone as among others
        assert texts(tmp_path / "t.xlsx", [value], shared=shared) == [text], text
    assert texts(tmp_path / "t.xlsx", [Raw("0.5", style=DATE), Raw("1", style=DATE)], since_1904=True) == [
        "12:00:00",
        "1904-01-02",
    ]
    assert texts(tmp_path / "t.xlsx", [5, "a"], prefix="x") == ["5", "a"]


def test_counts_are_those_of_the_same_csv(tmp_path):
    write_workbook(tmp_path / "t.xlsx", {"visits": [HEADER, *ROWS]}, shared=["x", "F"])
    (tmp_path / "t.csv").write_text("age,sex\n34,F\n51,M\n20,F\n")
    for data in (tmp_path / "t.xlsx", f"{tmp_path / 't.xlsx'}#visits", tmp_path / "t.csv"):
        table = open_table(data, SCHEMA)
        assert (table.vectorize().tolist(), table.count()) == ([[2, 0], [0, 1], [0, 0]], 3)
        assert table.from_text


def test_where_a_row_stands_changes_nothing(tmp_path):
    """A cell far away is a row, and no other row for it; a row without values is none, and neither are free lines."""
    near = write_workbook(tmp_path / "near.xlsx", {"S": [HEADER, *ROWS]}, shared=["x", "F"])
    rows = [2, HEADER, [None, ""], *ROWS, 900_000, [Raw("#N/A", "e")], [None] * 16_383 + ["far"]]
    far = write_workbook(tmp_path / "far.xlsx", {"S": rows}, shared=["x", "F"])
    assert open_table(far, SCHEMA).count() == open_table(near, SCHEMA).count() + 1
    assert (open_table(far, SCHEMA).vectorize() == open_table(near, SCHEMA).vectorize()).all()
    assert [column.name for column in reader_for(far).columns] == HEADER


def test_units_are_texts_and_whole_numbers(tmp_path):
    people = ["7", 7, 7.0, "07", 7.5, True, 2.0**60, None, Raw("45352", style=DATE), "a", "a"]
    write_workbook(tmp_path / "t.xlsx", {"S": [["who", "x"], *([who, 1] for who in people)]})
    table = open_table(tmp_path / "t.xlsx", ad.Schema({"x": ad.Integer(0, 3)}, 2, unit="who"))
    assert table.by_unit("n", 4).select("n").vectorize().tolist() == [1, 1, 1, 0]  # 07, a and 7
    assert table.count() == 5


def test_a_file_without_a_header(tmp_path):
    write_workbook(tmp_path / "t.xlsx", {"S": ROWS}, shared=["x", "F"])
    file = ad.FileFormat(header=False, columns=["age", "sex"])
    schema = ad.Schema(SCHEMA.attributes, file=file)
    assert open_table(tmp_path / "t.xlsx", schema).count() == 3
    with pytest.raises(SchemaError, match=r"names none of the schema's attributes .*looks like a row") as caught:
        open_table(tmp_path / "t.xlsx", SCHEMA)
    assert "34" not in str(caught.value)


def test_rows_that_change_are_read_again(tmp_path):
    path = tmp_path / "t.xlsx"
    write_workbook(path, {"S": [HEADER, *ROWS]}, shared=["x", "F"])
    table = open_table(path, SCHEMA)
    before, count = table.moment(), table.count()
    write_workbook(path, {"S": [HEADER, *ROWS, *ROWS]}, shared=["x", "F"])
    assert table.moment() != before
    assert (count, table.count()) == (3, 6)


@pytest.mark.parametrize(
    ("sheets", "options", "table", "words"),
    [
        ({"S": [HEADER, *ROWS]}, {"merged": ["A1:B1"]}, "", "has merged cells"),
        ({"S": [HEADER, *ROWS]}, {"merged": ["A2:A3"]}, "#S", "has merged cells"),
        ({"S": []}, {}, "", "is empty: its first row names the columns"),
        ({"a": [HEADER], "b": [HEADER]}, {}, "", "more than one sheet, or none. It has 'a', 'b'. Write"),
        ({"a": [HEADER], "b": [HEADER]}, {}, "#c", "no sheet 'c'. It has 'a', 'b'"),
        ({"a": [HEADER], "b": [["age", "CANARY"]]}, {}, "#*", "does not name the same columns as"),
        ({"a": [["age", "age", "sex"]]}, {}, "", "2 columns called 'age'"),
    ],
)
def test_sheets_that_cannot_be_opened(tmp_path, sheets, options, table, words):
    path = write_workbook(tmp_path / "t.xlsx", sheets, shared=["x", "F"], **options)
    ledger = tmp_path / "t.ledger"
    with pytest.raises(SchemaError, match=words) as caught:
        ad.Session(f"{path}{table}", schema=SCHEMA, epsilon=1, ledger=ledger, dataset="t")
    assert "CANARY" not in str(caught.value)
    assert not ledger.exists()  # nothing was spent


def test_a_damaged_workbook(tmp_path):
    whole = write_workbook(tmp_path / "t.xlsx", {"S": [HEADER, *ROWS]}).read_bytes()
    (tmp_path / "cut.xlsx").write_bytes(whole[:-40])
    with zipfile.ZipFile(tmp_path / "odd.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook")
    for name in ("cut.xlsx", "odd.xlsx"):
        with pytest.raises(SchemaError, match="cannot be read as an Excel workbook"):
            open_table(tmp_path / name, SCHEMA)


def test_a_sheet_that_is_damaged_behind_its_header_is_refused_at_opening(tmp_path):
    whole = write_workbook(tmp_path / "t.xlsx", {"S": [HEADER, *ROWS]})
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(tmp_path / "odd.xlsx", "w") as new:
        for part in old.namelist():
            new.writestr(part, old.read(part).replace(b"</sheetData>", b"&#0;</sheetData>"))
    with pytest.raises(SchemaError, match="cannot be read. Save the workbook again"):
        open_table(tmp_path / "odd.xlsx", SCHEMA)


# ---- several parts --------------------------------------------------------------------------------------------------


def test_sheets_and_workbooks_are_one_table(tmp_path):
    book = write_workbook(
        tmp_path / "a.xlsx", {"jan 24": [HEADER, *ROWS], "feb 24": [["sex", "age"], ["M", 1]], "note": [["x"]]},
        shared=["x", "F"],
    )  # fmt: skip
    write_workbook(tmp_path / "b.xlsx", {"jan 24": [HEADER, [99, "M"]]})
    for data, rows in (
        (f"{book}#* 24", 4),
        ([f"{book}#jan 24", f"{book}#feb 24"], 4),
        (f"{tmp_path / '*.xlsx'}#jan 24", 4),
        ([f"{book}#* 24", tmp_path / "b.xlsx"], 5),
    ):
        assert open_table(data, SCHEMA).count() == rows
    with pytest.raises(SchemaError, match="given twice"):
        open_table([f"{book}#jan 24", f"{book}#jan*"], SCHEMA)


def write_months(folder, how="{year}/{month}"):
    """Two years of two months of one row, two rows, …; whose they are goes on from file to file."""
    row = 0
    for year in (2023, 2024):
        for month in ("1", "2"):
            path = folder / how.format(year=year, month=month) / "part-0.parquet"
            path.parent.mkdir(parents=True)
            rows = row + 1
            own = {"who": [f"p{number}" for number in range(rows)], "sex": ["F"] * rows, "n": [row] * rows}
            parquet.write_table(pyarrow.table(own), path)
            row += 1
    (folder / "_SUCCESS").write_text("")
    (folder / "_delta_log").mkdir()
    parquet.write_table(pyarrow.table({"x": [1]}), folder / "_delta_log" / "0.parquet")
    return folder


PARTED = {"n": ad.Integer(0, 3), "year": ad.Integer(2023, 2024), "month": ad.Categorical(["1", "2"])}


def test_folders_of_partitioned_parquet(tmp_path):
    folder = write_months(tmp_path / "t", "year={year}/month={month}")
    for data in (folder, str(folder / "*" / "month=*" / "*.parquet"), str(folder / "year=*" / "**" / "*.parquet")):
        table = open_table(data, ad.Schema(PARTED))
        assert table.select(["year", "month"]).vectorize().tolist() == [[1, 2], [3, 4]]
        assert table.select(["n", "year"]).vectorize().tolist() == [[1, 0], [2, 0], [0, 3], [0, 4]]
    units = open_table(folder, ad.Schema(PARTED, 2, unit="who"))
    assert units.count() == 2 + 2 + 2 + 1  # p0 has four rows in four files
    assert open_table(folder, ad.Schema({"n": ad.Integer(0, 3)}, 1, unit="month")).count() == 2
    one = open_table(str(folder / "year=2024" / "month=*" / "*"), ad.Schema({"month": ad.Integer(1, 2)}))
    assert one.vectorize().tolist() == [3, 4]


def test_names_of_folders_are_texts_like_others(tmp_path):
    for name in ("city=S%C3%A3o%20Paulo", "city=__HIVE_DEFAULT_PARTITION__", "city=x%3Dy"):
        (tmp_path / name).mkdir()
        parquet.write_table(pyarrow.table({"n": [1, 2]}), tmp_path / name / "a.parquet")
    levels = ad.Categorical(["São Paulo", "x=y"], nulls="level")
    assert open_table(tmp_path, ad.Schema({"city": levels})).vectorize().tolist() == [2, 2, 2]


def test_a_column_of_the_file_comes_before_the_name_of_a_folder(tmp_path):
    folder = write_months(tmp_path / "t", "n={year}/month={month}")
    table = open_table(folder, ad.Schema({"n": ad.Integer(0, 3)}))
    assert table.vectorize().tolist() == [1, 2, 3, 4]


def test_a_change_of_any_file_is_noticed(tmp_path):
    folder = write_months(tmp_path / "t")
    table = open_table(folder, ad.Schema({"n": ad.Integer(0, 3)}))
    moment = table.moment()
    (folder / "2023" / "3").mkdir()
    parquet.write_table(pyarrow.table({"n": [0]}), folder / "2023" / "3" / "new.parquet")
    assert table.moment() == moment  # no part of the table that was opened
    assert table.count() == 10
    parquet.write_table(pyarrow.table({"n": [0]}), folder / "2024" / "2" / "part-0.parquet")
    assert table.moment() != moment


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"n": ["1"], "m": [1]}, r"the column 'n' is int64 in '.*a.parquet' and string in '.*b.parquet'"),
        ({"n": [1]}, r"'.*a.parquet' has a column 'm', and '.*b.parquet' has none"),
        ({"n": [1], "m": [1], "k": [1]}, r"'.*b.parquet' has a column 'k', and '.*a.parquet' has none"),
    ],
)
def test_parts_that_differ(tmp_path, other, words):
    parquet.write_table(pyarrow.table({"n": [1], "m": [1]}), tmp_path / "a.parquet")
    parquet.write_table(pyarrow.table(other), tmp_path / "b.parquet")
    with pytest.raises(SchemaError, match=words):
        open_table(tmp_path, ad.Schema({"n": ad.Integer(0, 3)}))


def test_neighbours_in_a_workbook_differ_by_what_is_charged(tmp_path):
    """One row more, whatever its cells are, moves no other row: every cell beside ordinary rows."""
    schema = ad.Schema(
        {
            "a": ad.Integer(0, 50, outside="other", nulls="level", reading=ad.Reading(column="x")),
            "b": ad.Categorical(["a", "é"], outside="other", nulls="level", reading=ad.Reading(column="x")),
            "c": ad.Date("2024-01-01", "2024-12-31", by="month", outside="other", nulls="level", column="x"),
        }
    )
    ordinary = [[1, "p"], ["a", "q"], [dt.date(2024, 3, 1), "q"]]

    def counts(rows, units=False):
        path = write_workbook(tmp_path / "t.xlsx", {"S": [["x", "who"], *rows]}, shared=["a", "é"])
        own = ad.Schema(schema.attributes, 1, unit="who") if units else schema
        return open_table(path, own).vectorize()

    before, cut = counts(ordinary), counts(ordinary, units=True)
    for value, _ in CELLS:
        assert np.abs(counts([*ordinary, [value, "z"]]) - before).sum() == 1
        assert np.abs(counts([[value, "q"], *ordinary], units=True) - cut).sum() <= 2  # another row of the same person
