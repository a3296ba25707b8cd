"""Canary values planted in the rows must never be seen outside: not in text, errors, logs, pickles or files."""

import copy
import io
import itertools
import logging
import pickle
import traceback
import warnings

import numpy as np
import pandas as pd
import pyarrow
import pytest

import adyton as ad
from adyton.errors import KernelFailure, SchemaError
from adyton.kernel.mechanisms import MeasureTables
from adyton.kernel.sources import TablesSource
from adyton.workloads import Identity, Partition

CANARY = "canary7f3a9"
NUMBER = 987_654_321_987
MARKS = (CANARY, str(NUMBER), "9.87654321987e+11", "987654321986", "987654321988")


@pytest.fixture
def planted():
    return pd.DataFrame(
        {
            "city": [CANARY, "Delphi", CANARY + "x"],
            "income": [NUMBER, 5, -NUMBER],
            "secret": [CANARY, CANARY, CANARY],
            "patient": [CANARY, CANARY + "1", CANARY + "2"],
        }
    )


SCHEMA = ad.Schema(
    {
        "city": ad.Categorical(["Delphi", "Athens"], outside="other"),
        "income": ad.Integer(0, 9, outside="clamp"),
        "patient": ad.Identifier(),
    }
)


def sources(kernel):
    """One handle of every kind."""
    yield kernel.root
    yield kernel.root.where("income > 3")
    yield kernel.root.group_by("patient", max_count=3)
    yield from kernel.root.split("city")
    vector = kernel.root.select("city", "income").vectorize()
    yield vector
    yield vector.reduce(Partition(np.arange(30) % 3))
    yield from vector.split(Partition(np.arange(30) % 2))
    yield vector.map(Identity(30))
    yield kernel.root.misfits(["city"], ["income"])
    tables = kernel.root.tables([("city", "income"), ("city",)])
    yield tables
    yield from tables.vectors()
    yield tables.merged([(("city",), ([0, 1, 0],)), (("city", "income"), ([1, 0, 0], None))])


def clean(text):
    return not any(mark in text for mark in MARKS)


def everything_said(call):
    """All text that a call leaves behind: warnings, logs, and the traceback with the locals of every frame."""
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    logging.getLogger().addHandler(handler)
    logging.getLogger().setLevel(logging.DEBUG)
    said = ""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                said += repr(call())
            except BaseException as error:
                chain = [error, error.__cause__, error.__context__]
                for one in filter(None, chain):
                    said += "".join(traceback.TracebackException.from_exception(one, capture_locals=True).format())
                    said += repr(one) + repr(one.args) + repr(vars(one))
        said += "".join(str(warning.message) for warning in caught)
    finally:
        logging.getLogger().removeHandler(handler)
    return said + log.getvalue()


def test_the_detector_sees_a_canary(planted):
    secret = planted["city"][0]
    assert not clean(everything_said(lambda: [][int(secret)]))


def test_text_of_handles_and_kernel(planted):
    kernel = ad.Kernel(planted, schema=SCHEMA, epsilon=5)
    for thing in [kernel, *sources(kernel), *(kept for kept in kernel._kept.values())]:
        for show in (repr, str, "{}".format, lambda t: repr(getattr(t, "__dict__", "")), lambda t: repr(dir(t))):
            assert clean(show(thing))
    assert clean(repr(vars(kernel)))


@pytest.mark.parametrize(
    "peek",
    [
        lambda s: s[0], list, len, np.asarray, bool, int, float, lambda s: 1 in s, pickle.dumps, copy.copy,
        copy.deepcopy, next, lambda s: s + 1, lambda s: s["city"], lambda s: sorted([s, s]), lambda s: np.sum(s) + 0,
    ],
)  # fmt: skip
def test_handles_cannot_be_read_or_pickled(planted, peek):
    kernel = ad.Kernel(planted, schema=SCHEMA, epsilon=5)
    handles = list(sources(kernel))
    for source in handles:
        with pytest.raises(TypeError) as caught:
            peek(source)
        assert clean(str(caught.value))
    assert len(kernel._kept) == len(handles) > 9
    for thing in (kernel, *(kept.data for kept in kernel._kept.values())):
        with pytest.raises(TypeError):
            pickle.dumps(thing)


