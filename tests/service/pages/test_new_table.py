"""From a table without a schema to an open one by forms alone; and everything that somebody can type wrongly."""

import html
import os
import re
from types import SimpleNamespace

import pytest

from adyton.errors import AdytonError
from adyton.kernel.ledger import Ledger
from adyton.schema import FileFormat, Schema
from adyton.schema.draft import ColumnFacts, presets
from adyton.service.pages.new_table.form import fields_from, levels_in, read_fields, ready_made
from adyton.service.pages.new_table.views import edit
from adyton.service.pages.visits import Visit, Visitor
from service.pages.opened import CANARY, HOSTILE

SISE = "[attributes.sise]\ntype = 'boolean'\n"
PLAIN = [ColumnFacts(name, "text", "text") for name in ("age", "sex", "when", "long")]
AGE = {"c0-kind": "integer", "c0-min": "0", "c0-max": "119"}
WHOLE = {
    **AGE,
    "c1-kind": "categorical",
    "c1-levels": "F, M",
    "c2-kind": "datetime",
    "c2-first": "2024",
    "c2-last": "2025-06",
    "c3-kind": "duration",
    "c3-min": "0",
    "c3-max": "90",
    "whose": "row",
}


def draw(typed, columns=PLAIN, **more):
    return read_fields(columns, {name: [value] for name, value in (typed | more).items()})


# ---- what is typed, and what becomes of it ---------------------------------------------------------------------------


def test_fields_become_a_schema():
    own = draw(WHOLE, **{"c0-name": "years", "c1-missing": "NA, -99", "c1-others": "other", "whose": "several"})
    assert own.problems == {}
    assert own.schema.names == ("years", "sex", "when", "long")
    assert own.schema.column_of("years") == "age"
    assert own.schema.attributes["sex"].labels == ("F", "M", "(other)", "(null)")
    kept = {attribute.nulls + attribute.outside for attribute in own.schema.attributes.values()}
    assert kept == {"levelother"}  # unless somebody chooses otherwise, no row is left out
    assert own.schema.attributes["sex"].reading.missing == ("NA", -99)
    assert own.schema.attributes["when"].base_size == 18
    assert Schema.from_toml(own.text) == own.schema


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("c0-kind", "nonsense", "Choose what"),
        ("c0-kind", "like:nothing", "nothing ready-made"),
        ("c0-min", "", "as small as anybody"),
        ("c0-max", "1,000", "Write 1000 without a comma"),
        ("c0-min", "0.5", "smallest value must be a whole number"),
        ("c0-max", "18,5", "a whole number such as 0 or 120"),
        ("c3-max", "100.000", "can be read in two ways, given '100.000'. Write 100000, or 100."),
        ("c3-max", "1.000.000", "can be read in two ways, given '1.000.000'. Write 1000000."),
        ("c0-max", "-1", "smallest value (0) must not exceed the largest value (-1)"),
        ("c0-max", "9" * 29, "tighter bound"),
        ("c0-step", "0", "at least 1"),
        ("c0-nulls", "eat", "must be one of"),
        ("c0-outside", "eat", "must be one of"),
        ("c0-missing", "a\0b", "missing"),
        ("c0-name", "sex", "called 'sex' already"),
        ("c0-name", "SEX", "only in case"),
        ("c0-name", "x" * 1001, "1000 characters"),
        ("c1-levels", "", "all that there can be"),
        ("c1-levels", "F\nF", "given twice"),
        ("c1-levels", "F M X", "is the only level"),
        ("c1-levels", "F, M\nX", "'F, M' would be one level"),
        ("c1-levels", "F\n(other)", "name of an added cell"),
        ("c1-levels", "F\na\0b", "level"),
        ("c1-others", "clamp", "no order to clamp"),
        ("c1-case", "loud", "must be one of"),
        ("c2-first", "", "Type the first day"),
        ("c2-first", "yesterday", "first day must be a date"),
        ("c2-last", "2023", "first day (2024) must not exceed the last day (2023)"),
        ("c2-last", "31.12.2024", "The last day is written 2024-12-31"),
        ("c2-by", "fortnight", "must be one of"),
        ("c2-by", "weekday", "takes no min"),
        ("c2-zone", "Nowhere/At all", "time zone must be"),
        ("c2-format", "%Q", "format"),
        ("c3-max", "40,5", "Write 40.5 with a dot"),
        ("c3-bins", "many", "number of bins must be"),
        ("c3-bins", "0", "at least 1"),
        ("c3-edges", "1, 2, 2", "increase"),
        ("c3-edges", "wide", "must be a number"),
        ("c3-edges", "0,5", "can be read as one number or as two"),
        ("c3-edges", "0; 0,5; 1", "Write 0.5 with a dot"),
        ("c3-measure", "fortnights", "must be one of"),
        ("whose", "", "how many rows one person can have"),
        ("unit", "", "Choose the column"),
        ("unit", "99", "Choose the column"),
        ("unit", "²", "Choose the column"),
        ("rows_per_unit", "0", "at least 1"),
        ("rows_per_unit", "many", "at least 1"),
    ],
)
def test_a_wrong_value_is_said_at_its_field(field, value, words):
    whole = {**WHOLE, "c1-others": "other", "whose": "column", "unit": "1", "rows_per_unit": "2"}
    assert draw(whole).problems == {}
    own = draw(whole, **{field: value})
    where = field if value != "SEX" else "c1-name"  # of two names that cannot be told apart, the second
    assert words in own.problems.get(where, f"nothing is said here, but {own.problems}")
    assert own.schema is None


