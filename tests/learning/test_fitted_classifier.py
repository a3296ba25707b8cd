"""Classifiers from a session: refused for nothing, kept in a folder, checked as a stranger's, and told in words."""

import json
import signal
from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest

import adyton as ad
from adyton.errors import BadInput, BudgetExceeded, SchemaError
from adyton.learning.naive_bayes import NaiveBayes
from adyton.learning.profiled_tree import ProfiledTree
from adyton.learning.registry import FORMAT, PublicResult, look_alikes, public_results, results_of
from adyton.noise import SimulatedNoise
from saved_results import signed

SCHEMA = ad.Schema(
    {
        "size": ad.Categorical(["small", "large"]),
        "age": ad.Integer(0, 99, step=20, nulls="level"),
        "id": ad.Identifier(),
        "one": ad.Categorical(["only"]),
        "kind": ad.Categorical(["<b>", "b", "c"]),
    },
)
RANDOM = np.random.default_rng(3)
KIND = RANDOM.integers(0, 3, 900)
TABLE = pd.DataFrame(
    {
        "size": np.where(KIND == 0, "small", "large"),
        "age": np.clip(30 * KIND + RANDOM.integers(0, 30, 900), 0, 99),
        "id": [f"n{number}" for number in range(900)],
        "one": "only",
        "kind": np.array(["<b>", "b", "c"])[KIND],
    }
)
FROM = ["size", "age"]


def session(table=TABLE, **options):
    return ad.Session(table, **{"schema": SCHEMA, "epsilon": 3, "noise": SimulatedNoise(1), "dataset": "t", **options})


@pytest.fixture(scope="module")
def fitted():
    return session().fit(ad.Classifier("kind", FROM), epsilon=2)


@pytest.mark.parametrize(
    "method", ["auto", "chosen", "friedman-schuster", "jagannathan", "naive-bayes-tree", "select-ls"]
)
def test_every_method_is_fitted_saved_drawn_and_described(method, tmp_path):
    opened = session()
    model = opened.fit(ad.Classifier("kind", FROM, method=method), epsilon=2, where="age >= 0 or size = 'small'")
    assert opened.spent == model.epsilon == sum(entry.amount for entry in model.receipt.entries) <= 2
    assert opened.last is model
    assert model.model.schema.names == ("size", "age")
    assert np.mean(model.predict(TABLE) == TABLE["kind"]) > 0.6
    model.save(tmp_path / "m")
    loaded = ad.FittedClassifier.load(tmp_path / "m")
    assert loaded.to_dict() == model.to_dict()
    assert np.array_equal(loaded.predict_proba(TABLE[:50]), model.predict_proba(TABLE[:50]))
    page = (tmp_path / "m" / "report.html").read_text(encoding="utf-8")
    for words in ("Classifier of kind", "What was learnt", "age &gt;= 0", "<svg", "was simulated"):
        assert words in page
    assert "<b>" not in page.replace("<body>", "")
    assert "<svg" in model._repr_html_()
    assert "Budget: a real model would cost" in str(model.explain())


def test_a_method_that_needs_less_than_was_asked_for_says_so(tmp_path):
    """Branches stop early on few rows: what they would have cost is not spent."""
    opened = session(TABLE[:30])
    model = opened.fit(ad.Classifier("kind", FROM, method="friedman-schuster"), epsilon="0.1")
    assert (model.asked, opened.spent) == (F(1, 10), model.epsilon)
    assert model.epsilon < F(1, 10)
    said = "ε = 0.1 was asked for; friedman-schuster needed less, and the rest is not spent."
    assert said in str(model.explain())
    model.save(tmp_path / "m")
    assert "of 0.1 that was asked for" in (tmp_path / "m" / "report.html").read_text(encoding="utf-8")
    plain = json.loads((tmp_path / "m" / "release.json").read_text(encoding="utf-8"))
    assert ad.FittedClassifier.load(tmp_path / "m").asked == F(1, 10)
    older = {name: value for name, value in plain.items() if name not in ("asked", "digest")}
    file = tmp_path / "older.json"
    file.write_text(json.dumps(signed(older)), encoding="utf-8")
    assert ad.FittedClassifier.load(file).asked is None
    assert session().fit(ad.Classifier("kind", FROM, method="naive-bayes"), epsilon=1).asked is None


def test_rows_of_any_form_are_predicted(fitted):
    wanted = fitted.predict(TABLE[:20])
    for rows in (
        TABLE[FROM][:20],
        {name: TABLE[name][:20].tolist() for name in FROM},
        TABLE[FROM][:20].to_numpy(object),
    ):
        assert np.array_equal(fitted.predict(rows), wanted)
    assert fitted.predict(TABLE[:0]).shape == (0,)
    assert fitted.predict_proba({"size": [None], "age": ["strange"]}).shape == (1, 3)
    with pytest.raises(SchemaError, match="no column 'age'"):
        fitted.predict(TABLE[["size"]])


