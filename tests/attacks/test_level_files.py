"""Levels and look-ups are read from public files: not from the private table itself, by whatever name it is called.

What is in such a file is published, the values that nobody has among the rows, too.
"""

import os

import pyarrow
import pytest
from pyarrow import csv, parquet
from typer.testing import CliRunner

import adyton as ad
from adyton.cli.main import app
from adyton.errors import SchemaError
from adyton.schema.draft import ColumnFacts
from adyton.service import columns
from adyton.service.pages.new_table.form import fields_from

CANARY = "QUOKKA"
TABLE = pyarrow.table({"name": [f"{CANARY}{place}" for place in range(40)], "age": [place % 9 for place in range(40)]})


def linked(folder, ending, way):
    """The path of the table, and another name of the file in which its rows are."""
    other = folder / "other"
    other.mkdir()
    parts = folder / "parts"
    parts.mkdir()
    path = (parts / f"b{ending}") if way in ("part of a folder", "part of a pattern") else folder / f"people{ending}"
    write = parquet.write_table if ending == ".parquet" else csv.write_csv
    write(TABLE, path)
    write(TABLE.slice(0, 3), parts / f"a{ending}")
    if way == "a hard link":
        os.link(path, other / path.name)
    if way in ("a link", "the table is a link"):
        (other / path.name).symlink_to(path)
    (folder / "link").symlink_to(folder)
    return {
        "its name": (path, path.name),
        "a way around": (path, f"other/../{path.name}"),
        "a link": (path, str(other / path.name)),
        "a link to its folder": (path, f"link/{path.name}"),
        "a hard link": (path, f"other/{path.name}"),
        "the table is a link": (other / path.name, path.name),
        "part of a folder": (parts, f"parts/{path.name}"),
        "part of a pattern": (str(parts / f"*{ending}"), f"parts/{path.name}"),
    }[way]


WAYS = [
    "its name",
    "a way around",
    "a link",
    "a link to its folder",
    "a hard link",
    "the table is a link",
    "part of a folder",
    "part of a pattern",
]
KEYS = {
    "levels_file": 'levels_file = {{file = "{}", column = "name"}}',
    "lookup": 'levels = ["0", "1"]\nlookup = {{file = "{}", key = "name", value = "age"}}',
}


def schema(folder, key, file):
    path = folder / "schema.toml"
    path.write_text(f'[attributes.name]\ntype = "categorical"\n{KEYS[key].format(file)}\n')
    return path


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("way", WAYS)
def test_the_table_itself_is_no_public_file(way, ending, key, tmp_path):
    data, file = linked(tmp_path, ending, way)
    with pytest.raises(SchemaError, match=f"attribute 'name': the {key} '.*' is the table itself") as caught:
        ad.Session(data, schema=schema(tmp_path, key, file), epsilon=1)
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize("key", KEYS)
def test_a_copy_of_what_is_public_stays_allowed(key, tmp_path):
    """Also of the same content: somebody decided to publish that."""
    data, _ = linked(tmp_path, ".csv", "its name")
    csv.write_csv(TABLE.slice(0, 2), tmp_path / "public.csv")
    with ad.Session(data, schema=schema(tmp_path, key, "public.csv"), epsilon=1) as session:
        assert session.schema.cells == 2


@pytest.mark.parametrize("key", KEYS)
def test_commands_and_pages_refuse_it_as_well(key, tmp_path):
    """None of them lists what is in the file, and no form turns a file of levels into levels."""
    data, file = linked(tmp_path, ".csv", "its name")
    declared = schema(tmp_path, key, file)
    for command in (["check", str(data)], ["release", str(data), "--epsilon", "1", "--histogram", "name"]):
        said = CliRunner().invoke(app, [*command, "--schema", str(declared)])
        assert said.exit_code != 0
        assert "is the table itself" in " ".join(said.output.split())
        assert CANARY not in said.output
    text = declared.read_text()
    checked = columns.reply({"call": "check", "data": str(data), "schema": text, "folder": str(tmp_path)})["ok"]
    assert "is the table itself" in checked["problems"][0]
    assert CANARY not in str(checked)
    shown = fields_from(ad.Schema.from_toml(declared), [ColumnFacts("name", "text", "text")])
    assert shown is None
