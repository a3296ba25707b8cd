"""``adyton check``: nothing of a row without --public, and all that helps with it; presets and drafts to paste."""

import json

import pyarrow
import pytest
from typer.testing import CliRunner

from adyton.cli.main import app
from adyton.errors import SchemaError
from adyton.kernel.checking import check_table
from adyton.schema import Categorical, FileFormat, Integer, Reading, Schema
from adyton.schema.draft import presets

TOML = """
[attributes.cost]
type = "numeric"
min = 0
max = 10000
bins = 10
[attributes.sex]
type = "categorical"
levels = ["F", "M"]
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "t.csv").write_text('cost,sex,name\n"$1,250.50",f,CANARY\n"$9.00",F,CANARY\n7,x,CANARY\n,m,CANARY\n')
    (tmp_path / "s.toml").write_text(TOML)
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, ["check", *map(str, words)])


def test_nothing_of_a_row_is_shown_without_public(folder):
    done = run(folder / "t.csv", "--schema", folder / "s.toml")
    assert done.exit_code == 0
    assert "Columns that the schema does not name: 'name'" in done.stdout
    assert "can be opened" in done.stdout
    assert not any(word in done.output for word in ("CANARY", "1,250", " 4 "))
    plain = json.loads(run(folder / "t.csv", "--schema", folder / "s.toml", "--json").stdout)
    assert (plain["ok"], plain["rows"], plain["file"]["delimiter"]) == (True, None, ",")


def test_of_a_public_table_the_rest_is_shown(folder):
    plain = json.loads(run(folder / "t.csv", "--schema", folder / "s.toml", "--public", "--json").stdout)
    cost, sex = plain["rows"]
    assert (cost["rows"], cost["fitting"]) == (4, 1)
    assert {one["reason"]: one["rows"] for one in cost["misfits"]} == {"unreadable": 2, "missing": 1}
    assert cost["advice"] == 'currency = "$", thousands = ","'
    assert (sex["fitting"], sex["advice"]) == (1, 'case = "ignore", trim = true')
    assert "this would help: currency" in run(folder / "t.csv", "--schema", folder / "s.toml", "--public").stdout


def test_every_problem_is_reported_at_once(folder):
    age = '[attributes.age]\ntype = "integer"\nmin = 0\nmax = 9\n'
    more = age + '[attributes.region]\ntype = "categorical"\nlevels = ["a"]\n'
    (folder / "s.toml").write_text(
        TOML + more + 'column = "name"\nlookup = {file = "no.csv", key = "k", value = "v"}\n'
    )
    done = run(folder / "t.csv", "--schema", folder / "s.toml", "--json")
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert "2 problems in all" in done.stderr
    problems = {one["attribute"]: one["problems"] for one in json.loads(done.stdout)["attributes"] if one["problems"]}
    assert "no column 'age'" in problems["age"][0]
    assert "'no.csv' does not exist" in problems["region"][0]


def test_without_a_table_only_that_is_reported(folder):
    for name, words in (("none.csv", "does not exist"), ("t.csv#t", "is a single table, without a part 't'")):
        done = run(folder / name, "--schema", folder / "s.toml")
        assert (done.exit_code, done.stdout) == (2, "")
        assert words in done.stderr


def test_how_numbers_are_written_is_not_said_of_columns_of_numbers():
    schema = Schema({"age": Integer(0, 9)})
    typed, text = (check_table(pyarrow.table({"age": column}), schema) for column in ([1], ["1"]))
    assert "is not read" not in typed.attributes[0].accepts
    assert "is not read" in text.attributes[0].accepts


def test_a_first_line_that_may_be_a_row_is_not_shown(tmp_path):
    (tmp_path / "t.csv").write_text("CANARY,34\nCANARY,35\n")
    for schema in (Schema({"age": Integer(0, 9)}), Schema({"CANARY": Categorical(["x"]), "age": Integer(0, 9)})):
        found = check_table(tmp_path / "t.csv", schema)
        assert found.problems
        assert found.undeclared == ()
        assert "'34'" not in str(found)


def test_presets_are_schemas():
    for name, text in presets().items():
        assert Schema.from_toml(text) == Schema.from_toml(Schema.from_toml(text).to_toml()), name
    shown = CliRunner().invoke(app, ["schema", "--like", "icd10-chapters"])
    assert "IX Circulatory" in shown.stdout
    assert "us-states: " in CliRunner().invoke(app, ["schema", "--like", "list"]).stdout
    wrong = CliRunner().invoke(app, ["schema", "--like", "agess"])
    assert (wrong.exit_code, "Did you mean 'ages'?" in wrong.stderr) == (2, True)
    assert CliRunner().invoke(app, ["schema"]).exit_code == 2


def test_a_draft_names_the_keys_and_a_headless_one_reads_nothing(tmp_path):
    (tmp_path / "t.csv").write_bytes("Größe;sex\n1,5;F\n".encode("latin-1"))
    asked = ["schema", str(tmp_path / "t.csv")]
    assert "encoding" in CliRunner().invoke(app, asked).stderr
    shown = CliRunner().invoke(app, [*asked, "--encoding", "latin-1"]).stdout
    assert 'encoding = "latin-1"' in shown
    assert '[attributes."Größe"]' in shown
    assert 'decimal = ","' in shown
    headless = CliRunner().invoke(app, [*asked, "--no-header", "--delimiter", ";"]).stdout
    assert 'header = false\ndelimiter = ";"' in headless
    assert "Gr" not in headless


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Reading(thousands=","), None),
        (lambda: Reading(decimal=",", thousands=","), "thousands and decimal are both ','"),
        (lambda: Reading(currency="5"), "a currency sign must be a text"),
        (lambda: Reading(lookup={"file": "z.csv"}), "a look-up has a file, a key and a value"),
        (lambda: Integer(0, 9, reading=Reading(trim=True)), "integer takes no trim"),
        (lambda: Categorical(["a", "A"], reading=Reading(case="ignore")), "'a' and 'A' are read as the same text"),
        (lambda: Categorical({"a": ["x"], "b": ["x"]}), "'x' means both 'a' and 'b'"),
        (lambda: Categorical(["abc"], reading=Reading(first=2)), "only the first 2 characters count"),
        (lambda: Categorical(["a"], groups={"a": ["a"]}), "a group needs a name that no level has"),
        (lambda: Categorical(["a"], groups={"g": ["h"], "h": ["g"]}), "contain one another"),
        (lambda: Categorical(["a"], groups={"g": ["b"]}), "there is no level 'b'"),
        (lambda: FileFormat(header=False), "needs the names of its columns"),
        (lambda: FileFormat(delimiter="ab"), "delimiter must be one character"),
        (lambda: FileFormat(encoding="utf-7"), "encoding 'utf-7' is not among"),
        (lambda: FileFormat(compression="rar"), "compression must be one of"),
    ],
)
def test_what_cannot_be_meant_is_refused(make, words):
    if words is None:
        make()
        return
    with pytest.raises(SchemaError, match=words):
        make()
