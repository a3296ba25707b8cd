"""Questions in the words of a table: what they count, and what is refused."""

import numpy as np
import pytest

import adyton as ad
from adyton.errors import BadInput
from adyton.tasks import as_queries, task_from_dict
from adyton.tasks.questions import to_plain

SCHEMA = ad.Schema(
    {
        "age": ad.Integer(0, 11, step=3, nulls="level"),
        "pay": ad.Numeric(0, 1, bins=10),
        "sex": ad.Categorical(["F", "M", "X"], outside="other"),
        "smokes": ad.Boolean(),
    }
)
CELLS = np.random.default_rng(3).integers(0, 50, SCHEMA.shape)


@pytest.mark.parametrize(
    ("query", "part"),
    [
        ({}, np.s_[:, :, :, :]),
        ({"age": (3, 8)}, np.s_[1:3]),
        ({"age": (None, 5)}, np.s_[:2]),
        ({"age": (6, None)}, np.s_[2:4]),  # missing ages are in no range
        ({"age": {"from": 6}}, np.s_[2:4]),
        ({"age": "[0, 2]"}, np.s_[:1]),
        ({"age": "(null)"}, np.s_[4:]),
        ({"age": ["[0, 2]", "(null)"]}, np.s_[[0, 4]]),
        ({"pay": (0.3, 0.7)}, np.s_[:, 3:7]),  # 0.3 and 0.7 are no doubles, and edges all the same
        ({"pay": (np.float64(0.9), 1)}, np.s_[:, 9:]),
        ({"sex": "M"}, np.s_[:, :, 1]),
        ({"sex": ["F", "X"], "age": (0, 2)}, np.s_[:1, :, [0, 2]]),
        ({"sex": "(other)", "smokes": True}, np.s_[:, :, 3, 1]),
        ({"smokes": False}, np.s_[..., 0]),
    ],
)
def test_a_query_counts_what_it_says(query, part):
    assert (as_queries(SCHEMA, query) @ CELLS).tolist() == [CELLS[part].sum()]
    assert (as_queries(SCHEMA, [to_plain(query)]) @ CELLS).tolist() == [CELLS[part].sum()]


def test_one_attribute_needs_no_name():
    ages = SCHEMA.select("age")
    cells = CELLS.sum(axis=(1, 2, 3))
    assert (as_queries(ages, [(0, 2), (3, None), "(null)"]) @ cells).tolist() == [
        cells[0],
        cells[1:4].sum(),
        cells[4],
    ]
    assert (as_queries(ages, (0, 5)) @ cells).tolist() == [cells[:2].sum()]
    whole = ad.workloads.Prefix(5)
    assert as_queries(ages, whole) is whole


def test_ones_and_truths_are_told_apart():
    schema = ad.Schema({"a": ad.Categorical([0, 1, 2])})
    assert (as_queries(schema, 1) @ [5, 6, 7]).tolist() == [6]
    with pytest.raises(BadInput, match="no value of a True"):
        as_queries(schema, True)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ((0, 2), "does not say which"),
        ({"agee": 3}, "Did you mean 'age'"),
        ({"age": 4}, "no single cell of age"),
        ({"age": (1, 8)}, "no cell of age begins at 1"),
        ({"age": (0, 7)}, "no cell of age ends at 7"),
        ({"age": (0, 20)}, "ends between 2 and 11"),
        ({"age": (6, 5)}, "ends before it begins"),
        ({"age": (0, 2, 5)}, "written \\(from, to\\)"),
        ({"age": {"form": 3}}, "from and to"),
        ({"age": (float("nan"), 5)}, "begins at a number"),
        ({"age": ("0", 5)}, "begins at a number"),
        ({"pay": (0.25, 1)}, "Near are 0.1, 0.2, 0.3"),
        ({"sex": ("F", "M")}, "has no order"),
        ({"sex": "Z"}, "no value of sex 'Z'"),
        ({"sex": []}, "no value of sex is asked for"),
        ({"smokes": 1}, "no value of smokes 1"),
        ([], "at least one query"),
        (ad.workloads.Prefix(5), "domain of shape"),
    ],
)
def test_what_cannot_be_asked_is_refused(query, message):
    with pytest.raises(BadInput, match=message):
        as_queries(SCHEMA, query)


TASKS = [
    ad.Histogram("age", "sex"),
    ad.Ranges("age"),
    ad.Ranges("age", "sex"),
    ad.Cdf("pay"),
    ad.Marginals(way=2),
    ad.Marginals(way=1, attrs=["sex", "smokes"]),
    ad.QueryList([{"age": (0, 2), "sex": "F"}, {"smokes": True}]),
]


@pytest.mark.parametrize("task", TASKS, ids=str)
def test_tasks_are_written_and_read_back(task):
    again = task_from_dict(task.to_dict())
    schema = task.select(SCHEMA)
    assert again.select(SCHEMA) == schema
    cells = np.arange(schema.cells).reshape(schema.shape)
    assert np.array_equal(again.workload(schema) @ cells, task.workload(schema) @ cells)
    assert str(again) == str(task)


def test_ranges_take_one_value_or_all_where_there_is_no_order():
    task = ad.Ranges("age", "sex")
    workload = task.workload(task.select(SCHEMA))
    widths = workload.upper[:, 1] - workload.lower[:, 1]
    assert set(widths.tolist()) == {0, 3}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ad.Histogram(), "takes names"),
        (lambda: ad.Histogram(["age"]), "takes names"),
        (lambda: ad.Histogram("agee").select(SCHEMA), "Did you mean 'age'"),
        (lambda: ad.Histogram("age", "age").select(SCHEMA), "given twice"),
        (lambda: ad.Ranges("sex").select(SCHEMA), "sex has no order"),
        (lambda: ad.Cdf("smokes").select(SCHEMA), "smokes has no order"),
        (lambda: ad.Marginals(way=0), "way"),
        (lambda: ad.Marginals(way=5).select(SCHEMA), "way is 5"),
        (lambda: ad.Marginals(way=1, attrs="age"), "list of names"),
        (lambda: ad.QueryList([]), "list of mappings"),
        (lambda: ad.QueryList(["age"]), "list of mappings"),
        (lambda: ad.QueryList([{"age": 4}]).select(SCHEMA), "no single cell"),
        (lambda: task_from_dict({"task": "histgram"}), "Did you mean 'histogram'"),
        (lambda: task_from_dict({"task": "cdf"}), "needs a list"),
        (lambda: task_from_dict(3), "must be a mapping"),
    ],
)
def test_tasks_that_make_no_sense_are_refused(make, message):
    with pytest.raises(BadInput, match=message):
        make()
