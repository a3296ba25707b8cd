"""A line of a CSV file is one row, whatever it holds: no line moves, swallows or delays another."""

from __future__ import annotations

import csv
import gzip
import random

import numpy as np
import pytest

from adyton.kernel.counting import open_table
from adyton.kernel.reading import csv_reader
from adyton.schema import Categorical, Integer, Schema

AGES = Schema({"age": Integer(0, 9, nulls="level")})
LINES = [(f'"p{i}",{i % 10}' if i // 10 % 2 else f"p{i},{i % 10}").encode() for i in range(60)]
LONG = 1000
ODD = {
    "open quote": b'"oops,3',
    "open quote at the end": b'oops,"3',
    "quote inside": b'o"ops,3',
    "quote behind": b'oops,3"',
    "text behind a quote": b'"oops"x,3',
    "two open quotes": b'"a","',
    "not UTF-8": b"\xff\xfe\x80,3",
    "half a character": b"a,3\xe2\x82",
    "a NUL": b"\0,3",
    "a carriage return": b"a\rb,3\rc,4",
    "nothing but quotes": b'""""""""',
    "long": b"x" * (3 * LONG) + b",3",
    "long and open": b'"' + b"x" * LONG + b",3",
}


def counts(path, lines, schema=AGES, ending=b"\n"):
    raw = b"name,age" + ending + b"".join(line + ending for line in lines)
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    table = open_table(path, schema)
    return table.count(), table.vectorize()


@pytest.fixture
def short_lines(monkeypatch):
    monkeypatch.setattr(csv_reader, "LONGEST_LINE", LONG)


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.usefixtures("short_lines")
def test_an_odd_line_moves_no_other(tmp_path, odd):
    count, vector = counts(tmp_path / "t.csv", [*LINES[:30], ODD[odd], *LINES[30:]])
    assert count == 61
    assert vector.sum() == 61
    assert np.abs(vector - np.array([6] * 10 + [0])).sum() == 1


@pytest.mark.parametrize("block", [7, 1 << 22])
@pytest.mark.parametrize(("name", "ending"), [("t.csv", b"\n"), ("t.csv.gz", b"\r\n")])
def test_neighbours_differ_by_one_row_wherever_blocks_end(tmp_path, monkeypatch, block, name, ending):
    monkeypatch.setattr(csv_reader, "_BLOCK", block)
    monkeypatch.setattr(csv_reader, "LONGEST_LINE", 40)
    draw = random.Random(5)
    pieces = [b",", b'"', b'""', b"4", b"x", b"\r", b" ", b"\xff", "é".encode(), b"y" * 50]
    lines = [b"".join(draw.choices(pieces, k=draw.randrange(1, 8))) + b"|" for _ in range(60)]
    total, vector = counts(tmp_path / name, lines, ending=ending)
    assert total == vector.sum() == 60
    for place in (0, 17, 59):
        fewer, without = counts(tmp_path / name, lines[:place] + lines[place + 1 :], ending=ending)
        assert fewer == 59
        assert np.abs(vector - without).sum() == 1


def test_the_limit_is_far_below_what_takes_long_to_read():
    assert csv_reader.LONGEST_LINE <= 1 << 20


def test_well_formed_lines_are_read_as_python_reads_them(tmp_path, monkeypatch):
    draw = random.Random(6)
    texts = ["", "a", "b,c", 'say "hi"', "it's", "é", "\t", "a;b"]
    rows = [[draw.choice(texts), draw.choice(texts)] for _ in range(300)]
    with (tmp_path / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["x", "y"], *rows])
    keeping = {"nulls": "level", "outside": "other"}
    schema = Schema({"x": Categorical(texts[1:], **keeping), "y": Categorical(texts[1:5], **keeping)})
    expected = np.zeros(schema.shape, int)
    for row in rows:
        cells = [
            levels.size - 1 if not text else (levels.levels.index(text) if text in levels.levels else levels.base_size)
            for text, levels in zip(row, schema.attributes.values(), strict=True)
        ]
        expected[tuple(cells)] += 1
    np.testing.assert_array_equal(open_table(tmp_path / "t.csv", schema).vectorize(), expected)
    monkeypatch.setattr(csv_reader, "_WORTH_COMPILING", 0)
    np.testing.assert_array_equal(open_table(tmp_path / "t.csv", schema).vectorize(), expected)


def test_line_ends_inside_quotes_are_allowed_by_the_schema_alone(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_bytes(b'note,age\n"two\nlines",1\n"three\r\nlines\n,",2\nplain,3\n')
    several = Schema({"age": Integer(0, 9)}, multiline=True)
    assert open_table(path, AGES).count() == 6
    for block in (3, 1 << 22):
        monkeypatch.setattr(csv_reader, "_BLOCK", block)
        table = open_table(path, several)
        assert table.count() == 3
        assert table.vectorize().tolist() == [0, 1, 1, 1, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("block", [16, 1 << 22])
def test_the_price_of_line_ends_inside_quotes_is_bounded(tmp_path, monkeypatch, block):
    monkeypatch.setattr(csv_reader, "_BLOCK", block)
    monkeypatch.setattr(csv_reader, "LONGEST_LINE", 100)
    several = Schema({"age": Integer(0, 9, nulls="level")}, multiline=True)
    lines = [f"p{i},{i % 10}".encode() for i in range(60)]
    count, vector = counts(tmp_path / "t.csv", [*lines[:30], b'"oops,3', *lines[30:]], several)
    assert (count, vector[-1]) == (61, 1)
    count, _ = counts(tmp_path / "t.csv", [*lines[:30], b'"oops,3', *lines[30:40], b'x",4', *lines[40:]], several)
    assert count == 51


@pytest.mark.parametrize("block", [8, 101, 102, 1 << 22])
def test_a_line_end_at_the_limit_is_read_alike_wherever_blocks_end(tmp_path, monkeypatch, block):
    monkeypatch.setattr(csv_reader, "_BLOCK", block)
    monkeypatch.setattr(csv_reader, "LONGEST_LINE", 100)
    several = Schema({"age": Integer(0, 9, nulls="level")}, multiline=True)
    count, vector = counts(tmp_path / "t.csv", [b'"' + b"x" * 99, b'a",4'], several)
    assert (count, vector[-1]) == (2, 1)


def test_the_compiled_loop_is_the_same(tmp_path, monkeypatch):
    lines = [ODD[name] for name in ODD if not name.startswith("long")] * 3
    expected = counts(tmp_path / "t.csv", lines)
    monkeypatch.setattr(csv_reader, "_WORTH_COMPILING", 0)
    counted = counts(tmp_path / "t.csv", lines)
    assert counted[0] == expected[0]
    np.testing.assert_array_equal(counted[1], expected[1])
