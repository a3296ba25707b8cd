"""A kind of request that is added beside the package, as a task and a program, is like any other."""

import json
import os
import signal
import subprocess
import sys
from fractions import Fraction as F
from pathlib import Path

import pandas as pd
import pytest
from weekday_kind import DAYS, Weekday, Weekdays

import adyton as ad
from adyton.errors import BadInput
from adyton.result.receipt import Receipt

SCHEMA = ad.Schema({"day": ad.Date("2024-01-01", "2024-12-29"), "sex": ad.Categorical(["F", "M"])})


@pytest.fixture(scope="module")
def table():
    """Of every day as many rows as its weekday has letters."""
    days = pd.date_range("2024-01-01", "2024-12-29")
    rows = [(day.date().isoformat(), "FM"[place % 2]) for place, day in enumerate(days) for _ in day.day_name()]
    return pd.DataFrame(rows, columns=["day", "sex"])


@pytest.fixture
def session(table):
    with ad.Session(table, schema=SCHEMA, epsilon=200, dataset="days") as opened:
        yield opened


TRUE = tuple(52 * len(day) for day in DAYS)


def test_a_release_is_made_shown_saved_and_loaded(session, tmp_path):
    found = session.release(Weekday("day"), epsilon=50)
    assert isinstance(found, Weekdays)
    assert found.rows == TRUE  # the noise is 0 but for a chance below 10^-20
    assert session.spent == found.epsilon == 50
    told = str(found.explain())
    assert "Released: rows by weekday of day." in told
    assert "Most rows are on a Wednesday." in told
    assert "this release cost ε = 50" in told
    assert found.to_frame()["weekday"].tolist() == list(DAYS)
    found.save(tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["release.json", "report.html", "weekdays.csv"]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Rows by weekday" in page
    assert "<svg" in page
    assert "Wednesday" in str(found)
    assert "Wednesday" in found._repr_html_()
    again = ad.load(tmp_path / "out")
    assert isinstance(again, Weekdays)
    assert again.to_dict() == found.to_dict()
    plain = json.loads((tmp_path / "out" / "release.json").read_text(encoding="utf-8"))
    with pytest.raises(BadInput, match="digest"):
        Weekdays.from_dict({**plain, "rows": [0] * 7})
    found.plot(tmp_path / "week.png")


def test_it_is_previewed_and_priced(session):
    preview = session.preview(Weekday("day"), 1)
    assert "7 weekdays; would cost ε = 1 of the 200 that is left" in str(preview)
    assert preview.expected_error.per_query == pytest.approx(1.357, abs=1e-3)
    assert preview.expected_error.per_query * 2 == pytest.approx(
        session.preview(Weekday("day"), session.epsilon_for(Weekday("day"), 2 * 1.357)).expected_error.per_query,
        rel=0.01,
    )
    with pytest.raises(BadInput, match="has no weekdays"):
        session.release(Weekday("sex"), 1)
    assert session.spent == 0


def test_it_is_run_among_others(session, tmp_path):
    first, second = session.run([Weekday("day"), ad.Count()], epsilon=100, out=tmp_path / "all")
    assert (first.rows, second.value) == (TRUE, sum(TRUE))
    assert session.spent == 100
    session.run([Weekday("day"), ad.Count()], epsilon=100, out=tmp_path / "all")
    assert session.spent == 100  # both were there


def test_nothing_is_lost_after_an_interrupt(session, monkeypatch):
    def interrupted(*given):
        monkeypatch.undo()
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Receipt, "paid", interrupted)
    with pytest.raises(KeyboardInterrupt):
        session.release(Weekday("day"), epsilon=50)
    assert session.last.rows == TRUE
    assert session.spent == session.last.epsilon == F(50)


def test_it_is_asked_for_on_the_command_line(table, tmp_path):
    table.to_csv(tmp_path / "days.csv", index=False)
    (tmp_path / "days.toml").write_text(SCHEMA.to_toml(), encoding="utf-8")
    (tmp_path / "requests.toml").write_text('[[request]]\ntask = "weekday"\nattributes = ["day"]\n', encoding="utf-8")
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])

    program = (
        "import json, sys, weekday_kind; from typer.testing import CliRunner; from adyton.cli.main import app\n"
        "done = [CliRunner().invoke(app, [*words, '--schema', 'days.toml']) for words in json.loads(sys.argv[1])]\n"
        "print(json.dumps([(one.exit_code, one.stdout, one.stderr) for one in done]))"
    )
    asked = ("release", "days.csv", "--weekday", "day", "--epsilon", "40", "--yes", "--no-misfits")
    commands = [
        (*asked, "--out", "out"),
        (*asked, "--json"),
        ("plan", "--weekday", "day"),
        ("run", "requests.toml", "days.csv", "--epsilon", "40", "--yes", "--out", "many"),
    ]
    done = subprocess.run(
        [sys.executable, "-c", program, json.dumps(commands)],
        capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": paths}, check=True,
    )  # fmt: skip
    codes, printed, said = zip(*json.loads(done.stdout), strict=True)
    assert codes == (0, 0, 0, 0), said
    assert f"Wednesday {TRUE[2]} " in " ".join(printed[0].replace(",", "").split())
    assert json.loads(printed[1])["answers"]["tables"][0]["counts"] == list(TRUE)
    assert "seven-counts" in printed[2]
    assert "weekday" in printed[3]
    assert ad.load(next(path.parent for path in (tmp_path / "many").rglob("release.json"))).rows == TRUE
