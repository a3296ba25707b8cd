"""Whole releases are the same on every engine: with one seed for the noise, every number that comes out is equal."""

import warnings

import numpy as np
import pytest
from test_engine_contract import ATTRIBUTES

import adyton as ad
from adyton.noise import SimulatedNoise

SCHEMA = ad.Schema(ATTRIBUTES)
FEW = ad.Schema({name: ATTRIBUTES[name] for name in ("long", "double", "flag", "truth", "instant")})
UNITS = ad.Schema(FEW.attributes, 3, unit="person", no_unit="one")


def fitted(method, **options):
    def fit(session):
        found = session.fit(ad.Classifier("truth", ["long", "double", "flag"], method, **options), 2)
        return found.to_dict()["model"]

    return fit


def numbers(task):
    return lambda session: session.release(task, 2).to_arrow().to_pydict()


def counts(task, **options):
    return lambda session: session.release(task, 2, **options).estimate


def tables(algorithm):
    def ask(session):
        release = session.release(ad.Marginals(way=2), 2, algorithm=algorithm)
        found = [release.table(*group).counts.tolist() for group in release.groups]
        return found, release.sample(50, seed=1).to_dict()

    return ask


def misfits(session):
    found = session.release(ad.Histogram("long", "number", "instant"), 2, algorithm="identity", misfits="0.5").misfits
    return found.fits, [one.count for one in found.counts]


WHERE = "double < 2.5 or number >= 8 or text in ('a', 'it''s') or instant > '2025-07-01 12:00'"
QUICK = {
    "histogram": (FEW, counts(ad.Histogram("long", "flag"), algorithm="identity")),
    "naive bayes": (FEW, fitted("naive-bayes")),
    "people": (UNITS, lambda session: session.count_units(2, where="long >= 0").value),
}
LONG = {
    "summary": (FEW, numbers(ad.Summary("double", by="flag"))),
    "ranges": (FEW, counts(ad.Ranges("double"), algorithm="hb")),
    "chosen": (FEW, counts(ad.Ranges("long"))),
    "cdf": (FEW, counts(ad.Cdf("long"), algorithm="hb")),
    "boxes": (FEW, counts(ad.QueryList([{"long": (1, 4), "flag": True}, {"double": (0, 4)}]))),
    "where": (SCHEMA, lambda session: session.count(2, where=WHERE).value),
    "filtered": (SCHEMA, counts(ad.Histogram("text"), algorithm="identity", where=WHERE)),
    "misfits": (SCHEMA, misfits),
    "marginals": (FEW, tables("all-pairs")),
    "network": (FEW, tables("privbayes")),
    "sum": (FEW, numbers(ad.Sum("long", by=["flag", "truth"]))),
    "mean": (FEW, numbers(ad.Mean("double"))),
    "variance": (FEW, numbers(ad.Variance("long", by="truth"))),
    "quantiles": (FEW, numbers(ad.Quantiles("double", by="flag"))),
    "tree": (FEW, fitted("profiled-tree")),
    "units": (UNITS, counts(ad.Histogram("long", "double"), algorithm="identity")),
    "rows per unit": (UNITS, counts(ad.RowsPerUnit(5), algorithm="identity")),
}


def released(data, asked):
    """What comes out for each question, each from a session of its own."""
    found = {}
    for name, (schema, ask) in asked.items():
        with (
            warnings.catch_warnings(action="ignore"),
            ad.Session(data, schema=schema, epsilon=4, noise=SimulatedNoise(7)) as session,
        ):
            found[name] = ask(session)
    return found


def check(data, asked, wanted):
    found = released(data, asked)
    assert {name for name in asked if not same(found[name], wanted[name])} == set()


def same(one, other):
    try:
        np.testing.assert_equal(one, other)
    except AssertionError:
        return False
    return True


@pytest.fixture(scope="module")
def quick(parquet):
    return released(str(parquet), QUICK)


def test_postgres_gives_the_same_numbers(postgres, quick):
    check(f"{postgres[1]}#hard", QUICK, quick)


def test_another_seed_gives_other_numbers(parquet, quick):
    with ad.Session(str(parquet), schema=FEW, epsilon=4, noise=SimulatedNoise(8)) as session:
        assert not np.array_equal(QUICK["histogram"][1](session), quick["histogram"])


@pytest.mark.full
def test_every_engine_gives_the_same_numbers(postgres, spark, remote, parquet):
    import ibis
    import pyarrow.parquet

    wanted = released(str(parquet), asked := QUICK | LONG)
    stored = ibis.duckdb.connect()
    stored.con.execute(f"create table hard as select * from read_parquet('{parquet}')")
    check(pyarrow.parquet.read_table(parquet), asked, wanted)
    check(stored.table("hard"), asked, wanted)
    for data in (f"{postgres[1]}#hard", *(one.read.parquet(str(parquet)) for one in (spark[0], remote))):
        own = released(data, {"units": asked["units"]})  # each server keeps rows of a person of its own choice
        check(data, asked, wanted | own)