def test_all_that_is_wrong_is_said_at_once():
    wrong = {"c0-min": "x", "c0-max": "y", "c1-levels": "", "c2-first": "1.1.2024", "c2-last": "x", "whose": ""}
    own = draw(WHOLE, **wrong)
    assert set(own.problems) == set(wrong)
    assert set(own.attributes) == {"long"}


def test_hostile_names_stay_names():
    columns = [ColumnFacts(name, "text", "text") for name in HOSTILE]
    own = draw({f"c{place}-kind": "boolean" for place in range(len(HOSTILE))} | {"whose": "row"}, columns)
    assert own.schema.names == tuple(HOSTILE)
    assert own.schema.patterns == ()
    assert Schema.from_toml(own.text) == own.schema


def test_a_name_of_two_columns_is_left_alone():
    columns = [ColumnFacts("age", "text", "text")] * 2
    assert set(draw(AGE, columns, whose="row").problems) == {"columns"}


def test_levels_are_split_where_a_person_would():
    assert levels_in(" F , M ") == levels_in("F;M;") == levels_in("F\tM") == ["F", "M"]
    assert levels_in('"Smith; John", Doe') == ["Smith; John", "Doe"]
    assert levels_in("Smith, John; Doe") == ["Smith, John", "Doe"]
    assert levels_in("Riverside,\r\nCentral;\r\n,\r\n") == ["Riverside", "Central"]
    for levels in ("a, b\nc", "Central"):
        asked = {"c1-levels": levels}
        assert set(draw(WHOLE, **asked).problems) == {"c1-levels"}
        said = draw(WHOLE, **asked, **{"c1-lines": "yes"})
        assert said.schema.attributes["sex"].levels == tuple(levels.splitlines())
        assert read_fields(PLAIN, fields_from(said.schema, PLAIN)).schema == said.schema
    assert draw(WHOLE, **{"c1-levels": "Smith, John; Doe"}).problems == {}


def test_codes_of_a_column_of_numbers_are_numbers():
    codes = {"c0-kind": "categorical", "c0-levels": "1, 2", "whose": "row"}
    assert draw(codes, [ColumnFacts("grade", "int64", "integer")]).schema.attributes["grade"].levels == (1, 2)
    assert draw(codes).schema.attributes["age"].levels == ("1", "2")


