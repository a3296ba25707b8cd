"""The shell of scikit-learn: any kind of rows, budgets and ledgers, and scikit-learn's own checks."""

import pickle
import warnings
from fractions import Fraction as F

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from learning_tables import SCHEMA, columns, labels, rows

import adyton as ad
from adyton.errors import BadInput, BudgetExceeded, LargeBudget, SchemaError
from adyton.kernel.ledger import Ledger
from adyton.learning import (
    PrivateClassifier,
    PrivateDecisionTreeClassifier,
    PrivateNaiveBayes,
    PrivateRandomForestClassifier,
)
from adyton.learning.coding import columns_of
from adyton.noise import SimulatedNoise

CODES = rows(600)
FRAME, LABELS = pd.DataFrame(columns(CODES)), labels(CODES)


def classifier(**parameters):
    return PrivateNaiveBayes(schema=SCHEMA, label="ill", noise=SimulatedNoise(0), **parameters)


def test_every_kind_of_rows_learns_the_same(tmp_path):
    FRAME.assign(ill=LABELS).to_csv(tmp_path / "rows.csv", index=False)
    reference = classifier().fit(FRAME, LABELS)
    array = FRAME.to_numpy(dtype=object)
    arrow = pa.Table.from_pandas(FRAME)
    given = [(columns(CODES), LABELS), (array, list(LABELS)), (arrow, LABELS), (pl.DataFrame(FRAME), LABELS[:, None])]
    models = [classifier().fit(*one) for one in given] + [classifier().fit(table=tmp_path / "rows.csv")]
    for model, kind in zip(models, [one for one, _ in given] + [tmp_path / "rows.csv"], strict=True):
        assert np.array_equal(model.predict_proba(kind), reference.predict_proba(FRAME))
    assert reference.classes_.tolist() == ["no", "yes", "unsure"]
    assert reference.score(FRAME, LABELS) > 0.5
    assert reference.predict(FRAME.assign(ill=LABELS)).shape == (600,)
    assert np.allclose(np.exp(reference.predict_log_proba(FRAME)), reference.predict_proba(FRAME))
    assert reference.feature_names_in_.tolist() == ["age", "smoker", "town"]
    assert not hasattr(classifier().fit(array, LABELS), "feature_names_in_")


def test_patterns_stand_for_the_columns_of_the_rows(tmp_path):
    FRAME.assign(ill=LABELS).to_csv(tmp_path / "rows.csv", index=False)
    whole = {name: one for name, one in SCHEMA.attributes.items() if name != "town"}
    schema = ad.Schema({**whole, "t*": SCHEMA.attributes["town"]})
    expected = classifier().fit(FRAME, LABELS).predict_proba(FRAME)
    for given in ({"X": FRAME, "y": LABELS}, {"table": tmp_path / "rows.csv"}):
        found = PrivateNaiveBayes(schema=schema, label="ill", noise=SimulatedNoise(0)).fit(**given)
        assert np.array_equal(found.predict_proba(FRAME), expected)
    with pytest.raises(SchemaError, match=r"the pattern 't\*' matches no column"):
        PrivateNaiveBayes(schema=schema, label="ill").fit(FRAME.to_numpy(dtype=object), LABELS)


def test_no_rows_and_labels_outside_the_levels():
    model = classifier().fit(FRAME.iloc[:0], LABELS[:0])
    assert np.isfinite(model.predict_proba(FRAME)).all()
    strange = classifier().fit(FRAME, ["nobody knows"] * len(FRAME))
    assert np.array_equal(strange.predict_proba(FRAME), model.predict_proba(FRAME))  # left out, as the schema says


def test_ledger_and_receipt(tmp_path):
    path = tmp_path / "rows.ledger"
    Ledger.open(path, total=F(1), dataset="rows").close()
    model = PrivateNaiveBayes(schema=SCHEMA, label="ill", epsilon="0.3", ledger=path, dataset="rows").fit(FRAME, LABELS)
    assert model.epsilon_ == F(3, 10) == sum(entry.amount for entry in model.receipt_.entries)
    assert (model.receipt_.ledger, model.receipt_.remaining) == ("rows.ledger", F(7, 10))
    with pytest.raises(BudgetExceeded, match=r"0.8.*0.7 of 1"):
        model.set_params(epsilon="0.8").fit(FRAME, LABELS)
    assert Ledger.read(path).spent == F(3, 10)
    assert pickle.loads(pickle.dumps(model)).predict(FRAME).shape == (600,)


def test_rows_per_unit_is_charged_to_the_person():
    schema = ad.Schema(dict(SCHEMA.attributes), rows_per_unit=4)
    model = PrivateNaiveBayes(schema=schema, label="ill", epsilon=1).fit(FRAME, LABELS)
    assert model.epsilon_ == 1 == model.receipt_.spent