BAD_CALLS = [
    lambda k: k.root.count(-1),
    lambda k: k.root.count(100),
    lambda k: k.root.where("secret = 'x'"),
    lambda k: k.root.where("city = 'Sparta'"),
    lambda k: k.root.where("upper(city) = 'x'"),
    lambda k: k.root.select("secret"),
    lambda k: k.root.vectorize(),
    lambda k: k.root.select("city").vectorize().measure(Identity(9), 1),
    lambda k: k.root.split("patient"),
]


@pytest.mark.parametrize("number", range(len(BAD_CALLS)))
def test_errors_and_tracebacks(planted, number):
    kernel = ad.Kernel(planted, schema=SCHEMA, epsilon=5)
    del planted
    said = everything_said(lambda: BAD_CALLS[number](kernel))
    assert "Traceback" in said
    assert clean(said)


@pytest.mark.parametrize("method", ["count", "vectorize"])
def test_failures_inside(planted, method, monkeypatch):
    def explode(self):
        raise ValueError(f"could not convert {CANARY} {NUMBER}")

    monkeypatch.setattr(f"adyton.kernel.counting.table.PrivateTable.{method}", explode)
    kernel = ad.Kernel(planted, schema=SCHEMA, epsilon=5)
    ask = {
        "count": lambda: kernel.root.count(1),
        "vectorize": lambda: kernel.root.select("city").vectorize().measure(Identity(3), 1),
    }[method]
    with pytest.raises(KernelFailure):
        ask()
    said = everything_said(ask)
    assert "KernelFailure" in said
    assert clean(said)


@pytest.mark.parametrize(
    "attributes",
    [
        {"cities": ad.Integer(0, 9)},
        {"nowhere": ad.Boolean()},
        {"secret": ad.Integer(0, 1)},
        {"cities": ad.Categorical([True])},
    ],
)
def test_bad_schemas_say_nothing_about_the_rows(attributes):
    nested = pyarrow.table({"cities": [[CANARY]], "secret": [{CANARY[:3]: CANARY}]})
    with pytest.raises(SchemaError) as caught:
        ad.Kernel(nested, schema=ad.Schema(attributes), epsilon=1)
    assert clean(str(caught.value))
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


def test_ledger_and_its_files(planted, tmp_path):
    path = tmp_path / "canary.ledger"
    kernel = ad.Kernel(planted, schema=SCHEMA, epsilon=500, ledger=path, dataset="canaries")
    for source in sources(kernel):
        if isinstance(source, TablesSource):
            source.measure(MeasureTables.weighted((0, 1)), 1)
        else:
            (source.count(1) if hasattr(source, "count") else source.measure(Identity(source.cells), 1))
    kernel.ledger.close()
    content = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"canaries" in content
    for mark in MARKS:
        assert mark.encode() not in content
    assert clean(repr(ad.Ledger.read(path)))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_with_canaries(planted, tmp_path, kind):
    path = tmp_path / f"table.{kind}"
    getattr(planted, f"to_{kind}")(path, index=False)
    wrong = {"city": ad.Integer(0, 9), "income": ad.Boolean(), "patient": ad.Numeric(0, 1, bins=2)}

    def use():
        kernel = ad.Kernel(path, schema=ad.Schema(wrong), epsilon=9)
        kernel.root.where("city > 3 and income = true").select("city", "income").vectorize().measure(Identity(20), 1)
        kernel.root.count("x")

    said = everything_said(use)
    assert "Traceback" in said
    assert clean(said)


def test_answers_depend_on_the_canary_only_through_counts(planted):
    """Whatever the hidden strings are, the public side of two kernels is the same."""
    other = planted.replace({CANARY: "sparrow"})
    described = []
    for table in (planted, other):
        kernel = ad.Kernel(table, schema=SCHEMA, epsilon=500)
        described.append([(repr(source), source.lineage, source.stability) for source in sources(kernel)])
    assert described[0] == described[1]
    assert len(list(itertools.chain(*described))) > 10