def test_everything_ready_made_is_a_schema_and_is_found_again():
    assert set(ready_made()) == set(presets())
    for name in ready_made():
        typed = {"c0-kind": [f"like:{name}"], "whose": ["row"]}
        own = read_fields(PLAIN, typed)
        assert own.problems == {}
        assert fields_from(own.schema, PLAIN)["c0-kind"] == typed["c0-kind"]


def test_a_schema_returns_to_the_form_or_is_left_as_text():
    own = draw(WHOLE, **{"c0-name": "years", "c1-missing": "NA, -99", "c3-edges": "0, 5, 90", "whose": "several"})
    typed = fields_from(own.schema, PLAIN)
    assert read_fields(PLAIN, typed).schema == own.schema
    groups = '[attributes.sex]\ntype = "categorical"\nlevels = ["F", "M"]\ngroups = {"all" = ["F", "M"]}\n'
    assert fields_from(Schema.from_toml(groups), PLAIN) is None
    assert fields_from(Schema.from_toml('rows = 9\n[attributes.sex]\ntype = "boolean"\n'), PLAIN) is None
    assert fields_from(Schema.from_toml('[attributes.other]\ntype = "boolean"\n'), PLAIN) is None


def test_how_the_file_is_written_is_part_of_the_schema():
    file = FileFormat(delimiter=";", header=False, columns=["age"])
    typed = {"c0-kind": ["boolean"], "whose": ["row"]}
    assert read_fields([ColumnFacts("age", "text", "text")], typed, file).schema.file == file


def test_analysts_open_no_tables():
    site = SimpleNamespace(settings={"workplace": "/nowhere"})
    visit = Visit("GET", "/new/x", {}, {}, Visitor("token", "mara", "analyst"), site)
    with pytest.raises(AdytonError, match="Only the curator"):
        edit(visit, "x")


def test_a_service_for_many_has_no_such_page(visit):
    page = visit("olga").get("/new")
    assert page.status == 404
    assert "configuration" in page.words


# ---- the whole way, with all processes -------------------------------------------------------------------------------


FORM = {
    "c0-kind": "integer", "c0-min": "0", "c0-max": "119", "c1-kind": "like:sex", "c2-kind": "categorical",
    "c2-levels": "eye, ear", "whose": "row", "rows_per_unit": "1", "total": "1",
}  # fmt: skip


def problem_at(page, field):
    """What is said at a field."""
    found = re.search(rf'id="p-{field}">(.*?)</p>', page.html, re.DOTALL)
    return html.unescape(found[1]) if found else None


