"""A column that the schema does not fit is not released in silence: the release says so, within its own budget.

The noise is seeded where something is not to be said; where something is, 5,000 rows are 70 standard deviations of the
noise of a count (ε = 1, of which 1/50 goes to the misfits) above 0: chance decides less than once in 10⁶ times.
"""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import adyton as ad
from adyton.cli.main import app
from adyton.noise import SimulatedNoise

ROWS = 5000
SCHEMA = ad.Schema(
    {
        "cost": ad.Numeric(0, 100_000, bins=50),
        "born": ad.Integer(1900, 2020),
        "sex": ad.Categorical(["F", "M"]),
        "stay": ad.Integer(0, 30, outside="clamp"),
    }
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One clean file and a dirty one: prices in dollars, dates for years, blanks behind levels."""
    place = tmp_path_factory.mktemp("dirty")
    random = np.random.default_rng(1)
    rows = list(
        zip(random.uniform(0, 90_000, ROWS), random.integers(1900, 2020, ROWS), "FM" * (ROWS // 2), strict=True)
    )
    clean = "".join(f"{cost:.2f},{born},{sex},3\n" for cost, born, sex in rows)
    dirty = "".join(f"${cost:.2f},10/24/{born},{sex} ,99\n" for cost, born, sex in rows)
    for name, text in (("clean", clean), ("dirty", dirty)):
        (place / f"{name}.csv").write_text("cost,born,sex,stay\n" + text)
    (place / "schema.toml").write_text(SCHEMA.to_toml())
    return place


def session(file):
    return ad.Session(file, schema=SCHEMA, epsilon=1, noise=SimulatedNoise(1))


@pytest.mark.parametrize(
    ("attribute", "words"),
    [
        ("cost", "rows have a cost that cannot be read as a number, and were left out"),
        ("born", "rows have a born that cannot be read as a number, and were left out"),
        ("stay", "rows have a stay outside its declared bounds, and were counted in the nearest cell"),
    ],
)
def test_a_dirty_column_is_reported(folder, attribute, words):
    opened = session(folder / "dirty.csv")
    release = opened.release(ad.Histogram(attribute), 1, algorithm="identity")
    assert (release.epsilon, opened.spent) == (1, 1)
    (alarm,) = release.misfits.alarming()
    assert alarm.misfit.attribute == attribute
    assert abs(alarm.count - ROWS) < 20 * release.misfits.deviation
    assert words in str(release.explain())
    assert words in release._repr_html_()


def test_a_blank_behind_a_level_does_no_harm(folder):
    release = session(folder / "dirty.csv").release(ad.Histogram("sex"), 1, algorithm="identity")
    assert release.estimate.min() > ROWS / 2 - 100
    assert not release.misfits.sure()


def test_a_dirty_column_in_the_predicate_is_reported(folder):
    asked = {"where": "born >= 1950 and sex = 'F'", "algorithm": "identity"}
    release = session(folder / "dirty.csv").release(ad.Histogram("sex"), 1, **asked)
    assert [alarm.misfit.attribute for alarm in release.misfits.alarming()] == ["born"]


def test_a_clean_file_is_said_to_be_clean(folder):
    asked = {"where": "born >= 1950 and stay < 9", "algorithm": "identity"}
    release = session(folder / "clean.csv").release(ad.Histogram("cost", "sex"), 1, **asked)
    assert release.misfits.warnings() == ()
    assert "No sign of rows that do not match the schema" in str(release.explain())
    assert "WARNING: About" not in str(release.explain())


def test_on_the_command_line_and_on_the_page(folder, tmp_path):
    ask = ["release", str(folder / "dirty.csv"), "--schema", str(folder / "schema.toml"), "--histogram", "cost",
           "--epsilon", "1", "--algorithm", "identity"]  # fmt: skip
    shown = CliRunner().invoke(app, [*ask, "--out", str(tmp_path / "out"), "--quiet"])
    assert shown.exit_code == 0
    assert "WARNING: About" in shown.stderr
    assert 'role="alert"' in (tmp_path / "out" / "report.html").read_text()
    plain = json.loads((tmp_path / "out" / "release.json").read_text())
    assert plain["misfits"]["share"]["exact"] == "1/50"
    silent = CliRunner().invoke(app, [*ask, "--no-misfits", "--json"])
    assert (silent.stderr, json.loads(silent.stdout)["misfits"]) == ("", None)
    file = str(folder / "schema.toml")
    for command in (["schema", file], ["plan", "--schema", file, "--histogram", "cost", "--epsilon", "1"]):
        assert '"$62,500.50" is not read' in CliRunner().invoke(app, command).output
