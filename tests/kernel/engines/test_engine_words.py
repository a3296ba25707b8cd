"""The keys that say how texts are written: every engine reads the same in them, and so does plain Python."""

import re

import numpy as np
import pytest
from hard_rows import insert_into_postgres, write_parquet
from hard_texts import COLUMNS, CROWNS, DOLLARS, FORMATS, LOOK_UP, ROWS, SECONDS, STAMPS
from plain_oracle import inside

import adyton as ad
from adyton.errors import SchemaError
from adyton.kernel.counting import open_table
from adyton.schema import Reading, Schema
from adyton.schema.misfits import misfits_of
from adyton.schema.predicates import parse_predicate

KEEP = {"nulls": "level", "outside": "other"}
LEVELS = {
    "strasse": [],
    "fish": ["ﬁSH", "kelvin"],
    "north": ["BX", 1, 2, 3, 4],
    "rest": ["i̇stanbul", "é", "true", "10"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The rows in a file, and a look-up beside it."""
    place = tmp_path_factory.mktemp("texts")
    write_parquet(place / "texts.parquet", ROWS, COLUMNS)
    (place / "look.csv").write_text("".join(f"{key},{value}\n" for key, value in {"key": "value", **LOOK_UP}.items()))
    return place


@pytest.fixture
def opening(engine, folder, request):
    """Opens the hard texts on an engine."""
    if engine == "duckdb":
        data = folder / "texts.parquet"
    elif engine == "postgres":
        connection, address = request.getfixturevalue("postgres")
        if connection.execute("select to_regclass('texts')").fetchone() == (None,):
            insert_into_postgres(connection, "texts", ROWS, COLUMNS)
        data = f"{address}#texts"
    else:
        session = request.getfixturevalue("spark")[0] if engine == "spark" else request.getfixturevalue("remote")
        data = session.read.parquet(str(folder / "texts.parquet"))
    return lambda attributes, **options: open_table(data, Schema(attributes, **options))


def words(folder):
    """Attributes with levels, every key by itself and together with others."""
    look = {"file": str(folder / "look.csv"), "key": "key", "value": "value"}
    for keys in ({"case": "ignore"}, {"missing": ["NA", "", 10]}, {"lookup": look}):
        yield ad.Categorical(LEVELS, reading=Reading(column="word", **keys), **KEEP)
    both = {"trim": True, "case": "ignore", "missing": ["na", "FISH"]}
    yield ad.Categorical(LEVELS, reading=Reading(column="word", **both), **KEEP)
    yield ad.Categorical(["fis", "i21", "ß", "1", "k"], reading=Reading(column="word", first=3, **both), **KEEP)
    yield ad.Categorical(["north", "South", "7", "BX"], reading=Reading(column="word", lookup=look, **both), **KEEP)
    yield ad.Categorical([" ", "x"], reading=Reading(column="word", trim=False, case="ignore"), **KEEP)


def word_cell(attribute, text):
    """The cell of a text, in plain Python."""
    own = attribute.reading

    def normal(text, first=None):
        text = text.strip() if own.trim else text.strip(" ") if own.trim is None else text
        return text[:first].casefold() if own.case == "ignore" else text[:first]

    if text is None or text == "\1" or normal(text) in [normal(str(word)) for word in own.missing]:
        return attribute.null_cell
    text = normal(text[: 1 << 16], own.first)
    if own.lookup is not None:
        text = found(text, {normal(key): value for key, value in LOOK_UP.items()})
        if text is None:
            return attribute.null_cell
        text = normal(text)
    known = {normal(one): level for level, all_of in LEVELS.items() for one in map(str, all_of)}
    known = known if attribute.spellings else {}
    level = found(text, known | {normal(level): level for level in attribute.levels if normal(level) not in known})
    return attribute.other_cell if level is None else attribute.levels.index(level)


def found(text, known):
    """What is known of a text, or of another way to write the same number or boolean."""
    same = {worth(key): value for key, value in reversed(known.items()) if worth(key) is not None}
    return known.get(text, same.get(worth(text)))


def worth(text):
    text = text.strip()
    if text.lower() in ("true", "false"):
        return text.lower()
    if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", text, re.IGNORECASE | re.ASCII):
        return None
    return float(text)


def others():
    """Attributes of numbers and times, with what their texts are worth."""
    yield DOLLARS, "dollars", {"currency": ["$", "USD"], "thousands": ","}
    yield CROWNS, "crowns", {"currency": ["Kr", "kr."], "thousands": " ", "decimal": ","}
    yield STAMPS, "stamp", {"format": FORMATS}
    yield SECONDS, "seconds", {"format": "unix"}


def other_attribute(column, keys):
    if "format" in keys:
        return ad.Datetime("1960-01-01", "2070-12-31", by="day", column=column, zone="Europe/Berlin", **keys, **KEEP)
    return ad.Numeric(-10, 2000, bins=67, reading=Reading(column=column, **keys), **KEEP)


ENGINES = ["duckdb", "postgres", *(pytest.param(engine, marks=pytest.mark.full) for engine in ("spark", "connect"))]


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
def test_texts_stand_for_what_they_do_in_plain_python(opening, folder):
    attributes = {f"v{place}": attribute for place, attribute in enumerate(words(folder))}
    tables = opening(attributes).tables([[name] for name in attributes])
    for attribute, counts in zip(attributes.values(), tables, strict=True):
        cells = [word_cell(attribute, text) for text in ROWS["word"]]
        assert counts.tolist() == np.bincount(cells, minlength=attribute.size).tolist(), attribute.reading


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
def test_numbers_and_times_as_people_write_them(opening):
    given = list(others())
    attributes = {column: other_attribute(column, keys) for _, column, keys in given}
    table = opening(attributes)
    counted = table.tables([[name] for name in attributes])
    for (worth_of, column, _), counts in zip(given, counted, strict=True):
        attribute = attributes[column]
        values = [worth_of[text] for text in ROWS[column]]
        cells = [attribute.null_cell if value is None else inside(attribute, value) for value in values]
        cells = [attribute.other_cell if cell is None else cell for cell in cells]
        assert counts.tolist() == np.bincount(cells, minlength=attribute.size).tolist(), column
    schema = Schema(attributes)
    told = [misfit.reason for misfit in misfits_of(schema, schema.names)]
    unread = sum(DOLLARS[text] is None and text.strip() != "" for text in ROWS["dollars"])
    assert table.misfits(misfits_of(schema, ["dollars"]))[told.index("unreadable") + 1] == unread


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
def test_people_whose_names_are_written_in_several_ways(opening):
    names = {"name": ad.Identifier(reading=Reading(column="word", trim=True, case="ignore", missing=["NA"]))}
    table = opening(names).group_by(["name"], "rows", 99).select("rows")
    texts = [text[: 1 << 16].strip().casefold()[: 1 << 16] for text in ROWS["word"] if text is not None]
    times = [texts.count(text) for text in set(texts) - {"na", "\1"}]
    times.append(len(ROWS["word"]) - sum(times))  # those without a name
    assert table.vectorize().tolist() == np.bincount(times, minlength=100).tolist()[1:]


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_texts_that_may_not_leave_the_server_are_refused_at_opening(opening):
    with pytest.raises(SchemaError, match="keep_texts = true, and 'word' would be read from texts"):
        opening({"word": ad.Categorical(["a", "b"])}, keep_texts=True)


@pytest.mark.parametrize("engine", ["postgres", pytest.param("spark", marks=pytest.mark.full)], indirect=True)
def test_names_of_units_stay_in_the_server(opening, monkeypatch):
    numbers = {"seconds": ad.Integer(0, 9, nulls="level", outside="other")}
    table = opening(numbers, unit="word", rows_per_unit=2, keep_texts=True)
    fetched, seen = type(table._rows.server).fetched, []

    def watched(self, *given, **options):
        for arrays in fetched(self, *given, **options):
            seen.extend(value for array in arrays for value in array.to_pylist())
            yield arrays

    monkeypatch.setattr(type(table._rows.server), "fetched", watched)
    sizes = table.by_unit("rows", 99).select("rows").vectorize()
    stripped = {text.strip(" \t\n\r\v\f") for text in ROWS["word"] if text is not None} - {""}
    names = {name for name in stripped if len(name.encode()) <= 1 << 18}
    assert sizes.sum() == len(names)
    assert not names & {value for value in seen if isinstance(value, str)}


@pytest.mark.parametrize("engine", ["postgres", pytest.param("spark", marks=pytest.mark.full)], indirect=True)
def test_a_predicate_of_very_many_literals(opening):
    schema = Schema({"seconds": ad.Integer(-(2**51), 2**51)})
    wanted = sorted({value for value in ROWS["seconds"] if value is not None})[::2] + list(range(10**3, 10**3 + 1200))
    table = opening(dict(schema.attributes))
    listed = parse_predicate(f"seconds in ({', '.join(map(str, wanted))})", schema)
    joined = parse_predicate(" or ".join(f"seconds = {value}" for value in wanted[-400:]), schema)
    assert table.where(listed).count() == sum(value in wanted for value in ROWS["seconds"])
    assert table.where(joined).count() == sum(value in wanted[-400:] for value in ROWS["seconds"])
