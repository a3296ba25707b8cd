"""Published files say nothing about when, or for how long, the rows were looked at: a long row takes longer."""

import json
import re
import time

import pandas as pd
import pytest
from typer.testing import CliRunner

import adyton as ad
from adyton.cli.main import app

TIME_OF_DAY = re.compile(r"\d{1,2}:\d\d|\d{4}-\d\d-\d\dT")
SCHEMA = ad.Schema({"age": ad.Integer(0, 9)})


def release_of(algorithm="identity"):
    session = ad.Session(pd.DataFrame({"age": [1, 2, 2]}), schema=SCHEMA, epsilon=1)
    return session.release(ad.Histogram("age"), epsilon="0.5", algorithm=algorithm)


@pytest.fixture(scope="module")
def release():
    return release_of()


def test_no_file_holds_a_time_of_day(release, tmp_path):
    release.save(tmp_path / "out")
    for file in (tmp_path / "out").iterdir():
        assert not TIME_OF_DAY.search(file.read_text(encoding="utf-8")), file.name
    explained = CliRunner().invoke(app, ["explain", str(tmp_path / "out")]).stdout
    assert not TIME_OF_DAY.search(explained)
    assert not TIME_OF_DAY.search(str(release.explain()) + repr(release) + release._repr_html_())


def test_the_date_does_not_depend_on_how_long_it_took(monkeypatch):
    """Two releases that differ only in how long the kernel took are the same, but for their noise."""
    from adyton.kernel import kernel

    measure = kernel.run

    def slow(*arguments):
        time.sleep(0.3)
        return measure(*arguments)

    quick = release_of().record
    monkeypatch.setattr(kernel, "run", slow)
    assert release_of().record == quick


def test_the_ledger_has_the_times(tmp_path):
    with ad.Session(
        pd.DataFrame({"age": [1]}), schema=SCHEMA, epsilon=1, ledger=tmp_path / "a.ledger", dataset="people"
    ) as session:
        session.release(ad.Histogram("age"), epsilon="0.5", algorithm="identity")
        assert TIME_OF_DAY.search(session.ledger.entries()[0].time)


def test_older_files_are_read_and_their_times_cut(release, tmp_path):
    old = json.loads(json.dumps(release.to_dict()))
    del old["digest"], old["kind"]
    old["version"] = 1
    old["record"]["created"] = "2026-11-15T23:30:05.561-02:00"
    for entry in old["record"]["entries"]:
        entry["time"] = "2026-11-15T23:30:04.123-02:00"
    (tmp_path / "release.json").write_text(json.dumps(old), encoding="utf-8")
    again = ad.Release.load(tmp_path)
    assert again.record["created"] == "2026-11-16"
    assert not TIME_OF_DAY.search(json.dumps(again.to_dict()))