def test_a_picture(fitted, tmp_path):
    pytest.importorskip("matplotlib").use("agg")
    fitted.plot(tmp_path / "m.svg")
    session().fit(ad.Classifier("kind", FROM, method="chosen"), epsilon=2).plot(tmp_path / "t.svg")
    assert all("<svg" in (tmp_path / name).read_text(encoding="utf-8") for name in ("m.svg", "t.svg"))
    with pytest.raises(BadInput, match="ends with"):
        fitted.plot(tmp_path / "m.doc")


REFUSED = {
    "not in the schema": (lambda: ad.Classifier("kindd", FROM), SchemaError, "Did you mean 'kind'"),
    "a number": (lambda: ad.Classifier("age"), SchemaError, "the label 'age' is integer"),
    "a single class": (lambda: ad.Classifier("one"), SchemaError, "the single class 'only'"),
    "nothing to predict": (lambda: ad.Classifier(""), BadInput, "the name of a label"),
    "itself": (lambda: ad.Classifier("kind", ["age", "kind"]), SchemaError, "cannot be among the attributes"),
    "an identifier": (lambda: ad.Classifier("kind", ["age", "id"]), SchemaError, "identifier"),
    "no such attribute": (lambda: ad.Classifier("kind", ["agee"]), SchemaError, "no attribute 'agee'"),
    "no attributes": (lambda: ad.Classifier("kind", []), SchemaError, "no attributes given"),
    "no such method": (lambda: ad.Classifier("kind", method="bayes"), BadInput, "no method 'bayes'"),
    "no such option": (lambda: ad.Classifier("kind", method="naive-bayes", depth=3), BadInput, "no option 'depth'"),
    "a task": (lambda: ad.Histogram("kind"), BadInput, "takes an ad.Classifier"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_learnt_costs_nothing(case, tmp_path):
    make, kind, words = REFUSED[case]
    with session(ledger=tmp_path / "t.ledger") as opened:
        with pytest.raises(kind, match=words) as error:
            opened.fit(make(), epsilon=1)
        assert len(str(error.value)) < 300
        assert opened.last is None
    report = ad.Ledger.read(tmp_path / "t.ledger")
    assert (report.spent, list(report.entries)) == (0, [])


@pytest.mark.parametrize("epsilon", [5, 0, -1, "nan", "1e-80"])
def test_budgets_that_cannot_be_spent(epsilon, tmp_path):
    with session(ledger=tmp_path / "t.ledger") as opened:
        with pytest.raises((BadInput, BudgetExceeded)):
            opened.fit(ad.Classifier("kind", FROM), epsilon=epsilon)
        with pytest.raises(BadInput, match="there is no attribute"):
            opened.fit(ad.Classifier("kind", FROM), epsilon=1, where="weight > 3")
        assert opened.spent == 0


def test_an_empty_table_is_a_table_like_any_other():
    opened = session(TABLE[:0])
    model = opened.fit(ad.Classifier("kind", FROM), epsilon=2)
    assert opened.spent == 2
    assert model.predict_proba(TABLE[:3]).sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize(("method", "learner"), [("naive-bayes", NaiveBayes), ("auto", ProfiledTree)])
def test_what_is_paid_for_survives_an_interrupt(monkeypatch, method, learner):
    """The whole budget is spent when the text runs again: what it asks of the budget meanwhile is no reason to end."""
    opened = session(epsilon=2)
    run, pressed = learner.run, []

    def interrupted(*arguments):
        model = run(*arguments)
        if not pressed:
            pressed.append(1)
            signal.raise_signal(signal.SIGINT)
        return model

    monkeypatch.setattr(learner, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        opened.fit(ad.Classifier("kind", FROM, method=method), epsilon=2)
    assert isinstance(opened.last, ad.FittedClassifier)
    assert opened.last.epsilon == opened.spent == 2


def _changed(plain, path, value):
    *above, last = path
    for key in above:
        plain = plain[key]
    if value is None:
        del plain[last]
    else:
        plain[last] = value


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["model"], {}),
        (["model", "kind"], "pickle"),
        (["model", "learnt", "prior"], [2.0, -1.0, 0.0]),
        (["model", "learnt", "prior"], ["a", "b", "c"]),
        (["model", "learnt", "profiles"], []),
        (["model", "schema", "attributes", "kind", "levels"], ["x", "y"]),
        (["schema", "rows_per_unit"], 3),
        (["schema", "unit"], "who"),
        (["task", "label"], "size"),
        (["task", "method"], "os.system"),
        (["task", "options"], {"label": "kind"}),
        (["record", "spent"], None),
        (["epsilon"], {"exact": "9"}),
        (["decisions"], [{"chosen": 3}]),
        (["version"], 7),
        (["format"], "adyton picture"),
    ],
)
def test_a_stranger_s_file_is_checked(fitted, path, value, tmp_path):

    plain = json.loads(json.dumps(fitted.to_dict()))
    _changed(plain, path, value)
    file = tmp_path / "classifier.json"
    file.write_text(json.dumps(plain))
    if path[0] not in ("version", "format"):
        with pytest.raises(BadInput, match="was changed after it was written"):
            ad.FittedClassifier.load(file)
    plain.pop("digest")
    file.write_text(json.dumps(signed(plain)))
    with pytest.raises(BadInput, match="classifier") as error:
        ad.FittedClassifier.load(tmp_path)
    assert "\n" not in str(error.value)


