"""``adyton run`` and ``session.run``: several requests with one budget, all checked first, none paid for twice."""

import json
from fractions import Fraction as F
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import adyton as ad
from adyton.cli.main import app
from adyton.errors import BadInput, BudgetExceeded
from adyton.kernel.kernel import Kernel
from adyton.result.pending import Measurements

EXAMPLES = Path(__file__).parents[2] / "examples"
FILE = """
[[request]]
name = "ages"
task = "histogram"
attributes = ["age"]
algorithm = "identity"
share = 2
[[request]]
name = "long stays"
task = "mean"
attribute = "cost"
by = ["sex"]
where = "stay_days >= 7"
[[request]]
task = "count"
epsilon = "0.1"
"""
NAMES = ["ages", "long stays", "number-of-rows"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("requests.toml").write_text(FILE, encoding="utf-8")
    return tmp_path


def run(*words, file="requests.toml", epsilon="1"):
    given = ["run", file, str(EXAMPLES / "visits.csv"), "--schema", str(EXAMPLES / "visits.toml"), "--out", "out"]
    given += ["--epsilon", epsilon] if epsilon else []
    return CliRunner().invoke(app, [*given, "--ledger", "a.ledger", "--total", "2", *words], env={"COLUMNS": "200"})


def spent():
    return ad.Ledger.read("a.ledger").spent if Path("a.ledger").exists() else 0


def interrupted(monkeypatch, after):
    """Somebody ends the program once so many measurements were answered."""
    honest, answered = Kernel.measure, []

    def measure(self, *given):
        found = honest(self, *given)
        if self._recorders.replay is None:
            answered.append(found)
            if len(answered) == after:
                raise KeyboardInterrupt
        return found

    monkeypatch.setattr(Kernel, "measure", measure)


def test_one_budget_is_split_and_each_result_has_a_folder(place):
    done = run()
    assert done.exit_code == 0, done.output
    assert [ad.load(Path("out", name)).epsilon for name in NAMES] == [F(6, 10), F(3, 10), F(1, 10)]
    assert spent() == 1
    for words in ("ages", "histogram of age", "count ± ", "mean of cost by sex where stay_days >= 7"):
        assert words in done.stdout
    again = run("--json")
    assert again.exit_code == 0, again.output
    plain = json.loads(again.stdout)
    assert (plain["epsilon"]["exact"], plain["charged_now"]["exact"], spent()) == ("1", "0", 1)
    assert [one["name"] for one in plain["results"]] == NAMES
    assert plain["results"][2]["expected_errors"]["count"] == pytest.approx(14.1, abs=0.1)


def test_a_file_may_name_the_table(place):
    for name in ("visits.csv", "visits.toml"):
        Path(name).write_bytes((EXAMPLES / name).read_bytes())
    head = 'epsilon = 1\ndata = "visits.csv"\nschema = "visits.toml"\nout = "there"\n'
    Path("requests.toml").write_text(head + FILE, encoding="utf-8")
    done = CliRunner().invoke(app, ["run", "requests.toml", "--quiet"])
    assert done.exit_code == 0, done.output
    assert ad.load("there/ages").epsilon == F(6, 10)


def test_what_is_there_is_not_paid_for_again(place, monkeypatch):
    with monkeypatch.context() as patched:
        interrupted(patched, 2)  # identity measures once; the mean is measured in parts
        done = run("--quiet")
    assert done.exit_code == 130, done.output
    assert "run the same command again to continue" in done.stderr
    before = spent()
    kept = ad.load("out/ages").estimate.tolist()
    assert F(6, 10) < before < 1
    done = run()
    assert done.exit_code == 0, done.output
    assert ad.load("out/ages").estimate.tolist() == kept
    again = not Path("out", "long stays.measured").exists()  # its result was finished from what was measured
    assert spent() == before + F(1, 10) + (0 if again else F(3, 10))
    assert [path.name for path in Path("out").iterdir() if path.name.startswith(".")] == []


def test_measurements_that_tell_too_little_are_kept_and_asked_for_again(place, monkeypatch):
    text = '[[request]]\nname = "a"\ntask = "ranges"\nattributes = ["age"]\nalgorithm = "dawa"\nmisfits = false\n'
    Path("requests.toml").write_text(text, encoding="utf-8")
    with monkeypatch.context() as patched:
        interrupted(patched, 1)
        assert run("--quiet").exit_code == 130
    assert Path("out/a/measurements.json").is_file()
    before = spent()
    assert run("--quiet").exit_code == 0
    assert Path("out/a.measured/measurements.json").is_file()
    assert (ad.load("out/a").epsilon, spent()) == (1, before + 1)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("histogram", "histogramm"), "request 1 (ages): there is no task 'histogramm'."),
        (('"age"', '"agee"'), "ages: there is no attribute 'agee'"),
        (("where", "wher"), "request 2 (long stays): the task 'mean' has no 'wher'"),
        (("share = 2", "share = 0"), "share must be greater than 0"),
        (("share = 2", 'share = 2\nepsilon = "0.5"'), "both set the budget"),
        (('"0.1"', '"1.5"'), "name ε = 1.5 together, but the budget is 1"),
        (('"0.1"', '"1"'), "nothing is left of the budget"),
        (('name = "long stays"', 'name = "Ages"'), "two requests are called"),
        (('name = "ages"', 'name = "../ages"'), "a name has only letters"),
        (('"identity"', '"nobody:Plan"'), "no algorithm"),
        (("[[request]]", "[[asked]]"), "no requests"),
        (("stay_days >= 7", "stay >= 7"), "stay"),
        (('task = "count"', 'task = "tuning"'), "request 3"),
        (("\n[[request]]", "\ncode = 1\n[[request]]"), "not 'code'"),
        (("[[", "["), "not a readable TOML file"),
    ],
)
def test_everything_is_checked_before_the_first_debit(place, change, words):
    Path("requests.toml").write_text(FILE.replace(*change), encoding="utf-8")
    done = run()
    assert (done.exit_code, words in done.stderr, done.stdout) == (2, True, ""), done.output
    assert done.stderr.count("\n") == 1
    assert (spent(), Path("out").exists()) == (0, False)


