"""Models in files: what was written is read back, and what a stranger changed is refused in a sentence."""

import copy
import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
from learning_tables import fitted, rows

from adyton.errors import BadInput
from adyton.learning import Model
from adyton.learning.tree_model import NO_ROWS
from adyton.report.models import _branches

CODES = rows()
MODELS = {model: fitted(CODES, "naive-bayes", {"model": model}) for model in ("multinomial", "gaussian")}


@pytest.mark.parametrize("name", MODELS)
def test_round_trip(name, tmp_path):
    model = MODELS[name]
    model.save(tmp_path / "model.json")
    for again in (
        Model.load(tmp_path / "model.json"),
        Model.from_plain(json.loads(json.dumps(model.to_plain()))),
        pickle.loads(pickle.dumps(model)),
    ):
        assert again.target == model.target
        assert np.array_equal(again.probabilities(CODES[:, :3]), model.probabilities(CODES[:, :3]))
        assert again.explain() == model.explain()


def _changed(path, value, name="multinomial"):
    plain = copy.deepcopy(MODELS[name].to_plain())
    place = plain
    for step in path[:-1]:
        place = place[step]
    if value is KeyError:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return plain


STRANGERS = [
    ([], "is not a model"),
    ({"format": "adyton selector"}, "is not a model"),
    (_changed(["version"], 2), "of version 2"),
    (_changed(["kind"], "os.system"), "no kind of model 'os.system'"),
    (_changed(["kind"], ["x"]), r"no kind of model \['x'\]"),
    (_changed(["more"], 1), "its keys are"),
    (_changed(["label"], "age"), "a classifier predicts classes"),
    (_changed(["label"], 7), "label is the name"),
    (_changed(["schema", "attributes", "age", "max"], 12), "shape"),
    (_changed(["schema"], None), "."),
    (_changed(["learnt"], []), "missing or wrong"),
    (_changed(["learnt", "prior"], [1.0, 0.0, 0.0]), "greater than 0"),
    (_changed(["learnt", "prior"], ["0.4", "0.3", "0.3"]), "must be numbers"),
    (_changed(["learnt", "prior"], [float("nan"), 0.5, 0.5]), "finite"),
    (_changed(["learnt", "profiles"], []), "a profile for each"),
    (_changed(["learnt", "profiles", 1, "frequencies"], [[2.0] * 3, [-1.0] * 3]), "at least 0"),
    (_changed(["learnt", "profiles", 1, "frequencies"], KeyError), "missing or wrong"),
    (_changed(["learnt", "profiles", 0, "variances"], [1.0, 0.0, 1.0], "gaussian"), "greater than 0"),
    (_changed(["learnt", "profiles", 1, "means"], [1.0] * 3, "gaussian"), "only numbers have a mean"),
]


@pytest.mark.parametrize(("plain", "words"), STRANGERS)
def test_strangers_are_refused(plain, words):
    with pytest.raises(BadInput, match=words):
        Model.from_plain(plain)


def test_files_are_checked(tmp_path):
    path = tmp_path / "model.json"
    MODELS["multinomial"].save(path)
    path.write_text(path.read_text().replace('"a"', '"z"'))
    with pytest.raises(BadInput, match="digest does not fit"):
        Model.load(path)
    path.write_bytes(b"\x80\x04K\x01.")
    with pytest.raises(BadInput, match="not a JSON file"):
        Model.load(path)
    path.write_text('{"format": "adyton model"}' + "[" * 100)
    with pytest.raises(BadInput, match="not a JSON file"):
        Model.load(path)
    for action in (Model.load, MODELS["multinomial"].save):
        with pytest.raises(BadInput, match="cannot be"):
            action(tmp_path / "nowhere" / "model.json")


def test_codes_are_checked():
    model = MODELS["multinomial"]
    for codes in (np.zeros((2, 2), int), np.zeros((2, 3)), np.zeros(3, int)):
        with pytest.raises(BadInput, match="a column for each of the 3 attributes"):
            model.probabilities(codes)
    for codes in ([[0, 2, 0]], [[-2, 0, 0]]):
        with pytest.raises(BadInput, match="−1, or numbers of cells"):
            model.probabilities(np.array(codes))
    assert model.probabilities(np.empty((0, 3), int)).shape == (0, 3)


def test_a_branch_without_rows_has_no_share():
    """Noise can leave nothing of a node: "87% of 0" says nothing, so it is not said."""
    model = fitted(CODES, "jagannathan", {"trees": 1})
    empty = replace(model, counts=0 * model.counts)
    said = empty.explain() + " ".join(branch.said for branch in _branches(empty))
    assert said.count(NO_ROWS) >= 2
    assert "about 0 rows" not in said
    assert "% of 0" not in said