def test_from_a_csv_to_an_open_table_by_forms_alone(opened):
    visitor, folder = opened.visitor, opened.folder
    assert "Open a table" in opened.first.words
    listed = visitor.get("/new")
    assert "visits.csv" in listed.words
    assert "notes.txt" not in listed.html
    assert "secret.key" not in listed.html
    empty = visitor.get("/new/visits.csv")
    assert {"age", "sex", "ward", "joined", "name"} <= set(empty.words.split())
    shown = visitor.post("/new/visits.csv/look", **FORM | {"c0-max": ""})
    assert "one of 'eye', 'ear'" in shown.words
    assert "Still to fill in age, the largest value" in shown.words
    assert '<span hidden data-at="n-c2-levels">2 levels: eye · ear</span>' in shown.html
    shown = visitor.post("/new/visits.csv/look", **FORM | {"c2-levels": "eye, ear\nskin", "total": "abc", "whose": ""})
    assert "Needs correcting ward, the levels : 'eye, ear' would be one level" in shown.words
    assert "Total budget : The total must be a finite number, given 'abc'" in shown.words
    assert "Still to fill in Who is protected" in shown.words
    empty = visitor.post("/new/visits.csv/look", total="1", whose="")
    assert "Nothing yet" in empty.words  # an untouched form is told nothing
    visitor.post("/new/visits.csv/look", **FORM | {"c0-max": ""})
    assert 'value="0"' in visitor.get("/new/visits.csv").html  # what was typed is kept
    wrong = visitor.post("/new/visits.csv", step="open", **FORM | {"c0-max": "young", "total": "lots"})
    assert wrong.status == 400
    assert "must be a whole number such as" in problem_at(wrong, "c0-max")
    assert "lots" in problem_at(wrong, "total")
    assert 'value="young"' in wrong.html
    assert not (folder / "visits.toml").exists()
    checked = visitor.post("/new/visits.csv", step="check", **FORM | {"total": "abc", "whose": ""})
    assert "finite number" in problem_at(checked, "total")
    assert "how many rows one person can have" in problem_at(checked, "whose")
    assert 'name="whose" value="row">' in checked.html  # nothing is ticked in advance
    checked = visitor.post("/new/visits.csv", step="check", **FORM)
    assert "has all columns that are described here. No values were read: levels and bounds were not" in checked.words
    page = visitor.post("/new/visits.csv", step="open", **FORM)
    assert (page.status, page.path) == (200, "/tables/visits.csv")
    assert "ε = 1 of 1 left" in page.words
    assert Schema.from_toml(folder / "visits.toml").names == ("age", "sex", "ward")
    assert Ledger.read(folder / "visits.ledger").total == 1
    assert visitor.get("/saved").status == 200  # looks for results in the folder, and into no table
    assert visitor.get("/saved/visits.csv").status == 404
    public = [number for number, module in opened.processes().items() if module in ("open", "web", "pages.site")]
    assert len(public) == 3
    assert not [number for number in public if _memory(number, CANARY.encode())]
    assert "Go to the table" in visitor.get("/new").words


def _memory(process, wanted):
    """Whether the memory of a process has these bytes."""
    with open(f"/proc/{process}/maps") as maps, open(f"/proc/{process}/mem", "rb", 0) as content:
        for line in maps:
            span, rights, *_ = line.split()
            if not rights.startswith("rw") or "[v" in line:
                continue
            start, end = (int(number, 16) for number in span.split("-"))
            content.seek(start)
            try:
                if wanted in content.read(end - start):
                    return True
            except OSError:
                continue
    return False


@pytest.mark.skipif(os.geteuid() != 0, reason="reading the memory of a process needs root")
def test_the_search_finds_what_is_there():
    assert _memory(os.getpid(), CANARY.encode())


def test_what_cannot_be_opened_leaves_nothing_behind(opened):
    visitor, folder = opened.visitor, opened.folder
    visitor.get("/new/second.csv")
    (folder / "bad.ledger").write_text("no ledger")
    Ledger.open(folder / "spent.ledger", total=2, dataset="second.csv").close()
    before = {file.name for file in folder.iterdir() if not file.name.endswith(("-wal", "-shm"))}
    for field, words, typed in [
        ("ledger", "bad.ledger", {"ledger": "bad.ledger"}),
        ("ledger", "visits.csv", {"ledger": "visits.ledger"}),
        ("total", "for a total of 2", {"ledger": "spent.ledger"}),
        ("ledger", "no folder", {"ledger": "../second.ledger"}),
        ("ledger", "no folder", {"ledger": "second.csv\0.ledger"}),
        ("ledger", "ledger", {"ledger": "second.csv"}),
        ("total", "in all", {"total": ""}),
        ("total", "protects hardly anybody", {"total": "11"}),
        ("total", "total", {"total": "-1"}),
    ]:
        page = visitor.post("/new/second.csv", step="open", **FORM | typed)
        assert page.status == 400, typed
        assert words in (problem_at(page, field) or page.words), typed
        assert "Traceback" not in page.html
        left = {name for name in os.listdir(folder) if not name.endswith(("-wal", "-shm"))}
        assert left == before, typed