def test_the_sum_is_afforded_together(place):
    assert run(epsilon="1.5").exit_code == 0
    done = run("--out", "other")  # each of them would fit by itself
    assert (done.exit_code, "0.5 of 2 is left" in done.stderr) == (1, True), done.output
    assert (spent(), Path("other").exists()) == (F(3, 2), False)


def test_another_request_of_the_same_name_is_refused(place):
    assert run("--quiet").exit_code == 0
    Path("requests.toml").write_text(FILE.replace('"identity"', '"hb"'), encoding="utf-8")
    done = run()
    assert (done.exit_code, "holds the result of another request" in done.stderr) == (2, True)
    assert spent() == 1


def test_no_budget_and_no_table(place):
    assert "give the budget of all requests" in run(epsilon=None).stderr
    done = CliRunner().invoke(app, ["run", "requests.toml", "--epsilon", "1"])
    assert (done.exit_code, "name the table" in done.stderr) == (2, True)
    assert "does not exist" in run(file="none.toml").stderr


# ---- in Python ------------------------------------------------------------------------------------------------------


@pytest.fixture
def session():
    rows = pd.DataFrame({"age": [1, 2, 3] * 100, "sex": ["F", "M", "F"] * 100})
    schema = ad.Schema({"age": ad.Integer(0, 9), "sex": ad.Categorical(["F", "M"])})
    return ad.Session(rows, schema=schema, epsilon=2)


def test_a_list_of_tasks_requests_and_mappings(session, tmp_path):
    given = [ad.Histogram("age"), ad.Request.of(ad.Count(), "0.2"), {"task": "classifier", "label": "sex", "share": 3}]
    found = session.run(given, epsilon=1, out=tmp_path / "out")
    assert [one.epsilon for one in found] == [F(1, 5), F(1, 5), F(3, 5)]
    assert [one.kind for one in session.results] == ["counts", "number", "classifier"]
    assert session.spent == 1
    again = session.run(given, epsilon=1, out=tmp_path / "out")
    assert (session.spent, again[1].value) == (1, found[1].value)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "classifier-of-sex",
        "histogram-of-age",
        "number-of-rows",
        "requests.json",
    ]


def test_the_same_task_twice_is_two_requests(session):
    first, second = session.run([ad.Count(), ad.Count()], epsilon=1)
    assert (first.epsilon, second.epsilon, session.spent) == (F(1, 2), F(1, 2), 1)


@pytest.mark.parametrize("given", [[], "abc", [3], ad.Count(), [{"task": "count", "name": 3}]])
def test_lists_that_are_none(session, given):
    with pytest.raises(BadInput):
        session.run(given, epsilon=1)
    assert session.spent == 0


def test_all_or_nothing(session):
    with pytest.raises(BadInput, match="nobody"):
        session.run([ad.Count(), ad.Histogram("nobody")], epsilon=1)
    with pytest.raises(BudgetExceeded):
        session.run([ad.Count(), ad.Histogram("age")], epsilon=3)
    assert session.spent == 0


def test_an_interrupt_in_python_loses_nothing(session, tmp_path, monkeypatch):
    histogram = {"task": "histogram", "attributes": ["age"], "algorithm": "identity", "name": "h"}
    given = [ad.Count(), histogram, {"task": "ranges", "attributes": ["age"], "algorithm": "dawa", "name": "r"}]
    for after, kept in ((2, ["number-of-rows", "h"]), (3, ["number-of-rows", "h"])):
        out = tmp_path / str(after)
        with monkeypatch.context() as patched:
            interrupted(patched, after)
            with pytest.raises(KeyboardInterrupt):
                session.run(given, epsilon="0.3", out=out)
        assert [ad.load(out / name).epsilon for name in kept] == [F(1, 10), F(1, 10)]
        assert isinstance(session.last, Measurements) == (after == 3) == (out / "r" / "measurements.json").exists()
        assert [one.kind for one in session.results] == ["number", "counts"][: after - 1]


def test_known_totals_lie_beside_the_file_of_requests(place):
    (place / "below").mkdir()
    lines = '[[request]]\nname = "sexes"\ntask = "histogram"\nattributes = ["sex"]\nknown = "totals.csv"\n'
    (place / "below" / "requests.toml").write_text(lines, encoding="utf-8")
    done = run(file="below/requests.toml")
    assert (done.exit_code, spent()) == (2, 0)
    assert "below/totals.csv cannot be read" in done.output
    (place / "below" / "totals.csv").write_text("count\n5000\n", encoding="utf-8")
    assert run(file="below/requests.toml").exit_code == 0
    assert ad.load("out/sexes").answer({}).round(6).tolist() == [5000]