@pytest.mark.parametrize(
    ("change", "given", "y", "error", "words"),
    [
        ({"schema": None}, FRAME, LABELS, BadInput, "the path of a schema file"),
        ({"label": "age"}, FRAME, LABELS, SchemaError, "a classifier predicts classes"),
        ({"epsilon": -1}, FRAME, LABELS, BadInput, "greater than 0"),
        ({}, FRAME.assign(height=3), LABELS, SchemaError, "'height', which are not among the attributes"),
        ({}, FRAME[["age"]], LABELS, SchemaError, "no column 'smoker', 'town'"),
        ({}, FRAME, LABELS[:7], BadInput, "X and y have different numbers of rows. Give one label for each row.$"),
        ({}, FRAME, None, BadInput, "requires y"),
        ({}, FRAME, np.zeros((600, 2)), BadInput, "one label for each row"),
    ],
)
def test_refusals_spend_nothing(change, given, y, error, words, tmp_path):
    path = tmp_path / "rows.ledger"
    with pytest.raises(error, match=words):
        classifier().set_params(noise=None, ledger=path, dataset="rows", **change).fit(given, y)
    assert not path.exists() or Ledger.read(path).spent == 0


def test_parameters_and_words():
    model = classifier(epsilon=0.5)
    assert model.get_params()["epsilon"] == 0.5
    assert "epsilon=0.5" in repr(model)
    assert "ledger" not in repr(model)
    with pytest.raises(BadInput, match="no parameter 'epsilom'"):
        model.set_params(epsilom=1)
    with pytest.raises((BadInput, ValueError), match="not fitted yet"):
        model.predict(FRAME)
    with pytest.raises(BadInput, match="not all of them"):
        model.fit(FRAME, LABELS, table=FRAME)
    assert "ill = yes" in model.fit(FRAME, LABELS).explain()
    with pytest.warns(LargeBudget, match="a model of ε = 8"):
        model.set_params(epsilon=8).fit(FRAME, LABELS)


class Declared:
    """With a schema for whatever scikit-learn's checks come up with: for tests only, where nothing is private."""

    def fit(self, X=None, y=None):  # noqa: N803
        names = columns_of(X) or [f"x{place}" for place in range(_width(X))]
        attributes = {name: ad.Numeric(-10, 10, bins=20, outside="clamp") for name in names}
        self._found = {**attributes, "label": ad.Categorical(_levels(np.asarray([0, 1] if y is None else y)))}
        return super().fit(X, y)

    def _declared(self):
        return ad.Schema(self._found)


def _width(given):
    shape = given.shape if hasattr(given, "toarray") else np.asarray(given).shape
    return shape[1] if len(shape) == 2 else 1


def _levels(given):
    """The classes of these labels, whole numbers instead of floats."""
    if given.dtype.kind not in "cf":
        return np.unique(given).tolist()
    return np.unique(given[np.isfinite(given)].real.astype(int)).tolist()


SKIPPED = {
    "check_estimators_empty_data_messages": "no rows are data like others: to refuse them would tell",
    "check_classifiers_regression_target": "labels that are no level are left out, as the schema says",
    "check_fit2d_1sample": "the number of rows is private, and the classes are those of the schema",
    "check_supervised_y_2d": "labels in one column are labels: there is nothing to warn of",
}


class DeclaredNaiveBayes(Declared, PrivateNaiveBayes):
    """Naive Bayes."""


class DeclaredTree(Declared, PrivateDecisionTreeClassifier):
    """A tree."""


class DeclaredForest(Declared, PrivateRandomForestClassifier):
    """A forest."""


class DeclaredClassifier(Declared, PrivateClassifier):
    """Whatever is chosen."""


@pytest.mark.full
@pytest.mark.parametrize("estimator", [DeclaredNaiveBayes, DeclaredTree, DeclaredForest, DeclaredClassifier])
def test_scikit_learns_checks(estimator):
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = checks.check_estimator(estimator(label="label", epsilon=1000), on_fail=None, on_skip=None)
    assert len(found) > 40
    failed = {one["check_name"]: one["exception"] for one in found if one["status"] == "failed"}
    assert failed.keys() == SKIPPED.keys(), failed


def test_in_a_pipeline():
    base = pytest.importorskip("sklearn.base")
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(classifier(epsilon=3))
    assert base.is_classifier(model)
    assert base.clone(model).get_params()["privatenaivebayes__epsilon"] == 3
    assert cross_val_score(model, FRAME, LABELS, cv=2).mean() > 0.5
