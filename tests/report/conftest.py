"""Releases of the example table, one of each kind, made once."""

from pathlib import Path

import pandas
import pytest

import adyton as ad
from adyton.report.counts import summarise

ROOT = Path(__file__).parent.parent.parent
HOSTILE = "<script>alert('x')</script>\"&"


@pytest.fixture(scope="session")
def session():
    schema = ad.Schema.from_toml(ROOT / "examples" / "visits.toml")
    coarse = {"age": ad.Integer(0, 109, step=5), "cost": ad.Numeric(0, 25600, bins=64, outside="clamp")}
    schema = ad.Schema({**schema.attributes, **coarse})
    return ad.Session(ROOT / "examples" / "visits.csv", schema=schema, epsilon=100, unit="patient")


@pytest.fixture(scope="session")
def releases(session):
    """By name; the algorithms are quick ones."""
    queries = [{"age": (20, 29), "sex": "F"}, {"age": (65, None)}, {"sex": ["F", "(null)"]}]
    made = {
        "line": session.release(ad.Ranges("cost"), epsilon="0.5", algorithm="hb"),
        "bars": session.release(ad.Histogram("department"), epsilon="0.5"),
        "map": session.release(ad.Histogram("age", "stay_days"), epsilon="0.5", algorithm="identity"),
        "mixed map": session.release(ad.Histogram("sex", "stay_days"), epsilon="0.5", algorithm="identity"),
        "marginals": session.release(
            ad.Marginals(way=2, attrs=["sex", "department", "age"]),
            epsilon="0.01",
            algorithm="identity",
            where="age >= 18",
        ),
        "cdf": session.release(ad.Cdf("cost"), epsilon="0.5", algorithm="hb"),
        "queries": session.release(ad.QueryList(queries), epsilon="0.5", algorithm="identity"),
    }
    return made | {"hostile": _hostile(), "joined": _joined()}


@pytest.fixture(scope="session")
def summaries(releases):
    return {name: summarise(release) for name, release in releases.items()}


def _hostile():
    """A table whose every name is an attack."""
    schema = ad.Schema({HOSTILE: ad.Categorical([HOSTILE, "b", "c" * 80])})
    table = pandas.DataFrame({HOSTILE: [HOSTILE] * 40 + ["b"] * 20})
    session = ad.Session(table, schema=schema, epsilon=1, unit=HOSTILE, dataset=HOSTILE)
    return session.release(ad.Histogram(HOSTILE), epsilon="0.5", algorithm="identity")


def _joined():
    """More cells than can be seen, with cells for other and missing values behind them."""
    schema = ad.Schema({"value": ad.Integer(-100, 499, outside="other", nulls="level")})
    table = pandas.DataFrame({"value": [*range(-100, 500), 5000, None, None]})
    return ad.Session(table, schema=schema, epsilon=1).release(ad.Histogram("value"), epsilon=1, algorithm="identity")