def test_a_schema_that_exists_is_replaced_only_if_somebody_says_so(opened):
    visitor, folder = opened.visitor, opened.folder
    other = visitor.get("/new/typed.parquet")
    assert "int64" in other.words
    (folder / "typed.toml").write_text("# by hand\n[attributes.age]\ntype = 'integer'\nmin = 0\nmax = 9\n")
    typed = {"c0-kind": "integer", "c0-min": "0", "c0-max": "99", "whose": "row", "total": "1"}
    page = visitor.post("/new/typed.parquet", step="open", **typed)
    assert "exists already" in page.words
    assert "by hand" in (folder / "typed.toml").read_text()
    Ledger.open(folder / "typed-spent.ledger", total=2, dataset="typed.parquet").close()
    failed = visitor.post("/new/typed.parquet", step="open", replace="yes", **typed | {"ledger": "typed-spent.ledger"})
    assert "for a total of 2" in problem_at(failed, "total")
    assert "by hand" in (folder / "typed.toml").read_text()
    page = visitor.post("/new/typed.parquet", step="open", replace="yes", **typed)
    assert page.path == "/tables/typed.parquet"
    changed = visitor.post("/new/typed.parquet", step="open", replace="yes", **typed | {"c0-max": "9", "total": ""})
    assert "between 0 and 9;" in changed.words  # nothing was spent, so another schema can be agreed on


def test_a_column_that_does_not_fit_is_said_at_the_column(opened):
    visitor = opened.visitor
    visitor.get("/new/typed.parquet")
    page = visitor.post(
        "/new/typed.parquet", step="check", whose="row", **{"c1-kind": "integer", "c1-min": "0", "c1-max": "1"}
    )
    assert "needs a column of numbers" in problem_at(page, "c1-kind")


def test_a_schema_as_text(opened):
    visitor = opened.visitor
    visitor.get("/new/second.csv")
    text = visitor.post("/new/second.csv", step="text", **FORM)
    assert "[attributes.ward]" in text.words
    for wrong, words in [("[attributes.age", "TOML"), (f"{SISE}[attributes.sex]\ntype = 'boolean'\n", "no column")]:
        page = visitor.post("/new/second.csv", step="check", text=wrong)
        assert page.status == 400
        assert words in problem_at(page, "text")
        assert html.escape(wrong.splitlines()[0]) in page.html
    richer = '[attributes.sex]\ntype = "categorical"\nlevels = ["F", "M"]\ngroups = {"all" = ["F", "M"]}\n'
    page = visitor.post("/new/second.csv", step="form", text=richer)
    assert "cannot show all" in problem_at(page, "text")
    page = visitor.post("/new/second.csv", step="form", text='[attributes.sex]\ntype = "boolean"\n')
    assert page.status == 200
    assert '<option value="boolean" selected>' in page.html


def test_a_first_line_that_looks_like_a_row_is_not_shown(opened):
    visitor = opened.visitor
    page = visitor.get("/new/rows.csv")
    assert "looks like a row" in page.words
    assert CANARY not in page.html
    page = visitor.post("/new/rows.csv", step="update", header="none", names="age\nsex\nplace")
    assert "place" in page.words
    assert CANARY not in page.html
    page = visitor.post("/new/rows.csv", step="check", header="none", names="age\nsex\nplace", whose="row", **AGE)
    assert "No values were read" in page.words
    page = visitor.post("/new/rows.csv", step="update", delimiter="xx")
    assert page.status == 400
    assert "delimiter" in page.words


