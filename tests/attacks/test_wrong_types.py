"""Arguments of the wrong type are refused with one sentence, by an error of ours, and cost nothing."""

import numpy as np
import pandas
import polars
import pyarrow
import pytest

import adyton as ad
from adyton.errors import AdytonError
from adyton.kernel.kernel import Kernel

TABLE = pandas.DataFrame({"age": [3, 5, 9] * 9, "sex": ["F", "M", "F"] * 9})
SCHEMA = ad.Schema({"age": ad.Integer(0, 9), "sex": ad.Categorical(["F", "M"])})
WRONG = {
    "a dict": {"age": 1},
    "an int": -7,
    "a huge int": 10**400,
    "a list": ["age", 3],
    "bytes": b"age",
    "a class": ad.Integer,
    "not a number": float("nan"),
    "a boolean": True,
    "an object": object(),
    "an array": np.arange(3),
    "a frame": TABLE,
    "a set": {1},
    "a text with an end in it": "a\0b",
    "half a character": "\ud800",
}
GIVEN = {"data": TABLE, "schema": SCHEMA, "epsilon": 1}


def opened(**given):
    return ad.Session(**{**GIVEN, **given})


def kernel(**given):
    return Kernel(**{**GIVEN, **given})


def auction(**given):
    family = ad.configuration.Auction()
    return ad.configure(**{"family": family, "instances": list(family.examples()), "epsilon": 1, **given})


def learner(**given):
    made = ad.learning.PrivateNaiveBayes(**{"schema": SCHEMA, "label": "sex", "epsilon": 1, **given})
    return made.fit(table=TABLE)


OPENING = ("data", "schema", "epsilon", "ledger", "accept", "noise", "unit", "dataset")
CALLS = {f"Session {name}": (opened, name) for name in (*OPENING, "rows_per_unit", "table")}
CALLS |= {f"Kernel {name}": (kernel, name) for name in (*OPENING, "trusted")}
CALLS |= {f"estimator {name}": (learner, name) for name in ("schema", "label", "epsilon", "ledger", "noise", "dataset")}
CALLS |= {
    f"configure {name}": (auction, name)
    for name in ("family", "instances", "epsilon", "neighbours", "utility", "ledger", "dataset", "progress", "public")
}
TAKEN = {
    ("Session data", "a frame"),
    ("Kernel data", "a frame"),
    ("configure progress", "a class"),
    ("configure public", "a boolean"),
    ("configure instances", "a list"),
    ("configure instances", "an array"),
    ("configure instances", "a set"),
    ("configure instances", "a frame"),
}
"""What these allow. (Instances can be anything: what an algorithm cannot work with is data.)"""


