"""What grows how: every kind of point can be measured, exponents are fitted, pictures are drawn."""

import json
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from adyton.cli.main import app
from adyton_lab.bench import scale

SIZES = {"rows": 1000, "pairs": 1000, "cells": 4096, "attributes": 2, "queries": 100, "workers": 1}


NAMES = {grows: {name for other, name, _ in scale.points() if other == grows} for grows in SIZES}
NAMES["memory"] = NAMES["cells"]
FIRST = {grows: name for grows, name, _ in reversed(list(scale.points()))}
"""One request for each thing that grows; the others in the long run."""


@pytest.mark.parametrize(
    ("grows", "name"),
    [
        pytest.param(grows, name, marks=[] if FIRST[grows] == name else pytest.mark.full)
        for grows, name in dict.fromkeys((grows, name) for grows, name, _ in scale.points())
    ],
)
def test_a_point(grows, name, capsys, monkeypatch):
    monkeypatch.setattr(scale, "SIDES", (64, 128))
    monkeypatch.setattr(scale, "_WARM", 1 << 10)
    scale.probe(grows, name, SIZES[grows])
    found = json.loads(capsys.readouterr().out)
    assert found["seconds"] > 0
    assert found["processor_seconds"] > 0
    assert found["megabytes"] >= 0
    assert ("processor_seconds_of_the_query" in found) == (grows in ("rows", "pairs"))


def square(grows, name, size):
    """Time that grows with the square of the size."""
    measured = {"seconds": 1.0, "processor_seconds": 1e-3 * size**2, "megabytes": size / 1e6}
    return measured | ({"processor_seconds_of_the_query": 0.5e-3 * size**2} if grows in ("rows", "pairs") else {})


def test_exponents_are_fitted(monkeypatch):
    monkeypatch.setattr(scale, "_measured", square)
    steps, rows = scale.scale(10**8, 1 << 14, 4)
    found = list(rows)
    assert len(found) == steps
    assert [one.size for one in found if one.grows == "rows"] == [10**6, 10**7, 10**8]
    assert [one.size for one in found if one.grows == "workers"] == [1, 2, 4]
    ends = {(one.grows, one.algorithm): one for one in found}
    assert all(end.exponent == pytest.approx(2) for (grows, _), end in ends.items() if grows != "workers")
    assert ends["rows", "identity"].times_the_query == pytest.approx(2)
    small = [one for one in found if one.size == 1024 and one.grows == "cells"]
    assert len(small) == len(scale.PLANS)
    assert all(one.exponent is None for one in small)


def test_the_command_draws_and_prints(monkeypatch, tmp_path):
    monkeypatch.setattr(scale, "_measured", square)
    given = ["bench", "scale", "--rows", "10000000", "--cells", "65536", "--workers", "2", "--json"]
    folder = tmp_path / "pictures"
    done = CliRunner().invoke(app, [*given, "--plots", str(folder)])
    assert done.exit_code == 0, done.output
    assert {one["grows"] for one in json.loads(done.stdout)} == set(SIZES)
    pictures = sorted(folder.glob("*.svg"))
    assert [path.stem for path in pictures] == sorted([*(f"scale-{grows}" for grows in SIZES), "scale-memory"])
    for path in pictures:
        drawn = ElementTree.fromstring(path.read_text(encoding="utf-8"))
        words = " ".join(drawn.itertext())
        assert all(name in words for name in NAMES[path.stem.removeprefix("scale-")])
    assert "cannot be created" in CliRunner().invoke(app, [*given, "--plots", str(path)]).output