def test_names_are_shown_as_text(opened):
    visitor = opened.visitor
    page = visitor.get("/new/hostile%20%3Cb%3E%26.csv")
    assert "hostile <b>&.csv" in page.words
    assert "<script>alert" not in page.html
    assert "{{ 7*7 }}" in page.words
    levels = {"c0-kind": "categorical", "c0-levels": "</textarea><script>x()</script>\n{{ 1 }}", "c0-name": "<i>"}
    for shown in (
        visitor.post("/new/hostile%20%3Cb%3E%26.csv/look", **levels),
        visitor.post("/new/hostile%20%3Cb%3E%26.csv", step="update", **levels),
    ):
        assert "<script>x" not in shown.html
        assert "<i>" not in shown.html
        assert "{{ 1 }}" in shown.words


def test_no_forged_name_leads_anywhere(opened):
    visitor = opened.visitor
    forged = [
        "secret.key",
        "notes.txt",
        "..%2Fvisits.csv",
        "elsewhere%2Ffar.csv",
        "%2Fetc%2Fpasswd",
        "nothing.csv",
        ".",
    ]
    for name in forged:
        assert visitor.get(f"/new/{name}").status == 404, name
        assert visitor.post(f"/new/{name}", step="open", **FORM).status == 404, name
    assert visitor.post("/new", step="open", file="../visits.csv").status == 404


def test_a_table_elsewhere_is_named_by_its_path(opened):
    visitor = opened.visitor
    for path, words in [
        ("elsewhere/nothing.csv", "no file"),
        ("elsewhere", "is a folder"),
        ("secret.key", "not a kind of file"),
        ("", "Give the path"),
        ("a\0b.csv", "Give the path"),
        ("postgresql://ann:hunter2@db/x#y", "terminal"),
        ("<b>.csv", "no file"),
    ]:
        page = visitor.post("/new", step="path", where=path)
        assert page.status == 400
        assert words in problem_at(page, "where")
        assert "<b>.csv" not in page.html
    assert visitor.post("/new", step="path", where="elsewhere/far.csv").path == "/new/far.csv"
    page = visitor.post("/new", step="path", where=str(opened.folder / "elsewhere" / ".." / "visits.csv"))
    assert page.path == "/new/visits.csv"


def test_a_file_that_is_no_table_says_so(opened):
    page = opened.visitor.get("/new/broken.parquet")
    assert page.status == 400
    assert "cannot be read as Parquet" in page.words


def test_a_schema_with_names_of_people_that_somebody_wrote_is_opened_as_it_is(opened):
    visitor = opened.visitor
    text = 'attributes = { age = { type="integer", min=0, max=119 }, name = {type="identifier"} }'
    (opened.folder / "named.csv").write_text("age,name\n34,QUOKKA-1\n")
    (opened.folder / "named.toml").write_text(f"# from the code book\n{text}\n")
    fields = {"c0-kind": "integer", "c0-min": "0", "c0-max": "119", "c1-kind": "identifier", "whose": "row"}
    fields |= {"c0-nulls": "drop", "c0-outside": "drop"}
    page = visitor.post("/new/named.csv", step="open", **fields, total="1", ledger="")
    assert page.path == "/tables/named.csv", page.words
    assert "# from the code book" in (opened.folder / "named.toml").read_text()
    assert (opened.folder / "named.ledger").is_file()
    assert "age" in visitor.get("/").words


def test_a_wide_table_begins_with_ticks(opened):
    visitor = opened.visitor
    page = visitor.get("/new/wide.csv")
    assert "400 columns" in page.words
    assert "c5-kind" not in page.html
    page = visitor.post("/new/wide.csv", step="update", use=["5", "399", "400", "x"])
    assert page.html.count("-kind") > 0
    assert 'name="c5-kind"' in page.html
    assert 'name="c399-kind"' in page.html
    assert 'name="c6-kind"' not in page.html


def test_a_form_without_its_key_opens_nothing(opened):
    visitor, good = opened.visitor, opened.visitor.form_key
    for path in ("/new", "/new/second.csv", "/new/second.csv/look"):
        visitor.form_key = "guessed"
        assert visitor.post(path, step="open", file="second.csv", **FORM).status == 400
    visitor.form_key = good