@pytest.mark.parametrize(
    ("call", "name"),
    [  # a session's kernel is given the same
        pytest.param(call, name, marks=[pytest.mark.full] if call is kernel and name != "trusted" else [], id=which)
        for which, (call, name) in CALLS.items()
    ],
)
def test_openings(call, name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    which = next(words for words, known in CALLS.items() if known == (call, name))
    for kind, wrong in WRONG.items():
        if (which, kind) not in TAKEN and (name, kind) != ("dataset", "a text with an end in it"):
            _refused(lambda wrong=wrong: call(**{name: wrong}), (which, kind))


def _refused(call, what):
    with pytest.raises(Exception) as caught:  # noqa: PT011 - which one is looked at below
        call()
    error = caught.value
    assert isinstance(error, AdytonError), (what, type(error))
    assert str(error).count("\n") == 0, what
    assert len(str(error)) < 1200, what


def test_a_table_in_the_wrong_place_is_not_shown():
    """Messages are printed, logged and pasted into letters: no row may be in one."""
    secret = pandas.DataFrame({"name": ["Ada Lovelace"] * 3, "age": [36, 36, 36]})
    forms = [secret, secret.to_numpy(), secret["name"], secret.to_dict("list"), secret.to_dict("records")]
    forms += [pyarrow.Table.from_pandas(secret), polars.from_pandas(secret), iter(["Ada Lovelace"])]
    others = [
        (call, name) for call, name in CALLS.values() if name != "data" and (call is not kernel or name == "trusted")
    ]
    calls = [lambda form, call=call, name=name: call(**{name: form}) for call, name in others]
    session = opened()
    calls += [lambda form: session.release(form, 1), lambda form: session.release(ad.Cdf("age"), form)]
    calls += [lambda form: session.fit(form, 1), lambda form: session.count(1, where=form)]
    calls += [lambda form: ad.Schema(form), lambda form: ad.Schema({"age": form}), lambda form: ad.Histogram(form)]
    calls += [lambda form: opened(data=form, schema=ad.Schema({"other": ad.Boolean()}))]
    shown = []
    for call in calls:
        for form in forms:
            try:
                call(form)
            except AdytonError as error:
                shown.append(str(error))
            except Exception as error:
                pytest.fail(f"{type(form)}: {type(error).__name__}")
    assert len(shown) > 200
    assert not [words for words in shown if "Lovelace" in words]


ASKED = {
    "counts": {"task": ad.Cdf("age"), "epsilon": "0.1"},
    "numbers": {"task": ad.Mean("age"), "epsilon": "0.1"},
    "tables": {"task": ad.Marginals(way=2), "epsilon": "0.1"},
}


@pytest.mark.parametrize("method", ["release", "preview"])
@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_releases(asked, method):
    session = opened()
    for name in ("task", "epsilon", "algorithm", "where", "misfits", "nonnegative"):
        for kind, wrong in WRONG.items():
            if (name, kind) not in {("misfits", "a boolean"), ("nonnegative", "a boolean")}:
                _refused(
                    lambda name=name, wrong=wrong: getattr(session, method)(**{**asked, name: wrong}), (name, kind)
                )
    assert session.spent == 0


OTHERS = {
    "fit classifier": lambda session, wrong: session.fit(wrong, 1),
    "fit epsilon": lambda session, wrong: session.fit(ad.Classifier("sex"), wrong),
    "count epsilon": lambda session, wrong: session.count(wrong),
    "count where": lambda session, wrong: session.count(1, where=wrong),
    "Schema": lambda _, wrong: ad.Schema(wrong),
    "Schema.from_toml": lambda _, wrong: ad.Schema.from_toml(wrong),
    "Schema.from_dict": lambda _, wrong: ad.Schema.from_dict(wrong),
    "Schema.select": lambda _, wrong: SCHEMA.select([wrong]),
    "Schema.select names": lambda _, wrong: SCHEMA.select(wrong),
    "Release.load": lambda _, wrong: ad.Release.load(wrong),
    "TablesRelease.load": lambda _, wrong: ad.TablesRelease.load(wrong),
    "NumbersRelease.load": lambda _, wrong: ad.NumbersRelease.load(wrong),
    "FittedClassifier.load": lambda _, wrong: ad.FittedClassifier.load(wrong),
    "Ledger.read": lambda _, wrong: ad.Ledger.read(wrong),
    "cut_off": lambda _, wrong: ad.cut_off(wrong),
    "simulate": lambda _, wrong: ad.simulate(wrong, [1, 2], ad.workloads.Identity(2), 1),
    "Integer nulls": lambda _, wrong: ad.Integer(0, 9, nulls=wrong),
    "Integer outside": lambda _, wrong: ad.Integer(0, 9, outside=wrong),
    "Categorical groups": lambda _, wrong: ad.Categorical(["a"], groups=wrong),
    "simulated noise": lambda _, wrong: Kernel.simulated([1, 2], epsilon=1, noise=wrong),
}


@pytest.mark.parametrize("call", OTHERS.values(), ids=OTHERS)
def test_other_questions(call):
    session = opened()
    for kind, wrong in WRONG.items():
        if not (call is OTHERS["Schema.select names"] and kind in ("a dict", "a frame")):  # of names
            _refused(lambda wrong=wrong: call(session, wrong), kind)
    assert session.spent == 0


def test_a_target_beyond_all_numbers():
    with pytest.raises(AdytonError):
        opened().epsilon_for(ad.Cdf("age"), float("nan"))
    assert opened().epsilon_for(ad.Cdf("age"), 10**400, algorithm="hb") > 0


def test_a_plain_dict_is_no_schema():
    with pytest.raises(AdytonError, match=r"schema is an ad.Schema, .* or the path of a schema file.* Write Schema"):
        opened(schema={"age": ad.Integer(0, 9)})
    with pytest.raises(AdytonError, match="schema is an ad.Schema"):
        opened(schema=ad.Schema)
