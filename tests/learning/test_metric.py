"""What predictions are to be good at: balanced accuracy finds rare classes, from the same probabilities."""

import json

import numpy as np
import pandas as pd
import pytest

import adyton as ad
from adyton.errors import BadInput
from adyton.noise import SimulatedNoise


@pytest.mark.parametrize("method", ["auto", "naive-bayes", "chosen", "fletcher-islam"])
def test_balanced_accuracy_finds_rare_classes(method, tmp_path):
    random = np.random.default_rng(4)
    rare = random.random(6000) < 0.1
    table = pd.DataFrame({"x": np.clip(random.normal(40 + 20 * rare, 12), 0, 99).astype(int), "ill": rare})
    schema = ad.Schema({"x": ad.Integer(0, 99, step=10), "ill": ad.Boolean()})
    found = {}
    for metric in ("accuracy", "balanced accuracy"):
        session = ad.Session(table, schema=schema, epsilon=2, noise=SimulatedNoise(2))
        fitted = session.fit(ad.Classifier("ill", method=method, metric=metric), epsilon=2)
        predicted = fitted.predict(table)
        found[metric] = np.mean([(predicted == rare)[rare == kind].mean() for kind in (False, True)])
        fitted.save(tmp_path / metric)
        loaded = ad.FittedClassifier.load(tmp_path / metric)
        assert loaded.classifier.metric == metric
        assert (loaded.predict(table) == predicted).all()
        assert ("balanced accuracy" in str(loaded.explain())) == (metric != "accuracy")
    assert found["balanced accuracy"] > found["accuracy"] + 0.02
    assert found["balanced accuracy"] > 0.7


def test_the_metric_is_checked_written_and_left_out_where_it_is_the_accuracy():
    for metric in ("roc", None, ["auc"]):
        with pytest.raises(BadInput, match="metric is one of"):
            ad.Classifier("ill", metric=metric)
    task = ad.Classifier("ill", metric="auc", rows=4)
    assert task.to_dict()["metric"] == "auc"
    assert ad.Classifier.from_dict(json.loads(json.dumps(task.to_dict()))) == task
    assert repr(task) == "Classifier('ill', method='auto', metric='auc', rows=4)"
    assert "metric" not in ad.Classifier("ill").to_dict()
    assert ad.Classifier.from_dict({"label": "ill"}).metric == "accuracy"
