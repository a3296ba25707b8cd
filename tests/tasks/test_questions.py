"""Questions in the words of a table: what they count, and what is refused."""

import numpy as np
import pytest

import adyton as ad
from adyton.errors import BadInput
from adyton.tasks import as_queries, task_from_dict
from adyton.tasks.questions import to_plain
from adyton.tasks.request import Request

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


def _row(attribute, query, name="a"):
    schema = ad.Schema({name: attribute})
    return [int((as_queries(schema, query) @ cells)[0]) for cells in np.eye(attribute.size)]


def test_names_of_attributes_come_before_the_words_of_a_range():
    ends = ad.Integer(0, 4)
    assert _row(ends, {"from": 3}, "from") == [0, 0, 0, 1, 0]
    assert _row(ends, {"from": {"from": 3}}, "from") == [0, 0, 0, 1, 1]
    assert _row(ends, (3, None), "from") == [0, 0, 0, 1, 1]
    assert _row(ends, {"from": 3}, "a") == [0, 0, 0, 1, 1]
    trips = ad.Schema({"from": ends, "to": ends})
    assert (as_queries(trips, {"from": 1, "to": 2}) @ np.arange(25)).tolist() == [1 * 5 + 2]
    with pytest.raises(BadInput, match="no attribute 'to'"):
        _row(ends, {"from": 1, "to": 3}, "from")


STEPS = ad.Integer(0, 5 * 10**10 - 1, step=10**10)
LARGE = ad.Integer(2**53 - 3, 2**53)
EDGES = ad.Numeric(edges=[0, 1e12, 1e12 + 500, 1e12 + 1000])
TENTHS = ad.Numeric(edges=[0, 0.1, 0.3, 1])
CLOSE = ad.Numeric(edges=[1, 1 + 1e-13, 1 + 2e-13, 2])


@pytest.mark.parametrize(
    ("attribute", "query", "row"),
    [
        (STEPS, (1e10, None), [0, 1, 1, 1, 1]),
        (LARGE, (2**53 - 1, 2**53), [0, 0, 1, 1]),
        (EDGES, (1e12 + 500, None), [0, 0, 1]),
        (TENTHS, (0.1, 0.1 + 0.2), [0, 1, 0]),  # one unit in the last place above 0.3
        (CLOSE, (1 + 1e-13, 1 + 2e-13), [0, 1, 0]),
        (ad.Numeric(1e9, 1e9 + 1, bins=10), (1e9 + 0.3, 1e9 + 0.7), [0] * 3 + [1] * 4 + [0] * 3),
        (ad.Integer(0, 4), np.array(3), [0, 0, 0, 1, 0]),
        (ad.Integer(0, 4), {"a": np.array([1, 3])}, [0, 1, 0, 1, 0]),
        (ad.Integer(0, 4), (np.float16(1), np.int8(3)), [0, 1, 1, 1, 0]),
    ],
)
def test_ends_are_where_they_are_said_to_be(attribute, query, row):
    assert _row(attribute, query) == row


@pytest.mark.parametrize(
    ("attribute", "query", "message"),
    [
        (STEPS, (5, None), "begins at 5"),
        (STEPS, (10**10 + 1, None), "begins at 10000000001"),
        (ad.Integer(0, 30), (20.5, None), "begins at 20.5"),
        (LARGE, (None, 2**53 + 1), "between 9007199254740989 and 9007199254740992"),
        (EDGES, (1e12 + 200, None), "Try one of 0, 1000000000000, 1000000000500"),
        (EDGES, (10**40, None), "begins between 0 and 1000000000500"),
        (STEPS, (10**400, None), "a number of 1329 bits"),
        (STEPS, (np.complex128(1), None), "a value of a must be"),
        (STEPS, np.array([[20, 29]]), "values or ranges"),
        (STEPS, {"a": ...}, "a value of a must be"),
        (CLOSE, "[1, 1)", "2 cells of a are called"),
        (CLOSE, (1 + 1.5e-13, None), "no cell of a begins"),
    ],
)
def test_ends_that_are_only_close_are_refused(attribute, query, message):
    with pytest.raises(BadInput, match=message):
        _row(attribute, query)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ((0, 2), "does not say which"),
        ({"agee": 3}, "Did you mean 'age'"),
        ({"age": 4}, "not a single cell of age"),
        ({"age": (1, 8)}, "no cell of age begins at 1"),
        ({"age": (0, 7)}, "no cell of age ends at 7"),
        ({"age": (0, 20)}, "ends between 2 and 11"),
        ({"age": (6, 5)}, "ends before it begins"),
        ({"age": (0, 2, 5)}, "written \\(from, to\\)"),
        ({"age": {"form": 3}}, "from and to"),
        ({"age": (float("nan"), 5)}, "a value of age must be"),
        ({"age": (True, 5)}, "begins at a number"),
        ({"age": ("0", 5)}, "begins at a number"),
        ({"pay": (0.25, 1)}, "Try one of 0.1, 0.2, 0.3"),
        ({"sex": ("F", "M")}, "has no order"),
        ({"sex": "Z"}, "no value of sex 'Z'"),
        ({"sex": []}, "the list of values of sex is empty"),
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
        (lambda: ad.Histogram([]), "takes names"),
        (lambda: ad.Histogram("agee").select(SCHEMA), "Did you mean 'age'"),
        (lambda: ad.Histogram("age", "age").select(SCHEMA), "given twice"),
        (lambda: ad.Ranges("sex").select(SCHEMA), "sex has no order"),
        (lambda: ad.Cdf("smokes").select(SCHEMA), "smokes has no order"),
        (lambda: ad.Marginals(way=0), "way"),
        (lambda: ad.Marginals(way=5).select(SCHEMA), "way cannot be 5"),
        (lambda: ad.Marginals(way=1, attrs="age"), "list of names"),
        (lambda: ad.QueryList([]), "list of mappings"),
        (lambda: ad.QueryList(["age"]), "list of mappings"),
        (lambda: ad.QueryList([{"age": 4}]).select(SCHEMA), "not a single cell"),
        (lambda: task_from_dict({"task": "histgram"}), "Did you mean 'histogram'"),
        (lambda: task_from_dict({"task": "cdf"}), "needs a list"),
        (lambda: task_from_dict(3), "must be a mapping"),
    ],
)
def test_tasks_that_make_no_sense_are_refused(make, message):
    with pytest.raises(BadInput, match=message):
        make()


@pytest.mark.parametrize(
    ("plain", "word"),
    [
        ({"task": "marginals", "way": 2, "attrs": ["sex"], "epsilon": 1}, "attrs"),
        ({"task": {"task": "marginals", "way": 2, "attrs": ["sex"]}, "epsilon": 1}, "attrs"),
        ({"task": {"task": "count", "label": "sex"}, "epsilon": 1}, "label"),
        ({"task": {"task": "mean", "attribute": "age", "where": "sex = 'F'"}, "epsilon": 1}, "where"),
    ],
)
def test_a_key_that_no_task_reads_is_refused(plain, word):
    """Otherwise a misspelt key would spend the budget on another question."""
    with pytest.raises(BadInput, match=f"has no '{word}'"):
        Request.from_dict(plain)