def test_files_that_are_none(tmp_path):
    (tmp_path / "a.json").write_text("[" * 10_000)
    (tmp_path / "b.json").write_bytes(b"\x80\x04")
    for name, words in (
        ("a.json", "nested too deeply"),
        ("b.json", "not a JSON"),
        ("c.json", "cannot be read"),
        ("", "cannot be read"),
    ):
        with pytest.raises(BadInput, match=words):
            ad.FittedClassifier.load(tmp_path / name)


def test_folders_are_replaced_only_if_they_hold_a_result(fitted, tmp_path):
    fitted.save(tmp_path / "m")
    with pytest.raises(BadInput, match="holds files already"):
        fitted.save(tmp_path / "m")
    fitted.save(tmp_path / "m", overwrite=True)
    (tmp_path / "m" / "notes.txt").write_text("mine")
    with pytest.raises(BadInput, match="notes.txt"):
        fitted.save(tmp_path / "m", overwrite=True)
    session().release(ad.Histogram("kind"), 1, algorithm="identity").save(tmp_path / "r")
    fitted.save(tmp_path / "r", overwrite=True)
    assert isinstance(ad.load(tmp_path / "r"), ad.FittedClassifier)
    assert not (tmp_path / "r" / "estimate.csv").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "r"]


def test_a_report_that_fails_leaves_the_model(fitted, tmp_path, monkeypatch):
    monkeypatch.setattr("adyton.report.page.render", lambda fitted: 1 / 0)
    with pytest.warns(UserWarning, match="The report could not be made"):
        fitted.save(tmp_path / "m")
    assert ad.FittedClassifier.load(tmp_path / "m").to_dict() == fitted.to_dict()


@pytest.mark.parametrize(
    ("chosen", "words"), [("profiled-tree", "which was the most accurate"), ("chosen", "which auto took when")]
)
def test_decisions_of_earlier_versions_are_kept(fitted, chosen, words, tmp_path):
    """They called the method auto, and said beside it which one that was."""
    decision = {"chosen": chosen, "left": {"exact": "2"}, "bought": [], "regrets": {"majority": None}, "notes": ["so."]}
    plain = {**json.loads(json.dumps(fitted.to_dict())), "algorithm": "auto", "decisions": [decision]}
    del plain["digest"]
    (tmp_path / "release.json").write_text(json.dumps(signed(plain)), encoding="utf-8")
    loaded = ad.FittedClassifier.load(tmp_path)
    assert (loaded.learner, loaded.method) == ("auto", chosen)
    assert loaded.decisions[0].regrets == {"majority": float("inf")}
    assert f"Method: {chosen}, {words}" in str(loaded.explain())
    loaded.save(tmp_path / "m")
    assert ad.FittedClassifier.load(tmp_path / "m").to_dict() == loaded.to_dict()


def test_quality_comes_from_public_tables_that_are_alike(fitted):
    def results(rows, tables=("a", "b", "c", "d")):
        return [
            PublicResult("naive-bayes", table, rows * (1 + place / 10), 8, 3, 2, 2, 0.6 + place / 10, 0.3)
            for place, table in enumerate(tables)
        ]

    near = look_alikes("naive-bayes", fitted.model, F(2), results(900))
    assert [one.table for one in near.results] == ["a", "b", "c", "d"]
    assert near.accuracy == pytest.approx((0.6, 0.9))
    assert "60 to 90% of new rows right" in near.in_words()
    assert look_alikes("naive-bayes", fitted.model, F(2), results(60_000)) is None
    assert look_alikes("naive-bayes", fitted.model, F(2), results(900, ("a", "b"))) is None
    assert look_alikes("chosen", fitted.model, F(2), results(900)) is None


def test_public_results_are_read_or_are_none():
    one = {"table": "t", "rows": 9, "cells": 2, "classes": 2, "attributes": 1, "majority": 0.5}
    one |= {"accuracies": {"m": [0.9]}}
    head = {"format": FORMAT, "version": 1, "epsilons": [1]}
    assert results_of({**head, "tables": [one]})[0].accuracy == 0.9
    short = {**one, "accuracies": {"m": []}}
    for wrong in (*({**head, "tables": [bad]} for bad in ({**one, "rows": 0}, {}, short)), {"tables": [one]}, []):
        with pytest.raises(ValueError, match="."):
            results_of(wrong)
    assert isinstance(public_results(), tuple)
