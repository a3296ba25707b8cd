"""Tasks once made: nobody can change them, they are plain values, equal and hashable, and fit into arrays."""

import copy
import json
import pickle

import numpy as np
import pytest

import adyton as ad
from adyton.errors import BadInput
from adyton.tasks import task_from_dict


class Name(str):
    """A text that answers for itself."""

    def __str__(self):
        return "somebody else"


def test_what_was_given_may_change_and_the_task_does_not():
    given = [{"age": [1, 5], "sex": {"F"}}]
    task = ad.QueryList(given)
    before = json.dumps(task.to_dict())
    given[0]["age"].append(9)
    given[0]["sex"].add("M")
    given.append({"age": 3})
    task.queries[0]["age"].append(9)
    task.to_dict()["queries"][0]["age"].append(9)
    assert json.dumps(task.to_dict()) == before
    assert task.queries == ({"age": [1, 5], "sex": ["F"]},)


MADE = [
    (
        lambda: ad.QueryList(query for query in [{Name("age"): (np.int8(2), np.float32(29.0)), "sex": {"M", "F", 7}}]),
        ad.QueryList([{"age": {"from": 2, "to": 29}, "sex": [7, "F", "M"]}]),
    ),
    (lambda: ad.QueryList({"pay": np.array([0.5, 1.0])}), ad.QueryList([{"pay": [0.5, 1]}])),
    (lambda: ad.QueryList({"pay": (np.array(0.5), None)}), ad.QueryList([{"pay": (0.5, None)}])),
    (lambda: ad.QueryList({"b": np.True_}), ad.QueryList({"b": True})),
    (lambda: ad.QueryList({"a": (None, 3.0)}), ad.QueryList({"a": {"to": 3}})),
    (lambda: ad.QueryList({"a": (None, None)}), ad.QueryList({"a": {"from": None}})),
    (lambda: ad.Marginals(way=np.int64(1), attrs=(Name(n) for n in "ab")), ad.Marginals(way=1, attrs=["a", "b"])),
    (lambda: ad.Histogram(Name("a"), np.str_("b")), ad.Histogram("a", "b")),
    (lambda: ad.Ranges(Name("a")), ad.Ranges("a")),
    (lambda: ad.Cdf(Name("a")), ad.Cdf("a")),
]


@pytest.mark.parametrize(("make", "same"), MADE, ids=[str(same) for _, same in MADE])
def test_equal_tasks_are_equal_however_they_were_written(make, same):
    task = make()
    read = task_from_dict(json.loads(json.dumps(task.to_dict(), allow_nan=False)))
    for other in (same, read, copy.deepcopy(task), pickle.loads(pickle.dumps(task))):
        assert (task, hash(task), repr(task), str(task)) == (other, hash(other), repr(other), str(other))


def test_one_and_true_make_two_tasks():
    assert ad.QueryList([{"a": 1}]) != ad.QueryList([{"a": True}])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ad.QueryList(3), "list of mappings"),
        (lambda: ad.QueryList(iter(())), "list of mappings"),
        (lambda: ad.QueryList([{3: 1}]), "must be a text"),
        *((lambda bad=bad: ad.QueryList([{"a": bad}]), "a value of a must be")
          for bad in (None, ..., b"x", 1j, np.complex128(1), float("nan"), (0, float("inf")), 10**5000, [None],
                      np.datetime64("2020-01-01", "ns"), object())),
        (lambda: ad.QueryList([{"a": (1, 2, 3)}]), "written \\(from, to\\)"),
        (lambda: ad.QueryList([{"a": {"form": 3}}]), "from and to"),
        (lambda: ad.QueryList([{"a": [[1, 2]]}]), "a value of a must be"),
        (lambda: ad.QueryList([{"a": np.array([[1, 2]])}]), "values or ranges"),
        (lambda: ad.Marginals(way=1, attrs=3), "list of names"),
        (lambda: ad.Marginals(way=1, attrs=[3]), "list of names"),
    ],
)  # fmt: skip
def test_what_no_file_could_hold_is_refused_at_once(make, message):
    with pytest.raises(BadInput, match=message):
        make()


def test_more_attributes_than_arrays_have_axes_are_refused():
    wide = ad.Schema({f"a{number}": ad.Integer(0, 0) for number in range(70)})
    every = dict.fromkeys(wide.names, 0)
    tasks = (ad.Histogram(*wide.names), ad.QueryList(every), ad.Ranges(*wide.names))
    for task in tasks:
        with pytest.raises(BadInput, match="70 attributes are too many"):
            task.select(wide)
    with pytest.raises(BadInput, match="70 attributes are too many"):  # as one vector; tables one by one are no problem
        ad.Marginals(way=1).workload(ad.Marginals(way=1).select(wide))
    names = wide.names[:32]
    for task in (ad.Marginals(way=1, attrs=names), ad.QueryList(dict.fromkeys(names, 0)), ad.Ranges(*names)):
        schema = task.select(wide)
        assert set((task.workload(schema) @ np.full(schema.shape, 5)).tolist()) == {5}
